"""Solutions as NetCDF files that explain themselves, and are refused if they are damaged.

The root of a file is the dataset of :meth:`.Solution.sample` at the nodes, so any reader of
NetCDF sees times, states and controls with units.  What is needed to continue from the
solution (meshes, rates, multipliers, verdict, options, versions) is in the group ``solution``
and one group for each phase, under a digest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..writing import replacing
from .errors import OptimalControlError, SolutionFileError
from .mesh import Held, Layout, Mesh, Section
from .problem import OptimalControlProblem
from .record import Condition, PhaseRecord, Quantity, RoundRecord, SolutionRecord
from .replay import PhaseReplay
from .sampling import motion_dataset
from .schemes import Gauss, HermiteSimpson, MultipleShooting, Radau, Scheme, Trapezoid
from .solution import Solution
from .status import Status
from .trajectory import PhaseTrajectory
from .verdict import NotFinite, Verdict, Violation

if TYPE_CHECKING:
    import xarray as xr

Array: TypeAlias = np.ndarray

FORMAT = "bestiary-solution-1"
SCHEMES: tuple[type[Scheme], ...] = (Radau, Gauss, HermiteSimpson, Trapezoid, MultipleShooting)
GROUP = "solution"
DIMENSION = b"This is a netCDF dimension but not a netCDF variable"
"""How NetCDF marks what HDF5 takes for an array and is none."""

_MOTION = ("boundaries", "states", "rates", "controls", "algebraics")
_VALUES = (
    "path_values",
    "costates",
    "state_multipliers",
    "control_multipliers",
    "path_multipliers",
    "equation_multipliers",
)
_QUANTITIES = ("states", "controls", "algebraics", "paths")


def save_solution(solution: Solution, path: str | os.PathLike[str]) -> Path:
    """Write a solution as NetCDF, whole or not at all; return its path.

    Raises
    ------
    WriteError
        (An OSError) if the folder is missing or cannot be written.
    """
    record = solution.record
    groups = {f"phase_{k}": _phase_arrays(p) for k, p in enumerate(record.phases)}
    replays = solution._replays
    if replays is not None:
        for k, made in enumerate(replays):
            for name in ("segments", "open_loop", "times", "states"):
                groups[f"phase_{k}"][f"replay_{name}"] = getattr(made, name)
    groups[GROUP] = {
        "x": record.x,
        "row_multipliers": record.row_multipliers,
        "bound_multipliers": record.bound_multipliers,
    }
    for n, made_round in enumerate(record.rounds):
        for k, (edges, errors) in enumerate(zip(made_round.edges, made_round.errors, strict=True)):
            groups[GROUP][f"round_{n}_edges_{k}"] = edges
            groups[GROUP][f"round_{n}_errors_{k}"] = errors
    text = json.dumps(_plain(_description(solution)))
    root = motion_dataset(
        record, record.phases, [None] * len(record.phases), solution._facts()
    ).assign_attrs(format=FORMAT, digest=_digest(text, groups))
    return _write(root, groups, text, path)


def load_solution(
    path: str | os.PathLike[str], problem: OptimalControlProblem | None = None
) -> Solution:
    """Read a solution that :meth:`.Solution.save` wrote.

    It can be sampled, plotted, and given as ``guess=``; a failed one comes back sealed.

    Parameters
    ----------
    path:
        The file.
    problem:
        Its statement, made anew: then expressions in its symbols can be evaluated along
        the motion (``solution[torque * rate]``).  A file holds numbers, no expressions.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    SolutionFileError
        If the file is no solution of this package, or damaged.
    OptimalControlError
        If the problem has other phases, quantities or another robot than the solution.
    """
    if problem is not None and not isinstance(problem, OptimalControlProblem):
        raise OptimalControlError(
            f"load_solution: problem: expected an OptimalControlProblem, got {problem!r}"
        )
    try:
        source = Path(path)
        folder, there = source.is_dir(), source.is_file()
    except (TypeError, OSError, ValueError) as error:
        raise SolutionFileError(f"expected the path of a solution, got {path!r}") from error
    if folder:
        raise SolutionFileError(f"{source} is a folder; give the file of a solution in it")
    if not there:
        raise FileNotFoundError(f"no solution file {source}")
    format_, digest, groups, text = _read(source)
    if format_ != FORMAT:
        raise SolutionFileError(
            f"{source} is not a solution of bestiary: its format attribute is {format_!r}, "
            f"expected {FORMAT!r}"
        )
    if digest != _digest(text, groups):
        raise SolutionFileError(f"{source} is damaged: its contents do not match their digest")
    try:
        found = _restore(_lively(json.loads(text)), groups)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise SolutionFileError(
            f"{source} cannot be read by this version: {type(error).__name__}: {error}"
        ) from error
    if problem is not None:
        problem.check()
        _check_statement(found.record, problem)
        found.problem = problem
    return found


def _check_statement(record: SolutionRecord, problem: OptimalControlProblem) -> None:
    """Refuse a statement whose symbols are not those of the solution."""
    label = f"load_solution: problem {problem.name!r} is not that of the solution"
    groups: list[tuple[str, list[str], list[str]]] = [
        ("phases", [p.name for p in problem.phases], [p.name for p in record.phases]),
        ("parameters", _names(problem.parameters), [q.name for q, _ in record.parameters]),
        ("constants", _names(problem.constants), [q.name for q, _ in record.constants]),
    ]
    for stated, stored in zip(problem.phases, record.phases, strict=False):
        of = f"of phase {stated.name!r}"
        groups += [
            (f"states {of}", _names(stated.state_variables), _names(stored.states)),
            (f"controls {of}", _names(stated.control_variables), _names(stored.controls)),
            (f"algebraics {of}", _names(stated.algebraic_variables), _names(stored.algebraics)),
        ]
    for what, own, theirs in groups:
        if own != theirs:
            raise OptimalControlError(
                f"{label}: its {what} are {', '.join(own) or 'none'}, those of the file "
                f"{', '.join(theirs) or 'none'}"
            )
    robot = problem.robot
    if robot is not None and record.model:
        ours, written = robot.meta["program_sha256"], record.model["program_sha256"]
        if ours != written:
            raise OptimalControlError(
                f"{label}: the equations of its robot {robot.meta['name']!r} ({ours[:10]}) differ "
                f"from those of {record.model['name']!r} in the file ({written[:10]})"
            )


def _names(quantities: Iterable[Any]) -> list[str]:
    return [q.name for q in quantities]


# -- files -------------------------------------------------------------------------------
def _write(
    root: xr.Dataset,
    groups: Mapping[str, Mapping[str, Array]],
    text: str,
    target: str | os.PathLike[str],
) -> Path:
    import h5netcdf
    from h5py import string_dtype  # type: ignore[import-untyped,unused-ignore]

    with replacing(target, "save") as temporary:
        # made in memory: HDF5 does not survive a disk that is full
        made = io.BytesIO()
        root.to_netcdf(made, engine="h5netcdf")
        with h5netcdf.File(made, "a") as opened:
            for name, arrays in groups.items():
                group = opened.create_group(name)
                for label, array in arrays.items():
                    if not array.size:
                        continue
                    dimensions = tuple(f"{label}_{d}" for d in range(array.ndim))
                    for dimension, size in zip(dimensions, array.shape, strict=True):
                        group.dimensions[dimension] = size
                    group.create_variable(label, dimensions, "f8", data=array)
            told = opened[GROUP].create_variable("description", (), string_dtype())
            told[...] = text
        temporary.write_bytes(made.getbuffer())
    return Path(target)


def _read(source: Path) -> tuple[Any, Any, dict[str, dict[str, Array]], str]:
    """Format, digest, arrays by group, and the description."""
    import h5py  # type: ignore[import-untyped,unused-ignore]

    groups: dict[str, dict[str, Array]] = {}
    text = ""
    try:
        # not by h5netcdf, which leaves a broken object behind where a file is damaged
        with h5py.File(source, "r") as opened:
            format_, digest = opened.attrs.get("format"), opened.attrs.get("digest")
            for name, group in opened.items():
                if not isinstance(group, h5py.Group):
                    continue
                groups[name] = {}
                for label, variable in group.items():
                    if bytes(variable.attrs.get("NAME", b"")).startswith(DIMENSION):
                        continue
                    if label == "description":
                        raw = variable[()]
                        text = raw.decode() if isinstance(raw, bytes) else str(raw)
                    else:
                        groups[name][label] = np.asarray(variable[...])
    except Exception as error:  # h5py raises nearly anything on damaged files
        raise SolutionFileError(
            f"{source} is not a readable NetCDF file: {str(error).splitlines()[0]}"
        ) from error
    return format_, digest, groups, text


def _digest(text: str, groups: Mapping[str, Mapping[str, Array]]) -> str:
    found = hashlib.sha256(text.encode())
    for name in sorted(groups):
        for label in sorted(groups[name]):
            array = np.ascontiguousarray(groups[name][label], dtype="<f8")
            if array.size:
                found.update(f"{name}/{label}/{array.shape}".encode())
                found.update(array.tobytes())
    return found.hexdigest()


# -- from a solution to plain data ---------------------------------------------------------
def _phase_arrays(record: PhaseRecord) -> dict[str, Array]:
    found = {name: np.asarray(getattr(record.motion, name)) for name in _MOTION}
    return found | {name: np.asarray(getattr(record, name)) for name in _VALUES}


def _description(solution: Solution) -> dict[str, Any]:
    record = solution.record
    scheme = record.phases[0].motion.layout.scheme
    return {
        "name": record.name,
        "scheme": {"kind": type(scheme).__name__, **dataclasses.asdict(scheme)},
        "phases": [_phase_description(p) for p in record.phases],
        "parameters": [[dataclasses.astuple(q), v] for q, v in record.parameters],
        "constants": [[dataclasses.astuple(q), v] for q, v in record.constants],
        "cost": record.cost,
        "costs": dict(record.costs),
        "conditions": [
            [dataclasses.astuple(c.quantity), c.value, c.multiplier] for c in record.conditions
        ],
        "rounds": [
            {
                f.name: getattr(r, f.name)
                for f in dataclasses.fields(r)
                if f.name not in ("edges", "errors")
            }
            for r in record.rounds
        ],
        "note": record.note,
        "reached": record.reached,
        "model": dict(record.model),
        "verdict": dataclasses.asdict(solution.verdict) | {"status": solution.status.name},
        "replays": (
            None if solution._replays is None else [r.converged for r in solution._replays]
        ),
        "options": {k: v if _is_simple(v) else str(v) for k, v in solution.options.items()},
        "seconds": solution.seconds,
        "versions": solution.versions or _versions(),
    }


def _phase_description(record: PhaseRecord) -> dict[str, Any]:
    mesh = record.motion.layout.mesh
    return {
        "name": record.name,
        **{k: [dataclasses.astuple(q) for q in getattr(record, k)] for k in _QUANTITIES},
        "start": dict(record.start),
        "end": dict(record.end),
        "integrals": dict(record.integrals),
        "cut_off": record.motion.control_bounds is not None,
        "mesh": {
            "knots": mesh.knots,
            "sections": [
                {
                    "edges": s.edges,
                    "degrees": s.degrees,
                    "held": [dataclasses.astuple(h) for h in s.held],
                }
                for s in mesh.sections
            ],
        },
    }


def _versions() -> dict[str, str]:
    import casadi as ca

    from bestiary.modeling.version import __version__

    return {
        "bestiary": __version__,
        "casadi": ca.CasadiMeta.version(),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _is_simple(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _plain(value: Any) -> Any:
    """JSON has no infinities and no NaN: they become {"float": text}."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value if _is_simple(value) else str(value)


