"""Wrong problems: each of them is answered by what is wrong with it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from bestiary.solvers.ocp import (
    HermiteSimpson,
    MultipleShooting,
    OptimalControlError,
    OptimalControlProblem,
    Phase,
    Radau,
    SealedSolutionError,
    Solution,
    Status,
    Trapezoid,
)


def double_integrator(
    duration: object = 1.0, goal: float = 1.0
) -> tuple[OptimalControlProblem, Phase, ca.SX, ca.SX, ca.SX]:
    """From rest to rest at least effort: cost 12 for 1 m in 1 s."""
    problem = OptimalControlProblem(name="double integrator")
    phase = problem.phase("move", duration=duration)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=goal, v=0)
    phase.minimize(integral=u**2)
    return problem, phase, x, v, u


def told(solution: Solution) -> str:
    """All that a verdict says, in one text."""
    verdict = solution.verdict
    return " | ".join([*verdict.reasons, verdict.suggestion])


# -- what is not wrong --------------------------------------------------------
def test_a_right_problem_is_solved_without_remarks() -> None:
    problem, *_ = double_integrator()
    solution = problem.solve()
    verdict = solution.verdict
    assert solution.status is Status.SOLVED
    assert not solution.sealed
    assert solution.cost == pytest.approx(12, rel=1e-9)
    assert verdict.reasons == ()
    assert verdict.suggestion == ""
    assert verdict.violations == ()
    assert verdict.segment_error < 1e-9
    assert verdict.open_loop_error < 1e-9


# -- infeasible ---------------------------------------------------------------
def test_bounds_too_narrow_for_the_end_are_named_with_what_is_within_reach() -> None:
    problem, phase, *_ = double_integrator()
    phase.bound(u=(-1, 1))
    solution = problem.solve()
    assert solution.status is Status.INFEASIBLE
    assert solution.sealed
    # bang-bang at 1 m/s^2 for 1 s covers 1/4 m
    assert "x at the end cannot be 1 m: the nearest within reach is 0.25 m" in told(solution)
    assert "u within -1 and 1 m/s^2" in told(solution)
    assert "x at the end" in solution.verdict.suggestion
    with pytest.raises(SealedSolutionError, match="nearest within reach"):
        _ = solution.cost


def test_a_path_constraint_that_cannot_be_met_is_named() -> None:
    problem, phase, _, v, _ = double_integrator()
    phase.path("speed", v, high=0.5, unit="m/s")
    solution = problem.solve()
    assert solution.status is Status.INFEASIBLE
    assert "path constraint speed <= 0.5 m/s" in told(solution)
    assert "x at the end cannot be 1 m" in told(solution)


def test_violations_have_names_times_and_units() -> None:
    problem, phase, *_ = double_integrator()
    phase.bound(u=(-1, 1))
    worst = problem.solve().verdict.violations[0]
    assert worst.name == "dynamics of x"
    assert worst.unit == "m"
    assert worst.time is not None
    assert 0 < worst.time <= 1
    assert worst.amount > 0.01
    assert worst.count > 10


def test_end_conditions_that_exclude_each_other_in_the_dynamics_are_named() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, y = phase.states("x y", units="m m")
    (u,) = phase.controls("u")
    phase.dynamics({x: u, y: u})
    phase.start(x=0, y=0)
    phase.end(x=1, y=2)
    phase.minimize(integral=u**2)
    solution = problem.solve(mesh=5)
    assert not solution.success
    assert "y at the end" in told(solution)
    assert "x at the end" in told(solution)


# -- contradictions found before the solve ------------------------------------
def test_an_end_outside_bounds_is_refused() -> None:
    problem, phase, *_ = double_integrator()
    phase.bound(x=(0, 0.5))
    with pytest.raises(OptimalControlError, match=r"x at the end .* outside its bounds \[0, 0.5\]"):
        problem.solve()


def test_a_condition_that_contradicts_an_end_is_refused() -> None:
    problem, phase, x, *_ = double_integrator()
    problem.constrain("reach", phase.final(x) ** 2, equals=4, unit="m^2")
    with pytest.raises(OptimalControlError, match=r"condition reach must be 4 m\^2, but .* is 1 m"):
        problem.solve()


def test_a_start_that_violates_a_path_constraint_is_refused() -> None:
    problem, phase, x, *_ = double_integrator()
    phase.path("height", x + 0.1, low=0.2, unit="m")
    with pytest.raises(OptimalControlError, match=r"height at the start must be at least 0\.2 m"):
        problem.solve()


def test_a_path_constraint_outside_the_bounds_is_refused() -> None:
    problem, phase, x, v, _ = double_integrator()
    phase.bound(x=(0, 1), v=(-1, 1))
    phase.path("sum", x**2 + ca.sin(v), low=3)
    with pytest.raises(OptimalControlError, match="path constraint sum must be at least 3"):
        problem.solve()


def test_conditions_that_can_be_met_are_not_refused() -> None:
    problem, phase, x, v, u = double_integrator()
    phase.bound(u=(-10, 10))
    phase.path("height", x, low=0.0, high=1.0)
    phase.path("power", u * v, high=20.0)
    problem.constrain("reach", phase.final(x), low=1.0)
    assert problem.solve().success


@pytest.mark.parametrize("times", [{"duration": 0}, {"duration": (0, 0)}, {"end": 0}])
def test_a_phase_without_duration_is_refused(times: dict[str, object]) -> None:
    problem = OptimalControlProblem()

    def stated_and_solved() -> None:
        phase = problem.phase("move", **times)  # type: ignore[arg-type]
        (x,) = phase.states("x")
        phase.dynamics({x: 1})
        problem.solve()

    with pytest.raises(OptimalControlError, match=r"duration|later than its start"):
        stated_and_solved()


def test_a_free_duration_that_shrinks_to_nothing_is_remarked() -> None:
    problem, phase, *_ = double_integrator(duration=None, goal=0.0)
    phase.bound(u=(-1, 1))
    problem.minimize(phase.duration)
    assert "phase 'move' has shrunk" in told(problem.solve())


# -- not a number -------------------------------------------------------------
def test_nan_in_the_dynamics_at_one_node_is_found_with_time_and_values() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u + 1 / (x - 0.5)})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    # the guess is a straight line with a node at x = 0.5
    solution = problem.solve(scheme=HermiteSimpson(), mesh=10, refine_mesh=False)
    assert not solution.success
    (found,) = solution.verdict.not_finite
    assert found.name == "rate of v"
    assert found.time == pytest.approx(0.5)
    assert (found.nodes, found.total) == (1, 21)
    assert found.inputs["x"] == pytest.approx(0.5)
    assert "x-0.5" in found.cause
    assert "rate of v at 0.5 s" in told(solution)


def test_nan_in_a_path_constraint_names_it_and_the_operation() -> None:
    problem, phase, x, v, _ = double_integrator()
    phase.path("q", ca.log(x - 2) + v, high=3.0)
    solution = problem.solve(mesh=5)
    assert solution.status is Status.NOT_A_NUMBER
    found = solution.verdict.not_finite[0]
    assert found.name == "path constraint q"
    assert found.cause.startswith("log((x-2)) is nan where (x-2) = -")
    assert set(found.inputs) == {"x", "v"}


def test_an_infinite_derivative_of_a_finite_rate_is_found() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("drain", duration=1.0)
    (h,) = phase.states("h", units="m")
    (u,) = phase.controls("u")
    phase.dynamics({h: u - ca.sqrt(h)})
    phase.start(h=0)
    phase.end(h=1)
    phase.minimize(integral=u**2)
    solution = problem.solve(scheme=Trapezoid(), mesh=5)  # has a node at the start
    assert solution.status is Status.NOT_A_NUMBER
    found = solution.verdict.not_finite[0]
    assert found.name == "first derivative of rate of h"
    assert found.time == pytest.approx(0.0)
    assert found.inputs["h"] == 0.0


def test_nan_in_a_condition_and_in_a_cost_is_found() -> None:
    problem, phase, x, v, _ = double_integrator()
    phase.end_bounds.clear()
    problem.constrain("energy", ca.sqrt(phase.final(v) - 5) + phase.final(x), equals=1)
    found = problem.solve(mesh=5).verdict.not_finite[0]
    assert found.name == "condition energy"
    problem, phase, x, _, _ = double_integrator()
    phase.minimize(integral=ca.log(x - 3), name="fuel")
    assert problem.solve(mesh=5).verdict.not_finite[0].name == "cost term 'fuel'"


def test_nan_under_shooting_is_found() -> None:
    problem, phase, x, _, u = double_integrator()
    phase.rates["v"] = u + ca.sqrt(x - 2)
    solution = problem.solve(scheme=MultipleShooting(4), mesh=5)
    assert solution.status is Status.NOT_A_NUMBER
    assert solution.verdict.not_finite[0].name == "rate of v"


# -- unbounded, flat, redundant -----------------------------------------------
def test_a_cost_without_bound_names_what_grows() -> None:
    problem, phase, x, *_ = double_integrator()
    phase.end_bounds.clear()
    phase.cost_integrals.clear()
    phase.minimize(final=x)
    solution = problem.solve()
    assert solution.status is Status.UNBOUNDED
    assert "u reaches -" in told(solution)
    assert solution.refined is not None
    assert solution.refined.outcome.iterations < 200  # found out early, not by running out
    assert "bound u" in solution.verdict.suggestion


def test_a_concave_cost_without_bound_names_what_grows() -> None:
    problem, phase, _, _, u = double_integrator()
    phase.minimize(integral=-2 * u**2)
    solution = problem.solve()
    assert solution.status is Status.UNBOUNDED
    assert "the cost went from" in told(solution)


def test_dependent_constraints_are_named_on_request() -> None:
    problem, phase, x, *_ = double_integrator()
    phase.end_bounds.pop("x")
    problem.constrain("once", phase.final(x), equals=1)
    problem.constrain("twice", 2 * phase.final(x), equals=2)
    solution = problem.solve(mesh=5)
    found = solution.diagnose().conditioning
    assert found is not None
    assert found.defect == 1
    assert set(found.dependent) == {"condition once", "condition twice"}


@pytest.mark.parametrize("mesh", [10, 200])  # dense and sparse
def test_dependent_constraints_and_flat_directions_are_counted(mesh: int) -> None:
    problem, phase, x, *_ = double_integrator()
    phase.end_bounds.pop("x")
    problem.constrain("once", phase.final(x), equals=1)
    problem.constrain("twice", 2 * phase.final(x), equals=2)
    problem.parameter("idle", bounds=(0, 10))
    found = problem.solve(mesh=mesh, refine_mesh=False).diagnose().conditioning
    assert found is not None
    assert found.defect == 1
    assert found.flat == ("idle",)
    assert found.flat_count == 1


@pytest.mark.parametrize("mesh", [10, 200])
def test_a_well_posed_problem_has_neither(mesh: int) -> None:
    problem, *_ = double_integrator()
    found = problem.solve(mesh=mesh, refine_mesh=False).diagnose().conditioning
    assert found is not None
    assert found.defect == 0
    assert found.flat_count == 0
    assert 1 < found.condition < 1e7


def test_controls_that_only_matter_together_are_a_flat_valley() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("push", duration=1.0)
    (x,) = phase.states("x")
    left, right = phase.controls("left right")
    phase.dynamics({x: left + right})
    phase.start(x=0)
    phase.end(x=1)
    phase.minimize(integral=(left + right) ** 2)
    found = problem.solve(mesh=5, refine_mesh=False).diagnose().conditioning
    assert found is not None
    assert set(found.flat) == {"left", "right"}
    assert found.flat_count == 15  # one at each node


def test_more_equations_than_unknowns_are_counted() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("swing", duration=1.0)
    x, v = phase.states("x v")
    phase.dynamics({x: v, v: -x})
    phase.start(x=0, v=1)
    phase.end(x=1, v=0)
    problem.minimize(phase.final(x))
    solution = problem.solve(mesh=5)
    assert solution.status is Status.TOO_FEW_FREEDOMS
    assert "2 more equations than unknowns" in told(solution)


# -- algebraic equations ------------------------------------------------------
def test_a_singular_mass_matrix_names_equations_and_rates() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v, y, w = phase.states("x v y w")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, y: w})
    a, b = phase.rate(v), phase.rate(w)
    phase.equation("first", a + b - u)
    phase.equation("second", 2 * a + 2 * b - 2 * u - x)
    with pytest.raises(OptimalControlError, match="first and second do not determine v_rate and w"):
        problem.solve()


def test_a_regular_mass_matrix_is_not_refused() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v})
    phase.equation("newton", (2 + ca.cos(x)) * phase.rate(v) - u)
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    assert problem.solve(mesh=10).success


def test_a_hidden_constraint_is_named() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v")
    (force,) = phase.algebraics("force")
    phase.dynamics({x: v, v: force})
    phase.equation("hold", v - 1)
    with pytest.raises(OptimalControlError, match=r"equation hold contains none .* differentiate"):
        problem.solve()


# -- guesses ------------------------------------------------------------------
def test_a_guess_outside_bounds_is_reported_with_how_far_it_moved() -> None:
    problem, phase, *_ = double_integrator()
    phase.bound(u=(-10, 10))
    phase.guess([0, 1], u=100.0)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert "the guess of u at" in told(solution)
    assert "was 100 m/s^2, outside its bounds; moved to 10 m/s^2 (30 of 30" in told(solution)
    assert "largest relative violation of the guess from" in told(solution)


def test_a_guess_within_bounds_is_not_mentioned() -> None:
    problem, phase, *_ = double_integrator()
    phase.bound(u=(-10, 10))
    phase.guess([0, 1], u=[5.0, -5.0])
    assert problem.solve(mesh=10).verdict.reasons == ()


# -- limits of the solve ------------------------------------------------------
def test_running_out_of_iterations_is_no_success() -> None:
    problem, phase, *_ = double_integrator(duration=None)
    phase.bound(u=(-1, 1))
    problem.minimize(phase.duration)
    solution = problem.solve(iterations=3)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.sealed
    assert "iterations=" in solution.verdict.suggestion


def test_running_out_of_time_is_no_success() -> None:
    problem, phase, *_ = double_integrator(duration=None)
    phase.bound(u=(-1, 1))
    problem.minimize(phase.duration)
    solution = problem.solve(seconds=1e-3)
    assert solution.status is Status.TIME_LIMIT
    assert solution.sealed


def test_a_circle_of_controls_is_suggested_to_become_a_disc() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("turn", duration=3.0)
    x, y = phase.states("x y")
    a, b = phase.controls("a b")
    phase.dynamics({x: a, y: b})
    phase.path("norm", a**2 + b**2, 1, 1)
    phase.start(x=0, y=0)
    problem.maximize(phase.final(x) + phase.final(y))
    solution = problem.solve(mesh=10, iterations=2)
    assert "equality of norm as an inequality" in solution.verdict.suggestion


# -- scales -------------------------------------------------------------------
def test_huge_numbers_are_solved_with_sizes_from_the_dynamics() -> None:
    problem, *_ = double_integrator(goal=1e15)
    solution = problem.solve(iterations=40)
    assert solution.success
    assert solution.cost == pytest.approx(12e30, rel=1e-6)


def test_huge_numbers_beside_stated_sizes_are_named() -> None:
    problem, phase, *_ = double_integrator(goal=1e15)
    phase.nominal(x=1.0, v=1.0, u=1.0)
    solution = problem.solve(iterations=40)
    assert not solution.success
    assert "x is of size 1e+15" in told(solution)


def _far_apart(nominal: float | None) -> OptimalControlProblem:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", nominal=nominal)
    (u,) = phase.controls("u", nominal=nominal)
    phase.dynamics({x: 1e-9 * v, v: 1e14 * u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    return problem


def test_scales_are_found_from_the_dynamics() -> None:
    solution = _far_apart(None).solve(iterations=100)
    assert solution.success
    assert solution.cost == pytest.approx(12e-10, rel=1e-6)


def test_stated_scales_that_do_not_fit_are_named() -> None:
    solution = _far_apart(1.0).solve(iterations=100)
    assert not solution.success
    assert "a change of u by its scale" in told(solution)
    assert "nominal=" in solution.verdict.suggestion


def test_tiny_numbers_are_solved() -> None:
    problem, *_ = double_integrator(goal=1e-9)
    solution = problem.solve()
    assert solution.success
    assert solution.cost == pytest.approx(12e-18, rel=1e-6)


# -- dynamics that are not smooth, unstable dynamics --------------------------
def test_success_is_refused_where_the_replay_disagrees_and_the_jump_is_named() -> None:
    problem, phase, x, _, u = double_integrator()
    phase.rates["v"] = u - ca.if_else(x > 0.5, 30, 0)
    phase.bound(u=(-40, 40))
    solution = problem.solve(mesh=10, refine_mesh=False)
    assert solution.refined is not None
    assert solution.refined.outcome.status is Status.SOLVED  # the solver saw nothing
    assert solution.verdict.segment_error > 1e-5
    assert not solution.success
    assert "misses the solution by" in told(solution)
    assert "rate of v (<, if_else)" in solution.verdict.suggestion


def test_an_unstable_open_loop_is_explained_not_refused() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("balance", duration=40.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: 2 * x + u})
    phase.start(x=1)
    phase.end(x=0.5)
    phase.minimize(integral=x**2 + u**2)
    solution = problem.solve()
    assert solution.success
    assert solution.verdict.open_loop_error > 1e3
    assert solution.verdict.segment_error < 1e-6
    assert "unstable open loop" in told(solution)


@pytest.mark.parametrize(
    ("limits", "said"),
    [({"u": (-1, 1)}, "u is cut off at its bounds between nodes"), ({"v": (0, 1.2)}, "v leaves")],
    ids=["control", "state"],
)
def test_limits_exceeded_between_nodes_are_refused(limits: dict, said: str) -> None:
    problem, phase, *_ = double_integrator(duration=None if "u" in limits else 1.0)
    if "u" in limits:
        phase.cost_integrals.clear()
        problem.minimize(phase.duration)
    phase.bound(**limits)
    solution = problem.solve(scheme=Radau(5), mesh=1, refine_mesh=False)
    assert solution.status is Status.TOLERANCE_NOT_REACHED
    assert said in told(solution)


# -- wrong order, wrong types -------------------------------------------------
def test_calls_in_the_wrong_order_say_what_comes_first() -> None:
    problem = OptimalControlProblem()
    phase = problem.phase("move", duration=1.0)
    with pytest.raises(OptimalControlError, match="nothing is declared yet; declare it first"):
        phase.start(x=0)
    phase.states("x v")
    with pytest.raises(OptimalControlError, match="no dynamics for x, v"):
        problem.solve()
    with pytest.raises(OptimalControlError, match="it has no phases"):
        OptimalControlProblem().solve()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "radau"}, "scheme: expected one such as Radau"),
        ({"scheme": Radau}, "scheme: expected one such as Radau"),
        ({"mesh": "fine"}, "mesh: expected a number of intervals"),
        ({"mesh": 0}, "mesh: expected 1 to"),
        ({"tolerance": "small"}, "tolerance: expected"),
        ({"tolerance": 0}, "tolerance: expected"),
        ({"rounds": 2.5}, "rounds: expected a positive integer"),
        ({"iterations": 0}, "iterations: expected a positive integer"),
        ({"seconds": -1}, "seconds: expected a positive number"),
        ({"guess": [1, 2]}, "guess: expected an earlier Solution"),
        ({"progress": "line"}, "progress: expected None, True, False or a function"),
        ({"linear_solver": "mump"}, "linear_solver: expected one of .* did you mean 'mumps'"),
        ({"solver_options": [("max_soc", 8)]}, "solver_options: expected a mapping"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    problem, *_ = double_integrator()
    with pytest.raises(OptimalControlError, match=message):
        problem.solve(**arguments)


def test_wrong_types_in_a_statement_are_named() -> None:
    _, phase, *_ = double_integrator()
    with pytest.raises(OptimalControlError, match="path q: expected a number, a CasADi SX or a Sy"):
        phase.path("q", "x", high=1)  # type: ignore[arg-type]
    with pytest.raises(OptimalControlError, match="bound u: expected a number or a pair"):
        phase.bound(u="wide")
    with pytest.raises(OptimalControlError, match="no name 'speed'"):
        phase.start(speed=1)
    with pytest.raises(OptimalControlError, match="low 1 exceeds high -1"):
        phase.bound(u=(1, -1))
    with pytest.raises(OptimalControlError, match="got a CasADi MX"):
        phase.path("m", ca.MX.sym("m"), high=1)
    with pytest.raises(OptimalControlError, match="has no meaning in this phase"):
        phase.path("s", ca.SX.sym("stranger"), high=1)
    with pytest.raises(OptimalControlError, match="expected a scalar, got shape"):
        phase.path("w", ca.SX.sym("wide", 2), high=1)
    assert np.isinf(phase.control_variables[0].bounds[0])
