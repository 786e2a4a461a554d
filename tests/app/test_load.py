"""``bestiary.load``: finds, or builds and says so."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from build_project import edit

import bestiary
from bestiary import generated
from bestiary.build_tools.errors import TargetError
from bestiary.generated import folder


def test_load_builds_what_is_missing_and_says_so(
    pendulum: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bestiary")
    robot = bestiary.load(str(pendulum))
    assert robot.meta["compiled"]
    assert "building test_pendulum (missing: was not built before)" in caplog.text
    assert "built test_pendulum in" in caplog.text
    caplog.clear()
    bestiary.load(pendulum)
    assert caplog.text == ""


def test_a_build_lets_no_other_messages_through(pendulum: Path) -> None:
    script = f"""\
import logging, bestiary
bestiary.load({str(pendulum)!r})
print(logging.getLogger("bestiary.ocp").isEnabledFor(logging.INFO))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "built test_pendulum in" in done.stderr
    assert done.stdout == "False\n"


def test_edited_model_is_built_and_loaded_anew_in_one_process(pendulum: Path) -> None:
    first = bestiary.load(str(pendulum))
    edit(pendulum, "com=(0, 0, -length)", "com=(0.1, 0, -length)")
    second = bestiary.load(str(pendulum))
    assert (first.meta["compiled"], second.meta["compiled"]) == (True, True)
    assert first.mass_matrix([0.0])[0, 0] == pytest.approx(0.6, rel=1e-14)
    assert second.mass_matrix([0.0])[0, 0] == pytest.approx(0.62, rel=1e-14)


def test_robot_of_a_model_file_is_known_by_its_name(pendulum: Path) -> None:
    bestiary.load(str(pendulum))
    edit(pendulum, "2.0", "2.5")
    robot = bestiary.load("test_pendulum")  # built anew, because its file has changed
    assert robot.parameters["arm_mass"] == 2.5


def test_options_make_another_robot(pendulum: Path) -> None:
    robot = bestiary.load(str(pendulum), length=1.0)
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(2.1, rel=1e-14)
    again = generated.load("test_pendulum", length=1.0)
    assert again.mass_matrix([0.0])[0, 0] == robot.mass_matrix([0.0])[0, 0]


def test_compiled_twin_in_the_cache_serves_for_a_folder_that_could_not_be_written(
    pendulum: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = bestiary.load(str(pendulum))
    packaged = tmp_path / "packaged"
    shutil.copytree(robot.meta["folder"], packaged / "test_pendulum")
    next((packaged / "test_pendulum").glob("*.so")).unlink()
    monkeypatch.setattr(folder, "packaged_models", lambda: packaged)
    assert folder.find_folders()["test_pendulum"] == cache / "models" / "test_pendulum"
    edit(packaged / "test_pendulum" / "manifest.json", '"default": 2.0', '"default": 2.5')
    assert folder.find_folders()["test_pendulum"] == packaged / "test_pendulum"


def test_unknown_robot_is_refused_with_the_command_to_build_it(cache: Path) -> None:
    with pytest.raises(generated.ModelNotFoundError, match="bestiary build"):
        bestiary.load("no_such_robot")


def test_bad_model_file_is_refused(pendulum: Path) -> None:
    pendulum.write_text("x = (\n")
    with pytest.raises(TargetError, match="line 1: syntax error"):
        bestiary.load(str(pendulum))


def test_without_compiler_the_numpy_form_comes_with_a_warning(
    pendulum: Path, no_compiler: None
) -> None:
    with pytest.warns(generated.NotCompiledWarning):
        robot = bestiary.load(str(pendulum))
    assert not robot.meta["compiled"]
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(0.6, rel=1e-14)


def test_build_is_told_on_standard_error_where_no_logging_is_set_up(pendulum: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"import bestiary; bestiary.load({str(pendulum)!r})"],
        capture_output=True,
        text=True,
        cwd=pendulum.parent,
    )
    assert told.stdout == ""
    assert told.stderr.startswith("building test_pendulum")


def test_import_of_bestiary_is_cheap_and_its_parts_come_on_use() -> None:
    script = (
        "import sys, bestiary\n"
        "assert not {'sympy', 'numpy', 'casadi', 'typer', 'rich'} & set(sys.modules)\n"
        "assert bestiary.__version__.count('.') == 2\n"
        "assert callable(bestiary.load)\n"
        "assert bestiary.generated.load and bestiary.modeling.Model\n"
        "assert {'load', 'generated', '__version__'} <= set(dir(bestiary))\n"
        "try:\n"
        "    bestiary.nothing\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    start = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout == "module 'bestiary' has no attribute 'nothing'\n"
    assert time.perf_counter() - start < 30
