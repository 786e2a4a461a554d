"""Plan, track, result: a righting flown with wrong masses, blows and limited torques."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from flight_harness import plain
from flight_harness import robot as flying
from scipy.spatial.transform import Rotation

from bestiary.solvers.control import JointTracker
from bestiary.solvers.ocp.attitude_feedback import (
    FlightPlan,
    attitude_error,
    deviation_dynamics,
    flight_plan,
)
from bestiary.solvers.ocp.errors import OptimalControlError
from bestiary.solvers.ocp.flight import base_twist
from bestiary.solvers.ocp.library.righting import righting
from bestiary.solvers.ocp.tracking import (
    PUSHES,
    Push,
    controller,
    planned_references,
    torque_limits,
    track,
    tracking_table,
)

TEN_DEGREES = math.radians(10.0)


@cache
def quarter_turn():
    robot = flying("rat_1_2")
    return robot, righting(robot, roll=math.pi / 2).solve(mesh=16)


def test_attitude_error_is_the_rotation_vector():
    first, second = Rotation.random(2, rng=np.random.default_rng(3))
    expected = (first.inv() * second).as_rotvec()
    a, b = (np.roll(r.as_quat(), 1) for r in (first, second))
    assert attitude_error(a, b) == pytest.approx(expected, abs=1e-12)
    assert attitude_error(np.stack([a, b]), np.stack([-b, b])) == pytest.approx(
        np.stack([expected, np.zeros(3)]), abs=1e-12
    )


def test_deviations_move_as_the_linear_system_says():
    # A short way along the true kinematics, from beside the plan, against A(t).
    robot = plain("rat_1_2")
    rng = np.random.default_rng(5)
    momentum = np.array([2e-4, -1e-4, 1e-4])
    step, shape, rates = 1e-5, np.array([0.3, -0.2]), np.array([4.0, -7.0])

    def spin(attitude, r, s):
        q = np.zeros((1, 9))
        q[0, :4], q[0, 7:] = np.roll(attitude.as_quat(), 1), r
        return base_twist(robot, q, s[None], momentum)[0, :3]

    def moved(attitude, r, s):
        """After a step with these rates of the shape, by the midpoint rule."""
        begun = Rotation.from_quat(np.roll(attitude, -1))
        middle = begun * Rotation.from_rotvec(spin(begun, r, s) * step / 2)
        ended = begun * Rotation.from_rotvec(spin(middle, r + step / 2 * s, s) * step)
        return np.roll(ended.as_quat(), 1), r + step * s, s

    start = np.roll(Rotation.random(rng=rng).as_quat(), 1)
    after = moved(start, shape, rates)
    plan = FlightPlan(
        np.array([0.0, step]),
        *(np.stack(pair) for pair in zip((start, shape, rates), after, strict=True)),
        np.zeros((2, 2)),
        momentum,
    )
    matrix = deviation_dynamics(robot, plan)[0]
    for size in 1e-4 * np.eye(7):
        beside = Rotation.from_quat(np.roll(start, -1)) * Rotation.from_rotvec(size[:3])
        other = moved(np.roll(beside.as_quat(), 1), shape + size[3:5], rates + size[5:])
        change = (attitude_error(after[0], other[0]) - size[:3]) / step
        assert change == pytest.approx(matrix[:3] @ size, abs=2e-3 * np.abs(matrix).max() * 1e-4)


def test_a_blow_adds_its_impulse_to_the_momentum():
    robot = plain("rat_1_2")
    q, p = robot.random_state(2)
    push = Push((1e-3, -2e-3, 3e-3), (0.01, 0.02, -0.01))
    change = robot.momentum(q, push.apply(robot, q, p)) - robot.momentum(q, p)
    body = robot.node_pose("torso", q)
    assert change[3:] == pytest.approx(body[:3, :3] @ push.impulse, abs=1e-12)


def test_wrong_masses_and_blows_are_corrected_within_ten_degrees():
    robot, solution = quarter_turn()
    assert solution.success, solution.verdict
    flights = {
        kind: track(
            robot,
            solution,
            controller(robot, solution, kind),
            masses={"torso_mass": 0.9, "tail_mass": 1.1},
            push=PUSHES["at the right shoulder, forward and up"],
        )
        for kind in ("tail", "attitude")
    }
    errors = {kind: float(f.attitude_error) for kind, f in flights.items()}
    assert errors["attitude"] < TEN_DEGREES < errors["tail"]
    limit = torque_limits(robot, solution).max()
    assert float(flights["attitude"].peak_torque) <= limit * (1 + 1e-12)
    spin = flights["attitude"].momentum.values[:, :3]
    assert np.ptp(spin[-60:], axis=0).max() < 1e-9 * np.abs(spin).max() + 1e-12


def test_without_disturbance_both_controllers_repeat_the_plan():
    robot, solution = quarter_turn()
    for kind in ("tail", "attitude"):
        result = track(robot, solution, controller(robot, solution, kind))
        assert float(result.largest_attitude_error) < math.radians(0.2)


def test_references_are_the_solution_and_hold_its_end():
    robot, solution = quarter_turn()
    law = planned_references(robot, solution)["alpha_1"]
    t = 0.37 * solution.duration()
    position, rate, acceleration = law(t)
    assert position == pytest.approx(solution.value("alpha_1", t)[0], abs=1e-12)
    assert rate == pytest.approx(solution.value("alpha_1_rate", t)[0], abs=1e-9)
    assert acceleration == pytest.approx((law(t + 1e-6)[1] - law(t - 1e-6)[1]) / 2e-6, rel=1e-3)
    assert law(9.0) == pytest.approx((solution.value("alpha_1")[-1], 0.0, 0.0))


def test_prescribed_accelerations_are_those_of_the_robot():
    for form in ("compiled", "plain"):
        robot = flying("rat_1_2", form)
        q, p = robot.random_state(4)
        tracker = JointTracker(robot, {})
        inputs = tracker.accelerate(q, p, [30.0, -20.0])
        assert robot.state_rates(q, p, inputs)[1][6:] == pytest.approx([30.0, -20.0], rel=1e-8)


def test_nonsense_is_refused():
    robot, solution = quarter_turn()
    with pytest.raises(OptimalControlError, match="tail, attitude"):
        controller(robot, solution, "mind")
    with pytest.raises(OptimalControlError, match="within the motion"):
        track(robot, solution, controller(robot, solution), push=Push((1, 0, 0), time=3.0))
    with pytest.raises(OptimalControlError, match="no states of phase"):
        flight_plan(plain("rat_2_2"), solution)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rat_2_4", "arc_rat_2"])
def test_righting_from_the_back_survives_mass_errors_and_blows(name):
    robot = flying(name)
    solution = righting(robot).solve(mesh=16)
    assert solution.success, solution.verdict
    table = tracking_table(robot, solution)
    errors = table.attitude_error
    assert float(errors.sel(controller="attitude").max()) < 10.0
    assert float(errors.sel(controller="tail").max()) > 15.0  # the feedback is needed
    limit = torque_limits(robot, solution).max()
    assert float(table.peak_torque.max()) <= limit * (1 + 1e-12)
