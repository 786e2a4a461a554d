"""Supporting: the statement, contact that can be relaxed, the ladder, and the tail's worth."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest

from bestiary import generated
from bestiary.solvers.ocp import OptimalControlError, OptimalControlProblem, Solution, Status
from bestiary.solvers.ocp.contact import (
    LAW,
    RELAXATION,
    SMALLEST_RELAXATION,
    add_robot_in_contact,
    contact_nodes,
    declare_contact,
)
from bestiary.solvers.ocp.fixed_program import FixedProgram
from bestiary.solvers.ocp.library.support_ladder import graded, support_ladder
from bestiary.solvers.ocp.library.support_plots import (
    plot_ground,
    plot_rungs,
    plot_side,
    plot_tilt,
)
from bestiary.solvers.ocp.library.support_replay import (
    ground_table,
    ground_text,
    leaves_cone,
    open_loop,
    tracked,
    without_tail,
)
from bestiary.solvers.ocp.library.supporting import (
    CONE,
    HEEL,
    LADDER,
    STIFF,
    Softness,
    balance,
    set_softness,
    supporting,
)

RATS = {"articulated": "kangaroo_rat_articulated", "continuum": "kangaroo_rat_continuum"}
WEIGHT = (0.105 + 0.005) * 9.81


@pytest.fixture(scope="module", params=RATS)
def rat(request: pytest.FixtureRequest) -> Any:
    return generated.load(RATS[request.param])


@pytest.fixture(scope="module")
def rigid() -> Any:
    return generated.load(RATS["articulated"])


def pressed_state(robot: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random state whose lowest contact is 2 mm deep."""
    q, _ = robot.random_state(seed)
    p = 0.1 * np.random.default_rng(seed).normal(size=len(robot.velocities))
    lowest = min(robot.node_pose(n, q)[2, 3] for n in contact_nodes(robot))
    q[robot.coordinates.index("z")] -= lowest + 0.002
    return q, p


def residuals(robot: Any, q: np.ndarray, p: np.ndarray, kappa: float) -> np.ndarray:
    """Of the phase's equations, with accelerations of the robot's own forward dynamics."""
    problem = OptimalControlProblem(name="standing")
    declare_contact(problem, robot)
    phase = problem.phase("stand", duration=1.0)
    add_robot_in_contact(phase, robot)
    u = np.full(len(robot.inputs), 0.01)
    a = robot.state_rates(q, p, u)[1]
    names = robot.velocities.names
    values = {
        **dict(zip(robot.coordinates.names, q, strict=True)),
        **dict(zip(names, p, strict=True)),
        **dict(zip(robot.inputs.names, u, strict=True)),
        **{f"{n}_rate": x for n, x in zip(names, a, strict=True)},
        **{n: float(robot.parameters[n]) for n in LAW if n != "contact_friction"},
        RELAXATION: kappa,
    }
    table = phase.table
    function = ca.Function(
        "residuals",
        [table[n] for n in values],
        [ca.vertcat(*(e for e, _, _ in phase.equations.values()))],
    )
    return np.asarray(function(*values.values())).ravel()


@pytest.mark.parametrize("seed", range(3))
def test_without_relaxation_the_forces_are_the_robots_own(rat: Any, seed: int) -> None:
    q, p = pressed_state(rat, seed)
    _, depth, _ = rat.contact_forces_batch(q[None], p[None])
    assert depth.max() == pytest.approx(0.002)
    assert np.abs(residuals(rat, q, p, 0.0)).max() < 1e-9


def test_relaxation_adds_at_most_half_its_size_times_the_root_of_the_depth(rigid: Any) -> None:
    q, p = pressed_state(rigid, 1)
    _, depth, _ = rigid.contact_forces_batch(q[None], p[None])
    kappa = 3.0
    most = float(np.sqrt(np.maximum(depth, 0)).sum() * kappa / 2)
    extra = np.abs(residuals(rigid, q, p, kappa)[3:6])
    assert 1e-4 < np.linalg.norm(extra) < most * math.hypot(1.0, 0.8) * 1.001


