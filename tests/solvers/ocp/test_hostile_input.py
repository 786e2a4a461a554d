"""Wrong types and late changes end in one sentence, and leave nothing behind."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from bestiary.solvers.ocp import (
    OptimalControlError,
    OptimalControlProblem,
    Radau,
    Solution,
    load_solution,
    multistart,
    solve_ladder,
)
from bestiary.solvers.ocp.phase import Phase


def move() -> tuple[OptimalControlProblem, Phase]:
    """A double integrator."""
    problem = OptimalControlProblem(name="shift")
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    return problem, phase


def stated() -> OptimalControlProblem:
    return move()[0]


def weighted() -> OptimalControlProblem:
    """With a constant."""
    problem, phase = move()
    weight = problem.constant("weight", 1.0)
    phase.minimize(integral=weight * phase["x"] ** 2)
    return problem


@pytest.fixture
def solved() -> tuple[OptimalControlProblem, Phase, Solution]:
    problem, phase = move()
    return problem, phase, problem.solve(mesh=3)


# -- statements -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("state", "said"),
    [
        (lambda p, m: p.phase(3), "phase: name: expected a text, got 3"),
        (lambda p, m: m.states(3), "states: expected names such as .* got 3"),
        (lambda p, m: m.states("w", units=3), "units: expected units such as .* got 3"),
        (lambda p, m: m.states("w", units=[3]), "units: expected a text, got 3"),
        (lambda p, m: m.states("w", nominal="big"), "nominal: expected a number, got 'big'"),
        (lambda p, m: m.states("w y", nominal=[1]), "2 names but 1 sizes"),
        (lambda p, m: m.states("times"), "the name 'times' is taken"),
        (lambda p, m: m.dynamics([1]), r"dynamics: expected a mapping such as \{x: v"),
        (lambda p, m: m.nominal(x="big"), "nominal size of x: expected a number, got 'big'"),
        (lambda p, m: m.nominal(x=-1), "nominal size of x: expected a positive number, got -1"),
        (lambda p, m: m.equation("q", m["x"], nominal=0), "expected a positive number, got 0"),
        (lambda p, m: m.bound(x=(m["v"], 1)), "expected numbers, got the expression .* path"),
        (lambda p, m: m.path("q", m["x"], high=1, unit=3), "unit: expected a text, got 3"),
        (lambda p, m: p.parameter("k", guess=np.nan), "parameter k: guess: .* not finite"),
        (lambda p, m: p.parameter("k", guess="far"), "parameter k: guess: expected a number"),
        (lambda p, m: p.parameter("k", nominal=-1), "parameter k: nominal: .* got -1"),
        (lambda p, m: p.constant("k", 1.0, unit=3), "constant k: unit: expected a text, got 3"),
    ],
)
def test_a_wrong_type_in_a_statement_is_told(state: Callable[..., Any], said: str) -> None:
    with pytest.raises(OptimalControlError, match=said):
        state(*move())


def test_a_refused_parameter_or_link_leaves_nothing_behind() -> None:
    problem, first = move()
    second = problem.phase("rest", duration=1.0)
    (x,) = second.states("x")
    second.dynamics({x: 0})
    for jumps in ([1], {"w": 1}):
        with pytest.raises(OptimalControlError, match="jumps"):
            problem.link(first, second, jumps=jumps)
    with pytest.raises(OptimalControlError, match="no state w"):
        problem.link(first, second, states="x w")
    with pytest.raises(OptimalControlError):
        problem.parameter("k", guess="far")
    assert not problem.boundaries
    assert not problem.parameters
    assert not problem.parameter_guesses


def test_a_condition_of_sympy_is_no_quantity() -> None:
    sympy = pytest.importorskip("sympy")
    _, phase = move()
    with pytest.raises(OptimalControlError, match="is a condition, expected a quantity"):
        phase.path("q", sympy.Symbol("x") < 1, high=1)


def test_a_state_may_be_called_self() -> None:
    phase = OptimalControlProblem().phase("a", duration=1.0)
    (own,) = phase.states("self")
    phase.dynamics({own: 1})
    phase.start(**{"self": 0})
    phase.bound(**{"self": (0, 5)})
    assert phase.start_bounds == {"self": (0.0, 0.0)}


def test_degrees_may_be_whole_numbers_of_numpy() -> None:
    scheme = Radau(np.int64(4))
    assert scheme == Radau(4)
    assert type(scheme.degree) is int


def test_a_problem_is_copied_and_not_pickled() -> None:
    problem, _ = move()
    twin = copy.deepcopy(problem)
    twin.phases[0].bound(u=(-7, 7))
    assert not np.isfinite(problem.phases[0].control_variables[0].bounds).any()
    assert twin.phases[0].problem is twin
    assert copy.copy(problem).phases is problem.phases
    with pytest.raises(OptimalControlError, match=r"cannot be pickled.*the function that states"):
        pickle.dumps(problem)


def test_a_progress_function_that_gives_an_array_is_told() -> None:
    with pytest.raises(OptimalControlError, match="progress: expected True, False or None"):
        stated().solve(mesh=3, progress=lambda _: np.zeros(2))


@pytest.mark.parametrize(
    ("strategy", "said"), [(3, "expected a function, got 3"), (lambda *_, **__: 7, "got 7")]
)
def test_a_strategy_that_is_none_is_told(strategy: Any, said: str) -> None:
    problem = stated()
    problem.strategy = strategy
    with pytest.raises(OptimalControlError, match=said):
        problem.solve()


# -- steps that no derivative shows -------------------------------------------------------------
def test_a_step_in_the_cost_is_told_even_where_the_search_succeeds() -> None:
    problem, _ = move()
    k = problem.parameter("k", (0, 5), guess=2)
    problem.minimize((ca.floor(k) - 3) ** 2, "gears")
    solution = problem.solve(mesh=3)
    assert solution.success
    told = [r for r in solution.verdict.reasons if "jump" in r]
    assert told
    assert "cost term 'gears' (floor)" in told[0]


def test_a_branch_whose_pieces_join_is_not_suspected() -> None:
    problem, phase = move()
    x = phase["x"]
    phase.path("far", ca.if_else(x > 0.5, x - 0.5, 0.0), high=3)
    solution = problem.solve(mesh=3)
    assert solution.success
    assert not any("jump" in r for r in solution.verdict.reasons)


# -- a statement that is changed after the solve --------------------------------------------------
def test_a_solution_outlives_changes_of_its_statement(
    solved: tuple[OptimalControlProblem, Phase, Solution], tmp_path: Path
) -> None:
    problem, phase, solution = solved
    function = problem.to_function(solution=solution)
    before = solution["x"].values.copy()
    (w,) = phase.states("w")
    phase.dynamics({w: phase["x"]})
    problem.constant("k", 1.0)
    assert np.allclose(solution[2 * phase["x"]], 2 * before)
    assert str(solution.report())
    assert str(solution.diagnose())
    assert load_solution(solution.save(tmp_path / "a.nc")).cost == solution.cost
    assert function(end_x=2.0).cost == pytest.approx(4 * solution.cost)
    with pytest.raises(OptimalControlError, match="'w' has no meaning in this solution"):
        solution[w * phase["x"]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p, m: m.bound(u=(-5, 5)), "controls of phase 'move', or their bounds"),
        (lambda p, m: m.path("slow", m["v"], high=1), "path constraints of phase 'move'"),
        (lambda p, m: m.minimize(integral=m["x"] ** 2), "cost of phase 'move'"),
        (lambda p, m: p.phase("more", duration=1.0), "phase 'more'"),
    ],
)
def test_a_function_is_not_made_from_a_solution_of_an_earlier_statement(
    solved: tuple[OptimalControlProblem, Phase, Solution], change: Callable[..., Any], said: str
) -> None:
    problem, phase, solution = solved
    change(problem, phase)
    with pytest.raises(OptimalControlError, match=f"changed after the solution was found.*{said}"):
        problem.to_function(solution=solution)


# -- many solves --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("problem", "guesses", "options", "said"),
    [
        (None, 2, {}, "problem: expected an OptimalControlProblem or a function"),
        (stated, 2.5, {}, "guesses: expected a number of starts or a list"),
        (stated, "ab", {}, "guesses: expected a number of starts or a list"),
        (stated, 2, {"seed": "x"}, "seed: expected a whole number"),
        (stated, 2, {"seed": -1}, "seed: expected a whole number"),
        (stated, 2, {"spread": np.nan}, "spread: .* not finite"),
        (stated, 2, {"spread": -1}, "spread: expected 0 or more"),
        (stated, 2, {"tolerence": 1}, "no option 'tolerence'; did you mean 'tolerance'"),
        (stated, 2, {"guess": None}, "guess: the starts are in the argument guesses"),
        (stated, 2, {"executor": 3}, "executor: expected one of concurrent.futures, got 3"),
    ],
)
def test_wrong_arguments_of_multistart_are_told(
    problem: Any, guesses: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptimalControlError, match=said):
        multistart(problem, guesses, **options)


def test_an_executor_that_is_shut_down_is_told() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(OptimalControlError, match="multistart: the executor failed"):
        multistart(stated, 2, executor=pool)


@pytest.mark.parametrize(
    ("ladder", "options", "said"),
    [
        ([1, 2], {}, "expected a mapping such as"),
        ({"weight": "abc"}, {}, "weight: expected finite numbers, got 'abc'"),
        ({"weight": (k for k in (1, 2))}, {}, "weight: expected finite numbers, got <generator"),
        ({"weight": np.ones((2, 2))}, {}, "one after another"),
        ({"weight": []}, {}, "one after another"),
        ({"weight": [1]}, {"tolerence": 1}, "no option 'tolerence'"),
        ({"weight": [1]}, {"halvings": -1}, "halvings: expected a whole number"),
    ],
)
def test_wrong_arguments_of_a_ladder_are_told(
    ladder: Any, options: dict[str, Any], said: str
) -> None:
    problem = weighted()
    with pytest.raises(OptimalControlError, match=said):
        solve_ladder(problem, ladder, **options)
    assert problem.constant_values == {"weight": 1.0}


def test_a_ladder_needs_a_problem() -> None:
    with pytest.raises(OptimalControlError, match="problem: expected an OptimalControlProblem"):
        solve_ladder(weighted, {"weight": [1]})  # type: ignore[arg-type]
