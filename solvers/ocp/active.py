"""Arcs on which a limit is active: from when to when a quantity stays at its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .costates import node_rows
from .record import PhaseRecord

Array: TypeAlias = np.ndarray

AT_LIMIT = 1e-4
"""A value this close to a limit, relative to the size of the quantity, is at it."""


@dataclass(frozen=True)
class Arc:
    """A stretch of time [s] at a limit; ``side`` is -1 at the lower one, 1 at the upper."""

    start: float
    end: float
    side: int


def arcs(record: PhaseRecord, kind: str, number: int) -> list[Arc]:
    """Arcs of a state, control, algebraic variable or path constraint of a phase.

    Parameters
    ----------
    kind, number:
        "state", "control", "algebraic" or "path", and which one.
    """
    motion, layout = record.motion, record.motion.layout
    quantity = dict(record.groups())[kind][number]
    if kind == "state":
        times, values = layout.state_times(motion.boundaries), motion.states[:, number]
    else:
        table = {
            "control": motion.controls,
            "algebraic": motion.algebraics,
            "path": record.path_values[node_rows(layout)[1] >= 0],
        }[kind]
        times, values = layout.rate_times(motion.boundaries), table[:, number]
    found: list[Arc] = []
    for side, limit in ((-1, quantity.low), (1, quantity.high)):
        if not np.isfinite(limit):
            continue
        other = quantity.high if side < 0 else quantity.low
        size = abs(other - limit) if np.isfinite(other) else float(np.max(np.abs(values)))
        if quantity.low == quantity.high:
            continue
        at = np.abs(values - limit) <= AT_LIMIT * max(size, 1e-12)
        found += _runs(times, at, side, motion.edges)
    return sorted(found, key=lambda a: a.start)


def _runs(times: Array, at: Array, side: int, edges: Array) -> list[Arc]:
    """Two or more nodes in a row make an arc; it reaches to the ends of the intervals it fills."""
    padded = np.concatenate([[False], at, [False]])
    starts = np.flatnonzero(padded[1:] & ~padded[:-1])
    ends = np.flatnonzero(~padded[1:] & padded[:-1]) - 1
    result = []
    for a, b in zip(starts, ends, strict=True):
        if b == a:
            continue
        start, end = float(times[a]), float(times[b])
        before = edges[edges <= start + 1e-12]
        if len(before) and (a == 0 or times[a - 1] <= before[-1] + 1e-12):
            start = float(before[-1])
        after = edges[edges >= end - 1e-12]
        if len(after) and (b == len(times) - 1 or times[b + 1] >= after[0] - 1e-12):
            end = float(after[0])
        result.append(Arc(start, end, side))
    return result
