"""A robot derived by two formalisms is one robot: inertia_matrix against poincare."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numeric import Numbers, Thawed, relative_error
from robots import DAMPED, SEA_LIONS, robot

from bestiary.modeling.formalisms.inertia_matrix import inertia_matrix
from bestiary.modeling.program.transform import directional_derivative

TOLERANCE = 1e-12
QUICK = ("tree0", "tree1", "tree2", "tree3", "tree5", *DAMPED[:1], "coupled_tail", *SEA_LIONS[1:])
LARGE = ("tree4", "tree6", "tree7", "tree8", "tree9")
every_robot = pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)


@cache
def twin(name: str) -> Numbers:
    r = robot(name)
    equations = inertia_matrix(r.model)
    assert equations.formalism == "inertia_matrix"
    assert set(equations.functions) == set(r.equations.functions)
    return Numbers(equations.program, r.values, interpret=True)


@every_robot
def test_both_formalisms_give_the_same_numbers(name):
    r, other = robot(name), twin(name)
    for s in r.states(2):
        u = r.input_vector(s.force)
        for function, given in (
            ("mass_matrix", {}),
            ("force_vector", {}),
            ("velocity_map", {}),
            ("bias_forces", {"p": s.p}),
            ("inverse_dynamics", {"p": s.p, "p_dot": s.acceleration}),
            ("kinetic_energy", {"p": s.p}),
            ("momentum", {"p": s.p}),
        ):
            expected = r.numbers(function, q=s.q, **given)
            assert relative_error(other(function, q=s.q, **given), expected) < TOLERANCE, function
        c = other("coriolis_matrix", q=s.q, p=s.p)
        expected = r.numbers("coriolis_matrix", q=s.q, p=s.p) @ s.p
        assert relative_error(c @ s.p, expected) < 1e-11
        a = r.numbers("forward_dynamics", q=s.q, p=s.p, u=u)
        conditioning = np.linalg.cond(r.numbers("mass_matrix", q=s.q))
        bound = max(1e-12, 1e-15 * conditioning)
        assert relative_error(other("forward_dynamics", q=s.q, p=s.p, u=u), a) < bound


@pytest.mark.parametrize("name", ["tree2", "tree3", "coupled_tail", "sea_lion_flooded"])
def test_its_coriolis_matrix_is_skew_compatible_too(name):
    r, other = robot(name), twin(name)
    thawed = Thawed(other.program)
    moving = zip(thawed.group("q"), thawed.output("coordinate_rates"), strict=True)
    rate = directional_derivative(thawed.builder, thawed.output("mass_matrix"), moving)
    n = len(r.velocities)
    program = thawed.freeze(mass_rate=(("parameters", "q", "p"), rate, (n, n)))
    numbers = Numbers(program, r.values, interpret=True)
    for s in r.states():
        c = other("coriolis_matrix", q=s.q, p=s.p)
        m_dot = numbers("mass_rate", q=s.q, p=s.p)
        assert np.max(np.abs(m_dot - c - c.T)) < 1e-10 * np.max(np.abs(c))
