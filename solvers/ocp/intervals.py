"""Ranges that expressions cannot leave: interval arithmetic, to find contradictions before a solve.

The enclosure of an expression contains every value it takes for values of its
symbols within their ranges; it may be wider.  A condition whose limits lie
outside it can therefore never be met.  See Moore, "Interval Analysis" (1966).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import casadi as ca

from .subexpressions import parts
from .variables import FREE, Range

LARGEST = 300
"""Expressions with more operations than this are not looked at."""
SLACK = 1e-9
"""Limits must be missed by this, relative to their size, to count as contradicted."""


def enclosure(expression: ca.SX, ranges: Mapping[int, Range]) -> Range:
    """A range that contains all values of a scalar expression.

    Parameters
    ----------
    expression:
        A scalar.
    ranges:
        By ``element_hash`` of a symbol; symbols that are missing may be anything.
    """
    nodes = parts(expression, LARGEST)
    if nodes is None:
        return FREE
    found: dict[int, Range] = {}
    for node in nodes:
        if node.is_constant():
            value = float(node)
            result = FREE if math.isnan(value) else (value, value)
        elif not node.n_dep():
            result = ranges.get(node.element_hash(), FREE)
        else:
            arguments = [found[node.dep(k).element_hash()] for k in range(node.n_dep())]
            rule = _RULES.get(node.op())
            same = (
                node.n_dep() == 2
                and node.op() in _SAME
                and node.dep(0).element_hash() == node.dep(1).element_hash()
            )
            result = _SAME[node.op()] if same else FREE if rule is None else rule(*arguments)
            if math.isnan(result[0]) or math.isnan(result[1]):
                result = FREE
        found[node.element_hash()] = result
    return found[expression.element_hash()]


def apart(values: Range, limits: Range) -> bool:
    """Whether no value lies within the limits, rounding apart."""

    def beyond(low: float, high: float) -> bool:
        sizes = [abs(v) for v in (low, high) if math.isfinite(v)]
        return low - high > SLACK * max([1.0, *sizes])

    return beyond(values[0], limits[1]) or beyond(limits[0], values[1])


def _add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _negative(a: Range) -> Range:
    return -a[1], -a[0]


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y  # 0 times infinity is 0 here


def _multiply(a: Range, b: Range) -> Range:
    every = [_product(x, y) for x in a for y in b]
    return min(every), max(every)


def _inverse(a: Range) -> Range:
    if a[0] <= 0 <= a[1]:
        return FREE
    return 1 / a[1] if math.isfinite(a[1]) else 0.0, 1 / a[0] if math.isfinite(a[0]) else 0.0


def _square(a: Range) -> Range:
    low, high = sorted((abs(a[0]), abs(a[1])))
    try:
        top = high**2
    except OverflowError:
        top = math.inf
    return (0.0 if a[0] <= 0 <= a[1] else low**2), top


def _rising(function: Callable[[float], float], domain: Range = FREE) -> Callable[[Range], Range]:
    def rule(a: Range) -> Range:
        low, high = max(a[0], domain[0]), min(a[1], domain[1])
        if low > high:
            return FREE  # never defined: not a matter of ranges
        return _safe(function, low), _safe(function, high)

    return rule


def _safe(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf


def _wave(quarter: float) -> Callable[[Range], Range]:
    """Sine of the argument plus so many quarter turns."""

    def rule(a: Range) -> Range:
        low, high = a[0] + quarter * math.pi / 2, a[1] + quarter * math.pi / 2
        if not high - low < 2 * math.pi:
            return -1.0, 1.0
        ends = sorted((math.sin(low), math.sin(high)))
        turn = 2 * math.pi
        crest = math.ceil((low - math.pi / 2) / turn) * turn + math.pi / 2 <= high
        trough = math.ceil((low + math.pi / 2) / turn) * turn - math.pi / 2 <= high
        return -1.0 if trough else ends[0], 1.0 if crest else ends[1]

    return rule


def _power(a: Range, b: Range) -> Range:
    if b[0] != b[1] or not math.isfinite(b[0]):
        return FREE
    n = b[0]
    if n == int(n) and int(n) % 2 == 0 and n > 0:
        low, high = _square(a)
        half = n / 2
        return low**half, _safe(lambda v: v**half, high)
    if n == int(n) and n > 0:
        return _safe(lambda v: v**n, a[0]), _safe(lambda v: v**n, a[1])
    if n > 0:
        return _rising(lambda v: v**n, (0.0, math.inf))(a)
    return FREE


def _absolute(a: Range) -> Range:
    low, high = sorted((abs(a[0]), abs(a[1])))
    return (0.0 if a[0] <= 0 <= a[1] else low), high


_RULES: dict[int, Callable[..., Range]] = {
    ca.OP_ADD: _add,
    ca.OP_SUB: lambda a, b: _add(a, _negative(b)),
    ca.OP_NEG: _negative,
    ca.OP_MUL: _multiply,
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_DIV: lambda a, b: _multiply(a, _inverse(b)),
    ca.OP_INV: _inverse,
    ca.OP_SQ: _square,
    ca.OP_SQRT: _rising(math.sqrt, (0.0, math.inf)),
    ca.OP_EXP: _rising(math.exp),
    ca.OP_LOG: _rising(math.log, (0.0, math.inf)),
    ca.OP_SIN: _wave(0.0),
    ca.OP_COS: _wave(1.0),
    ca.OP_TANH: _rising(math.tanh),
    ca.OP_ATAN: _rising(math.atan),
    ca.OP_SINH: _rising(lambda v: math.copysign(math.inf, v) if abs(v) > 700 else math.sinh(v)),
    ca.OP_FABS: _absolute,
    ca.OP_FMIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SIGN: lambda a: (-1.0 if a[0] < 0 else 0.0, 1.0 if a[1] > 0 else 0.0),
    ca.OP_IF_ELSE_ZERO: lambda c, a: (min(0.0, a[0]), max(0.0, a[1])),
    ca.OP_NOT: lambda a: (0.0, 1.0),
    ca.OP_LT: lambda a, b: (0.0, 1.0),
    ca.OP_LE: lambda a, b: (0.0, 1.0),
    ca.OP_EQ: lambda a, b: (0.0, 1.0),
    ca.OP_NE: lambda a, b: (0.0, 1.0),
}

_SAME: dict[int, Range] = {ca.OP_SUB: (0.0, 0.0), ca.OP_DIV: (1.0, 1.0)}
