"""``--functions``: builds with some functions beside the whole robot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from build_project import bestiary

from bestiary import generated
from bestiary.build_tools.pipeline import build
from bestiary.build_tools.targets import Target, parse_target
from bestiary.cli.spread import spread


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a.py", "--set", "x=1", "y=2", "--json"], "a.py --set x=1 --set y=2 --json"),
        (["a.py", "--functions", "f", "g", "-q"], "a.py --functions f --functions g -q"),
        (["--functions", "f", "b.py"], "--functions f b.py"),
        (["--functions", "f", "sea_lion"], "--functions f sea_lion"),
        (["--set", "x=1", "a.py", "y=2"], "--set x=1 a.py y=2"),
        (["a.py"], "a.py"),
    ],
)
def test_options_take_several_values(words: list[str], expected: str) -> None:
    assert spread(words) == expected.split()


def test_a_build_with_some_functions_stands_beside_the_whole_one(
    pendulum: Path, cache: Path
) -> None:
    for words in ((), ("--functions", "mass_matrix", "totals")):
        told = bestiary("build", str(pendulum), *words, "-q", cwd=pendulum.parent)
        assert told.returncode == 0, told.stderr
    models = sorted(p.name for p in (cache / "models").iterdir())
    assert models == ["test_pendulum", "test_pendulum_only_mass_matrix_totals"]
    again = bestiary("build", str(pendulum), "--functions", "totals", "mass_matrix",
                     cwd=pendulum.parent)  # fmt: skip
    assert "nothing to do" in again.stdout
    told = bestiary("list", "--json", cwd=pendulum.parent)
    kept = {tuple(r["functions"]) for r in json.loads(told.stdout) if "test_pendulum" in r["name"]}
    assert kept == {(), ("mass_matrix", "totals")}


def test_an_unknown_function_is_refused_with_the_closest(pendulum: Path) -> None:
    told = bestiary("build", str(pendulum), "--functions", "mass_matrx", cwd=pendulum.parent)
    assert told.returncode == 2
    assert "did you mean 'mass_matrix'?" in told.stderr
    assert not told.stdout


@pytest.fixture
def some(pendulum: Path, cache: Path) -> Target:
    target = parse_target(str(pendulum), None, ["mass_matrix", "kinematics"])
    build(target)
    return target


@pytest.mark.parametrize("compiled", [True, False])
def test_a_missing_function_says_which_build_has_it(some: Target, compiled: bool) -> None:
    robot = generated.load(
        "test_pendulum", functions=["kinematics", "mass_matrix"], compiled=compiled
    )
    whole = robot.mass_matrix(robot.neutral)
    np.testing.assert_array_equal(robot.mass_matrix_batch(robot.neutral[np.newaxis])[0], whole)
    wanted = r"--functions kinematics mass_matrix coriolis_matrix"
    for call in (
        lambda: robot.coriolis_matrix(robot.neutral, [0.0]),
        lambda: robot.coriolis_matrix_batch([robot.neutral], [0.0]),
        lambda: robot.casadi("coriolis_matrix"),
    ):
        with pytest.raises(generated.MissingFunctionError, match=wanted):
            call()
    with pytest.raises(generated.MissingFunctionError, match="state_rates"):
        robot.rollout(robot.neutral, [0.0], None, 1e-3, 1)
    with pytest.raises(generated.MissingFunctionError, match="_pose is not among them"):
        robot.node_pose(robot.meta["nodes"][0]["name"], robot.neutral)
    assert not hasattr(robot, "coriolis_matrix")
    assert "only" in repr(robot)


def test_the_whole_robot_serves_where_it_was_built_alone(pendulum: Path, cache: Path) -> None:
    build(parse_target(str(pendulum)))
    robot = generated.load("test_pendulum", functions=["mass_matrix"])
    assert "coriolis_matrix" in robot.functions


def test_an_exported_project_says_what_was_left_out(some: Target, pendulum: Path) -> None:
    told = bestiary("export", str(pendulum), "--functions", "mass_matrix", "--out", "firmware",
                    cwd=pendulum.parent)  # fmt: skip
    assert told.returncode == 0, told.stderr
    folder = pendulum.parent / "firmware"
    assert "Left out: " in (folder / "README.md").read_text()
    header = (folder / "test_pendulum.h").read_text()
    assert "test_pendulum_mass_matrix_f64" in header
    assert "coriolis" not in header


def test_two_model_files_with_one_name_keep_their_own_builds(
    pendulum: Path, cache: Path, tmp_path: Path
) -> None:
    other = tmp_path / "others" / "my.py"
    other.parent.mkdir()
    other.write_text(pendulum.read_text() + "\n")
    first, second = build(parse_target(str(pendulum))), build(parse_target(str(other)))
    assert first.folder != second.folder
    assert any(str(pendulum) in note for note in second.notes)
    for path, result in ((pendulum, first), (other, second)):
        again = build(parse_target(str(path)))
        assert (again.status, again.folder) == ("fresh", result.folder)
    assert generated.load(second.folder.name).name == "test_pendulum"
