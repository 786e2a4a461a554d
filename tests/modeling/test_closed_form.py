"""Every entry of the sea lion's matrices as a closed form that equals the compiled value."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import sympy
from robot_harness import robot

from bestiary.modeling import EquationsOfMotion, Model, Revolute, Spherical, poincare
from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.equations import MatrixView
from bestiary.modeling.program.sympy_bridge import DEFAULT_LIMIT, ExpressionTooLargeError

TOLERANCE = 1e-12
STATES = 3


@cache
def equations() -> EquationsOfMotion:
    return poincare(BUILT_IN["sea_lion"].model())


Values = dict[sympy.Symbol, float]


@cache
def states() -> list[tuple[dict[str, list[float]], Values]]:
    """Random inputs per group, and the same per symbol.

    The parameters vary too: with the default ones the robot floats neutrally
    and some entries of F are zero for all q.
    """
    e, rng = equations(), np.random.default_rng(8)
    result = []
    for _ in range(STATES):
        groups = {
            "parameters": [
                float(v * rng.uniform(0.8, 1.2)) or rng.uniform() for v in e.values().values()
            ],
            "q": rng.uniform(-1.3, 1.3, 20).tolist(),
            "p": rng.normal(size=20).tolist(),
            "u": rng.normal(size=14).tolist(),
        }
        named: Values = {}
        for group, vector in groups.items():
            names = [s.name for s in e.program.group(group).symbols]
            named.update(zip((e.symbols[n] for n in names), vector, strict=True))
        result.append((groups, named))
    return result


@cache
def computed(function: str) -> list[np.ndarray]:
    """The compiled function's value at each state."""
    names = [s.name for s in equations().program.group("parameters").symbols]
    inputs = [g for g in equations().program.functions[function].inputs if g != "parameters"]
    result = []
    for groups, _ in states():
        values = dict(zip(names, groups["parameters"], strict=True))
        compiled = robot("sea_lion").with_parameters(**values)
        result.append(getattr(compiled, function)(*(groups[g] for g in inputs)))
    return result


def evaluated(expression: sympy.Expr, values: Values) -> float:
    """Value of an expression, by walking its tree once."""
    known: dict[sympy.Basic, float] = {}

    def walk(e: sympy.Basic) -> float:
        if e not in known:
            known[e] = step(e)
        return known[e]

    def step(e: sympy.Basic) -> float:
        if e.is_Symbol:
            return values[e]
        if e.is_Number:
            return float(e)
        parts = [walk(a) for a in e.args]
        if e.is_Add:
            return math.fsum(parts)
        if e.is_Mul:
            return math.prod(parts)
        if e.is_Pow:
            return parts[0] ** parts[1]
        return {"sin": math.sin, "cos": math.cos}[type(e).__name__](*parts)

    return walk(expression)


def check(view: MatrixView, groups: tuple[str, ...], indices: list) -> int:
    """Compare entries with the evaluated function; returns how many were not zero."""
    e = equations()
    allowed = {s.name for g in e.program.groups if g.name in groups for s in g.symbols}
    count = 0
    for index in indices:
        if view.is_zero(index):
            continue
        count += 1
        expression = view[index]
        assert {s.name for s in expression.free_symbols} <= allowed
        assert expression.atoms(sympy.Function) <= expression.atoms(sympy.sin, sympy.cos)
        for (_, values), matrix in zip(states(), computed(view.output.name), strict=True):
            value = matrix[index]
            assert abs(evaluated(expression, values) - value) <= TOLERANCE * abs(value)
    return count


def square(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(n)]


def test_every_entry_of_the_mass_matrix_is_a_closed_form_in_q_and_parameters():
    assert check(equations().mass_matrix, ("q", "parameters"), square(20)) == 212


def test_every_entry_of_the_velocity_map_is_a_closed_form_in_q():
    assert check(equations().velocity_map, ("q",), square(20)) == 7 + 9 + 14


