"""Identities that every robot must satisfy, with exact derivatives of the program."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from description import TreeSpec, child_rotation
from numeric import Numbers, Thawed, relative_error
from robots import ROBOTS, Robot, robot
from scipy.spatial.transform import Rotation

from bestiary.modeling import Model, Revolute, Spherical, poincare
from bestiary.modeling.program.transform import directional_derivative, jacobian

TOLERANCE = 1e-10
DAMPED = ("tree3_damped", "tree4_damped")
every_robot = pytest.mark.parametrize("name", [*ROBOTS, *DAMPED])


@cache
def derivatives(name: str) -> Numbers:
    """Ṁ, dT/dt + dU/dt, Vᵀ ∂U/∂q and time derivatives of node poses, exactly."""
    r = robot(name)
    thawed = Thawed(r.equations.program)
    b = thawed.builder
    q, p = thawed.group("q"), thawed.group("p")
    q_dot = thawed.output("coordinate_rates")
    p_dot = thawed.output("forward_dynamics")
    moving = list(zip(q, q_dot, strict=True))
    n, nq = len(p), len(q)
    mass_rate = directional_derivative(b, thawed.output("mass_matrix"), moving)
    energy = thawed.output("kinetic_energy")[0] + thawed.output("potential_energy")[0]
    power = directional_derivative(b, [energy], [*moving, *zip(p, p_dot, strict=True)])
    slope = jacobian(b, thawed.output("potential_energy"), q)[0]
    v = thawed.output("velocity_map")
    force = []
    for k in range(n):
        total = b.constant(0)
        for a in range(nq):
            total = total + v[a * n + k] * slope[a]
        force.append(total)
    state, full = ("parameters", "q", "p"), ("parameters", "q", "p", "u")
    results = {
        "mass_rate": (state, mass_rate, (n, n)),
        "power": (full, power, ()),
        "slope": (("parameters", "q"), force, (n,)),
    }
    for node in r.spec.nodes:
        pose_rate = directional_derivative(b, thawed.output(f"{node.name}_pose"), moving)
        results[f"{node.name}_pose_rate"] = (state, pose_rate, (4, 4))
    return Numbers(thawed.freeze(**results), r.values, interpret=True)


def hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


@every_robot
def test_mdot_minus_2c_is_skew(name):
    r = robot(name)
    for s in r.states():
        rate = derivatives(name)("mass_rate", q=s.q, p=s.p)
        c = r.numbers("coriolis_matrix", q=s.q, p=s.p)
        defect = rate - c - c.T  # twice the symmetric part of Ṁ − 2C
        assert np.max(np.abs(defect)) < TOLERANCE * np.max(np.abs(c))


@every_robot
def test_power_of_the_inputs_and_dampers_is_the_rate_of_energy(name):
    r = robot(name)
    for s in r.states():
        u = r.input_vector(s.force)
        got = float(derivatives(name)("power", q=s.q, p=s.p, u=u))
        supplied = r.numbers("generalized_forces", q=s.q, p=s.p, u=u) * s.p
        through = np.abs(r.numbers("force_vector", q=s.q) * s.p).sum() + np.abs(supplied).sum()
        assert abs(got - supplied.sum()) < TOLERANCE * through


@every_robot
def test_force_vector_is_the_slope_of_the_potential(name):
    r = robot(name)
    for s in r.states():
        expected = derivatives(name)("slope", q=s.q)
        assert relative_error(r.numbers("force_vector", q=s.q), expected) < TOLERANCE


@every_robot
def test_node_velocity_is_the_derivative_of_the_node_pose_along_v_p(name):
    r = robot(name)
    for s in r.states(2):
        for node in r.spec.nodes:
            pose = r.numbers(f"{node.name}_pose", q=s.q)
            twist = r.numbers(f"{node.name}_velocity", q=s.q, p=s.p)
            rate = derivatives(name)(f"{node.name}_pose_rate", q=s.q, p=s.p)
            assert relative_error(rate[:3, :3], pose[:3, :3] @ hat(twist[:3])) < TOLERANCE
            assert relative_error(rate[:3, 3], pose[:3, :3] @ twist[3:]) < TOLERANCE
            assert np.all(rate[3] == 0)


@every_robot
def test_rate_map_is_the_left_inverse_of_the_velocity_map(name):
    r = robot(name)
    for s in r.states():
        v, w = r.numbers("velocity_map", q=s.q), r.numbers("rate_map", q=s.q)
        assert np.max(np.abs(w @ v - np.eye(len(s.p)))) < 1e-12
        if v.shape[0] == v.shape[1]:
            assert np.max(np.abs(v @ w - np.eye(len(s.p)))) < 1e-12


@every_robot
def test_inverse_dynamics_is_m_a_plus_c_p_plus_f_and_forward_dynamics_undoes_it(name):
    r = robot(name)
    for s in r.states():
        m, f = r.numbers("mass_matrix", q=s.q), r.numbers("force_vector", q=s.q)
        c = r.numbers("coriolis_matrix", q=s.q, p=s.p)
        bias = r.numbers("bias_forces", q=s.q, p=s.p)
        assert relative_error(c @ s.p + f, bias) < TOLERANCE
        inverse = r.numbers("inverse_dynamics", q=s.q, p=s.p, p_dot=s.acceleration)
        assert relative_error(m @ s.acceleration + bias, inverse) < TOLERANCE
        u = r.input_vector(s.force)
        a = r.numbers("forward_dynamics", q=s.q, p=s.p, u=u)
        applied = r.numbers("generalized_forces", q=s.q, p=s.p, u=u)
        back = r.numbers("inverse_dynamics", q=s.q, p=s.p, p_dot=a)
        scale = np.max(np.abs(m) @ np.abs(a)) + np.max(np.abs(bias))
        assert np.max(np.abs(back - applied)) < TOLERANCE * scale


@every_robot
def test_kinetic_energy_is_half_p_m_p_and_state_rates_are_both_rates(name):
    r = robot(name)
    for s in r.states():
        m, u = r.numbers("mass_matrix", q=s.q), r.input_vector(s.force)
        assert relative_error(r.numbers("kinetic_energy", q=s.q, p=s.p), s.p @ m @ s.p / 2) < (
            TOLERANCE
        )
        both = r.numbers.flat("state_rates", q=s.q, p=s.p, u=u)
        expected = [
            *r.numbers("coordinate_rates", q=s.q, p=s.p),
            *r.numbers("forward_dynamics", q=s.q, p=s.p, u=u),
        ]
        assert relative_error(both, expected) < TOLERANCE
        v = r.numbers("velocity_map", q=s.q)
        assert relative_error(r.numbers("coordinate_rates", q=s.q, p=s.p), v @ s.p) < TOLERANCE


@every_robot
def test_equations_of_motion_gives_m_c_and_f_at_once(name):
    r = robot(name)
    s = r.state(0)
    expected = [
        *r.numbers("mass_matrix", q=s.q).ravel(),
        *r.numbers("coriolis_matrix", q=s.q, p=s.p).ravel(),
        *r.numbers("force_vector", q=s.q),
    ]
    assert r.numbers.flat("equations_of_motion", q=s.q, p=s.p) == expected


def moved(spec: TreeSpec, q: dict[str, float], turn: Rotation, shift: np.ndarray) -> dict:
    """Coordinates after the robot's floating base was turned and shifted as a whole."""
    base = spec.bodies[0].elements[0]
    names = base.coordinates
    rotation = turn * child_rotation(base, q)
    position = turn.apply([q[n] for n in names[-3:]]) + shift
    if base.orientation == "quaternion":
        x, y, z, w = rotation.as_quat()
        orientation = [w, x, y, z]
    else:
        letters = base.orientation.removeprefix("euler_")
        angles = dict(zip(letters, rotation.as_euler(letters.upper()), strict=True))
        orientation = [float(angles[a]) for a in "xyz"]
    return {**q, **dict(zip(names, [*orientation, *position], strict=True))}


