"""Datasets of a solution: named, with units, on any times or at the solver's own nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .costates import node_rows
from .errors import OptimalControlError
from .record import PhaseRecord, Quantity, SolutionRecord, node_values

if TYPE_CHECKING:
    import xarray as xr

Array: TypeAlias = np.ndarray
Table: TypeAlias = dict[str, tuple[Quantity, str, Array]]

SLACK = 1e-9
"""Times may miss the ends of a phase by this part of its length."""


def node_times(record: PhaseRecord) -> Array:
    """(M,) times of the rows of :func:`at_nodes` [s]."""
    states, _ = node_rows(record.motion.layout)
    return np.asarray(record.motion.layout.state_times(record.motion.boundaries)[states])


def at_nodes(record: PhaseRecord) -> tuple[Array, Table, Array]:
    """Times, columns and which rows are rate nodes: what the solver itself had.

    Where a state node has no rate, as the first one of Radau, controls are those of the
    interval's polynomial.
    """
    x, u, z, times = node_values(record.motion)
    table: Table = {}
    for kind, quantities, values in (
        ("state", record.states, x),
        ("control", record.controls, u),
        ("algebraic", record.algebraics, z),
        ("path", record.paths, record.path_values),
    ):
        for k, quantity in enumerate(quantities):
            table[quantity.name] = (quantity, kind, values[:, k])
    return times, table, node_rows(record.motion.layout)[1] >= 0


def at_times(record: PhaseRecord, times: Array) -> Table:
    """Columns at any times within the phase; at a jump the values after it."""
    table: Table = {}
    motion = record.motion
    for quantities, kind, evaluate in (
        (record.states, "state", motion.states_at),
        (record.controls, "control", motion.controls_at),
        (record.algebraics, "algebraic", motion.algebraics_at),
        (record.paths, "path", record.paths_at),
    ):
        if quantities:
            values = evaluate(times)
            for k, quantity in enumerate(quantities):
                table[quantity.name] = (quantity, kind, values[:, k])
    return table


def phase_times(
    phases: Sequence[PhaseRecord], times: Any, points: int, label: str
) -> list[Array | None]:
    """Times for each phase; None stands for its nodes.

    Raises
    ------
    OptimalControlError
        For times outside, or in two phases at once.
    """
    if isinstance(times, str):
        if times != "nodes":
            raise OptimalControlError(f"{label}: sample: times: expected 'nodes', got {times!r}")
        return [None] * len(phases)
    if times is None:
        if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 2:
            raise OptimalControlError(
                f"{label}: sample: points: expected 2 or more, got {points!r}"
            )
        return [np.linspace(p.motion.start, p.motion.end, int(points)) for p in phases]
    asked = np.atleast_1d(np.asarray(times, dtype=float))
    if asked.ndim != 1 or not np.all(np.isfinite(asked)):
        raise OptimalControlError(f"{label}: sample: times must be finite numbers in one row")
    motions = [p.motion for p in phases]
    slack = [SLACK * (m.end - m.start) for m in motions]
    inside = np.array(
        [(asked >= m.start - s) & (asked <= m.end + s) for m, s in zip(motions, slack, strict=True)]
    )
    for k in range(len(phases) - 1):  # where a phase ends, the next one has begun
        shared = inside[k] & inside[k + 1 :].any(axis=0)
        inside[k] &= ~(shared & (asked >= motions[k].end - slack[k]))
    if np.any(inside.sum(axis=0) > 1):
        raise OptimalControlError(
            f"{label}: sample: phases overlap in time; say which one with phase="
        )
    missing = asked[~inside.any(axis=0)]
    if len(missing):
        spans = ", ".join(f"{m.start:g} to {m.end:g} s" for m in motions)
        raise OptimalControlError(
            f"{label}: sample: {missing[0]:g} s is outside the motion ({spans})"
        )
    return [np.clip(asked[own], m.start, m.end) for own, m in zip(inside, motions, strict=True)]


def motion_dataset(
    record: SolutionRecord,
    phases: Sequence[PhaseRecord],
    times: Sequence[Array | None],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Phases one after another along ``time``, with parameters, constants and integrals."""
    parts = []
    collocated = []
    for phase, own in zip(phases, times, strict=True):
        if own is None:
            at, table, is_node = at_nodes(phase)
            collocated.append(is_node)
        else:
            at, table = own, at_times(phase, own)
        parts.append((phase.name, at, table))
    result = joined(parts, attributes)
    if collocated:
        name = _free_name("collocated", result)
        result = result.assign_coords(
            {name: ("time", np.concatenate(collocated), {"long_name": "a node of the scheme"})}
        )
    for kind, values in (("parameter", record.parameters), ("constant", record.constants)):
        for quantity, value in values:
            result[quantity.name] = ((), value, _attributes(quantity, kind))
    for phase in phases:
        for name, (unit, value, _) in phase.integrals.items():
            label = name if name not in result else f"{phase.name}.{name}"
            result[label] = (
                (),
                value,
                {"units": unit, "kind": "integral", "long_name": f"{name} of {phase.name}"},
            )
    return result


