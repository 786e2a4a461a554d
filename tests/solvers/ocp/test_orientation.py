"""Orientation conditions: the same attitudes whatever the base uses."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from flight_harness import plain
from scipy.spatial.transform import Rotation

from bestiary.solvers.ocp.errors import OptimalControlError
from bestiary.solvers.ocp.flight import add_free_flight
from bestiary.solvers.ocp.orientation import (
    BaseOrientation,
    attitude,
    conjugate,
    matrix,
    product,
    slerp,
)
from bestiary.solvers.ocp.problem import OptimalControlProblem

BASES = ("acrobat", "acrobat_euler_zyx", "acrobat_euler_xyz", "acrobat_euler_zxz")


def scipy_of(q):
    """SciPy's rotation of a quaternion, scalar first."""
    return Rotation.from_quat(np.asarray(q)[[1, 2, 3, 0]])


def phase_of(name):
    """A problem and phase with the full dynamics of a robot."""
    problem = OptimalControlProblem(plain(name))
    return problem, problem.phase("flight-1", duration=1.0)


def met(problem, phase, quaternion, tolerance=1e-9):
    """Whether an attitude meets all that was asked of the end of a phase."""
    base = BaseOrientation(phase)
    values = base.coordinates(np.array([quaternion, quaternion]))[1]
    for name, value in zip(base.names, values, strict=True):
        low, high = phase.end_bounds.get(name, (-np.inf, np.inf))
        if not low - tolerance <= value <= high + tolerance:
            return False
    symbols = ca.vertcat(*(phase.final(phase[n]) for n in base.names))
    for condition in problem.boundaries:
        value = float(ca.Function("f", [symbols], [condition.expression])(values))
        if not condition.bounds[0] - tolerance <= value <= condition.bounds[1] + tolerance:
            return False
    return True


@pytest.mark.parametrize("sequence", ["zyx", "zxy"])
def test_angles_are_those_of_a_rotation_sequence(sequence):
    wanted = attitude(0.3, -0.5, 1.1, sequence=sequence)
    by_axis = {"zyx": [1.1, -0.5, 0.3], "zxy": [1.1, -0.5, 0.3]}[sequence]
    expected = Rotation.from_euler(sequence.upper(), by_axis).as_matrix()
    assert matrix(wanted.quaternion) == pytest.approx(expected, abs=1e-14)


def test_product_and_conjugate_compose_rotations():
    a, b = attitude(0.3, 0.2, 0.1).quaternion, attitude(-1.0, 0.4, 2.0).quaternion
    assert matrix(product(a, b)) == pytest.approx(matrix(a) @ matrix(b), abs=1e-14)
    assert product(a, conjugate(a)) == pytest.approx([1, 0, 0, 0], abs=1e-15)


@pytest.mark.parametrize("name", BASES)
def test_a_complete_end_is_met_by_this_attitude_alone(name):
    problem, phase = phase_of(name)
    wanted = attitude(0.4, -0.3, 2.0)
    phase.end_orientation(0.4, -0.3, 2.0)
    assert met(problem, phase, wanted.quaternion)
    assert met(problem, phase, -wanted.quaternion)
    for axis in np.eye(3):
        for angle in (1e-3, 1.0, math.pi):
            turn = np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])
            assert not met(problem, phase, product(wanted.quaternion, turn), 1e-6)


@pytest.mark.parametrize("name", BASES)
def test_tolerance_is_an_angle(name):
    problem, phase = phase_of(name)
    wanted = attitude(quaternion=[0.5, 0.1, -0.7, 0.2]).quaternion
    phase.end_orientation(quaternion=[5, 1, -7, 2], tolerance=0.2)
    for axis in np.eye(3):
        for angle, inside in ((0.199, True), (0.201, False)):
            turn = np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])
            assert met(problem, phase, product(wanted, turn), 0.0) == inside


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("sequence", ["zyx", "zxy"])
@pytest.mark.parametrize(
    "asked",
    [{"roll": 2.5}, {"pitch": 0.4}, {"yaw": -3.0}, {"roll": math.pi, "pitch": -0.2}],
)
def test_some_angles_leave_the_others_free(name, sequence, asked):
    problem, phase = phase_of(name)
    phase.end_orientation(**asked, sequence=sequence)
    for others in (0.3, -0.9):
        angles = {"roll": others, "pitch": others, "yaw": others, **asked}
        q = attitude(**angles, sequence=sequence).quaternion
        assert met(problem, phase, q)
        for angle in asked:
            off = {**angles, angle: angles[angle] + 0.05}
            assert not met(problem, phase, attitude(**off, sequence=sequence).quaternion)
            if angle != "pitch":  # the opposite branch has the same tangent
                off = {**angles, angle: angles[angle] + math.pi}
                assert not met(problem, phase, attitude(**off, sequence=sequence).quaternion)


