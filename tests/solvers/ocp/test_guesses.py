"""Where a search starts: earlier solutions, simulations, equilibria, ladders and many starts."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest
from ocp_harness import bang_bang, integrator, two_phases

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    Mesh,
    MultipleShooting,
    OptimalControlError,
    OptimalControlProblem,
    Radau,
    Scheme,
    Section,
    Solution,
    Trapezoid,
    multistart,
    solve_ladder,
)
from bestiary.solvers.ocp.library import PROBLEMS
from bestiary.solvers.ocp.mesh import Held
from bestiary.solvers.ocp.warm_start import Start


def _iterations(solution: Solution) -> int:
    return solution.refined.rounds[0].outcome.iterations


def pendulum(weight: float = 1.0) -> OptimalControlProblem:
    """A torque-limited pendulum is swung up in 3 s."""
    problem = OptimalControlProblem(name="pendulum")
    w = problem.constant("weight", weight)
    phase = problem.phase("swing", duration=3.0)
    angle, rate = phase.states("angle rate", units="rad rad/s")
    (torque,) = phase.controls("torque", units="N m")
    phase.dynamics({angle: rate, rate: torque - 4 * ca.sin(angle)})
    phase.start(angle=0, rate=0)
    phase.end(angle=np.pi, rate=0)
    phase.bound(torque=(-5, 5))
    phase.minimize(integral=w * torque**2)
    return problem


# -- earlier solutions -------------------------------------------------------------------
@pytest.fixture(scope="module")
def swung() -> Solution:
    return pendulum().solve(mesh=10)


def test_the_solution_as_guess_starts_on_its_own_mesh(swung: Solution) -> None:
    again = pendulum().solve(guess=swung)
    assert again.refined.rounds[0].intervals == swung.refined.rounds[-1].intervals
    assert again.cost == pytest.approx(swung.cost, rel=1e-8)


def test_with_its_multipliers_it_needs_no_search(swung: Solution) -> None:
    assert _iterations(pendulum().solve(guess=swung, duals=True)) <= 2
    assert _iterations(pendulum().solve(guess=swung)) > 2


@pytest.mark.parametrize(
    "scheme", [Radau(3), Gauss(3), HermiteSimpson(), Trapezoid(), MultipleShooting(4)], ids=str
)
def test_multipliers_serve_on_other_meshes_and_schemes(swung: Solution, scheme: Scheme) -> None:
    options = {"scheme": scheme, "mesh": 33, "refine_mesh": False, "tolerance": 1e-4}
    without = pendulum().solve(guess=swung, **options)
    with_them = pendulum().solve(guess=swung, duals=True, **options)
    assert _iterations(with_them) < _iterations(without)
    assert with_them.unseal().cost == pytest.approx(without.unseal().cost, rel=1e-6)


@pytest.mark.parametrize("scheme", [Radau(3), Gauss(3), MultipleShooting(4)], ids=str)
def test_resampled_multipliers_are_those_of_the_new_mesh(swung: Solution, scheme: Scheme) -> None:
    solved = pendulum().solve(scheme=scheme, mesh=33, refine_mesh=False, guess=swung)
    found = Start(swung.record, duals=True).multipliers(solved.refined.transcription)
    assert found is not None
    exact = solved.record.row_multipliers
    assert np.max(np.abs(found[0] - exact)) < 0.02 * np.max(np.abs(exact))


def test_multipliers_of_active_limits_are_resampled_too() -> None:
    def limited() -> OptimalControlProblem:
        problem = integrator()
        problem.phases[0].bound(u=(-4.5, 4.5))
        return problem

    first = limited().solve(mesh=20, knots=False, tolerance=1e-4)
    second = limited().solve(mesh=33, knots=False, refine_mesh=False, tolerance=1e-4)
    found = Start(first.record, duals=True).multipliers(second.refined.transcription)
    assert found is not None
    entries = second.refined.transcription.phases[0].controls[:, 0]
    exact = second.record.bound_multipliers[entries]
    assert np.max(exact) > 0 > np.min(exact)  # at both limits
    assert np.max(np.abs(found[1][entries] - exact)) < 0.1 * np.max(np.abs(exact))


def test_quantities_find_each_other_by_name(swung: Solution) -> None:
    """Another order of states, one more state, other limits: the motion is still used."""
    problem = OptimalControlProblem(name="other")
    phase = problem.phase("swing", duration=3.0)
    work, rate, angle = phase.states("work rate angle")
    (torque,) = phase.controls("torque")
    phase.dynamics({angle: rate, rate: torque - 4 * ca.sin(angle), work: torque * rate})
    phase.start(angle=0, rate=0, work=0)
    phase.end(angle=np.pi, rate=0)
    phase.bound(torque=(-5, 5))
    phase.minimize(integral=torque**2)
    guessed = problem.solve(guess=swung, rounds=1)
    plain = problem.solve(mesh=10, rounds=1)
    assert _iterations(guessed) < _iterations(plain)
    assert guessed.unseal().cost == pytest.approx(swung.cost, rel=1e-5)


def test_phases_and_parameters_find_each_other_by_name() -> None:
    first = two_phases().solve(mesh=5)
    again = two_phases().solve(guess=first, duals=True)
    assert _iterations(again) <= 3
    assert again.cost == pytest.approx(first.cost, rel=1e-9)


def test_knots_that_no_longer_suit_are_left_behind() -> None:
    """Least time has a knot; with the effort in the cost the control is smooth."""
    edges, degrees = (0.0, 0.5, 1.0), (3, 3)
    arcs = tuple(Section(edges, degrees, (Held("control", 0, side),)) for side in (1, -1))
    first = bang_bang().solve(mesh=Mesh(arcs, (0.6,)))
    assert len(first.motion().layout.mesh.sections) == 2
    problem = bang_bang()
    phase = problem.phases[0]
    phase.bound(u=(-50, 50))
    phase.minimize(integral=10 * phase["u"] ** 2)
    assert problem.solve(guess=first).success


# -- simulations and equilibria ----------------------------------------------------------
def test_a_simulated_guess_obeys_the_dynamics() -> None:
    problem = integrator()
    table = problem.phases[0].guess_simulation({"u": 2.0}, points=11)
    assert np.allclose(table["x"], table["time"] ** 2, atol=1e-5)
    assert np.allclose(table["v"], 2 * table["time"], atol=1e-5)
    assert np.all(table["u"] == 2.0)


def test_a_policy_sees_time_and_states_and_is_kept_within_bounds() -> None:
    problem = integrator()
    seen = set()

    def policy(time: float, state: dict[str, float]) -> dict[str, float]:
        seen.update(state)
        return {"u": 100.0 if time < 0.5 else -state["v"]}

    table = problem.phases[0].guess_simulation(policy, points=51)
    assert seen == {"x", "v"}
    assert table["u"].max() == 10.0  # its upper bound
    late = table["time"] > 0.55
    assert np.allclose(np.diff(np.log(table["v"][late])), -0.02, atol=1e-4)


def test_algebraic_variables_are_simulated_too() -> None:
    problem = PROBLEMS["pendulum_in_coordinates"]()
    table = problem.phases[0].guess_simulation(duration=1.0, start={"vx": 1.0})
    length = np.hypot(table["x"], table["y"])
    assert np.allclose(length, 1.0, atol=1e-3)
    assert np.all(np.isfinite(table["rod"]))
    assert table["rod"][0] == pytest.approx(9.81 + 1.0, rel=1e-2)


def test_a_simulation_that_runs_away_says_when() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase(duration=5.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: x**2 + u})
    phase.start(x=1)
    with pytest.raises(OptimalControlError, match=r"runs away after 0\.9\d+ s of 5 s"):
        phase.guess_simulation()
    with pytest.raises(OptimalControlError, match="no control 'w'"):
        phase.guess_simulation({"w": 1.0})
    with pytest.raises(OptimalControlError, match="no state 'y'"):
        phase.guess_simulation(start={"y": 1.0}, duration=0.1)


def test_an_equilibrium_is_at_rest() -> None:
    phase = pendulum().phases[0]
    found = phase.guess_equilibrium(angle=0.5)
    assert found["rate"] == pytest.approx(0.0, abs=1e-8)
    assert found["angle"] == pytest.approx(0.5, abs=1e-2)
    assert found["torque"] == pytest.approx(4 * np.sin(found["angle"]), abs=1e-7)
    steady = OptimalControlProblem().phase(duration=1.0)
    (x,) = steady.states("x")
    steady.dynamics({x: 1 + x**2})
    with pytest.raises(OptimalControlError, match="no equilibrium within the bounds"):
        steady.guess_equilibrium()


# -- ladders -----------------------------------------------------------------------------
def test_a_ladder_reports_each_rung_and_ends_on_the_top() -> None:
    problem = bang_bang()
    weight = problem.constant("weight", 1.0)
    phase = problem.phases[0]
    phase.minimize(integral=weight * phase["u"] ** 2)
    climbed = solve_ladder(problem, {"weight": [1, 0.1, 0]}, mesh=10)
    assert climbed.reached
    assert [r.values["weight"] for r in climbed.rungs] == [1, 0.1, 0]
    assert climbed.solution.cost == pytest.approx(np.sqrt(6.0), rel=1e-6)
    assert "the top is reached" in str(climbed)
    assert climbed.rungs[1].change > 0


def test_a_rung_that_fails_is_approached_in_halved_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from bestiary.solvers.ocp import homotopy

    asked: list[float] = []
    real = homotopy.solve
    last = {"value": 0.0}

    def fragile(problem: OptimalControlProblem, **options: object) -> Solution:
        """Solves only what is at most 1 from the last success."""
        value = problem.constant_values["weight"]
        asked.append(value)
        if abs(value - last["value"]) > 1.0:
            return real(problem, **{**options, "iterations": 1, "rounds": 1, "guess": None})
        last["value"] = value
        return real(problem, **options)

    monkeypatch.setattr(homotopy, "solve", fragile)
    problem = integrator()
    weight = problem.constant("weight", 0.5)
    problem.phases[0].minimize(integral=weight * problem.phases[0]["v"] ** 2)
    climbed = solve_ladder(problem, {"weight": [0.5, 3.5]}, mesh=5, tolerance=1e-3)
    assert climbed.reached
    assert any(not r.success for r in climbed.rungs)
    assert [r.asked for r in climbed.rungs][-1]
    assert asked[:3] == [0.5, 3.5, pytest.approx(np.sqrt(0.5 * 3.5))]
    assert max(np.diff([r.values["weight"] for r in climbed.rungs if r.success])) <= 1.0


def test_a_top_that_is_out_of_reach_is_said_honestly() -> None:
    problem = integrator()
    limit = problem.constant("limit", 10.0)
    phase = problem.phases[0]
    phase.path("slow", limit - phase["v"], low=0)  # needs at least 1 on average
    climbed = solve_ladder(
        problem, {"limit": [10.0, 0.5]}, mesh=5, halvings=1, tolerance=1e-3, iterations=20
    )
    assert not climbed.reached
    assert not climbed.solution.success
    assert climbed.last_solved is not None
    assert climbed.last_solved.success
    assert "NOT reached" in str(climbed)


def test_ladders_of_wrong_constants_are_refused() -> None:
    with pytest.raises(OptimalControlError, match="'gain' is no constant"):
        solve_ladder(pendulum(), {"gain": [1, 2]})
    problem = pendulum()
    problem.constant("other", 1.0)
    with pytest.raises(OptimalControlError, match="weight has 2, other has 1"):
        solve_ladder(problem, {"weight": [1, 2], "other": [1]})


# -- many starts -------------------------------------------------------------------------
def swing_left(problem: OptimalControlProblem) -> None:
    problem.phases[0].guess(angle=(0, -np.pi))


def two_ways() -> OptimalControlProblem:
    """A wall between start and goal: round it above (short) or below (long)."""
    problem = OptimalControlProblem(name="wall")
    phase = problem.phase("go", duration=1.0)
    x, y = phase.states("x y")
    u, v = phase.controls("u v")
    phase.dynamics({x: u, y: v})
    phase.start(x=0, y=0)
    phase.end(x=1, y=0)
    phase.path("wall", (x - 0.5) ** 2 + (y + 0.05) ** 2, low=0.04)
    phase.minimize(integral=u**2 + v**2)
    return problem


def above(problem: OptimalControlProblem) -> None:
    problem.phases[0].guess(y=lambda t: 0.3 * np.sin(np.pi * t))


def below(problem: OptimalControlProblem) -> None:
    problem.phases[0].guess(y=lambda t: -0.4 * np.sin(np.pi * t))


OPTIONS = {"mesh": 8, "tolerance": 1e-3}


def test_many_starts_find_both_ways_in_the_order_of_their_guesses() -> None:
    found = multistart(two_ways, [below, above], **OPTIONS)
    assert [a.number for a in found.attempts] == [0, 1]
    assert found.attempts[1].cost < found.attempts[0].cost
    assert found.best.cost == found.attempts[1].cost
    assert [starts for _, starts in found.optima] == [[1], [0]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_gives_the_same_in_the_same_order(kind: type) -> None:
    alone = multistart(two_ways, 4, seed=7, **OPTIONS)
    with kind(2) as executor:
        spread = multistart(two_ways, 4, seed=7, executor=executor, **OPTIONS)
    assert [a.cost for a in spread.attempts] == pytest.approx(
        [a.cost for a in alone.attempts], rel=1e-9
    )


def test_seeds_make_starts_repeatable() -> None:
    def kept(problem: OptimalControlProblem, generator: np.random.Generator) -> None:
        drawn.append(generator.normal())

    runs = []
    for _ in range(2):
        drawn: list[float] = []
        multistart(two_ways, [kept, kept], seed=3, **OPTIONS)
        runs.append(drawn)
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[0][1]


def test_a_problem_gets_its_own_guess_back() -> None:
    problem = two_ways()
    multistart(problem, [above], **OPTIONS)
    assert problem.phases[0].guesses == {}


def test_errors_of_one_start_do_not_stop_the_others() -> None:
    def wrong(problem: OptimalControlProblem) -> None:
        problem.phases[0].guess(z=1.0)

    found = multistart(two_ways, [wrong, above], **OPTIONS)
    assert "no name 'z'" in found.attempts[0].error
    assert found.attempts[1].success
    with pytest.raises(OptimalControlError, match="no start succeeded"):
        _ = multistart(two_ways, [wrong], **OPTIONS).best
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(OptimalControlError, match="give a function"),
    ):
        multistart(two_ways(), [above], executor=executor)