def _lively(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"float"}:
            return float(value["float"])
        return {k: _lively(v) for k, v in value.items()}
    return [_lively(v) for v in value] if isinstance(value, list) else value


# -- and back ----------------------------------------------------------------------------
def _restore(told: dict[str, Any], groups: dict[str, dict[str, Array]]) -> Solution:
    kinds = {c.__name__: c for c in SCHEMES}
    named = dict(told["scheme"])
    scheme = kinds[named.pop("kind")](**named)
    phases = tuple(
        _restored_phase(t, groups.get(f"phase_{k}", {}), scheme)
        for k, t in enumerate(told["phases"])
    )
    whole = groups.get(GROUP, {})
    none = np.empty(0)
    rounds = tuple(
        RoundRecord(
            **r,
            edges=tuple(whole.get(f"round_{n}_edges_{k}", none) for k in range(len(phases))),
            errors=tuple(whole.get(f"round_{n}_errors_{k}", none) for k in range(len(phases))),
        )
        for n, r in enumerate(told["rounds"])
    )
    record = SolutionRecord(
        told["name"],
        phases,
        tuple((Quantity(*q), v) for q, v in told["parameters"]),
        tuple((Quantity(*q), v) for q, v in told["constants"]),
        told["cost"],
        told["costs"],
        tuple(Condition(Quantity(*q), v, m) for q, v, m in told["conditions"]),
        rounds,
        whole.get("x", none),
        whole.get("row_multipliers", none),
        whole.get("bound_multipliers", none),
        told["note"],
        told["reached"],
        told["model"],
    )
    replays = None
    if told["replays"] is not None:
        replays = [
            PhaseReplay(
                groups[f"phase_{k}"]["replay_segments"],
                groups[f"phase_{k}"]["replay_open_loop"],
                groups[f"phase_{k}"]["replay_times"],
                converged,
                groups[f"phase_{k}"]["replay_states"],
            )
            for k, converged in enumerate(told["replays"])
        ]
    return Solution.restored(
        record, _verdict(told["verdict"]), replays, told["options"], told["seconds"],
        told["versions"],
    )  # fmt: skip