def test_rates_of_a_relaxed_contact_satisfy_the_phases_equations(rigid: Any) -> None:
    robot = rigid.with_parameters(foot_y=HEEL)
    problem = supporting(rigid)
    phase = problem.phases[0]
    set_softness(problem, LADDER[2])
    q, p = pressed_state(robot, 2)
    u, u_rate = np.full(4, 0.01), np.full(4, 0.3)
    x = np.concatenate([q, p, u])[None]
    constants = np.array([problem.constant_values[v.name] for v in problem.constants])
    assert phase.explicit_rates is not None
    rates = phase.explicit_rates(x, u_rate[None], np.empty(0), constants, np.zeros(1))[0]
    np.testing.assert_array_equal(rates[-4:], u_rate)
    names = robot.velocities.names
    values = {
        **dict(zip((*robot.coordinates.names, *names, *robot.inputs.names), x[0], strict=True)),
        **{f"{n}_rate": a for n, a in zip(names, rates[len(q) : -4], strict=True)},
        **problem.constant_values,
    }
    table = phase.table
    function = ca.Function(
        "residuals",
        [table[n] for n in values],
        [ca.vertcat(*(e for e, _, _ in phase.equations.values()))],
    )
    assert np.abs(np.asarray(function(*values.values()))).max() < 1e-8


@pytest.mark.parametrize("softness", [LADDER[0], STIFF], ids=["soft", "stiff"])
@pytest.mark.parametrize("degrees", [0.0, 15.0])
def test_a_balance_stands_still_on_feet_and_tail(
    rat: Any, softness: Softness, degrees: float
) -> None:
    constants = {n: v for n, v in softness.constants.items() if n in rat.parameters}
    robot = rat.with_parameters(foot_y=HEEL, **constants)
    q, u = balance(robot, math.radians(degrees))
    still = np.zeros(len(robot.velocities))
    assert np.abs(robot.state_rates(q, still, u)[1]).max() < 1e-8
    forces, _, _ = robot.contact_forces_batch(q[None], still[None])
    assert forces[0, :, 2].sum() == pytest.approx(WEIGHT, rel=1e-9)
    assert forces[0, -1, 2] > 0.1  # the tail's end carries weight
    assert not forces[0, :, :2].any()


def test_no_balance_is_told(rigid: Any) -> None:
    with pytest.raises(OptimalControlError, match=r"no static balance .* by 60 degrees"):
        balance(rigid.with_parameters(foot_y=HEEL), math.radians(60))  # but on the tail alone


def test_the_statement_starts_in_balance_and_knows_its_limits(rigid: Any) -> None:
    problem = supporting(rigid, task="restore")
    phase = problem.phases[0]
    tilt = 2 * math.asin(phase.start_bounds["qx"][0])
    assert math.degrees(tilt) == pytest.approx(15.0)
    assert {v.name: v.bounds for v in phase.state_variables}["alpha_1_torque"] == (-0.16, 0.16)
    assert [p.name for p in phase.paths] == ["cosine_of_tilt"]
    assert problem.constant_values["contact_stiffness"] == STIFF.stiffness
    set_softness(problem, LADDER[0])
    assert problem.constant_values["contact_damping"] == pytest.approx(0.2 * LADDER[0].stiffness)
    assert 2 * math.asin(phase.start_bounds["qx"][0]) == pytest.approx(tilt)
    assert phase.start_bounds["z"][0] < 0.036  # it has sunk


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "hover"}, "task must be one of hold, restore, got 'hover'"),
        ({"tail": "feather"}, "tail must be one of articulated, continuum"),
        ({"weights": {"torque": 1.0}}, "no cost torque; have effort, unrest, haste, swinging"),
        ({"cone": 2.0}, "cone must be within 0 and 90 degrees"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    rigid: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptimalControlError, match=message):
        supporting(rigid, **options)


