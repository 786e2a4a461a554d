"""From program to SymPy and back: closed forms to read, and SymPy expressions as input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from .builder import Builder, ProgramError
from .evaluate import evaluate_refs, operations
from .program import Program
from .scalar import Scalar

DEFAULT_LIMIT = 20_000
"""Largest closed form, in operations, that is written out unless the caller says otherwise."""


class ExpressionTooLargeError(ProgramError):
    """A closed form with more operations than the limit."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{what} has {size:,} operations as a closed form, more than the limit of {limit:,}; "
            "raise `limit` if you want it all the same"
        )
        self.size = size
        self.limit = limit


def _constant(value: int | float | Fraction) -> sympy.Expr:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value, 17)


_SAME_NAME = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("exp", "log", "sqrt", "atan2", "sign"),
)
_SYMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(sympy, name) for name in _SAME_NAME},
    "abs": sympy.Abs,
    "min": sympy.Min,
    "max": sympy.Max,
    "pow": sympy.Pow,
    "select": lambda c, a, b: sympy.Piecewise((a, c > 0), (b, True)),
    "const": _constant,
}


def input_symbols(program: Program) -> dict[tuple[str, str], sympy.Symbol]:
    """The SymPy symbol of each input, keyed by (group, name).

    A symbol carries the plain input name; where two groups share a name the
    group is put in front.
    """
    seen: dict[str, int] = {}
    for group in program.groups:
        for s in group.symbols:
            seen[s.name] = seen.get(s.name, 0) + 1
    return {
        (g.name, s.name): sympy.Symbol(
            s.name if seen[s.name] == 1 else f"{g.name}_{s.name}", real=True
        )
        for g in program.groups
        for s in g.symbols
    }


def as_sympy(
    program: Program,
    refs: Sequence[int],
    limit: int = DEFAULT_LIMIT,
    what: str = "expression",
    symbols: Mapping[tuple[str, str], Any] | None = None,
) -> list[sympy.Expr]:
    """Closed forms of references as SymPy expressions in the program's inputs.

    Raises
    ------
    ExpressionTooLargeError
        If one of them has more than ``limit`` operations written out.
    """
    for ref in refs:
        size = program.expanded_sizes[abs(ref) - 1]
        if size > limit:
            raise ExpressionTooLargeError(what, size, limit)
    table = symbols if symbols is not None else input_symbols(program)
    values = evaluate_refs(
        program.nodes, refs, lambda g, n: table[g, n], operations(_SYMPY_FUNCTIONS)
    )
    return [sympy.sympify(v) for v in values]


def from_sympy(builder: Builder, expression: Any, symbols: Mapping[sympy.Symbol, Scalar]) -> Scalar:
    """Write a SymPy expression into a program.

    Parameters
    ----------
    builder:
        Where the statements go.
    expression:
        A SymPy expression of the functions that programs know.
    symbols:
        The scalar of each free symbol.

    Raises
    ------
    ProgramError
        For a symbol without a scalar or a function without a counterpart.
    """
    known: dict[Any, Scalar] = dict(symbols)

    def write(e: sympy.Basic) -> Scalar:
        if e not in known:
            known[e] = compose(e)
        return known[e]

    def compose(e: sympy.Basic) -> Scalar:
        if isinstance(e, sympy.Symbol):
            raise ProgramError(f"symbol {e} of the expression has no input of that name")
        if isinstance(e, (sympy.Integer, sympy.Rational)):
            return builder.constant(Fraction(int(e.p), int(e.q)))
        if (e.is_number and not e.args) or isinstance(e, sympy.Float):
            return builder.constant(float(e))
        if isinstance(e, sympy.Piecewise):
            return piecewise(e)
        if isinstance(e, (sympy.Add, sympy.Mul)):
            terms = [write(a) for a in e.args]
            result = terms[0]
            for t in terms[1:]:
                result = result + t if isinstance(e, sympy.Add) else result * t
            return result
        if isinstance(e, sympy.Pow):
            return write(e.args[0]) ** write(e.args[1])
        for name, function in _SYMPY_FUNCTIONS.items():
            if isinstance(function, type) and isinstance(e, function):
                arguments = [write(a) for a in getattr(e, "args", ())]
                result = arguments[0]
                if name in ("min", "max"):
                    for a in arguments[1:]:
                        result = Scalar(builder, builder.call(name, result.ref, a.ref))
                    return result
                return Scalar(builder, builder.call(name, *(a.ref for a in arguments)))
        raise ProgramError(f"{type(e).__name__} has no counterpart in a program: {e}")

    def piecewise(e: sympy.Piecewise) -> Scalar:
        (value, condition), *rest = e.args
        if condition == True:  # noqa: E712  (a SymPy truth value)
            return write(value)
        if not isinstance(condition, (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)) or not rest:
            raise ProgramError(f"cannot write the condition {condition} as a comparison")
        difference = write(condition.gts) - write(condition.lts)
        return Scalar(
            builder,
            builder.call(
                "select", difference.ref, write(value).ref, write(sympy.Piecewise(*rest)).ref
            ),
        )

    return write(sympy.sympify(expression))