FLOATING = ("tree1", "tree3", "tree5", "coupled_tail", "sea_lion_dry", "sea_lion_quaternion_dry")


def without_gravity(r: Robot) -> Numbers:
    return Numbers(r.equations.program, {**r.values, "gravity": 0.0})


@pytest.mark.parametrize("name", FLOATING)
def test_turning_and_shifting_the_world_changes_nothing_without_gravity(name):
    r = robot(name)
    numbers = without_gravity(r)
    turn, shift = Rotation.from_rotvec([0.7, -1.1, 0.4]), np.array([3.0, -2.0, 5.0])
    for s in r.states():
        other = [moved(r.spec, s.named, turn, shift)[n] for n in r.coordinates]
        u = r.input_vector(s.force)
        for function, given in (
            ("mass_matrix", {}),
            ("coriolis_matrix", {"p": s.p}),
            ("bias_forces", {"p": s.p}),
            ("forward_dynamics", {"p": s.p, "u": u}),
        ):
            expected = numbers(function, q=s.q, **given)
            assert relative_error(numbers(function, q=other, **given), expected) < TOLERANCE


@pytest.mark.parametrize("name", ["coupled_tail", "sea_lion_flooded", "sea_lion_quaternion_dry"])
def test_turning_about_the_vertical_changes_nothing_with_gravity(name):
    r = robot(name)
    turn, shift = Rotation.from_rotvec([0, 0, 1.3]), np.array([3.0, -2.0, 5.0])
    for s in r.states():
        other = [moved(r.spec, s.named, turn, shift)[n] for n in r.coordinates]
        u = r.input_vector(s.force)
        expected = r.numbers("forward_dynamics", q=s.q, p=s.p, u=u)
        got = r.numbers("forward_dynamics", q=other, p=s.p, u=u)
        assert relative_error(got, expected) < TOLERANCE
        tilted = moved(r.spec, s.named, Rotation.from_rotvec([1.3, 0, 0]), shift)
        felt = r.numbers("forward_dynamics", q=[tilted[n] for n in r.coordinates], p=s.p, u=u)
        assert np.max(np.abs(felt - expected)) > 1  # gravity is felt at all