def test_a_robot_without_contact_is_refused() -> None:
    with pytest.raises(OptimalControlError, match="has no contact with the ground"):
        contact_nodes(generated.load("sea_lion"))


def test_the_ladder_goes_from_soft_to_the_robots_own_ground(rigid: Any) -> None:
    own = rigid.parameters
    assert own["contact_stiffness"] == STIFF.stiffness
    assert own["contact_damping"] == STIFF.constants["contact_damping"]
    assert own["contact_smoothing"] == STIFF.smoothing
    assert own["contact_slip_velocity"] == STIFF.slip_velocity
    assert LADDER[-1] == STIFF
    assert STIFF.relaxation == SMALLEST_RELAXATION
    for a, b in pairwise(LADDER):
        assert a.stiffness <= b.stiffness
        assert a.smoothing >= b.smoothing
        assert a.relaxation >= b.relaxation
    half = LADDER[0].towards(STIFF, 0.5)
    assert half.stiffness == pytest.approx(math.sqrt(LADDER[0].stiffness * STIFF.stiffness))


def test_graded_meshes_are_short_at_both_ends() -> None:
    edges = np.array(graded(1.0))
    assert edges[0] == 0.0
    assert edges[-1] == 1.0
    widths = np.diff(edges)
    np.testing.assert_allclose(widths, widths[::-1], atol=1e-12)
    assert widths[0] < 6e-4
    assert 0.03 < widths.max() < 0.041


def test_the_first_rung_is_solved_on_a_coarse_mesh(rigid: Any) -> None:
    problem = supporting(rigid, task="restore")
    made = support_ladder(problem, LADDER[:1], mesh=8, verify=False, iterations=60)
    assert made.reached
    assert len(made.rungs) == 1
    assert made.rungs[0].iterations < 40
    assert "cost" in str(made)
    solution = made.solution
    assert solution.sealed  # nobody has verified it
    solution.unseal()
    tilt = 2 * np.arcsin(solution.value("qx"))
    assert math.degrees(tilt[0]) == pytest.approx(15.0)
    assert math.degrees(tilt[-1]) < 2.51


