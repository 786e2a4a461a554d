"""Closed forms to read, and SymPy expressions as input."""

from __future__ import annotations

import math

import pytest
import sympy
from expressions import FLOATS, INPUTS, SMOOTH, program_of, recipes, replay, written
from hypothesis import given, settings
from hypothesis import strategies as st

from bestiary.modeling.program import (
    Builder,
    Function,
    InputGroup,
    Output,
    Program,
    ProgramError,
    ProgramSymbol,
    evaluate,
)
from bestiary.modeling.program.sympy_bridge import as_sympy, from_sympy, input_symbols

floats = st.lists(st.floats(-2, 2), min_size=len(INPUTS), max_size=len(INPUTS))
X = {n: sympy.Symbol(n, real=True) for n in INPUTS}


@settings(max_examples=60)
@given(recipes((*SMOOTH, "pow", "select", "abs", "min", "max"), max_size=10), floats)
def test_from_sympy_undoes_as_sympy(recipe, x):
    builder, values = written(recipe)
    program = program_of(builder, values)
    closed = as_sympy(program, program.functions["f"].outputs[0].refs)
    other = Builder()
    table = {X[n]: other.symbol("x", n) for n in INPUTS}
    back = program_of(other, [from_sympy(other, e, table) for e in closed])
    got = evaluate(back, "f", {"x": x})["y"]
    smooth = not any(step[0] in ("select",) for step in recipe)
    for mine, expected in zip(got, replay(recipe, x, FLOATS), strict=True):
        if smooth:
            assert math.isclose(mine, expected, rel_tol=1e-9, abs_tol=1e-9)
        else:
            assert math.isfinite(mine)


@settings(max_examples=40)
@given(recipes((*SMOOTH, "pow"), max_size=8), floats)
def test_closed_forms_have_the_value_of_the_program(recipe, x):
    builder, values = written(recipe)
    program = program_of(builder, values[-1:])
    (closed,) = as_sympy(program, program.functions["f"].outputs[0].refs)
    at = {X[n]: v for n, v in zip(INPUTS, x, strict=True)}
    assert closed.free_symbols <= set(at)
    got = float(closed.evalf(30, subs=at))
    expected = evaluate(program, "f", {"x": x})["y"][0]
    assert math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)


x, y = sympy.symbols("x y", real=True)
EXPRESSIONS = [
    x + y + 1,
    x * y / 3,
    sympy.sqrt(x**2 + 1),
    (x**2 + 1) ** sympy.Rational(-3, 2),
    sympy.exp(-x) * sympy.log(y + 3),
    sympy.atan2(y, x + 3),
    sympy.pi * x,
    sympy.E**y,
    sympy.Float("0.125") * x,
    sympy.Min(x, y, x + y),
    sympy.Max(x, y, 0),
    sympy.Abs(x - y),
    sympy.sign(x),
    sympy.tan(x) * sympy.sinh(y) + sympy.cosh(x) - sympy.tanh(y),
    sympy.asin(x / 3) + sympy.acos(y / 3) + sympy.atan(x),
    sympy.Piecewise((x, x > 0), (y, True)),
    sympy.Piecewise((x, y < x), (2 * x, y < 3), (y, True)),
    x**-2,
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_sympy_expressions_keep_their_value(expression):
    builder = Builder()
    table = {x: builder.symbol("x", "x0"), y: builder.symbol("x", "x1")}
    program = program_of(builder, [from_sympy(builder, expression, table)])
    for at in ((0.7, -0.4), (-1.1, 0.3), (0.2, 2.0)):
        got = evaluate(program, "f", {"x": {"x0": at[0], "x1": at[1]}})["y"][0]
        expected = float(expression.subs({x: at[0], y: at[1]}))
        assert got == pytest.approx(expected, rel=1e-12)


def test_rational_numbers_stay_exact():
    builder = Builder()
    z = builder.symbol("x", "x0")
    assert from_sympy(builder, x / 3, {x: z}) == z / 3
    program = program_of(builder, [z / 3])
    (closed,) = as_sympy(program, program.functions["f"].outputs[0].refs)
    assert closed == sympy.Symbol("x0", real=True) / 3


@pytest.mark.parametrize("value", [0.1, math.pi, 1 / 3, 1.2345678901234567e-12])
def test_floats_keep_all_their_digits(value):
    builder = Builder()
    program = program_of(builder, [builder.constant(value)])
    (closed,) = as_sympy(program, program.functions["f"].outputs[0].refs)
    assert float(closed) == value
    assert from_sympy(Builder(), closed, {}) == value


def test_symbols_and_functions_without_counterpart_are_named():
    builder = Builder()
    table = {x: builder.symbol("x", "x0")}
    with pytest.raises(ProgramError, match="symbol y"):
        from_sympy(builder, x + y, table)
    with pytest.raises(ProgramError, match="gamma"):
        from_sympy(builder, sympy.gamma(x), table)
    with pytest.raises(ProgramError, match="condition"):
        from_sympy(builder, sympy.Piecewise((1, sympy.Eq(x, 2)), (x, True)), table)


def test_inputs_of_one_name_in_two_groups_get_the_group_in_front():
    builder = Builder()
    a, b = builder.symbol("q", "x"), builder.symbol("p", "x")
    groups = [InputGroup(g, (ProgramSymbol("x"),)) for g in ("q", "p")]
    f = Function("f", ("q", "p"), (Output("z", (), ((a * b).ref,)),))
    program = Program.freeze(builder, groups, [f])
    assert {s.name for s in input_symbols(program).values()} == {"q_x", "p_x"}
    (closed,) = as_sympy(program, program.functions["f"].outputs[0].refs)
    assert {s.name for s in closed.free_symbols} == {"q_x", "p_x"}
