"""``bestiary solve``: files and names, options, exit codes, files that it writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bestiary.build_tools.errors import TargetError
from bestiary.cli.application import application
from bestiary.cli.solve import parse_scheme
from bestiary.solvers.ocp import HermiteSimpson, MultipleShooting, Radau, load_solution
from bestiary.solvers.ocp.library import BENCHMARKS

Run = Callable[..., tuple[int, str, str]]

FILE = '''
from bestiary.solvers.ocp import OptimalControlProblem


def problem(duration=1.0):
    """A double integrator."""
    made = OptimalControlProblem(name="mine")
    weight = made.constant("weight", 1.0)
    limit = made.constant("limit", 100.0)
    phase = made.phase("move", duration=duration)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.path("slow", limit - v, low=0)
    phase.minimize(integral=weight * u**2)
    return made
'''


@pytest.fixture
def run(cache: Path) -> Run:
    runner = CliRunner()

    def call(*words: str) -> tuple[int, str, str]:
        result = runner.invoke(application(), ["solve", *words])
        return result.exit_code, result.stdout, result.stderr

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_a_file_is_solved_and_reported(run: Run, file: Path) -> None:
    code, text, _ = run(str(file))
    assert code == 0
    assert text.startswith("mine: solved")
    assert "12" in text


def test_settings_are_arguments_and_constants(run: Run, file: Path) -> None:
    code, text, _ = run(str(file), "--set", "weight=2", "duration=2.0", "--json")
    assert code == 0
    told = json.loads(text)
    assert told["cost"] == pytest.approx(2 * 12 / 8)
    assert told["constants"]["weight"] == 2.0
    assert told["durations"] == {"move": 2.0}
    code, _, error = run(str(file), "--set", "wait=2")
    assert code == 2
    assert "no constant 'wait'" in error
    assert run(str(file), "--set", "weight=heavy")[0] == 2


def test_a_variable_serves_as_well(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "variable.py"
    path.write_text(FILE.replace("def problem", "def made") + "\n\nproblem = made()\n")
    assert run(str(path), "-q")[0] == 0


def test_files_without_a_problem_are_refused_with_their_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    for text, said in (
        ("x = 1\n", "states no problem"),
        ("problem = 3\n", "got int"),
        ("def problem():\n    return 1 / 0\n", "line 2"),
        ("def problem(:\n", "syntax error"),
    ):
        path.write_text(text)
        code, _, error = run(str(path))
        assert code == 2
        assert said in error
    assert run(str(tmp_path / "none.py"))[0] == 2


def test_names_of_the_library_are_listed_and_solved(run: Run) -> None:
    rows = json.loads(run("--list", "--json")[1])
    assert {r["name"] for r in rows} == {*BENCHMARKS, "righting", "supporting"}
    assert "double_integrator_energy" in run("--list")[1]
    code, text, _ = run("double_integrator_energy", "--mesh", "4", "--scheme", "gauss:4")
    assert code == 0
    assert "known optimum 12" in text
    code, _, error = run("double_integrator_energi")
    assert code == 2
    assert "did you mean 'double_integrator_energy'" in error


def test_a_failure_has_exit_code_1_and_is_written_as_such(run: Run, file: Path) -> None:
    saved, drawn = file.with_name("x.nc"), file.with_name("x.png")
    words = ("--save", str(saved), "--plot", str(drawn), "--seconds", "1e-6")
    code, text, _ = run(str(file), *words)
    assert code == 1
    assert text.startswith("mine: not solved: the time ran out")
    assert load_solution(saved).sealed
    assert drawn.stat().st_size > 10_000


def test_saved_solutions_are_guesses(run: Run, file: Path) -> None:
    saved = file.with_name("x.nc")
    assert run(str(file), "--save", str(saved), "-q") == (0, "", "")
    assert run(str(file), "--guess", str(saved), "-q")[0] == 0
    code, _, error = run(str(file), "--guess", str(file.with_name("y.nc")))
    assert code == 2
    assert "no solution file" in error


def test_wrong_places_and_formats_are_refused(run: Run, file: Path) -> None:
    code, _, error = run(str(file), "--save", str(file.parent / "no" / "x.nc"))
    assert code != 0
    assert "there is no folder" in error
    code, _, error = run(str(file), "--plot", str(file.with_name("x.xyz")))
    assert code == 2
    assert "not supported" in error
    assert [p.name for p in file.parent.glob(".x*")] == []
    assert run()[0] == 2


def test_schemes_are_named_with_a_degree() -> None:
    assert parse_scheme("radau:5") == Radau(5)
    assert parse_scheme("Hermite-Simpson") == HermiteSimpson()
    assert parse_scheme("shooting:2") == MultipleShooting(2)
    with pytest.raises(TargetError, match="no scheme 'rado'"):
        parse_scheme("rado")
    with pytest.raises(TargetError, match="expected a degree"):
        parse_scheme("radau:x")


def test_outputs_that_cannot_be_written_are_refused_before_the_solve(
    run: Run, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for option, path, said in (
        ("--save", pipe, "is a device or a pipe"),
        ("--plot", tmp_path / "a.xyz", "expected a name that ends in"),
        ("--plot", tmp_path / "none", "expected a name that ends in"),
    ):
        code, output, error = run("brachistochrone", option, str(path))
        assert code == 2
        assert said in error
        assert not output
    assert pipe.is_fifo()


def test_a_degree_in_raised_digits_is_told(run: Run) -> None:
    code, _, error = run("brachistochrone", "--scheme", "radau:²")
    assert code == 2
    assert "expected a degree after the colon, got '²'" in error
