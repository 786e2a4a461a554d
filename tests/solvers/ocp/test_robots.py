"""Robots as dynamics of a phase: the same motions as their forward dynamics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flight_harness import plain
from flight_harness import robot as flying

from bestiary.solvers.ocp.errors import OptimalControlError
from bestiary.solvers.ocp.flight import BASE, add_free_flight, base_twist
from bestiary.solvers.ocp.functions import PhaseFunctions
from bestiary.solvers.ocp.problem import OptimalControlProblem


def stated(robot, **options):
    """A problem with the robot's full dynamics on one phase, and its functions."""
    problem = OptimalControlProblem(robot, **options)
    phase = problem.phase("motion", duration=1.0)
    return problem, phase, PhaseFunctions(problem, phase)


def evaluated(functions, x, u, z, s=(), p=()):
    """Rates and equations of a phase at one point."""
    found = functions.explicit(x, u, z, list(s), list(p), 0.0, 0.0, 1.0)
    return np.asarray(found[0]).ravel(), np.asarray(found[1]).ravel()


def sample(robot, seed):
    """A state and inputs."""
    rng = np.random.default_rng(seed)
    q, p = robot.random_state(rng)
    return q, p, rng.normal(size=len(robot.inputs))


@pytest.mark.parametrize("name", ["crane", "kite", "reed", "acrobat", "sea_lion"])
@pytest.mark.parametrize("seed", [0, 1])
def test_equations_hold_for_the_accelerations_of_forward_dynamics(name, seed):
    robot = plain(name)
    _, _, functions = stated(robot)
    q, p, u = sample(robot, seed)
    inputs = u if len(u) else None
    a = robot.forward_dynamics(q, p, inputs)
    rates, equations = evaluated(functions, np.concatenate([q, p]), u, a)
    assert rates == pytest.approx(np.concatenate([*robot.state_rates(q, p, inputs)]), rel=1e-9)
    terms = np.abs(robot.mass_matrix(q)) @ np.abs(a) + np.abs(robot.bias_forces(q, p))
    assert np.max(np.abs(equations) / (1e-9 + terms)) < 1e-11


def test_equations_do_not_hold_for_other_accelerations():
    robot = plain("crane")
    _, _, functions = stated(robot)
    q, p, u = sample(robot, 0)
    a = robot.forward_dynamics(q, p, u)
    _, equations = evaluated(functions, np.concatenate([q, p]), u, a + 0.01)
    expected = robot.mass_matrix(q) @ np.full(len(a), 0.01)
    assert equations == pytest.approx(expected, rel=1e-8)


def test_ground_contact_is_part_of_the_equations():
    robot = plain("kangaroo_rat_articulated")
    _, _, functions = stated(robot)
    q = np.array(robot.neutral)
    q[6] = 0.044  # feet a millimetre in the ground
    p, u = np.zeros(len(robot.velocities)), np.zeros(len(robot.inputs))
    a = robot.forward_dynamics(q, p, u)
    _, equations = evaluated(functions, np.concatenate([q, p]), u, a)
    assert np.max(np.abs(equations)) < 1e-12
    assert robot.contact_forces(q, p)[0].max() > 0.1


def test_replayed_rates_are_those_of_the_compiled_robot_row_by_row():
    robot = flying("crane")
    _, phase, _ = stated(robot)
    rows = [sample(robot, seed) for seed in range(4)]
    x = np.array([np.concatenate([q, p]) for q, p, _ in rows])
    u = np.array([u for *_, u in rows])
    none = np.empty(0)
    many = phase.explicit_rates(x, u, none, none, np.zeros(4))
    for k, (q, p, inputs) in enumerate(rows):
        one = phase.explicit_rates(x[k : k + 1], u[k : k + 1], none, none, np.zeros(1))[0]
        assert np.array_equal(one, many[k])
        assert np.array_equal(one, np.concatenate(robot.state_rates(q, p, inputs)))


def test_rates_outside_the_model_are_not_numbers_and_leave_the_other_rows_alone():
    robot = plain("reed")
    _, phase, _ = stated(robot)
    x = np.zeros((3, 8))
    x[1, 0] = 5.0  # beyond the stop of the hinge
    rates = phase.explicit_rates(x, np.empty((3, 0)), np.empty(0), np.empty(0), np.zeros(3))
    assert np.isnan(rates[1]).all()
    assert np.isfinite(rates[[0, 2]]).all()


def test_limits_become_bounds_and_path_constraints():
    _, phase, _ = stated(plain("reed"))
    bounds = {v.name: v.bounds for v in phase.state_variables}
    assert bounds["swing"] == (-1.0, 2.0)
    assert bounds["reach"] == (0.0, 0.1)
    (path,) = [p for p in phase.paths if p.name == "length_u_w"]
    assert path.bounds == (-math.inf, pytest.approx((1.2 * math.pi) ** 2))


def test_names_and_units_are_the_robots_own():
    _, phase, _ = stated(plain("crane"))
    assert [v.name for v in phase.state_variables][:2] == ["travel", "swing"]
    assert phase["swing_rate_rate"].name() == "swing_rate_rate"
    units = {v.name: v.unit for v in phase.algebraic_variables}
    assert units["travel_rate_rate"] == "m/s^2"
    assert units["swing_rate_rate"] == "rad/s^2"
    assert phase.equations["swing_rate_balance"][1] == "N m"