def _restored_phase(told: dict[str, Any], arrays: dict[str, Array], scheme: Scheme) -> PhaseRecord:
    sections = tuple(
        Section(
            tuple(s["edges"]),
            tuple(s["degrees"]),
            tuple(Held(*h) for h in s["held"]),
        )
        for s in told["mesh"]["sections"]
    )
    layout = Layout(Mesh(sections, tuple(told["mesh"]["knots"])), scheme)
    quantities = {k: tuple(Quantity(*q) for q in told[k]) for k in _QUANTITIES}
    states, rates = len(layout.state_place), len(layout.rate_state)
    rows = sum(max(1, n) for n in np.bincount(layout.rate_state, minlength=states))
    nx, nu, nz, n = (len(quantities[k]) for k in _QUANTITIES)
    shapes = {
        "boundaries": (len(sections) + 1,),
        "states": (states, nx),
        "rates": (len(layout.intervals), 2, nx) if scheme.shoots else (rates, nx),
        "controls": (rates, nu),
        "algebraics": (rates, nz),
        "path_values": (rows, n),
        "costates": (rows, nx),
        "state_multipliers": (states, nx),
        "control_multipliers": (rates, nu),
        "path_multipliers": (rates, n),
        "equation_multipliers": (rates, nz),
    }
    found = {}
    for name, shape in shapes.items():
        found[name] = arrays.get(name, np.empty(shape) if 0 in shape else np.empty(0))
        if found[name].shape != shape:
            raise ValueError(f"{name} has shape {found[name].shape}, expected {shape}")
    bounds = None
    if told.get("cut_off"):
        bounds = np.array([(q.low, q.high) for q in quantities["controls"]]).reshape(-1, 2)
    return PhaseRecord(
        name=told["name"],
        states=quantities["states"],
        controls=quantities["controls"],
        algebraics=quantities["algebraics"],
        paths=quantities["paths"],
        start={k: tuple(v) for k, v in told["start"].items()},
        end={k: tuple(v) for k, v in told["end"].items()},
        motion=PhaseTrajectory(layout, **{k: found[k] for k in _MOTION}, control_bounds=bounds),
        path_values=found["path_values"],
        costates=found["costates"],
        state_multipliers=found["state_multipliers"],
        control_multipliers=found["control_multipliers"],
        path_multipliers=found["path_multipliers"],
        equation_multipliers=found["equation_multipliers"],
        integrals={k: tuple(v) for k, v in told["integrals"].items()},
    )


def _verdict(told: dict[str, Any]) -> Verdict:
    known = {f.name for f in dataclasses.fields(Verdict)}
    values: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in told.items() if k in known
    }
    values["status"] = Status[told["status"]]
    values["violations"] = tuple(
        Violation(**v) if isinstance(v, dict) else v for v in told.get("violations", ())
    )
    values["not_finite"] = tuple(NotFinite(**v) for v in told.get("not_finite", ()))
    values["not_finite"] = tuple(NotFinite(**v) for v in told.get("not_finite", ()))
    return Verdict(**values)
