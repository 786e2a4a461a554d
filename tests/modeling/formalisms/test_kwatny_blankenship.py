"""Kwatny and Blankenship's literal formula equals the fast Euler–Poincaré derivation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from numeric import Numbers, relative_error
from robots import robot

from bestiary.modeling import Model, ModelError, Revolute, Spherical, poincare
from bestiary.modeling.formalisms.kwatny_blankenship import kwatny_blankenship
from bestiary.modeling.program.evaluate import evaluate, operations

TOLERANCE = 1e-10
QUICK = ("tree0", "tree1", "tree2", "tree3", "tree3_damped", "coupled_tail", "sea_lion_flooded")
QUATERNION = ("sea_lion_quaternion_dry",)
LARGE = tuple(f"tree{k}" for k in range(4, 10))
NAMES = (*QUICK, *QUATERNION, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE))


@cache
def twin(name: str) -> Numbers:
    r = robot(name)
    equations = kwatny_blankenship(r.model)
    assert equations.formalism == "kwatny_blankenship"
    return Numbers(equations.program, r.values, interpret=True)


@pytest.mark.parametrize("name", NAMES)
def test_c_times_p_equals_the_one_of_the_composite_sweep(name):
    r = robot(name)
    for s in r.states(2):
        expected = twin(name)("coriolis_matrix", q=s.q, p=s.p) @ s.p
        got = r.numbers("coriolis_matrix", q=s.q, p=s.p) @ s.p
        assert relative_error(got, expected) < TOLERANCE


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_force_vector_maps_and_bias_are_equal(name):
    r = robot(name)
    for s in r.states(2):
        for function in ("mass_matrix", "force_vector", "velocity_map", "rate_map"):
            expected = twin(name)(function, q=s.q)
            assert relative_error(r.numbers(function, q=s.q), expected) < TOLERANCE
        expected = twin(name)("bias_forces", q=s.q, p=s.p)
        assert relative_error(r.numbers("bias_forces", q=s.q, p=s.p), expected) < TOLERANCE


@pytest.mark.parametrize("name", ["sea_lion_flooded", "sea_lion_quaternion_dry"])
def test_structure_constants_of_a_floating_body_are_those_of_se3(name):
    r = robot(name)
    s = r.state(4)
    c = twin(name)("structure_constants", q=s.q)
    n = len(s.p)
    epsilon = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        epsilon[i, j, k], epsilon[i, k, j] = 1, -1
    expected = np.zeros((n, n, n))
    expected[:3, :3, :3] = epsilon  # [ω_j, ω_k] = ε ω_i
    expected[3:6, :3, 3:6] = epsilon  # [ω_j, v_k] = ε v_i
    expected[3:6, 3:6, :3] = epsilon
    assert np.max(np.abs(c - expected)) < 1e-12


class HalfAngle:
    """An angle by the tangent of its half, so that sine and cosine are rational functions."""

    def __init__(self, tangent: Any) -> None:
        self.tangent = tangent

    def sine(self) -> Any:
        return 2 * self.tangent / (1 + self.tangent**2)

    def cosine(self) -> Any:
        return (1 - self.tangent**2) / (1 + self.tangent**2)


@pytest.mark.parametrize("base", ["euler_zyx", "euler_zxz"])
def test_c_p_of_a_small_tree_is_the_same_rational_function(base):
    """No numbers: both programs run in the field of rational functions of q and p."""
    model = Model("top", gravity=0)
    model.body("top", joint=Spherical(base), mass=3, com=(0, 0, 0.5), inertia=(1, 2, 2.5))
    model.body("disc", parent="top", at=(1, 0, 0), joint=Revolute(axis="y"), mass=2, com=(1, 0, 0))
    fast, slow = poincare(model), kwatny_blankenship(model)
    nq, n = len(fast.coordinates), len(fast.velocities)
    field, *generators = sympy.polys.fields.field(
        [*(f"t{k}" for k in range(nq)), *(f"p{k}" for k in range(n))], sympy.QQ
    )
    rates = generators[nq:]
    inputs = {
        "parameters": [field(sympy.Rational(v)) for v in fast.values().values()],
        "q": [HalfAngle(t) for t in generators[:nq]],
        "p": rates,
    }
    table = operations(
        {
            "sin": HalfAngle.sine,
            "cos": HalfAngle.cosine,
            "const": lambda value: field(sympy.Rational(value)),
        }
    )
    sides = []
    for equations in (fast, slow):
        c = evaluate(equations.program, "coriolis_matrix", inputs, table)["coriolis_matrix"]
        sides.append([sum(c[i * n + k] * rates[k] for k in range(n)) for i in range(n)])
    assert sides[0] == sides[1]
    assert all(entry != 0 for entry in sides[0])


def test_c_of_kwatny_and_blankenship_is_another_matrix_and_not_skew_compatible():
    r = robot("sea_lion_flooded")
    s = r.state(0)
    literal = twin("sea_lion_flooded")("coriolis_matrix", q=s.q, p=s.p)
    assert relative_error(r.numbers("coriolis_matrix", q=s.q, p=s.p), literal) > 0.1


def test_continuum_segments_are_refused_by_name():
    model = Model("worm")
    model.body("head", joint=Revolute(axis="y"), mass=1.0, com=(0, 0, 1.0))
    model.arc("tail", parent="head", length=0.3, mass=0.2)
    with pytest.raises(ModelError, match=r"'worm'.*rigid bodies only.*tail_base"):
        kwatny_blankenship(model)