def test_a_step_that_fails_is_halved(rigid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []
    solve = FixedProgram.solve

    def fails_far(self: FixedProgram, **options: Any) -> Any:
        kappa = self.problem.constant_values[RELAXATION]
        last = tried[-1] if tried else kappa
        few = 1 if kappa < last / 4 else 60
        made = solve(self, **{**options, "iterations": few})
        if made.status.converged:
            tried.append(kappa)
        return made

    monkeypatch.setattr(FixedProgram, "solve", fails_far)
    soft = LADDER[0]
    target = Softness(soft.stiffness, soft.smoothing, soft.slip_velocity, 0.2)
    problem = supporting(rigid, task="restore")
    made = support_ladder(problem, [soft, target], mesh=6, verify=False)
    assert made.reached
    assert [r.asked for r in made.rungs] == [True, True, False, True]
    assert not made.rungs[1].status.converged
    assert tried == pytest.approx([2.0, math.sqrt(0.4), 0.2])


def test_a_ladder_that_fails_says_so(rigid: Any) -> None:
    problem = supporting(rigid, task="restore")
    made = support_ladder(problem, LADDER[:1], mesh=6, iterations=1)
    assert not made.reached
    assert str(made).endswith("NOT reached")
    assert made.solution.status is Status.ITERATION_LIMIT


# -- the whole ladder ----------------------------------------------------------
@pytest.fixture(scope="module", params=["hold", "restore"])
def solved(request: pytest.FixtureRequest, rigid: Any) -> tuple[str, Solution]:
    problem = supporting(rigid, task=request.param)
    return request.param, problem.solve(progress=False)


@pytest.mark.slow
def test_the_ladder_reaches_the_stiff_ground(solved: tuple[str, Solution]) -> None:
    task, solution = solved
    assert solution.success
    assert solution.constants["contact_stiffness"] == 2e4
    assert solution.constants[RELAXATION] == SMALLEST_RELAXATION
    assert solution.verdict.segment_error < 5e-3
    known = {"hold": 0.067330, "restore": 0.212639}
    assert solution.cost == pytest.approx(known[task], rel=1e-4)


@pytest.mark.slow
def test_the_tracked_tail_keeps_the_torso_in_the_cone_for_a_second(
    solved: tuple[str, Solution],
) -> None:
    task, solution = solved
    rest = 0.0 if task == "hold" else 1.0
    since = 0.0 if task == "hold" else solution.duration()
    motion = tracked(solution, rest=rest)
    assert float(motion.time[-1]) - since == pytest.approx(1.0)
    assert math.isnan(leaves_cone(motion, CONE, since))
    rows = {r.node: r for r in ground_table(motion)}
    assert rows["segment_2_end"].loaded == 1.0
    assert 0.05 < rows["segment_2_end"].mean_force < 0.2
    assert max(r.depth for r in rows.values()) < 1e-3
    assert max(r.slip for r in rows.values()) < 0.05
    # it hardly moves up or down, so the ground's mean force is its weight
    assert sum(r.mean_force for r in rows.values()) == pytest.approx(WEIGHT, rel=5e-3)
    assert "segment_2_end" in ground_text(list(rows.values()))


@pytest.mark.slow
def test_without_the_tail_it_falls(solved: tuple[str, Solution]) -> None:
    task, solution = solved
    since = 0.0 if task == "hold" else solution.duration()
    motion = without_tail(solution, rest=1.0)
    assert leaves_cone(motion, CONE, since) <= since + 0.1
    assert math.degrees(float(motion.tilt[-1])) > 30


@pytest.mark.slow
@pytest.mark.parametrize("case", [{"torso_mass": 1.1}, {"torso_mass": 0.9}, {"push": 0.5}])
def test_tracking_bears_wrong_masses_and_a_push(
    solved: tuple[str, Solution], case: dict[str, float]
) -> None:
    task, solution = solved
    since = 0.0 if task == "hold" else solution.duration()
    motion = tracked(solution, rest=0.0 if task == "hold" else 1.0, **case)
    assert math.isnan(leaves_cone(motion, CONE, since))


@pytest.mark.slow
def test_torques_alone_follow_the_solution_at_first_and_then_need_feedback(
    solved: tuple[str, Solution],
) -> None:
    task, solution = solved
    motion = open_loop(solution)
    plan = 2 * np.arcsin(solution.value("qx", motion.time.values))
    early = motion.time.values < 0.2
    gap = np.degrees(np.abs(motion.tilt.values - np.abs(plan)))
    assert gap[early].max() < 0.3
    if task == "hold":  # an upside-down pendulum: the open loop leaves the plan for good
        assert gap[-1] > 10


@pytest.mark.slow
def test_pictures_are_drawn(solved: tuple[str, Solution]) -> None:
    import matplotlib.pyplot as plt

    _, solution = solved
    motion = tracked(solution)
    assert solution.problem is not None
    robot = solution.problem.phases[0].robot
    for figure in (
        plot_side(robot, {"tracked": motion}),
        plot_tilt({"tracked": motion}, CONE),
        plot_ground(motion),
    ):
        assert figure.axes
        plt.close(figure)


@pytest.mark.slow
def test_a_continuum_tail_restores_the_torso_too() -> None:
    problem = supporting(generated.load(RATS["continuum"]), task="restore")
    made = support_ladder(problem, progress=False)
    assert made.reached
    assert made.solution.success
    assert math.isnan(leaves_cone(tracked(made.solution, rest=1.0), CONE, 0.6))
    figure = plot_rungs(made.rungs)
    assert len(figure.axes) == 2