def test_free_and_adjustable_parameters_take_the_place_of_values():
    robot = plain("crane")
    problem, phase, functions = stated(
        robot, free={"hook_mass": (0.1, 1.0)}, adjustable=["arm_mass"]
    )
    assert [v.name for v in problem.parameters] == ["hook_mass"]
    assert problem.constant_values == {"arm_mass": 0.5}
    other = robot.with_parameters(hook_mass=0.7, arm_mass=0.9)
    q, p, u = sample(robot, 3)
    a = other.forward_dynamics(q, p, u)
    x = np.concatenate([q, p])
    _, equations = evaluated(functions, x, u, a, [0.7], [0.9])
    assert np.max(np.abs(equations)) < 1e-10
    rates = phase.explicit_rates(x[None], u[None], np.array([0.7]), np.array([0.9]), np.zeros(1))
    assert rates[0, len(q) :] == pytest.approx(a, rel=1e-12)


def test_unknown_parameters_are_refused():
    with pytest.raises(OptimalControlError, match="no parameter 'hook_weight'"):
        OptimalControlProblem(plain("crane"), free={"hook_weight": (0, 1)})
    with pytest.raises(OptimalControlError, match="need a robot"):
        OptimalControlProblem(free={"hook_mass": (0, 1)})


def reduced(robot, momentum=(0.0, 0.0, 0.0)):
    """A problem with the reduced dynamics of a robot, its phase and functions."""
    problem = OptimalControlProblem()
    phase = problem.phase("flight", duration=1.0)
    add_free_flight(phase, robot, momentum)
    return problem, phase, PhaseFunctions(problem, phase)


@pytest.mark.parametrize("name", ["acrobat", "acrobat_euler_xyz", "rat_1_2", "arc_rat_1"])
@pytest.mark.parametrize("momentum", [(0.0, 0.0, 0.0), (2e-4, -1e-4, 3e-4)])
def test_reduced_equations_hold_where_the_full_model_flies(name, momentum):
    robot = plain(name)
    problem, phase, functions = reduced(robot, momentum)
    q, p, u = sample(robot, 5)
    s = p[BASE:]
    twist = base_twist(robot, q[None], s[None], np.array(momentum))[0]
    p = np.concatenate([twist, s])
    assert robot.momentum(q, p) == pytest.approx([*momentum, 0, 0, 0], abs=1e-12)
    q_rates, a = robot.state_rates(q, p, u)
    # acceleration of the base's origin, seen from what falls with the centre of mass
    count = len(q) - len(p) + 3
    pose = robot.node_pose(robot.meta["nodes"][0]["name"], q)[:3, :3]
    fall = pose.T @ np.array([0, 0, -robot.parameters["gravity"]])
    origin = a[3:6] + np.cross(twist[:3], twist[3:]) - fall
    z = np.concatenate([twist, a[:3], origin, a[BASE:]])
    x = np.concatenate([q[:count], q[count + 3 :], s])
    rates, equations = evaluated(functions, x, u, z, (), list(problem.constant_values.values()))
    own = np.concatenate([q_rates[:count], q_rates[count + 3 :], a[BASE:]])
    assert rates == pytest.approx(own, rel=1e-9, abs=1e-9)
    assert np.max(np.abs(equations)) < 1e-9 * max(1.0, np.max(np.abs(a)))
    constants = np.array(list(problem.constant_values.values()))
    replayed = phase.explicit_rates(x[None], u[None], np.empty(0), constants, np.zeros(1))[0]
    assert replayed == pytest.approx(own, rel=1e-10, abs=1e-10)


def test_reduced_flight_has_no_place_and_no_speed():
    _, phase, _ = reduced(plain("rat_1_2"))
    names = [v.name for v in phase.state_variables]
    assert names == ["qw", "qx", "qy", "qz", "alpha_1", "beta_1", "alpha_1_rate", "beta_1_rate"]
    assert {"wx", "vx", "wx_rate"} <= {v.name for v in phase.algebraic_variables}


def test_what_does_not_fly_freely_is_refused():
    with pytest.raises(OptimalControlError, match="floating base"):
        reduced(plain("crane"))
    with pytest.raises(OptimalControlError, match="contact=False"):
        reduced(plain("kangaroo_rat_articulated"))
    with pytest.raises(OptimalControlError, match=r"added mass|buoyancy"):
        reduced(plain("sea_lion"))


@pytest.mark.parametrize(
    ("cost", "optimum"), [("time", math.sqrt(2 * math.pi)), ("effort", 3 * math.pi**2)]
)
def test_coaxial_pair_reaches_the_closed_forms(cost, optimum):
    problem = OptimalControlProblem(flying("coaxial_pair"), name=f"coaxial {cost}")
    phase = problem.phase("turn", duration=1.0 if cost == "effort" else None)
    at_rest = {"body_angle_rate": 0.0, "tail_angle_rate": 0.0}
    phase.start(body_angle=0.0, tail_angle=0.0, **at_rest)
    phase.end(body_angle=math.pi / 2, **at_rest)
    if cost == "time":
        phase.bound(tail_angle_torque=(-1.0, 1.0))
        problem.minimize(phase.duration)
    else:
        phase.minimize(integral=phase["tail_angle_torque"] ** 2)
    solution = problem.solve(mesh=8)
    assert solution.success, solution.verdict
    assert solution.cost == pytest.approx(optimum, rel=1e-6)
    # zero-momentum connection: the body turns by -I_t / (I_b + I_t) of the tail's way
    tail = solution.value("tail_angle")
    assert solution.value("body_angle") == pytest.approx(-0.25 / 1.25 * tail, abs=1e-8)