def test_a_quaternion_that_has_lost_unit_length_gives_the_same_dynamics():
    r = robot("sea_lion_quaternion_dry")
    s = r.state(1)
    longer = [1.5 * v if k < 4 else v for k, v in enumerate(s.q)]
    for function in ("force_vector", "mass_matrix", "head_pose"):
        expected = r.numbers(function, q=s.q)
        assert relative_error(r.numbers(function, q=longer), expected) < 1e-12


def test_force_inputs_act_through_the_node_jacobian():
    model = Model("arm", gravity=0)
    model.body("a", joint=Spherical(), mass=1, inertia=(1, 1, 1))
    model.body("b", parent="a", at=(0.3, 0.1, 0), joint=Revolute(axis="y"), mass=1, com=(0.1, 0, 0))
    model.node("tip", "b", at=(0.5, 0.2, -0.1), orientation=(0.3, -0.4, 0.2))
    model.force_input("push", "tip", (1, 2, -2))
    model.force_input("wind", "tip", (0, 3, 4), world_axes=True)
    equations = poincare(model)
    numbers = Numbers(equations.program, equations.values())
    rng = np.random.default_rng(0)
    q = rng.normal(size=5)
    q[:4] /= np.linalg.norm(q[:4])
    jacobian_, rotation = numbers("tip_jacobian", q=q), numbers("tip_pose", q=q)[:3, :3]
    got = numbers("input_matrix", q=q)
    assert got[:, 0] == pytest.approx(jacobian_[3:].T @ np.array([1, 2, -2]) / 3, rel=1e-12)
    assert got[:, 1] == pytest.approx(
        jacobian_[3:].T @ rotation.T @ np.array([0, 0.6, 0.8]), rel=1e-12
    )
    u = np.array([0.7, -1.3])
    assert numbers("generalized_forces", q=q, p=np.zeros(4), u=u) == pytest.approx(got @ u)


@pytest.mark.parametrize("name", DAMPED)
def test_dampers_oppose_their_velocity_and_only_that(name):
    r = robot(name)
    coefficients = dict(r.spec.dampers)
    assert coefficients
    s = r.state(0)
    got = r.numbers("generalized_forces", q=s.q, p=s.p, u=[0.0] * len(r.equations.inputs))
    expected = [-coefficients.get(v, 0.0) * rate for v, rate in zip(r.velocities, s.p, strict=True)]
    assert got == pytest.approx(expected, rel=1e-14)
