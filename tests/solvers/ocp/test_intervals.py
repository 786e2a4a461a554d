"""Enclosures contain all values, and expressions are taken apart down to what is not a number."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestiary.solvers.ocp.intervals import apart, enclosure
from bestiary.solvers.ocp.subexpressions import culprit, not_smooth, short

A, B = ca.SX.sym("a"), ca.SX.sym("b")
EXPRESSIONS = [
    A + B, A - B, A * B, A / B, A**2, A**3, A**4, ca.sqrt(ca.fabs(A)), ca.sin(A), ca.cos(A * B),
    ca.exp(A / 10), ca.log(ca.fabs(A) + 1), ca.tanh(A), ca.atan(B), ca.fmin(A, B), ca.fmax(A, B),
    ca.if_else(A > B, A, B), ca.sign(A), -A, 2 * A, 1 / (A**2 + 1), A**2.5, ca.sinh(A / 9),
    ca.sin(A) ** 2 + ca.cos(A) ** 2, ca.tan(A), ca.fabs(A - B),
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
@given(
    ends=st.tuples(*[st.floats(-20, 20)] * 4),
    places=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20),
)
def test_an_enclosure_contains_all_values(
    expression: ca.SX, ends: tuple[float, ...], places: list[tuple[float, float]]
) -> None:
    a, b = sorted(ends[:2]), sorted(ends[2:])
    low, high = enclosure(
        expression, {A.element_hash(): (a[0], a[1]), B.element_hash(): (b[0], b[1])}
    )
    function = ca.Function("f", [A, B], [expression])
    for s, t in places:
        value = float(function(a[0] + s * (a[1] - a[0]), b[0] + t * (b[1] - b[0])))
        if math.isfinite(value):
            slack = 1e-9 * (1 + abs(value))
            assert low - slack <= value <= high + slack


def test_enclosures_of_monotone_expressions_are_tight() -> None:
    ranges = {A.element_hash(): (1.0, 4.0), B.element_hash(): (-2.0, math.inf)}
    assert enclosure(ca.sqrt(A) + 1, ranges) == (2.0, 3.0)
    assert enclosure(A * B, ranges) == (-8.0, math.inf)
    assert enclosure(A - A, ranges) == (0.0, 0.0)
    assert enclosure(A + ca.SX.sym("free"), ranges) == (-math.inf, math.inf)


def test_ranges_are_apart_beyond_rounding_only() -> None:
    assert apart((0.0, 1.0), (1.1, 2.0))
    assert apart((3.0, math.inf), (-math.inf, 2.0))
    assert not apart((0.0, 1.0), (1.0 + 1e-12, 2.0))
    assert not apart((-math.inf, math.inf), (1.0, 1.0))


def test_the_innermost_operation_is_blamed() -> None:
    expression = ca.sin(3 * ca.sqrt(A - B) + A) / B
    found = culprit(expression, [A, B], np.array([1.0, 2.0]))
    assert found is not None
    assert found.text == "sqrt((a-b))"
    assert math.isnan(found.value)
    assert found.arguments == (("(a-b)", -1.0),)
    assert culprit(expression, [A, B], np.array([2.0, 1.0])) is None


def test_jumps_and_kinks_are_told_apart() -> None:
    assert not_smooth(ca.sign(A) + ca.fabs(B)) == ({"sign"}, {"fabs"})
    assert not_smooth(ca.if_else(A > 0, 1, 2))[0] == {"<", "if_else"}
    assert not_smooth(ca.sin(A) * B) == (set(), set())


def test_long_expressions_are_shortened() -> None:
    expression = A
    for _ in range(40):
        expression = ca.sin(expression + B)
    assert len(short(expression)) < 80
    assert "..." in short(expression)
