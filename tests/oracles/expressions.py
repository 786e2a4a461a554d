"""Random expression DAGs for hypothesis, replayed in any algebra.

A recipe is a list of steps over a growing pool of values: the inputs x0…x3
first, then one value per step.  ``replay`` runs it with the operators of the
values it is given (program scalars, floats, fractions, SymPy), so the same
recipe says what a program must mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from bestiary.modeling.program import Builder, Function, InputGroup, Output, Program
from bestiary.modeling.program import ProgramSymbol as Symbol
from bestiary.modeling.program import functions as scalar_functions

INPUTS = ("x0", "x1", "x2", "x3")
Step = tuple[str, tuple[int, ...], Any]

EXACT = ("add", "sub", "mul", "neg", "div", "pow", "const", "abs", "min", "max", "select")
SMOOTH = ("add", "sub", "mul", "neg", "div", "const", "sin", "cos", "tanh", "sqrt", "exp", "atan2")

ARITY = {"neg": 1, "abs": 1, "const": 0, "select": 3, "pow": 1} | dict.fromkeys(
    ("sin", "cos", "tanh", "sqrt", "exp"), 1
)

exact_constants = st.one_of(
    st.integers(-3, 3),
    st.fractions(-2, 2, max_denominator=6),
    st.sampled_from([0, 1, -1, Fraction(1, 3), Fraction(-5, 7)]),
)


@st.composite
def recipes(draw: Any, operations: Sequence[str] = EXACT, max_size: int = 14) -> list[Step]:
    """A list of steps, each on earlier values."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, max_size))):
        operation = draw(st.sampled_from(operations))
        available = len(INPUTS) + number
        arguments = tuple(
            draw(st.integers(0, available - 1)) for _ in range(ARITY.get(operation, 2))
        )
        extra = None
        if operation == "const":
            extra = draw(exact_constants)
        elif operation == "pow":
            extra = draw(st.integers(0, 3))
        steps.append((operation, arguments, extra))
    return steps


def replay(
    recipe: Sequence[Step], inputs: Sequence[Any], functions: Mapping[str, Callable[..., Any]]
) -> list[Any]:
    """All values of a recipe; ``const`` and functions come from ``functions``.

    Divisors are 2 + y², arguments of sqrt 1 + y², of exp sin(y), so that
    every recipe is defined everywhere.
    """
    pool = list(inputs)
    for operation, arguments, extra in recipe:
        x = [pool[a] for a in arguments]
        match operation:
            case "add":
                value = x[0] + x[1]
            case "sub":
                value = x[0] - x[1]
            case "mul":
                value = x[0] * x[1]
            case "neg":
                value = -x[0]
            case "div":
                value = x[0] / (x[1] * x[1] + 2)
            case "pow":
                value = x[0] ** extra
            case "const":
                value = functions["const"](extra)
            case "sqrt":
                value = functions["sqrt"](x[0] * x[0] + 1)
            case "exp":
                value = functions["exp"](functions["sin"](x[0]))
            case "atan2":
                value = functions["atan2"](x[0], x[1] * x[1] + 1)
            case _:
                value = functions[operation](*x)
        pool.append(value)
    return pool


FLOATS: dict[str, Callable[..., Any]] = {
    "const": float,
    **{n: getattr(math, n) for n in ("sin", "cos", "tanh", "sqrt", "exp", "atan2")},
    "abs": abs,
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c > 0 else b,
}
FRACTIONS = {**FLOATS, "const": Fraction}


def scalar_table(builder: Builder) -> dict[str, Callable[..., Any]]:
    """The functions of program scalars."""
    names = {"abs": "absolute", "min": "minimum", "max": "maximum"}
    return {
        "const": builder.constant,
        **{n: getattr(scalar_functions, names.get(n, n)) for n in FLOATS if n != "const"},
    }


def written(recipe: Sequence[Step]) -> tuple[Builder, list[Any]]:
    """A recipe written into a new builder; returns all its scalars."""
    builder = Builder()
    inputs = [builder.symbol("x", name) for name in INPUTS]
    return builder, replay(recipe, inputs, scalar_table(builder))


def program_of(builder: Builder, values: Sequence[Any]) -> Program:
    """A program with one function ``f`` of ``x`` that gives the values."""
    group = InputGroup("x", tuple(Symbol(n) for n in INPUTS))
    output = Output("y", (len(values),), tuple(v.ref for v in values))
    return Program.freeze(builder, [group], [Function("f", ("x",), (output,))])
