"""Results as labelled arrays: what was simulated, with names, units and provenance.

A result is an :class:`xarray.Dataset` with the dimensions ``time``,
``coordinate``, ``velocity`` and ``input``.  Its attributes say which model
(name, variant, SHA-256 of the program, parameter values), which options and
which versions produced it, so that a saved file explains itself.
"""

from __future__ import annotations

import io
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..modeling.version import __version__
from .writing import replacing

FORMAT = "bestiary-result-1"


class ResultError(ValueError):
    """A file or dataset that is not a result of this package."""


def make_result(
    robot: Any,
    time: np.ndarray,
    q: np.ndarray,
    p: np.ndarray,
    u: np.ndarray | None,
    options: Mapping[str, Any],
) -> xr.Dataset:
    """Label the arrays of a motion.

    Parameters
    ----------
    robot:
        The robot that moved.
    time:
        (T,) times [s].
    q, p, u:
        (T, nq) coordinates, (T, np) quasi-velocities, (T, nu) inputs or None.
    options:
        How the motion was computed; stored as JSON.
    """
    data: dict[str, Any] = {
        "q": (("time", "coordinate"), q, {"long_name": "generalized coordinates"}),
        "p": (("time", "velocity"), p, {"long_name": "quasi-velocities"}),
    }
    coordinates: dict[str, Any] = {
        "time": ("time", np.asarray(time, dtype=float), {"units": "s"}),
        "coordinate": ("coordinate", [c.name for c in robot.coordinates]),
        "coordinate_unit": ("coordinate", [c.unit for c in robot.coordinates]),
        "velocity": ("velocity", [v.name for v in robot.velocities]),
        "velocity_unit": ("velocity", [v.unit for v in robot.velocities]),
    }
    if u is not None and len(robot.inputs):
        data["u"] = (("time", "input"), u, {"long_name": "inputs"})
        coordinates["input"] = ("input", [i.name for i in robot.inputs])
        coordinates["input_unit"] = ("input", [i.unit for i in robot.inputs])
    attributes = {
        "format": FORMAT,
        "model": robot.meta["name"],
        "variant": str(robot.meta.get("variant") or ""),
        "program_sha256": robot.meta["program_sha256"],
        "parameters": json.dumps({k: float(v) for k, v in parameter_values(robot).items()}),
        "options": json.dumps(dict(options), default=str),
        "bestiary_version": __version__,
        "numpy_version": np.__version__,
        "python_version": platform.python_version(),
    }
    return xr.Dataset(data, coordinates, attributes)


def parameter_values(robot: Any) -> dict[str, float]:
    """Name → value of all parameters of a robot."""
    return {name: float(robot.parameters[name]) for name in robot.parameters}


def save(result: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a result as NetCDF, whole or not at all; return its path.

    Raises
    ------
    WriteError
        (An OSError) if the folder is missing or cannot be written.
    """
    with replacing(path, "save") as temporary:
        made = io.BytesIO()  # in memory first: HDF5 does not survive a disk that is full
        result.to_netcdf(made, engine="h5netcdf")
        temporary.write_bytes(made.getbuffer())
    return Path(path)


def load(path: str | os.PathLike[str]) -> xr.Dataset:
    """Read a result that :func:`save` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ResultError
        If the file is no NetCDF or was not written by this package.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"no result file {source}")
    try:
        with xr.open_dataset(source, engine="h5netcdf") as opened:
            result = opened.load()
    except (OSError, ValueError, KeyError) as error:
        raise ResultError(f"{source} is not a readable NetCDF file: {error}") from error
    if result.attrs.get("format") != FORMAT:
        raise ResultError(
            f"{source} was not written by bestiary: its format attribute is "
            f"{result.attrs.get('format')!r}, expected {FORMAT!r}"
        )
    return result