def test_tolerance_of_single_angles():
    problem, phase = phase_of("acrobat")
    phase.end_orientation(roll=3.0, pitch=0.2, tolerance=0.1)
    for roll, pitch, inside in (
        (3.09, 0.11, True), (2.91, 0.29, True), (3.11, 0.2, False), (2.89, 0.2, False),
        (3.0, 0.31, False), (3.0, 0.09, False),
    ):  # fmt: skip
        assert met(problem, phase, attitude(roll, pitch, 1.0).quaternion, 0.0) == inside


@pytest.mark.parametrize("name", BASES)
def test_a_start_fixes_the_coordinates(name):
    _, phase = phase_of(name)
    phase.start_orientation(0.4, -0.3, 2.0)
    base = BaseOrientation(phase)
    assert set(phase.start_bounds) == set(base.names)
    q = np.array(phase.robot.neutral)
    q[: base.count] = [phase.start_bounds[n][0] for n in base.names]
    pose = phase.robot.node_pose("trunk", q)[:3, :3]
    assert pose == pytest.approx(matrix(attitude(0.4, -0.3, 2.0).quaternion), abs=1e-12)


def test_upright_costs_a_quaternion_base_no_constraint():
    problem, phase = phase_of("acrobat")
    phase.end_orientation(0, 0, 0)
    assert not problem.boundaries
    assert phase.end_bounds == {"qx": (0, 0), "qy": (0, 0), "qz": (0, 0)}


@pytest.mark.parametrize("name", BASES)
def test_guess_turns_steadily_between_the_ends(name):
    _, phase = phase_of(name)
    first, second = attitude(0.3, 0.2, 0.1), attitude(0.8, -0.4, 1.5)
    phase.start_orientation(0.3, 0.2, 0.1)
    phase.end_orientation(0.8, -0.4, 1.5)
    base = BaseOrientation(phase)
    times = np.linspace(2.0, 3.0, 11)
    values = np.stack([phase.guesses[n](times) for n in base.names], axis=1)
    q = np.array(phase.robot.neutral)
    turns = []
    for row in values:
        q[: base.count] = row
        turns.append(phase.robot.node_pose("trunk", q)[:3, :3])
    assert turns[0] == pytest.approx(matrix(first.quaternion), abs=1e-12)
    assert turns[-1] == pytest.approx(matrix(second.quaternion), abs=1e-12)
    steps = [Rotation.from_matrix(a.T @ b).magnitude() for a, b in zip(turns, turns[1:])]  # noqa: B905, RUF007
    assert steps == pytest.approx([steps[0]] * 10, rel=1e-9)


def test_quaternion_guess_has_unit_length_even_half_a_turn_apart():
    values = slerp(np.array([0.0, 0, 1, 0]), np.array([1.0, 0, 0, 0]), np.linspace(0, 1, 9))
    assert np.linalg.norm(values, axis=1) == pytest.approx(np.ones(9), abs=1e-15)
    assert scipy_of(values[4]).magnitude() == pytest.approx(math.pi / 2)


def test_guesses_of_the_user_are_kept():
    _, phase = phase_of("acrobat")
    phase.guess(qw=0.25)
    phase.end_orientation(0, 0, 0)
    assert phase.guesses["qw"] == pytest.approx([0.25])


def test_reduced_flight_takes_orientations_too():
    problem = OptimalControlProblem()
    phase = problem.phase("flight", duration=1.0)
    add_free_flight(phase, plain("rat_1_2"))
    phase.start_orientation(roll=math.pi, pitch=0, yaw=0, sequence="zxy")
    phase.end_orientation(roll=0.0, sequence="zxy")
    fixed = [phase.start_bounds[n][0] for n in ("qw", "qx", "qy", "qz")]
    assert fixed == pytest.approx([0, 0, 1, 0], abs=1e-15)
    assert len(problem.boundaries) == 2


def test_nonsense_is_refused():
    _, phase = phase_of("acrobat")
    for arguments, message in (
        ({}, "give roll"),
        ({"roll": 1.0, "quaternion": [1, 0, 0, 0]}, "give roll"),
        ({"quaternion": [0, 0, 0, 0]}, "four numbers"),
        ({"quaternion": [1, 0, 0]}, "four numbers"),
        ({"roll": math.nan}, "finite"),
        ({"roll": 1.0, "sequence": "abc"}, "not one of"),
        ({"roll": 1.0, "tolerance": 2.0}, "tolerance"),
        ({"pitch": 2.0}, "middle angle"),
    ):
        with pytest.raises(OptimalControlError, match=message):
            phase.end_orientation(**arguments)
    with pytest.raises(OptimalControlError, match="need a robot"):
        OptimalControlProblem().phase("p", duration=1.0).end_orientation(roll=0.0)
    with pytest.raises(OptimalControlError, match="floating base"):
        OptimalControlProblem(plain("crane")).phase("p", duration=1.0).end_orientation(roll=0.0)
