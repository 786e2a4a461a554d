"""Results: labels, units, provenance, files that are whole or absent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from robot_harness import robot

from bestiary.solvers import results
from bestiary.solvers.simulation import simulate


def _motion() -> xr.Dataset:
    return simulate(robot("crane"), 0.2, q=[0, 0.5, 0, 0], samples=5)


def test_a_result_names_its_axes_units_and_origin() -> None:
    motion = _motion()
    assert list(motion.coordinate.values) == ["travel", "swing", "nod", "turn"]
    assert list(motion.coordinate_unit.values) == ["m", "rad", "rad", "rad"]
    assert motion.time.attrs["units"] == "s"
    assert motion.kinetic_energy.attrs["units"] == "J"
    assert motion.attrs["model"] == "crane"
    assert motion.attrs["program_sha256"] == robot("crane").meta["program_sha256"]
    assert json.loads(motion.attrs["parameters"])["hook_mass"] == 0.3
    assert json.loads(motion.attrs["options"])["method"] == "DOP853"


def test_a_saved_result_comes_back_the_same(tmp_path: Path) -> None:
    motion = _motion()
    path = results.save(motion, tmp_path / "motion.nc")
    xr.testing.assert_identical(results.load(path), motion)
    assert [f.name for f in tmp_path.iterdir()] == ["motion.nc"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = results.save(_motion(), tmp_path / "motion.nc")
    before = path.read_bytes()
    broken = _motion().assign_attrs(bad=object())
    with pytest.raises(Exception, match="attr"):
        results.save(broken, path)
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["motion.nc"]


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no result file"):
        results.load(tmp_path / "missing.nc")
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(results.ResultError, match="not a readable NetCDF file"):
        results.load(tmp_path / "text.nc")
    other = xr.Dataset({"a": ("x", np.arange(3))})
    other.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(results.ResultError, match="was not written by bestiary"):
        results.load(tmp_path / "other.nc")
