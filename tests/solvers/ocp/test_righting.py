"""The kangaroo rat rights itself: upright in the full model, momentum kept, limits kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flight_harness import plain
from flight_harness import robot as flying

from bestiary.solvers.ocp.errors import OptimalControlError
from bestiary.solvers.ocp.library.righting import (
    BENDING_LIMIT,
    MOMENT_LIMIT,
    at_rest,
    fly,
    righting,
    tilt,
)
from bestiary.solvers.ocp.orientation import attitude
from bestiary.solvers.references import segment_links

ONE_DEGREE = math.radians(1.0)


def judged(robot, problem, **options):
    """Solve, fly in the full model, and check what every righting has to keep."""
    solution = problem.solve(mesh=16, **options)
    assert solution.success, solution.verdict
    flown = fly(robot, solution)
    assert tilt(flown) < ONE_DEGREE
    spin = flown.momentum.values[:, :3]
    joints = np.abs(flown.p.values[:, 6:]).max()
    inertia = np.linalg.norm(robot.mass_matrix(robot.neutral)[:3, 6:])
    assert np.max(np.abs(spin - spin[0])) < 1e-8 * inertia * joints
    links = segment_links(robot, 1) if "alpha_1" in robot.coordinates.names else 1
    largest = MOMENT_LIMIT * links
    assert np.abs(solution.motion().controls).max() <= largest * (1 + 1e-9)  # where imposed
    assert np.abs(flown.u.values).max() <= largest * (1 + 1e-9)
    bent = flown.q.values[:, 7:].reshape(len(flown.time), -1, 2) * links
    assert np.linalg.norm(bent, axis=2).max() <= BENDING_LIMIT * (1 + 1e-3)
    return solution, flown


def test_one_segment_turns_the_rat_by_a_quarter():
    robot = flying("rat_1_2")
    solution, flown = judged(robot, righting(robot, roll=math.pi / 2))
    assert solution.value("qw")[0] == pytest.approx(math.cos(math.pi / 4))
    assert abs(float(flown.q.sel(coordinate="qw")[-1])) == pytest.approx(1.0, abs=1e-6)


def test_at_rest_means_no_linear_momentum():
    robot = plain("rat_1_2")
    q, p = at_rest(robot, attitude(0.3, 0.2, 0.1), (3.0, -1.0, 2.0))
    momentum = robot.momentum(q, p)
    assert momentum[3:] == pytest.approx(np.zeros(3), abs=1e-15)
    assert np.linalg.norm(momentum[:3]) > 1e-5


def test_torques_and_bendings_are_those_of_a_segment_whatever_its_links():
    for name, links in (("rat_1_2", 2), ("rat_1_4", 4), ("arc_rat_1", 1)):
        robot = plain(name)
        problem = righting(robot)
        (flight,) = problem.phases
        bounds = {v.name: v.bounds for v in flight.control_variables}
        torque = MOMENT_LIMIT * links
        assert bounds[robot.inputs.names[0]] == pytest.approx((-torque, torque))
        (path,) = flight.paths
        assert path.bounds[1] == pytest.approx(BENDING_LIMIT**2)


def test_nonsense_is_refused():
    robot = plain("rat_1_2")
    for options, message in (
        ({"cost": "money"}, "effort, time, smoothness"),
        ({"formulation": "half"}, "reduced, full"),
        ({"guess": "none"}, "swing, line"),
        ({"tail": "bushy"}, "articulated, continuum"),
        ({"end_tail": "up"}, "straight, free"),
    ):
        with pytest.raises(OptimalControlError, match=message):
            righting(robot, **options)


RATS = ("rat_1_4", "rat_2_4", "rat_3_4", "arc_rat_1", "arc_rat_2", "arc_rat_3")


@pytest.mark.slow
@pytest.mark.parametrize("name", RATS)
def test_every_tail_rights_the_rat_from_its_back(name):
    robot = flying(name)
    judged(robot, righting(robot))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in RATS if "_1" not in n])
def test_a_steady_turn_with_the_tail_all_but_straight_is_guess_enough(name):
    robot = flying(name)
    judged(robot, righting(robot, guess="line"))


@pytest.mark.slow
def test_reduced_and_full_model_find_the_same_motion():
    robot = flying("rat_2_4")
    found = {}
    for formulation in ("reduced", "full"):
        problem = righting(robot, formulation=formulation)
        solution, flown = judged(robot, problem)
        found[formulation] = solution.cost, flown.q.values[-1, :4]
    assert found["full"][0] == pytest.approx(found["reduced"][0], rel=1e-6)


@pytest.mark.slow
def test_a_tumbling_rat_keeps_its_momentum_and_rights_itself():
    robot = flying("rat_2_4")
    _, flown = judged(robot, righting(robot, spin=(0.0, 1.0, 0.0)))
    assert np.linalg.norm(flown.momentum.values[0, :3]) > 1e-5


@pytest.mark.slow
def test_bending_the_tail_pitches_the_body():
    robot = flying("rat_2_4")
    problem = righting(robot, roll=0.0, pitch=math.radians(25), end_tail="free")
    _, flown = judged(robot, problem)
    assert abs(flown.q.values[-1, 7]) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [40, 60])
def test_loops_of_two_segments_pitch_further_than_one_bend(degrees):
    robot = flying("rat_2_4")
    problem = righting(robot, roll=0.0, pitch=math.radians(degrees), end_tail="free")
    _, flown = judged(robot, problem, tolerance=1e-3)
    shape = flown.q.values[-1, 7:]
    assert straight_turn(robot, shape) < degrees - 10


def straight_turn(robot, shape):
    """How far the body turns [deg] if the tail bends to a shape on a straight line, from rest."""
    turned = 0.0
    for share in np.linspace(0.0, 1.0, 201):
        q = robot.neutral.copy()
        q[7:] = share * shape
        M = robot.mass_matrix(q)
        turned += np.linalg.norm(np.linalg.solve(M[:6, :6], M[:6, 6:] @ shape)[:3]) / 201
    return np.degrees(turned)


@pytest.mark.slow
def test_least_time_is_shorter_than_the_time_of_least_effort():
    robot = flying("rat_1_4")
    solution, _ = judged(robot, righting(robot, cost="time", duration=None), tolerance=1e-4)
    assert solution.duration() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rat_2_4", "rat_3_4", "arc_rat_2"])
def test_least_time_with_more_segments_is_below_a_fifth_of_a_second(name):
    robot = flying(name)
    problem = righting(robot, cost="time", duration=None)
    solution, _ = judged(robot, problem, tolerance=1e-3)
    assert solution.duration() < 0.2


@pytest.mark.slow
def test_a_finer_tail_with_as_many_links_is_never_less_smooth():
    costs = []
    for name in ("rat_1_4", "rat_2_2"):
        robot = flying(name)
        problem = righting(robot, cost="smoothness", moment_limit=10.0)
        costs.append(problem.solve(mesh=16, tolerance=1e-4).cost)
    assert costs[1] < costs[0]
