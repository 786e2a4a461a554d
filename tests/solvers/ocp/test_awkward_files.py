"""Files at awkward places, full disks and damaged files end in one sentence; nothing is lost."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestiary.solvers.ocp import (
    OptimalControlError,
    OptimalControlProblem,
    Solution,
    load_solution,
)
from bestiary.solvers.writing import WriteError


@pytest.fixture(scope="module")
def solution() -> Solution:
    """Of a double integrator."""
    problem = OptimalControlProblem(name="shift")
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.minimize(integral=u**2)
    found: Solution = problem.solve(mesh=3)
    return found


def test_a_pipe_or_device_is_not_replaced_by_a_file(solution: Solution, tmp_path: Path) -> None:
    """As root, a file would take the place of /dev/null; a named pipe stands for it here."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match="is a device or a pipe, not a file"):
        solution.save(pipe)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_saving_through_a_link_writes_what_it_leads_to(solution: Solution, tmp_path: Path) -> None:
    (tmp_path / "link.nc").symlink_to(tmp_path / "real.nc")
    solution.save(tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    assert load_solution(tmp_path / "real.nc").success


@pytest.mark.parametrize("name", ["a\0b.nc", "a" * 300 + ".nc"])
def test_a_name_that_no_file_can_have_is_told(
    solution: Solution, tmp_path: Path, name: str
) -> None:
    with pytest.raises(WriteError, match=r"save: "):
        solution.save(f"{tmp_path}/{name}")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("path", [3, None, "a\0b"])
def test_loading_from_no_path_is_told(path: Any) -> None:
    with pytest.raises((OptimalControlError, FileNotFoundError), match="solution"):
        load_solution(path)


FULL = """
import resource, signal, sys
from bestiary.solvers.ocp import load_solution
from bestiary.solvers.writing import WriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
solution = load_solution(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    solution.save(sys.argv[1])
except WriteError as error:
    print(error)
"""


def test_a_full_disk_keeps_the_earlier_file_and_the_process(
    solution: Solution, tmp_path: Path
) -> None:
    path = solution.save(tmp_path / "a.nc")
    before = path.read_bytes()
    assert len(before) > 20000
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr  # HDF5 crashed at the end of the process
    assert "save: cannot write" in done.stdout
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.nc"]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_damaged_file_is_refused_without_noise(
    solution: Solution,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = solution.save(tmp_path / "a.nc")
    whole = path.read_bytes()
    for size in (0, 8, 100, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(OptimalControlError, match="is not a readable NetCDF file"):
            load_solution(path)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 40):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        path.write_bytes(flipped)
        with contextlib.suppress(OptimalControlError):  # not all bytes of a file mean something
            load_solution(path)
    gc.collect()
    assert "Traceback" not in capfd.readouterr().err
