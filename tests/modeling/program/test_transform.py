"""Substitution and derivatives through the statements."""

from __future__ import annotations

import math

import pytest
from expressions import INPUTS, SMOOTH, program_of, recipes, written
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bestiary.modeling.program import (
    Builder,
    Function,
    InputGroup,
    Output,
    Program,
    ProgramError,
    ProgramSymbol,
    Scalar,
    evaluate,
)
from bestiary.modeling.program.sympy_bridge import as_sympy, input_symbols
from bestiary.modeling.program.transform import (
    directional_derivative,
    jacobian,
    substitute,
)

floats = st.lists(st.floats(-2, 2), min_size=len(INPUTS), max_size=len(INPUTS))
numbers = st.one_of(st.integers(-2, 2), st.floats(-2, 2), st.fractions(-2, 2, max_denominator=5))


@given(recipes((*SMOOTH, "pow", "select", "abs", "max")), st.data())
def test_substitution_equals_evaluation(recipe, data):
    builder, values = written(recipe)
    program = program_of(builder, values)
    frozen = data.draw(st.sets(st.sampled_from(INPUTS)))
    given_values = {("x", n): data.draw(numbers) for n in sorted(frozen)}
    x = {n: float(given_values.get(("x", n), 0.3 + k)) for k, n in enumerate(INPUTS)}
    smaller = substitute(program, given_values)
    assert [s.name for s in smaller.group("x").symbols] == [n for n in INPUTS if n not in frozen]
    got = evaluate(smaller, "f", {"x": {n: v for n, v in x.items() if n not in frozen}})["y"]
    for mine, expected in zip(got, evaluate(program, "f", {"x": x})["y"], strict=True):
        assert math.isclose(mine, expected, rel_tol=1e-9, abs_tol=1e-9)


def test_substitution_folds_and_drops_what_is_dead():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    program = program_of(builder, [x * y + x * x])
    zero = substitute(program, {("x", "x0"): 0})
    assert zero.nodes == (("const", 0),)
    one = substitute(program, {("x", "x0"): 1})
    assert one.operation_counts("f") == {"add": 1}


def test_substitution_keeps_guards_outputs_and_descriptions():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    inverse = builder.guard(1 / (x + y), x + y, "too small")
    group = InputGroup("x", tuple(ProgramSymbol(n) for n in INPUTS), "inputs")
    f = Function("f", ("x",), (Output("z", (), (inverse.ref,), "an inverse"),), "inverts")
    program = substitute(Program.freeze(builder, [group], [f]), {("x", "x0"): 2.5})
    f = program.functions["f"]
    assert (f.description, f.outputs[0].description) == ("inverts", "an inverse")
    assert [g.message for g in f.guards] == ["too small"]
    assert program.group("x").description == "inputs"


def test_unknown_inputs_cannot_be_substituted():
    builder = Builder()
    program = program_of(builder, [builder.symbol("x", "x0") + 1])
    with pytest.raises(ProgramError, match=r"x\.mass"):
        substitute(program, {("x", "mass"): 1.0})


def with_jacobian(recipe, x):
    """Jacobian of all values of a recipe at x, and the program of the values."""
    builder, values = written(recipe)
    inputs = values[: len(INPUTS)]
    rows = jacobian(builder, values, inputs)
    flat = [entry for row in rows for entry in row]
    derivative = evaluate(program_of(builder, flat), "f", {"x": x})["y"]
    n = len(INPUTS)
    return (
        [derivative[k * n : (k + 1) * n] for k in range(len(values))],
        builder,
        values,
    )


@settings(max_examples=60)
@given(recipes((*SMOOTH, "pow"), max_size=9), floats)
def test_jacobian_equals_sympys_derivative(recipe, x):
    rows, builder, values = with_jacobian(recipe, x)
    program = program_of(builder, values)
    symbols = input_symbols(program)
    at = {symbols["x", n]: v for n, v in zip(INPUTS, x, strict=True)}
    closed = as_sympy(program, program.functions["f"].outputs[0].refs)
    for row, expression in zip(rows[-2:], closed[-2:], strict=True):
        for got, name in zip(row, INPUTS, strict=True):
            expected = float(expression.diff(symbols["x", name]).evalf(30, subs=at))
            assert math.isclose(got, expected, rel_tol=1e-8, abs_tol=1e-8)


