"""The project itself: packaging, versions, and what a machine must have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bestiary
from bestiary.build_tools.freshness import PACKAGES
from bestiary.build_tools.locations import source_root

ROOT = source_root()
PARTS = ("app", "build_tools", "generated", "modeling", "solvers")

pytestmark = pytest.mark.skipif(
    not (ROOT / "setup.py").exists(), reason="needs the source checkout"
)


def test_no_folder_at_the_root_hides_the_installed_package() -> None:
    assert not (ROOT / "bestiary").exists()


def test_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    found = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    assert found is not None
    assert found[1] == bestiary.__version__


def test_packages_that_decide_the_build_are_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=; ]", d)[0] for d in project["dependencies"]}
    assert set(PACKAGES) <= names
    assert all(">=" in d for d in project["dependencies"])


def test_every_python_folder_is_a_package_that_gets_installed() -> None:
    for part in PARTS:
        for path in (ROOT / part).rglob("*.py"):
            if "__pycache__" not in path.parts:
                assert (path.parent / "__init__.py").exists(), path


def test_folders_import_only_from_those_above_them() -> None:
    above = ["modeling", "build_tools", "generated", "solvers"]
    for position, part in enumerate(above):
        forbidden = [*above[position + 1 :], "cli", "loading"]
        pattern = re.compile(
            rf"^\s*(from|import) bestiary\.({'|'.join(forbidden)})\b"
            rf"|^\s*from bestiary import .*\b({'|'.join(forbidden)})\b",
            re.MULTILINE,
        )
        for path in (ROOT / part).rglob("*.py"):
            found = pattern.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path}: {found[0] if found else ''}"


def check_system(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the check of the machine with another environment."""
    return subprocess.run(
        ["/bin/sh", str(ROOT / ".ci" / "check_system")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_complete_machine_lacks_nothing() -> None:
    told = check_system(PYTHON=sys.executable)
    assert (told.returncode, told.stderr) == (0, "")


def test_missing_compiler_is_named_with_its_debian_package(tmp_path: Path) -> None:
    told = check_system(PYTHON=sys.executable, PATH=str(tmp_path), CC="")
    assert told.returncode == 1
    assert "a C compiler" in told.stderr
    assert "apt-get install gcc" in told.stderr


def test_missing_python_is_named_with_its_debian_package() -> None:
    told = check_system(PYTHON="")
    assert told.returncode == 1
    assert "apt-get install python3" in told.stderr


def test_missing_headers_and_venv_are_named_with_their_debian_packages(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\ncase "$2" in *version_info*) echo 3.11;; *) exit 1;; esac\n')
    bare.chmod(0o755)
    told = check_system(PYTHON=str(bare))
    assert told.returncode == 1
    for package in ("python3.11-venv", "python3.11-dev"):
        assert f"apt-get install {package}" in told.stderr


@pytest.mark.slow
def test_wheel_works_outside_the_checkout(tmp_path: Path) -> None:
    copy = tmp_path / "source"
    unwanted = shutil.ignore_patterns(
        *("build", "dist", ".venv", ".git", "*.so", "*.egg-info", "__pycache__", ".*_cache"),
        "_kernel.stamp.json",
    )
    shutil.copytree(ROOT, copy, ignore=unwanted)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*install, "--no-deps", "--no-build-isolation", "--target", "installed", str(copy)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    shutil.rmtree(copy)
    script = (
        "import bestiary\n"
        "from bestiary import generated\n"
        "from bestiary.build_tools.locations import in_checkout\n"
        f"assert bestiary.__file__.startswith({str(tmp_path)!r}), bestiary.__file__\n"
        "assert not in_checkout()\n"
        "for entry in generated.available():\n"
        "    robot = generated.load(entry.name)\n"
        "    assert robot.meta['compiled'], entry\n"
        "    print(entry.name)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "installed"),
        "BESTIARY_CACHE_DIR": str(tmp_path / "cache"),
    }
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    models = sorted(p.parent.name for p in ROOT.glob("generated/*/manifest.json"))
    assert told.stdout.split() == models
    build = [sys.executable, "-m", "bestiary", "build", *models]
    if models:
        told = subprocess.run(build, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert told.stdout == f"nothing to do: {', '.join(models)} up to date\n", told.stderr
