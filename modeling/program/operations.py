"""The operations a statement may apply, and their values on constants.

``select(c, a, b)`` is ``a`` where ``c > 0`` and ``b`` elsewhere.  ``sign`` is
zero at zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

Number = int | float | Fraction

ARITHMETIC = frozenset({"add", "sub", "mul", "div"})
TRANSCENDENTAL = frozenset(
    {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "pow"}
)
ODD = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "sign"})
EVEN = frozenset({"cos", "cosh", "abs"})

ARITY: dict[str, int] = {
    **{op: 2 for op in ARITHMETIC},
    **{op: 1 for op in TRANSCENDENTAL - {"pow"}},
    "pow": 2,
    "sqrt": 1,
    "abs": 1,
    "sign": 1,
    "atan2": 2,
    "min": 2,
    "max": 2,
    "select": 3,
}

FLOAT_FUNCTIONS: dict[str, Callable[..., float]] = {
    **{op: getattr(math, op) for op in TRANSCENDENTAL | {"sqrt", "atan2"}},
    "abs": abs,
    "sign": lambda x: float(x > 0) - float(x < 0),
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c > 0 else b,
}

_EXACT: dict[tuple[str, Number], int] = {
    ("sin", 0): 0,
    ("cos", 0): 1,
    ("tan", 0): 0,
    ("exp", 0): 1,
    ("log", 1): 0,
}


def fold_constant(operation: str, values: Sequence[Number]) -> Number | None:
    """Value of an operation on constants, or None where it is not finite."""
    exact = _EXACT.get((operation, values[0])) if len(values) == 1 else None
    if exact is not None:
        return exact
    if operation in ("abs", "sign", "min", "max", "select"):
        return FLOAT_FUNCTIONS[operation](*values)
    try:
        value = FLOAT_FUNCTIONS[operation](*(float(v) for v in values))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None
