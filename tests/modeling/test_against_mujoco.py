"""Ten random trees (all joint types, to 30 velocities) and the sea lion, against MuJoCo."""

from __future__ import annotations

import pytest
from numeric import relative_error
from robots import DAMPED, ROBOTS, Robot, State, robot

TOLERANCE = 1e-10

pytestmark = pytest.mark.parametrize("name", [*ROBOTS, *DAMPED])


def each(name: str) -> tuple[Robot, list[State]]:
    r = robot(name)
    return r, r.states()


def test_mass_matrix_agrees(name):
    r, states = each(name)
    for s in states:
        expected = r.mujoco.mass_matrix(s.named)
        assert relative_error(r.numbers("mass_matrix", q=s.q), expected) < TOLERANCE


def test_inverse_dynamics_agrees(name):
    r, states = each(name)
    for s in states:
        got = r.numbers("inverse_dynamics", q=s.q, p=s.p, p_dot=s.acceleration)
        # MuJoCo counts damping as passive; here it belongs to Q(q, p, u) at u = 0
        got = got - r.numbers("generalized_forces", q=s.q, p=s.p, u=[0.0] * len(r.equations.inputs))
        expected = r.mujoco.inverse_dynamics(s.named, s.p, s.acceleration)
        assert relative_error(got, expected) < TOLERANCE


def test_forward_dynamics_agrees(name):
    r, states = each(name)
    for s in states:
        got = r.numbers("forward_dynamics", q=s.q, p=s.p, u=r.input_vector(s.force))
        expected = r.mujoco.forward_dynamics(s.named, s.p, r.actuated(s.force))
        assert relative_error(got, expected) < TOLERANCE


def test_node_jacobians_agree(name):
    r, states = each(name)
    assert r.mujoco.sites
    for s in states:
        for node in r.mujoco.sites:
            got = r.numbers(f"{node}_jacobian", q=s.q)
            assert relative_error(got, r.mujoco.node_jacobian(node, s.named)) < TOLERANCE


def test_momentum_and_energies_agree(name):
    r, states = each(name)
    for s in states:
        momentum = r.numbers("momentum", q=s.q, p=s.p)
        expected = r.mujoco.momentum(s.named, s.p)
        assert relative_error(momentum[:3], expected[:3]) < TOLERANCE
        assert relative_error(momentum[3:], expected[3:]) < TOLERANCE
        kinetic, potential = r.mujoco.energies(s.named, s.p)
        assert relative_error(r.numbers("kinetic_energy", q=s.q, p=s.p), kinetic) < TOLERANCE
        assert relative_error(r.numbers("potential_energy", q=s.q), potential) < TOLERANCE
