"""A small robot to build, a cache of one's own, and compilers that keep count."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.locations import CACHE_VARIABLE
from bestiary.build_tools.targets import Target, parse_target

PENDULUM = """
from bestiary.modeling import Model, Revolute


def robot(length: float = 0.5) -> Model:
    model = Model("test_pendulum", title="a pendulum")
    model.body(
        "arm",
        joint=Revolute("swing", "y"),
        mass=model.parameter("arm_mass", 2.0, "kg", "chosen"),
        com=(0, 0, -length),
        inertia=(0.1, 0.1, 0.01),
    )
    model.actuate("swing_rate")
    return model
"""


class Compiler:
    """A C compiler that notes each of its calls, and can be told to dawdle or to fail."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "compiler.log"
        self.path = folder / "counting-cc"
        real = shutil.which("gcc") or shutil.which("cc")
        self.write(f'exec {real} "$@"')

    def write(self, action: str) -> None:
        """Let the compiler do something after it has noted the call."""
        self.path.write_text(f'#!/bin/sh\necho "$@" >> {self.log}\n{action}\n')
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    @property
    def compilations(self) -> list[str]:
        """Arguments of the calls that compiled or linked something."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line != "--version"]


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled objects, shared by all tests (also of parallel workers)."""
    base = tmp_path_factory.getbasetemp()
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if parallel else base) / "shared-objects"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def cache(tmp_path: Path, objects: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache folder of one's own, in which only compiled objects are shared."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "objects").symlink_to(objects, target_is_directory=True)
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    for name in ("CC", "CFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def cold_cache(cache: Path) -> ObjectCache:
    """The same, with nothing compiled in it."""
    (cache / "objects").unlink()
    return ObjectCache.open()


@pytest.fixture
def pendulum(tmp_path: Path, cache: Path) -> Path:
    """Model file of a pendulum."""
    path = tmp_path / "models" / "test_pendulum.py"
    path.parent.mkdir()
    path.write_text(PENDULUM)
    return path


@pytest.fixture
def target(pendulum: Path) -> Target:
    """The pendulum as a target."""
    return parse_target(str(pendulum))


@pytest.fixture
def compiler(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """A counting compiler, in use."""
    made = Compiler(tmp_path)
    monkeypatch.setenv("CC", str(made.path))
    return made


@pytest.fixture
def no_compiler(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH on which there is no compiler."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))


def edit(path: Path, old: str, new: str) -> None:
    """Replace text in a file; it must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file below a folder."""
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def bestiary(*words: str, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        command(*words), cwd=cwd, capture_output=True, text=True, timeout=300, **options
    )  # type: ignore[call-overload, no-any-return]


def command(*words: str) -> Sequence[str]:
    """How to start the command line."""
    return [sys.executable, "-m", "bestiary", *words]
