"""Solutions in files: whole, self-explaining, and refused if they are not what they should be."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from ocp_harness import bang_bang, integrator, two_phases

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    MultipleShooting,
    OptimalControlError,
    Radau,
    Scheme,
    SealedSolutionError,
    Solution,
    SolutionFileError,
    load_solution,
)


@pytest.fixture(scope="module")
def relay() -> Solution:
    return two_phases().solve(mesh=5)


@pytest.mark.parametrize(
    "scheme", [Radau(3), Gauss(2), HermiteSimpson(), MultipleShooting(3)], ids=str
)
def test_a_loaded_solution_is_the_saved_one(scheme: Scheme, tmp_path: Path) -> None:
    solution = two_phases().solve(scheme=scheme, mesh=6, refine_mesh=False).unseal()
    loaded = load_solution(solution.save(tmp_path / "x.nc")).unseal()
    assert loaded.status is solution.status
    assert repr(loaded.verdict) == repr(solution.verdict)
    assert loaded.cost == solution.cost
    assert loaded.costs == solution.costs
    assert loaded.parameters == solution.parameters
    assert loaded.options == solution.options
    assert loaded.sample().equals(solution.sample())
    assert loaded.sample("nodes").identical(solution.sample("nodes"))
    assert loaded.costates().equals(solution.costates())
    assert loaded.multipliers().equals(solution.multipliers())
    assert [r.intervals for r in loaded.record.rounds] == [
        r.intervals for r in solution.record.rounds
    ]
    for a, b in zip(loaded.replay(), solution.replay(), strict=True):
        assert np.array_equal(a.segments, b.segments)


def test_knots_and_held_limits_are_kept(tmp_path: Path) -> None:
    solution = bang_bang().solve(mesh=10)
    loaded = load_solution(solution.save(tmp_path / "x.nc"))
    mesh = loaded.motion().layout.mesh
    assert len(mesh.sections) == 2
    assert mesh == solution.motion().layout.mesh
    assert loaded.motion().boundaries[1] == solution.motion().boundaries[1]


def test_any_reader_of_netcdf_sees_names_units_and_status(relay: Solution, tmp_path: Path) -> None:
    with xr.open_dataset(relay.save(tmp_path / "x.nc"), engine="h5netcdf") as seen:
        assert seen.x.attrs["units"] == "m"
        assert seen.attrs["status"] == "SOLVED"
        assert seen.attrs["problem"] == "relay"


def test_versions_are_stored(relay: Solution, tmp_path: Path) -> None:
    loaded = load_solution(relay.save(tmp_path / "x.nc"))
    assert {"bestiary", "casadi", "numpy", "python"} <= set(loaded.versions)
    again = load_solution(loaded.save(tmp_path / "y.nc"))
    assert again.versions == loaded.versions
    assert again.sample("nodes").identical(loaded.sample("nodes"))


def test_a_failed_solution_comes_back_sealed(tmp_path: Path) -> None:
    solution = integrator().solve(mesh=5, progress=lambda _: True)  # stopped at once
    loaded = load_solution(solution.save(tmp_path / "x.nc"))
    assert not loaded.success
    assert loaded.verdict.reasons == tuple(solution.verdict.reasons)
    with pytest.raises(SealedSolutionError):
        loaded.sample()


def test_a_loaded_solution_is_a_guess(relay: Solution, tmp_path: Path) -> None:
    loaded = load_solution(relay.save(tmp_path / "x.nc"))
    again = two_phases().solve(guess=loaded, duals=True)
    assert again.success
    assert again.refined.rounds[0].outcome.iterations <= 3


def test_a_loaded_solution_has_no_expressions(relay: Solution, tmp_path: Path) -> None:
    loaded = load_solution(relay.save(tmp_path / "x.nc"))
    with pytest.raises(OptimalControlError, match="no expressions"):
        loaded.evaluate(relay.problem.phases[0]["x"], phase="first")


def test_damaged_and_foreign_files_are_refused(relay: Solution, tmp_path: Path) -> None:
    good = relay.save(tmp_path / "good.nc")
    with pytest.raises(FileNotFoundError, match="no solution file"):
        load_solution(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("not a file of numbers")
    with pytest.raises(SolutionFileError, match="not a readable NetCDF file"):
        load_solution(tmp_path / "text.nc")
    (tmp_path / "half.nc").write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    with pytest.raises(SolutionFileError):
        load_solution(tmp_path / "half.nc")
    xr.Dataset({"x": ("time", [1.0])}).to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
    with pytest.raises(SolutionFileError, match="not a solution of bestiary"):
        load_solution(tmp_path / "foreign.nc")


def test_a_changed_number_is_noticed(relay: Solution, tmp_path: Path) -> None:
    changed = relay.save(tmp_path / "x.nc")
    with h5py.File(changed, "r+") as opened:
        opened["phase_0/states"][0, 0] += 1e-3
    with pytest.raises(SolutionFileError, match="do not match their digest"):
        load_solution(changed)


def test_nothing_half_written_is_left_behind(
    relay: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("disk full")

    path = relay.save(tmp_path / "x.nc")
    before = path.read_bytes()
    monkeypatch.setattr("bestiary.solvers.ocp.storage.os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        relay.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.nc"]
    with pytest.raises(OSError):  # noqa: PT011
        relay.save(tmp_path / "no folder" / "x.nc")
