"""Whether the structure that a mesh with knots assumes is that of its solution.

A limit may be held only where the cost would rise if it were left: its multiplier
must have the sign of an inequality.  A section that shrinks to nothing was none.
Near a knot at which a control is continuous the multiplier goes through zero, and the
time of the knot is known to the square root of the mesh's error only: there a wrong sign
of that size means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .mesh import Held, Joined
from .numbering import PhaseIndices, joined_interval
from .transcription import SHORTEST_SECTION, Transcription

Array: TypeAlias = np.ndarray

WRONG = 1e-3
"""A multiplier of the wrong sign counts from this part of the largest one of its kind."""
RESTS = 1e-6
"""Distance from a bound at which a state rests, as a part of its scale."""
BESIDE = 10.0
"""A wrong sign beside a knot counts from this many roots of the mesh's error."""
NOTHING = 1e-3
"""Multipliers are small if leaving a limit would gain less than this part of the cost."""


@dataclass(frozen=True)
class Mistakes:
    """What a structure has wrong in one phase.

    Attributes
    ----------
    released:
        (section, limit) pairs that need not be held.
    collapsed:
        Sections that vanish.
    parted:
        (section, control) pairs that were thought to be continuous at a knot and jump.
    """

    released: tuple[tuple[int, Held], ...] = ()
    collapsed: tuple[int, ...] = ()
    parted: tuple[tuple[int, Joined], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.released or self.collapsed or self.parted)


def find_mistakes(
    transcription: Transcription, x: Array, p: Array, row_multipliers: Array, error: float = 0.0
) -> list[Mistakes]:
    """Mistakes of the assumed structure, phase by phase.

    Parameters
    ----------
    transcription:
        On meshes with knots.
    x, p, row_multipliers:
        Solution, constants, and multipliers of the rows, in physical units.
    error:
        Largest relative error of the mesh.
    """
    program = transcription.program
    jacobian = program.jacobian_entries(x, p)
    slopes = program.gradient(x, p) + jacobian.transposed_times(row_multipliers)
    found = []
    cost = max(abs(program.cost(x, p)), program.cost_scale)
    for indices in transcription.phases:
        released = []
        layout = indices.layout
        for s, section in enumerate(layout.mesh.sections):
            rates = np.flatnonzero(layout.rate_section == s)
            if _state_at_limit(transcription, indices, x, rates):
                continue  # whether the control or the state is the limit cannot be told
            for held in section.held:
                if held.kind == "path":
                    every = -row_multipliers[indices.path_rows[:, held.number]]
                    scale = program.row_scale[indices.path_rows[0, held.number]]
                    own = every[rates]
                else:
                    table = indices.controls if held.kind == "control" else indices.states
                    nodes = rates if held.kind == "control" else layout.rate_state[rates]
                    every = slopes[table[:, held.number]]
                    scale = program.variable_scale[table[0, held.number]]
                    own = slopes[table[nodes, held.number]]
                size = max(
                    float(np.max(np.abs(every), initial=0.0)),
                    NOTHING * cost / (scale * max(1, len(own))),
                )
                if held.kind != "control":
                    own = _by_interval(indices, s, own)
                limits = np.full(len(own), WRONG)
                if held.kind == "control":
                    limits[_beside_knots(indices, s, rates)] = max(WRONG, BESIDE * error**0.5)
                if np.any(held.side * own > limits * size):
                    released.append((s, held))
        parted = _parted(transcription, indices, slopes, row_multipliers, cost)
        found.append(Mistakes(tuple(released), _collapsed(indices, x), parted))
    return found


def _state_at_limit(
    transcription: Transcription, indices: PhaseIndices, x: Array, rates: Array
) -> bool:
    """Whether a state that is not held itself rests at a bound, as a mass that cannot fall."""
    program = transcription.program
    entries = indices.states[indices.layout.rate_state[rates]]
    low, high, scale = program.lower, program.upper, program.variable_scale
    free = low[entries] < high[entries]
    near = np.minimum(x[entries] - low[entries], high[entries] - x[entries])
    return bool(np.any(np.mean(free & (near < RESTS * scale[entries]), axis=0) > 0.5))


def _beside_knots(indices: PhaseIndices, section: int, rates: Array) -> Array:
    """(n,) which rate nodes of a section are in an interval beside a knot."""
    own = [i for i in indices.layout.intervals if i.section == section]
    beside: set[int] = set()
    if section > 0:
        beside |= {int(k) for k in own[0].rates}
    if section + 1 < len(indices.layout.mesh.sections):
        beside |= {int(k) for k in own[-1].rates}
    return np.array([int(k) in beside for k in rates], dtype=bool)


def _parted(
    transcription: Transcription,
    indices: PhaseIndices,
    slopes: Array,
    row_multipliers: Array,
    cost: float,
) -> tuple[tuple[int, Joined], ...]:
    """Controls that would gain by a jump at a knot."""
    found = []
    for s, section in enumerate(indices.layout.mesh.sections):
        for joined in section.joined:
            node, rates, _ = joined_interval(indices.layout, s, joined.end)
            if node is not None:
                entry = indices.controls[node, joined.number]
                price = slopes[entry]
            elif (s, joined) in indices.joins:
                price = row_multipliers[indices.joins[s, joined]]
            else:
                continue
            size = transcription.program.variable_scale[indices.controls[rates[0], joined.number]]
            if abs(price) * size > NOTHING * cost:
                found.append((s, joined))
    return tuple(found)


def _by_interval(indices: PhaseIndices, section: int, values: Array) -> Array:
    """Sums over intervals: multipliers of a state's limit may alternate from node to node."""
    result, first = [], 0
    for interval in indices.layout.intervals:
        if interval.section == section:
            result.append(np.sum(values[first : first + len(interval.rates)]))
            first += len(interval.rates)
    return np.array(result)


def _collapsed(indices: PhaseIndices, x: Array) -> tuple[int, ...]:
    mesh = indices.layout.mesh
    if not mesh.knots:
        return ()
    boundaries = indices.boundaries(x)
    length = boundaries[-1] - boundaries[0]
    shortest = SHORTEST_SECTION * np.diff(mesh.boundaries) * length
    return tuple(int(k) for k in np.flatnonzero(np.diff(boundaries) < 1.01 * shortest))
