"""Ten random trees (all joint types, to 30 velocities) and the sea lion, against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from numeric import relative_error
from random_trees import SIZES
from robots import ROBOTS, TREES, Robot, State, robot

TOLERANCE = 1e-10

pytestmark = pytest.mark.parametrize("name", ROBOTS)


def each(name: str) -> tuple[Robot, list[State]]:
    r = robot(name)
    return r, r.states()


def test_orders_and_names_of_coordinates_and_velocities_are_those_of_the_description(name):
    r = robot(name)
    spec = r.spec
    plain_q = [n for e in spec.elements for n in e.coordinates]
    plain_p = [n for e in spec.elements for n in e.velocities]
    assert sorted(r.coordinates) == sorted(plain_q)
    assert sorted(r.velocities) == sorted(plain_p)
    if spec.coordinates:
        assert tuple(r.coordinates) == spec.coordinates
        assert tuple(r.velocities) == spec.velocities
    if name in TREES:
        assert len(r.velocities) == SIZES[TREES.index(name)]


def test_mass_matrix_agrees(name):
    r, states = each(name)
    for s in states:
        m = r.numbers("mass_matrix", q=s.q)
        assert relative_error(m, r.pinocchio.mass_matrix(s.named)) < TOLERANCE
        assert np.array_equal(m, m.T)


def test_inverse_dynamics_agrees(name):
    r, states = each(name)
    for s in states:
        got = r.numbers("inverse_dynamics", q=s.q, p=s.p, p_dot=s.acceleration)
        assert relative_error(got, r.pinocchio.inverse_dynamics(s.named, s.p, s.acceleration)) < (
            TOLERANCE
        )


def test_forward_dynamics_agrees(name):
    r, states = each(name)
    for s in states:
        got = r.numbers("forward_dynamics", q=s.q, p=s.p, u=r.input_vector(s.force))
        expected = r.pinocchio.forward_dynamics(s.named, s.p, r.actuated(s.force))
        assert relative_error(got, expected) < TOLERANCE


def test_bias_is_nonlinear_effects_and_force_vector_is_gravity(name):
    r, states = each(name)
    for s in states:
        bias, gravity = r.pinocchio.bias(s.named, s.p), r.pinocchio.gravity(s.named)
        assert relative_error(r.numbers("bias_forces", q=s.q, p=s.p), bias) < TOLERANCE
        assert relative_error(r.numbers("force_vector", q=s.q), gravity) < TOLERANCE


def test_coriolis_matrix_times_p_is_nonlinear_effects_minus_gravity(name):
    r, states = each(name)
    for s in states:
        expected = r.pinocchio.bias(s.named, s.p) - r.pinocchio.gravity(s.named)
        got = r.numbers("coriolis_matrix", q=s.q, p=s.p) @ s.p
        assert relative_error(got, expected) < TOLERANCE


def test_node_poses_and_jacobians_agree(name):
    r, states = each(name)
    for s in states:
        for node in r.spec.nodes:
            pose = r.numbers(f"{node.name}_pose", q=s.q)
            assert relative_error(pose, r.pinocchio.node_pose(node.name, s.named)) < TOLERANCE
            j = r.numbers(f"{node.name}_jacobian", q=s.q)
            expected = r.pinocchio.node_jacobian(node.name, s.named)
            assert relative_error(j, expected) < TOLERANCE
            twist = r.numbers(f"{node.name}_velocity", q=s.q, p=s.p)
            assert relative_error(twist, expected @ s.p) < TOLERANCE


def test_momentum_centre_of_mass_and_energies_agree(name):
    r, states = each(name)
    for s in states:
        momentum = r.numbers("momentum", q=s.q, p=s.p)
        expected = r.pinocchio.momentum(s.named, s.p)
        assert relative_error(momentum[:3], expected[:3]) < TOLERANCE
        assert relative_error(momentum[3:], expected[3:]) < TOLERANCE
        center = r.numbers("center_of_mass", q=s.q)
        assert relative_error(center, r.pinocchio.center_of_mass(s.named)) < TOLERANCE
        kinetic, potential = r.pinocchio.energies(s.named, s.p)
        assert relative_error(r.numbers("kinetic_energy", q=s.q, p=s.p), kinetic) < TOLERANCE
        assert relative_error(r.numbers("potential_energy", q=s.q), potential) < TOLERANCE