def test_every_entry_of_the_force_vector_is_a_closed_form_in_q_and_parameters():
    assert check(equations().force_vector, ("q", "parameters"), list(range(20))) == 18


def test_every_entry_of_the_generalized_forces_is_a_closed_form():
    groups = ("q", "p", "u", "parameters")
    assert check(equations().generalized_forces, groups, list(range(20))) == 14


def test_every_entry_of_the_coriolis_matrix_to_the_limit_is_a_closed_form():
    view = equations().coriolis_matrix
    assert max(view.size(k) for k in square(20)) > 10_000
    entries = [k for k in square(20) if view.size(k) <= DEFAULT_LIMIT]
    assert check(view, ("q", "p", "parameters"), entries) == 234


def test_a_larger_closed_form_is_refused_with_its_operation_count():
    view = equations().view("forward_dynamics")
    size = view.size(0)
    assert size > DEFAULT_LIMIT
    with pytest.raises(ExpressionTooLargeError) as caught:
        view.as_sympy()
    with pytest.raises(ExpressionTooLargeError) as one:
        view[0]
    assert f"{size:,}" in str(one.value)
    assert f"{DEFAULT_LIMIT:,}" in str(one.value)
    assert "forward_dynamics[0]" in str(one.value)
    assert one.value.size == size
    assert "limit" in str(caught.value)
    with pytest.raises(ExpressionTooLargeError, match="limit of 10"):
        equations().mass_matrix.entry((0, 0), limit=10)


def test_views_refuse_wrong_indices_by_name_and_shape():
    view = equations().mass_matrix
    assert view.shape == (20, 20)
    with pytest.raises(IndexError, match=r"mass_matrix\[20, 0\].*\(20, 20\)"):
        view[20, 0]
    with pytest.raises(IndexError, match="mass_matrix has 2 indices"):
        view[3]
    assert view[-1, -1] == view[19, 19]
    with pytest.raises(AttributeError, match="no_such_thing"):
        equations().no_such_thing  # noqa: B018


def test_closed_forms_of_a_pendulum_are_the_textbook_ones():
    model = Model("pendulum")
    model.body("bob", joint=Revolute("angle", "y"), mass=1.0, com=(0, 0, -2.0))
    e = poincare(model)
    m, length, g, a = (e.symbols[n] for n in ("bob_mass", "bob_com_z", "gravity", "angle"))
    assert sympy.simplify(e.mass_matrix[0, 0] - m * length**2) == 0
    assert sympy.simplify(e.force_vector[0] + m * g * length * sympy.sin(a)) == 0
    assert e.mass_matrix.as_sympy().shape == (1, 1)
    assert e.force_vector.as_sympy().shape == (1, 1)
    assert e.coriolis_matrix.is_zero((0, 0))


def test_whole_matrices_of_a_small_robot_as_sympy_satisfy_the_skew_identity():
    model = Model("gyro", gravity=0)
    model.body("top", joint=Spherical("euler_zyx"), mass=1.0, com=(0, 0, 0.5), inertia=(1, 2, 2.5))
    model.body("disc", parent="top", joint=Revolute("spin", "z"), mass=1, com=(0.2, 0, 0))
    e = poincare(model)
    m, c, v = (getattr(e, n).as_sympy() for n in ("mass_matrix", "coriolis_matrix", "velocity_map"))
    q = [e.symbols[c_.name] for c_ in e.coordinates]
    p = sympy.Matrix([e.symbols[v_.name] for v_ in e.velocities])
    rates = v * p
    m_dot = sum((m.diff(x) * r for x, r in zip(q, rates, strict=True)), sympy.zeros(4, 4))
    symmetric = m_dot - c - c.T
    values = {s: 0.3 + 0.1 * k for k, s in enumerate(sorted(e.symbols.values(), key=str))}
    assert max(abs(x) for x in symmetric.subs(values)) < 1e-12
