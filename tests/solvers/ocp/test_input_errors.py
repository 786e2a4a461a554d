"""What a user may get wrong in guesses, functions, options and files is told in one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest

from bestiary.solvers.ocp import (
    OptimalControlError,
    OptimalControlProblem,
    Solution,
    load_solution,
    multistart,
)
from bestiary.solvers.ocp.phase import Phase
from bestiary.solvers.ocp.plots import save_figure
from bestiary.solvers.writing import WriteError


def move(duration: Any = 1.0) -> tuple[OptimalControlProblem, Phase]:
    """A double integrator."""
    problem = OptimalControlProblem(name="shift")
    phase = problem.phase("move", duration=duration)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    return problem, phase


@pytest.fixture(scope="module")
def solved() -> Solution:
    found: Solution = move()[0].solve(mesh=3)
    return found


def broken(*_: object) -> float:
    raise ZeroDivisionError("no way")


# -- guesses ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("times", "values", "said"),
    [
        ([0, 0.25, 0.5], {"x": [0, 1, 2]}, "times cover 0.5 s, but the phase lasts 1 s"),
        (2.0, {}, "times cover 2 s, but the phase lasts 1 s"),
        ([0, 1], {"x": [0, 1, 2]}, r"shape \(3,\), and there are 2 times"),
        (None, {"x": [0, 1, 2]}, "and no times are given"),
        (None, {"x": []}, r"got shape \(0,\)"),
        (None, {"x": "far"}, "guess of x: expected a number, a pair, .* got 'far'"),
        (None, {"x": [0, None]}, "guess of x: .* not finite everywhere"),
        ("soon", {}, "times: expected increasing seconds, or a duration, got 'soon'"),
        ([0, 0.5, 0.5, 1], {}, "times must increase"),
        ([0], {}, "times must increase"),
        (None, {"y": 1.0}, "no name 'y'"),
        (None, {"gain": 1.0}, r"'gain' belongs to the problem.*problem\.parameter"),
    ],
)
def test_guesses_that_do_not_fit_the_phase_are_refused(
    times: Any, values: dict[str, Any], said: str
) -> None:
    problem, phase = move()
    problem.parameter("gain", (0, 1))
    with pytest.raises(OptimalControlError, match=said):
        phase.guess(times, **values)


def test_guess_of_a_free_duration_must_lie_in_its_range() -> None:
    _, phase = move(duration=(0.5, 2.0))
    phase.guess(times=[0.0, 0.7, 1.5], x=[0, 0.5, 1])
    with pytest.raises(OptimalControlError, match=r"cover 3 s, but the phase lasts 0\.5 to 2 s"):
        phase.guess(times=[0.0, 3.0])


def test_arrays_keep_the_times_they_were_given_with() -> None:
    from bestiary.solvers.ocp.guess import initial_guess

    problem, phase = move()
    phase.guess(times=[0.0, 0.1, 1.0], x=[0.0, 5.0, 6.0])
    phase.guess(times=[0.0, 0.5, 0.75, 1.0], v=[0.0, 1.0, 2.0, 0.0])
    values = first_guess(problem, initial_guess)
    times = np.linspace(0.0, 1.0, len(values["x"]))
    assert np.interp(0.1, times, values["x"]) == pytest.approx(5.0, abs=0.5)
    assert np.interp(0.75, times, values["v"]) == pytest.approx(2.0, abs=0.2)


def first_guess(problem: OptimalControlProblem, fill: Callable[..., None]) -> dict[str, Any]:
    """States of the guess at even times."""
    from bestiary.solvers.ocp.functions import PhaseFunctions
    from bestiary.solvers.ocp.mesh import make_mesh
    from bestiary.solvers.ocp.schemes import Trapezoid
    from bestiary.solvers.ocp.transcription import Transcription

    scheme = Trapezoid()
    functions = [PhaseFunctions(problem, p) for p in problem.phases]
    made = Transcription(problem, functions, [make_mesh(40, scheme, "phase")], scheme)
    fill(made)
    table = made.program.guess[made.phases[0].states]
    return {v.name: table[:, k] for k, v in enumerate(functions[0].states)}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (broken, "guess of x: the function 'broken' raised ZeroDivisionError: no way"),
        (lambda t: t[:2], r"gave 2 numbers \(shape \(2,\)\); expected one for each"),
        (lambda t: "fast", "guess of x: expected a function of times that gives .* got 'fast'"),
        (lambda t: np.log(-1 - t), "which is not finite everywhere"),
    ],
)
def test_errors_of_a_guessed_function_name_it(function: Callable[..., Any], said: str) -> None:
    problem, phase = move()
    phase.guess(x=function)
    with pytest.raises(OptimalControlError, match=said) as caught:
        problem.solve()
    if function is broken:
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_solution_without_anything_in_common_is_no_guess(solved: Solution) -> None:
    other = OptimalControlProblem(name="other")
    phase = other.phase("turn", duration=1.0)
    (w,) = phase.states("w")
    phase.dynamics({w: -w})
    phase.start(w=1)
    with pytest.raises(OptimalControlError, match=r"'shift' has no phase with .*move \(x, v\)"):
        other.solve(guess=solved)


# -- functions of the user ----------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": broken}, r"policy at 0 s: the function 'broken' raised ZeroDivisionError"),
        ({"policy": lambda t, x: x["z"]}, "policy at 0 s: the lambda function raised KeyError"),
        ({"policy": lambda t, x: "full"}, "policy: expected controls by name .*, got 'full'"),
        ({"duration": 1.5}, r"duration is 1\.5 s, but the phase lasts at most 1 s"),
        ({"duration": "long"}, "duration: expected a number, got 'long'"),
        ({"start": {"x": "here"}}, "start: x: expected a number, got 'here'"),
        ({"points": 1}, "points: expected 2 or more, got 1"),
        ({"tolerance": -1}, "tolerance: expected 0 to 1, got -1"),
    ],
)
def test_errors_of_a_policy_and_its_options_are_told(options: dict[str, Any], said: str) -> None:
    _, phase = move()
    with pytest.raises(OptimalControlError, match=said):
        phase.guess_simulation(**options)


def test_a_short_simulation_is_continued_by_its_last_values_not_stretched() -> None:
    from bestiary.solvers.ocp.guess import initial_guess

    problem, phase = move()
    table = phase.guess_simulation({"u": 2.0}, duration=0.5)
    assert table["time"][-1] == 0.5
    values = first_guess(problem, initial_guess)
    times = np.linspace(0.0, 1.0, len(values["x"]))
    assert values["v"] == pytest.approx(2.0 * np.minimum(times, 0.5), abs=1e-6)
    assert values["x"] == pytest.approx(np.minimum(times, 0.5) ** 2, abs=1e-4)


def test_an_equilibrium_is_sought_near_numbers() -> None:
    with pytest.raises(OptimalControlError, match="x: expected a number, got 'here'"):
        move()[1].guess_equilibrium(x="here")  # type: ignore[arg-type]


def test_errors_of_a_progress_function_name_it() -> None:
    with pytest.raises(OptimalControlError, match="progress: the function 'broken' raised Zero"):
        move()[0].solve(mesh=3, progress=broken)


def test_errors_of_functions_of_many_starts_name_them() -> None:
    with pytest.raises(OptimalControlError, match="problem: the function 'broken' raised"):
        multistart(broken, [None]).best  # type: ignore[arg-type]  # noqa: B018
    with pytest.raises(OptimalControlError, match="guesses: the function 'broken' raised"):
        multistart(move()[0], [broken], progress=False).best  # noqa: B018


def test_errors_of_a_drawing_function_name_it(solved: Solution) -> None:
    def draw(ax: Any, values: dict[str, float]) -> None:
        ax.plot(values["x"], values["height"])

    with pytest.raises(OptimalControlError, match="draw at 0 s: the function 'draw' raised KeyErr"):
        solved.animate(draw)
    with pytest.raises(OptimalControlError, match="draw: expected a function of axes and values"):
        solved.animate("picture")
    with pytest.raises(OptimalControlError, match="speed must be positive, got 0"):
        solved.animate(draw, speed=0)
    plt.close("all")


# -- cost ---------------------------------------------------------------------------------
def test_two_terms_of_one_name_are_refused_and_unnamed_ones_numbered() -> None:
    problem, phase = move()
    phase.minimize(integral=phase["u"] ** 2, name="effort")
    for again in (
        lambda: phase.minimize(integral=phase["x"], name="effort"),
        lambda: phase.maximize(final=phase["x"], name="effort"),
        lambda: problem.minimize(phase.final(phase["v"]), "effort"),
    ):
        with pytest.raises(OptimalControlError, match="the cost has already a term 'effort'"):
            again()
    phase.minimize(final=phase["v"])
    phase.minimize(final=phase["v"] ** 2)
    phase.minimize(integral=phase["v"], final=phase["x"], name="both")
    problem.minimize(0.0)
    problem.maximize(0.0)
    names = [t.name for t in (*phase.cost_integrals, *problem.costs)]
    assert names == [
        "move integral", "effort", "both, integral", "move final value", "move final value 2",
        "both, final value", "term", "term 2",
    ]  # fmt: skip
    assert list(problem.solve(mesh=3, progress=False).costs) == names


# -- options ------------------------------------------------------------------------------
def test_options_that_there_are_not_are_refused_before_anything_is_solved() -> None:
    problem, _ = move()
    with pytest.raises(OptimalControlError, match="no option 'tolerence'; did you mean 'tol"):
        problem.solve(tolerence=1e-3)
    with pytest.raises(OptimalControlError, match="to_function: no option 'node'"):
        problem.to_function(node=3)
    with pytest.raises(OptimalControlError, match="fallback: expected True or False, got 'no'"):
        problem.to_function(fallback="no")  # type: ignore[arg-type]


def test_more_nodes_than_allowed_are_refused() -> None:
    with pytest.raises(OptimalControlError, match="the first mesh has 60 nodes already, at most 1"):
        move()[0].solve(nodes=1)
    assert move()[0].solve(mesh=2, nodes=6).success


def test_arguments_of_a_function_are_checked_in_words(solved: Solution, tmp_path: Path) -> None:
    problem, phase = move()
    function = problem.to_function(mesh=3)
    for name, said in (
        ("fallback", r"an option of to_function, given once: to_function\(fallback=\.\.\.\)"),
        ("nodes", "an option of to_function"),
        ("end_y", "have start_x, start_v, end_x, end_v"),
    ):
        with pytest.raises(OptimalControlError, match=said):
            function(**{name: 1.0})
    with pytest.raises(OptimalControlError, match="end_x: expected a number, got 'far'"):
        function(end_x="far")  # type: ignore[arg-type]
    with pytest.raises(OptimalControlError, match="of another problem object"):
        problem.to_function(solved)
    loaded = load_solution(solved.save(tmp_path / "x.nc"))
    with pytest.raises(OptimalControlError, match="not a loaded one"):
        problem.to_function(loaded)
    phase.end(x=(0.5, 1.5))
    with pytest.raises(OptimalControlError, match=r"x at the end is a range, \[0\.5, 1\.5\]"):
        problem.to_function(mesh=3)(end_x=1.0)


def test_names_of_arguments_that_collide_are_refused() -> None:
    problem, _ = move()
    problem.constant("end_x", 1.0)
    assert "move_end_x" in problem.to_function(mesh=3).arguments
    problem, _ = move()
    problem.constant("end_x", 1.0)
    problem.constant("move_end_x", 1.0)
    with pytest.raises(OptimalControlError, match="'move_end_x' would mean both x at the end"):
        problem.to_function(mesh=3)


# -- files --------------------------------------------------------------------------------
def test_paths_that_cannot_be_written_are_told(solved: Solution, tmp_path: Path) -> None:
    for path, said in (
        (tmp_path, "is a folder; give the name of a file in it"),
        (tmp_path / "none" / "x.nc", f"there is no folder {tmp_path / 'none'}; make it first"),
        ("", "is a folder"),
        (7, "expected the path of a file, got 7"),
    ):
        with pytest.raises(WriteError, match=said):
            solved.save(path)  # type: ignore[arg-type]
        with pytest.raises(WriteError, match=said):
            save_figure(plt.figure(), path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(solved: Solution, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(WriteError, match=r"cannot write .*x\.nc: Perm") as caught:
        solved.save(tmp_path / "x.nc")
    assert isinstance(caught.value.__cause__, PermissionError)


def test_a_loaded_solution_evaluates_expressions_if_its_statement_is_given(
    solved: Solution, tmp_path: Path
) -> None:
    path = solved.save(tmp_path / "x.nc")
    problem, phase = move()
    power = phase["u"] * phase["v"]
    loaded = load_solution(path, problem=problem)
    own = solved.problem.phases[0]  # type: ignore[union-attr]
    expected = solved[own["u"] * own["v"]]
    assert np.allclose(loaded[power], expected, rtol=0, atol=1e-14, equal_nan=True)
    assert float(np.abs(expected).max()) > 1
    at = loaded.evaluate(ca.sin(phase["x"]), [0.5])
    assert float(at[0]) == pytest.approx(np.sin(0.5), abs=1e-9)
    with pytest.raises(OptimalControlError, match=r"load_solution\(path, problem=\.\.\.\)"):
        load_solution(path)[power]


def test_a_statement_that_is_not_that_of_the_file_is_refused(
    solved: Solution, tmp_path: Path
) -> None:
    path = solved.save(tmp_path / "x.nc")
    problem, phase = move()
    phase.controls("brake")
    with pytest.raises(OptimalControlError, match="controls of phase 'move' are u, brake, those"):
        load_solution(path, problem)
    with pytest.raises(OptimalControlError, match="expected an OptimalControlProblem, got 'x'"):
        load_solution(path, "x")  # type: ignore[arg-type]