@given(recipes((*SMOOTH, "pow"), max_size=9), floats)
def test_jacobian_equals_central_differences(recipe, x):
    rows, builder, values = with_jacobian(recipe, x)
    program = program_of(builder, values)
    step = 1e-5
    for k in range(len(INPUTS)):
        sides = []
        for sign in (1, -1):
            moved = [v + sign * step if j == k else v for j, v in enumerate(x)]
            sides.append(evaluate(program, "f", {"x": moved})["y"])
        for row, up, down in zip(rows, *sides, strict=True):
            scale = 1 + max(abs(up), abs(down), abs(row[k]))
            assume(scale < 1e3)
            assert abs(row[k] - (up - down) / (2 * step)) < 1e-3 * scale


@given(recipes((*SMOOTH, "pow"), max_size=9), floats, floats)
def test_directional_derivative_is_the_jacobian_times_the_direction(recipe, x, d):
    rows, builder, values = with_jacobian(recipe, x)
    seeds = [builder.constant(v) for v in d]
    along = directional_derivative(builder, values, zip(values[: len(INPUTS)], seeds, strict=True))
    got = evaluate(program_of(builder, along), "f", {"x": x})["y"]
    for mine, row in zip(got, rows, strict=True):
        expected = sum(a * b for a, b in zip(row, d, strict=True))
        scale = 1 + sum(abs(a * b) for a, b in zip(row, d, strict=True))
        assert abs(mine - expected) < 1e-9 * scale


UNARY = {
    "sin": (math.sin, 0.7),
    "cos": (math.cos, 0.7),
    "tan": (math.tan, 0.7),
    "asin": (math.asin, 0.4),
    "acos": (math.acos, 0.4),
    "atan": (math.atan, -1.3),
    "sinh": (math.sinh, 0.9),
    "cosh": (math.cosh, 0.9),
    "tanh": (math.tanh, -0.4),
    "exp": (math.exp, 0.3),
    "log": (math.log, 1.7),
    "sqrt": (math.sqrt, 2.3),
    "abs": (abs, -0.8),
    "sign": (lambda x: (x > 0) - (x < 0), -0.8),
}


@pytest.mark.parametrize("operation", UNARY)
def test_derivative_of_each_function_of_one_argument(operation):
    function, at = UNARY[operation]
    builder = Builder()
    x = builder.symbol("x", "x0")
    value = Scalar(builder, builder.call(operation, x.ref))
    ((slope,),) = jacobian(builder, [value], [x])
    got = evaluate(program_of(builder, [slope]), "f", {"x": {"x0": at}})["y"][0]
    h = 1e-6
    assert got == pytest.approx((function(at + h) - function(at - h)) / (2 * h), rel=1e-7)


BINARY = {
    "atan2": (math.atan2, (0.7, -1.2)),
    "pow": (math.pow, (1.7, 2.3)),
    "min": (min, (0.4, 0.9)),
    "max": (max, (0.4, 0.9)),
    "div": (lambda a, b: a / b, (0.4, -0.9)),
    "mul": (lambda a, b: a * b, (0.4, -0.9)),
}


@pytest.mark.parametrize("operation", BINARY)
def test_derivative_of_each_function_of_two_arguments(operation):
    function, at = BINARY[operation]
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    write = {"mul": builder.mul, "div": builder.div}.get(
        operation, lambda a, b: builder.call(operation, a, b)
    )
    value = Scalar(builder, write(x.ref, y.ref))
    (slopes,) = jacobian(builder, [value], [x, y])
    inputs = {"x": dict(zip(INPUTS, at, strict=False))}
    got = evaluate(program_of(builder, slopes), "f", inputs)["y"]
    h = 1e-6
    expected = [
        (function(at[0] + h, at[1]) - function(at[0] - h, at[1])) / (2 * h),
        (function(at[0], at[1] + h) - function(at[0], at[1] - h)) / (2 * h),
    ]
    assert got == pytest.approx(expected, rel=1e-7)


def test_derivative_of_select_is_that_of_the_branch_taken():
    builder = Builder()
    x, y, z = (builder.symbol("x", n) for n in INPUTS[:3])
    value = Scalar(builder, builder.call("select", x.ref, (y * y).ref, (3 * z).ref))
    (slopes,) = jacobian(builder, [value], [x, y, z])
    program = program_of(builder, slopes)
    for at, expected in ((1.0, [0, 4.0, 0]), (-1.0, [0, 0, 3])):
        inputs = {"x": {"x0": at, "x1": 2.0, "x2": 5.0}}
        assert evaluate(program, "f", inputs)["y"] == expected


def test_what_does_not_depend_has_structurally_zero_derivatives():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    rows = jacobian(builder, [x * x, -y, builder.constant(3)], [x, y])
    assert rows[0][1].is_zero
    assert rows[1][0].is_zero
    assert rows[1][1] == -1
    assert all(entry.is_zero for entry in rows[2])
