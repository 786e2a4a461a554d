"""Writing programs: meaning, sharing, folding."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from expressions import (
    FLOATS,
    FRACTIONS,
    INPUTS,
    SMOOTH,
    program_of,
    recipes,
    replay,
    scalar_table,
    written,
)
from hypothesis import given
from hypothesis import strategies as st

from bestiary.modeling.program import Builder, ProgramError, evaluate
from bestiary.modeling.program.evaluate import operations
from bestiary.modeling.program.functions import absolute, atan2, cos, select, sin, sqrt, tanh

fractions = st.lists(
    st.fractions(-3, 3, max_denominator=8), min_size=len(INPUTS), max_size=len(INPUTS)
)
floats = st.lists(st.floats(-2, 2), min_size=len(INPUTS), max_size=len(INPUTS))
EXACT_ALGEBRA = operations(
    {**{n: FRACTIONS[n] for n in ("abs", "min", "max", "select")}, "const": Fraction}
)


@given(recipes(), fractions)
def test_a_program_means_exactly_what_was_written(recipe, x):
    builder, values = written(recipe)
    program = program_of(builder, values)
    got = evaluate(program, "f", {"x": x}, EXACT_ALGEBRA)["y"]
    assert got == replay(recipe, x, FRACTIONS)


@given(recipes(SMOOTH), floats)
def test_floats_differ_by_rounding_only(recipe, x):
    builder, values = written(recipe)
    got = evaluate(program_of(builder, values), "f", {"x": x})["y"]
    for mine, expected in zip(got, replay(recipe, x, FLOATS), strict=True):
        assert math.isclose(mine, expected, rel_tol=1e-9, abs_tol=1e-9)


@given(recipes((*SMOOTH, "abs", "min", "max", "select", "pow")))
def test_writing_the_same_again_adds_no_statement(recipe):
    builder, values = written(recipe)
    before = len(builder.nodes)
    again = replay(recipe, values[: len(INPUTS)], scalar_table(builder))
    assert len(builder.nodes) == before
    assert [v.ref for v in again] == [v.ref for v in values]


@given(recipes((*SMOOTH, "pow")))
def test_negatives_share_their_statement(recipe):
    builder, values = written(recipe)
    before = len(builder.nodes)
    for value in values:
        negative = -value
        assert -negative == value
        assert value + negative == 0
        assert abs(negative.ref) == abs(value.ref)
        assert value.is_zero or negative.ref == -value.ref
    assert len(builder.nodes) == before


@given(recipes((*SMOOTH, "pow", "select", "abs")))
def test_no_statement_has_a_zero_a_one_or_only_constants_to_fold(recipe):
    builder, _ = written(recipe)
    for node in builder.nodes:
        if node[0] not in ("add", "sub", "mul", "div"):
            continue
        constants = [builder.constant_value(r) for r in node[1:]]
        assert 0 not in constants
        assert None in constants
        if node[0] in ("mul", "div"):
            assert all(r > 0 for r in node[1:])  # signs live in the references
        if node[0] == "mul":
            assert 1 not in constants
        if node[0] == "div":
            assert constants[1] is None  # division by a number is a product


def symbols() -> tuple[Builder, list]:
    builder = Builder()
    return builder, [builder.symbol("x", name) for name in INPUTS]


def test_differences_in_either_order_are_one_statement():
    builder, (x, y, *_) = symbols()
    d = x - y
    count = len(builder.nodes)
    assert y - x == -d
    assert -x + y == -d
    assert -(x - y) == -d
    assert len(builder.nodes) == count


def test_signs_move_out_of_products_quotients_and_odd_functions():
    builder, (x, y, *_) = symbols()
    assert (-x) * y == -(x * y)
    assert (-x) * (-y) == y * x
    assert (-x) / y == -(x / y) == x / (-y)
    assert sin(-x) == -sin(x)
    assert tanh(-x) == -tanh(x)
    assert cos(-x) == cos(x)
    assert absolute(-x) == absolute(x)
    assert x * x == (-x) ** 2
    assert builder.describe((-x).ref) == "-x0"


def test_zeros_and_ones_fold():
    builder, (x, *_) = symbols()
    count = len(builder.nodes)
    assert x + 0 == x == 0 + x == x - 0 == x * 1 == 1 * x == x / 1 == x**1
    assert 0 - x == -x == x * -1 == x / -1
    for zero in (x * 0, 0 * x, 0 / x, x - x, x + -x, sin(x * 0), x * 0.0):
        assert zero.is_zero
        assert zero.ref == builder.constant(0).ref
        assert -zero == zero
    assert x / x == 1
    assert x**0 == 1
    assert cos(x * 0) == 1
    assert sqrt(x * 0).is_zero
    assert len(builder.nodes) == count


def test_constants_fold_exactly():
    builder, (x, *_) = symbols()
    third = builder.constant(1) / 3
    assert third + third + third == 1
    assert 3 * (x / 3) == x
    assert builder.constant_value((x * 0 + Fraction(1, 3) + 1).ref) == Fraction(4, 3)
    assert builder.constant(2.0) == builder.constant(2) == builder.constant(Fraction(2))
    assert builder.constant(-0.5) == -builder.constant(0.5)
    assert sqrt(builder.constant(2)) == math.sqrt(2)
    assert builder.constant(0.0) == builder.constant(-0.0) == 0


def test_products_that_underflow_are_the_one_structural_zero():
    builder = Builder()
    tiny = builder.constant(1e-200)
    assert (tiny * tiny).is_zero
    assert (tiny * -tiny).is_zero
    x = builder.symbol("x", "x0")
    assert ((x * 1e-200) * -1e-200).is_zero
    assert (x + tiny * -tiny) == x


def test_integer_powers_are_products():
    builder, (x, *_) = symbols()
    assert x**5 == (x * x) * (x * x) * x
    assert x**-2 == 1 / (x * x)
    assert x**0.5 == sqrt(x)
    assert x**-0.5 == 1 / sqrt(x)
    assert not any(node[0] == "pow" for node in builder.nodes)
    x**1.5
    assert any(node[0] == "pow" for node in builder.nodes)


def test_select_between_equal_branches_is_the_branch():
    _, (x, y, *_) = symbols()
    assert select(x, y, y) == y
    assert (select(x, 0, 0) * y).is_zero


def test_numbers_of_numpy_and_sympy_are_understood():
    import numpy as np
    import sympy

    builder, (x, *_) = symbols()
    assert x * np.float64(0.5) == x * 0.5
    assert x + np.int64(3) == x + 3
    assert x * sympy.Rational(1, 3) == x / 3
    assert builder.constant_value((x * 0 + sympy.pi).ref) == pytest.approx(math.pi)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_constants_must_be_finite(value):
    builder, (x, *_) = symbols()
    with pytest.raises(ProgramError, match="not finite"):
        builder.constant(value)
    with pytest.raises(ProgramError, match="not finite"):
        x * value


def test_division_by_the_structural_zero_is_refused():
    builder, (x, *_) = symbols()
    with (
        pytest.raises(ProgramError, match=r"division by the structural zero \(in the arm\)"),
        builder.context("the arm"),
    ):
        x / (x - x)


def test_scalars_of_two_programs_do_not_mix():
    _, (x, *_) = symbols()
    _, (y, *_) = symbols()
    for combine in (lambda: x + y, lambda: x * y, lambda: atan2(x, y)):
        with pytest.raises(ProgramError, match="two different programs"):
            combine()


@pytest.mark.parametrize("value", ["1", None, [1.0], True])
def test_what_is_no_number_is_refused_by_type(value):
    _, (x, *_) = symbols()
    with pytest.raises(ProgramError, match=type(value).__name__):
        x + value


def test_scalars_have_no_truth_value():
    _, (x, y, *_) = symbols()
    with pytest.raises(TypeError, match="select"):
        bool(x)
    with pytest.raises(TypeError, match="'<' not supported"):
        x < y  # noqa: B015


def test_the_first_name_of_a_statement_stays_and_symbols_keep_theirs():
    builder, (x, y, *_) = symbols()
    s = builder.name(x + y, "sum")
    builder.name(s, "other")
    builder.name(x, "renamed")
    assert builder.describe(s.ref, depth=0) == "sum"
    assert builder.describe(x.ref, depth=0) == "x0"
