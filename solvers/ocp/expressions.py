"""Expressions from wherever they come: CasADi, SymPy, numbers; with their symbols checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from bestiary.generated.errors import suggestion

from .errors import OptimalControlError


def scalar(value: Any, label: str, table: Mapping[str, ca.SX]) -> ca.SX:
    """One scalar SX expression.

    Parameters
    ----------
    value:
        A number, a CasADi SX scalar, or a SymPy expression.
    label:
        Named in errors.
    table:
        Symbols by name: what SymPy's symbols mean.

    Raises
    ------
    OptimalControlError
        If it is not a scalar, or of another kind.
    """
    if isinstance(value, ca.SX):
        expression = value
    elif isinstance(value, ca.DM | int | float | np.number):
        expression = ca.SX(value if isinstance(value, ca.DM) else float(value))
    elif _is_sympy(value):
        expression = from_sympy(value, table, label)
    elif isinstance(value, ca.MX):
        raise OptimalControlError(
            f"{label}: got a CasADi MX expression; give SX, or call the Function on SX symbols"
        )
    else:
        raise OptimalControlError(
            f"{label}: expected a number, a CasADi SX or a SymPy expression, got {value!r}"
        )
    if expression.shape != (1, 1):
        raise OptimalControlError(f"{label}: expected a scalar, got shape {expression.shape}")
    return ca.densify(expression)


def check_symbols(expression: ca.SX, label: str, known: Mapping[str, ca.SX], where: str) -> None:
    """Refuse an expression with symbols that have no meaning where it stands.

    Raises
    ------
    OptimalControlError
        Naming the symbols.
    """
    allowed = {s.element_hash() for s in known.values()}
    for symbol in ca.symvar(expression):
        if symbol.element_hash() in allowed:
            continue
        name = symbol.name()
        hint = (
            f"; it is another symbol than the {name!r} of {where}, made elsewhere"
            if name in known
            else suggestion(name, known)
        )
        raise OptimalControlError(f"{label}: {name!r} has no meaning in {where}{hint}")


def _is_sympy(value: Any) -> bool:
    sympy = sys.modules.get("sympy")  # never imported for its own sake: it takes half a second
    return sympy is not None and isinstance(value, sympy.Basic)


_UNARY: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(ca, name)
        for name in "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log".split()
    },
    "Abs": ca.fabs,
    "sign": ca.sign,
    "atan2": ca.atan2,
    "Heaviside": lambda x, *_: ca.if_else(x > 0, 1.0, ca.if_else(x < 0, 0.0, 0.5)),
}


def from_sympy(expression: Any, table: Mapping[str, ca.SX], label: str) -> ca.SX:
    """A SymPy expression as CasADi SX, each of its sub-expressions once.

    Parameters
    ----------
    expression:
        Symbols, and functions of time such as ``x(t)``, are looked up by name.
    table:
        Symbols by name.

    Raises
    ------
    OptimalControlError
        For a symbol without meaning or a function CasADi does not have.
    """
    import sympy

    done: dict[Any, ca.SX] = {}

    def one(e: Any) -> Any:
        if e.is_Symbol or isinstance(e, sympy.core.function.AppliedUndef):
            name = e.name if e.is_Symbol else e.func.__name__
            if name not in table:
                raise OptimalControlError(
                    f"{label}: the SymPy symbol {name!r} has no meaning here"
                    f"{suggestion(name, table)}"
                )
            return table[name]
        if e.is_Number or e.is_NumberSymbol:
            return ca.SX(float(e))
        args = [done[a] for a in e.args]
        if e.is_Add:
            return sum(args[1:], args[0])
        if e.is_Mul:
            product = args[0]
            for a in args[1:]:
                product = product * a
            return product
        if e.is_Pow:
            exponent = e.args[1]
            if exponent == -1:
                return 1 / args[0]
            if exponent == sympy.Rational(1, 2):
                return ca.sqrt(args[0])
            if exponent == sympy.Rational(-1, 2):
                return 1 / ca.sqrt(args[0])
            return args[0] ** (int(exponent) if exponent.is_Integer else args[1])
        name = type(e).__name__
        if name in _UNARY:
            return _UNARY[name](*args)
        if name in ("Max", "Min"):
            join = ca.fmax if name == "Max" else ca.fmin
            result = args[0]
            for a in args[1:]:
                result = join(result, a)
            return result
        raise OptimalControlError(f"{label}: SymPy's {name} has no counterpart in CasADi")

    if isinstance(expression, sympy.Piecewise) or expression.has(sympy.Piecewise):
        expression = sympy.piecewise_fold(expression)
    for e in sympy.postorder_traversal(expression):
        if e not in done:
            done[e] = (
                _piecewise(e, done) if isinstance(e, sympy.Piecewise) else _one_or_none(e, one)
            )
    found = done[expression]
    if found is None:
        raise OptimalControlError(
            f"{label}: {expression} is a condition, expected a quantity; write "
            "Piecewise((1, condition), (0, True)) for its truth value"
        )
    return ca.SX(found)


def _one_or_none(e: Any, convert: Callable[[Any], Any]) -> Any:
    """Arguments of undefined functions (the t of x(t)) and conditions have no value."""
    import sympy

    conditions = sympy.logic.boolalg.Boolean | sympy.functions.elementary.piecewise.ExprCondPair
    if isinstance(e, conditions) and not e.is_Symbol:  # a Symbol may stand for a truth value
        return None
    if e.is_Symbol:
        try:
            return convert(e)
        except OptimalControlError:
            if e.name == "t":
                return None
            raise
    return convert(e)


def _piecewise(e: Any, done: Mapping[Any, Any]) -> Any:
    import sympy

    result: Any = ca.SX(float("nan"))
    for value, condition in reversed(e.args):
        if condition is sympy.true:
            result = done[value]
            continue
        compare = {
            sympy.StrictGreaterThan: lambda a, b: a > b,
            sympy.GreaterThan: lambda a, b: a >= b,
            sympy.StrictLessThan: lambda a, b: a < b,
            sympy.LessThan: lambda a, b: a <= b,
        }.get(type(condition))
        if compare is None:
            raise OptimalControlError(f"Piecewise condition {condition} is not an inequality")
        left, right = (done[a] for a in condition.args)
        result = ca.if_else(compare(left, right), done[value], result)
    return result