def joined(parts: Sequence[tuple[str, Array, Table]], attributes: Mapping[str, Any]) -> xr.Dataset:
    """Tables of phases one after another, NaN where a phase does not have a quantity."""
    import xarray as xr

    names = list(dict.fromkeys(n for _, _, table in parts for n in table))
    data: dict[str, Any] = {}
    for name in names:
        columns = [
            table[name][2] if name in table else np.full(len(at), np.nan) for _, at, table in parts
        ]
        first = next(table[name] for _, _, table in parts if name in table)
        own = [table[name][0] for _, _, table in parts if name in table]
        attrs = _attributes(first[0], first[1])
        if any((q.low, q.high) != (own[0].low, own[0].high) for q in own):
            attrs.pop("low", None)  # phases differ: see the phases' own limits
            attrs.pop("high", None)
        data[name] = ("time", np.concatenate(columns), attrs)
    labels = np.concatenate([np.full(len(at), name, dtype=object) for name, at, _ in parts])
    at = np.concatenate([at for _, at, _ in parts])
    place = "phase" if "phase" not in names else "phase_name"
    return xr.Dataset(
        data,
        {"time": ("time", at, {"units": "s"}), place: ("time", labels.astype(str))},
        dict(attributes),
    )


def per(unit: str, what: str = "1") -> str:
    """One (or something) per unit: brackets only where they are needed."""
    return f"{what}/{unit}" if unit.isidentifier() else f"{what}/({unit})"


def costate_table(record: PhaseRecord) -> Table:
    """Costates by the name of their state, at the rows of :func:`at_nodes`."""
    return {
        q.name: (
            Quantity(q.name, per(q.unit, "cost") if q.unit else "", -np.inf, np.inf),
            "costate",
            record.costates[:, k],
        )
        for k, q in enumerate(record.states)
    }


def multiplier_table(record: PhaseRecord) -> Table:
    """Multipliers of bounds and path constraints, at the rows of :func:`at_nodes`."""
    states, rates = node_rows(record.motion.layout)
    table: Table = {}
    for kind, quantities, values, rows in (
        ("state", record.states, record.state_multipliers, states),
        ("control", record.controls, record.control_multipliers, rates),
        ("path", record.paths, record.path_multipliers, rates),
    ):
        for k, q in enumerate(quantities):
            column = np.where(rows >= 0, values[rows, k], np.nan)
            unit = f"{q.unit} s" if q.unit else "s"
            label = Quantity(q.name, per(unit, "cost"), -np.inf, np.inf)
            table[q.name] = (label, f"multiplier of a {kind}", column)
    return table


def attributes(record: SolutionRecord, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What every dataset says of itself: problem, cost, status, constants."""
    return {
        "problem": record.name,
        "cost": record.cost,
        "cost_terms": json.dumps(dict(record.costs)),
        **facts,
    }


def _attributes(quantity: Quantity, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"units": quantity.unit, "kind": kind}
    if np.isfinite(quantity.low):
        found["low"] = quantity.low
    if np.isfinite(quantity.high):
        found["high"] = quantity.high
    return found


def _free_name(name: str, taken: Any) -> str:
    while name in taken:
        name = f"{name}_"
    return name
