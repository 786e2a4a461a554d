"""How far the cost of a motion is from the best one, interval by interval.

Two things are wrong with the cost J_h of a motion on a mesh.  It is that of polynomials
which miss their differential equations by r = f(x, u) - x', and of a quadrature; with
the costates p = dJ/dx, following the equations would change it by

    E = int p . r dt + (exact integral - quadrature),

the dual-weighted residual (Becker and Rannacher, Acta Numerica 10, 2001).  And the control
is the best one among polynomials only: a smoother curve v through the nodes of the
neighbours, too, tells what is missing, and the Hamiltonian's curvature what that costs,

    S = 1/2 int (v - u) . H_uu (v - u) dt,

since the Hamiltonian's slope vanishes at the nodes.  To leading order the best cost is
J_h + E - S.

Schemes that shoot have neither costates nor a Hamiltonian between the ends of their
intervals; theirs is measured by a second mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.polynomial import legendre

from .blocks import Block
from .costates import costates, node_durations, node_rows
from .numbering import PhaseIndices
from .schemes import lagrange_values
from .trajectory import PhaseTrajectory
from .transcription import Transcription

Array: TypeAlias = np.ndarray

EXTRA_POINTS = 2
FEWEST_NODES = 3
"""With fewer nodes of its own an interval is compared with a curve through both neighbours."""


@dataclass(frozen=True)
class Prices:
    """What defects of a phase cost.

    Attributes
    ----------
    costates:
        For each interval the places (0 to 1) and values (n, nx) of the costates that are known
        in it.
    integrals:
        (ni,) change of the cost by the error of an integral with a symbol.
    """

    costates: list[tuple[Array, Array]]
    integrals: Array

    def at(self, interval: int, places: Array) -> Array:
        """(len(places), nx) costates."""
        own, values = self.costates[interval]
        return np.asarray(_interpolation(own.tobytes(), places.tobytes()) @ values)


@lru_cache(maxsize=256)
def _interpolation(nodes: bytes, places: bytes) -> Array:
    return lagrange_values(np.frombuffer(nodes), np.frombuffer(places))


def prices(transcription: Transcription, row_multipliers: Array) -> list[Prices] | None:
    """Costates and prices of integrals, phase by phase; None for schemes that shoot."""
    if transcription.scheme.shoots:
        return None
    return [_phase_prices(transcription, i, row_multipliers) for i in transcription.phases]


def _phase_prices(
    transcription: Transcription, indices: PhaseIndices, row_multipliers: Array
) -> Prices:
    layout, nx = indices.layout, len(indices.functions.states)
    own = {
        g.kind: row_multipliers[g.first : g.first + g.count]
        for g in transcription.program.groups
        if g.phase == indices.phase.name
    }
    dynamics = own["dynamics"].reshape(-1, nx)
    table = costates(layout, dynamics)
    states, rates = node_rows(layout)
    of_rate = np.zeros((len(layout.rate_state), nx))
    of_rate[rates[rates >= 0]] = table[rates >= 0]
    of_state = np.zeros((len(layout.state_place), nx))
    of_state[states] = table
    found = []
    for interval in layout.intervals:
        basis = layout.scheme.basis(interval.degree)
        places, values = list(basis.rates), list(of_rate[interval.rates])
        if basis.rates[0] > 0.0:
            places.insert(0, 0.0)
            values.insert(0, of_state[interval.states[0]])
        if basis.rates[-1] < 1.0:
            places.append(1.0)
            values.append(of_state[interval.states[-1]])
        found.append((np.array(places), np.array(values)))
    return Prices(found, -own.get("integral", np.empty(0)))


def control_losses(
    transcription: Transcription,
    x: Array,
    p: Array,
    row_multipliers: Array,
    motions: Sequence[PhaseTrajectory],
) -> list[Array]:
    """(N,) S of every interval, phase by phase: what the controls' polynomials cost too much."""
    return [
        _phase_losses(transcription, indices, x, p, row_multipliers, motion)
        for indices, motion in zip(transcription.phases, motions, strict=True)
    ]


def _phase_losses(
    transcription: Transcription,
    indices: PhaseIndices,
    x: Array,
    p: Array,
    row_multipliers: Array,
    motion: PhaseTrajectory,
) -> Array:
    layout, controls = indices.layout, indices.functions.controls
    losses = np.zeros(len(layout.intervals))
    if not controls or layout.scheme.shoots:
        return losses
    losses[:] = np.inf
    curvature = _curvature(transcription, indices, x, p, row_multipliers)
    durations = node_durations(layout, motion.boundaries)
    curvature /= np.where(durations > 0, durations, np.inf)[:, None, None]
    bounds = np.array([v.bounds for v in controls])
    held = [{h.number for h in s.held if h.kind == "control"} for s in layout.mesh.sections]
    free = np.array([[c not in own for c in range(len(controls))] for own in held])
    widths = np.diff(motion.edges)
    for (degree, _), (own, places, rates) in _stencils(motion).items():
        nodes = layout.scheme.basis(degree).rates
        points, weights = legendre.leggauss(len(nodes) + EXTRA_POINTS)
        points, weights = (points + 1) / 2, weights / 2
        smooth = np.einsum("npm,nmu->npu", _lagrange(places, points), motion.controls[rates])
        smooth = np.clip(smooth, bounds[:, 0], bounds[:, 1])
        missing = smooth - motion.on_intervals(points, "controls", own)
        missing *= free[[layout.intervals[k].section for k in own], None]
        nearest = np.argmin(np.abs(points[:, None] - nodes), axis=1)
        at = np.stack([layout.intervals[k].rates[nearest] for k in own])
        loss = np.einsum("npa,npab,npb->np", missing, curvature[at], missing)
        found = 0.5 * widths[own] * (np.maximum(loss, 0.0) @ weights)
        np.minimum.at(losses, own, np.where(np.isnan(found), np.inf, found))
    return np.where(np.isfinite(losses), losses, 0.0)


def _stencils(motion: PhaseTrajectory) -> dict[tuple[int, int], tuple[Array, Array, Array]]:
    """The nodes of each interval and the nearest one before it, and the same with one after it.

    By degree and number of nodes: numbers of the intervals, (n, m) places of the nodes relative to
    the interval, and (n, m) rate nodes.  A control may have a kink at one end of an interval,
    but hardly at both, so the side that tells the smaller loss is right; few nodes need
    both.  Nodes beyond a knot or the phase do not count; an interval without neighbours says
    nothing.
    """
    intervals = motion.layout.intervals
    times = motion.layout.rate_times(motion.boundaries)
    groups: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    for k, interval in enumerate(intervals):
        own = [int(r) for r in interval.rates]
        sides: list[list[int]] = []
        for other in (k - 1, k + 1):
            if not 0 <= other < len(intervals) or intervals[other].section != interval.section:
                continue
            near = intervals[other].rates[::-1] if other < k else intervals[other].rates
            sides.append([int(r) for r in near if int(r) not in own][:1])
        if len(own) < FEWEST_NODES:
            sides = [[r for side in sides for r in side]]
        for more in sides:
            if more:
                key = interval.degree, len(own) + len(more)
                groups.setdefault(key, []).append((k, own + more))
    found = {}
    widths = np.diff(motion.edges)
    for key, members in groups.items():
        numbers = np.array([k for k, _ in members])
        nodes = np.array([rates for _, rates in members])
        places = (times[nodes] - motion.edges[numbers][:, None]) / widths[numbers][:, None]
        found[key] = numbers, places, nodes
    return found


def _lagrange(nodes: Array, points: Array) -> Array:
    """(n, len(points), m) values of the Lagrange polynomials of n sets of m nodes."""
    values = np.ones((len(nodes), len(points), nodes.shape[1]))
    for k in range(nodes.shape[1]):
        for j in range(nodes.shape[1]):
            if j != k:
                values[:, :, k] *= (points - nodes[:, j, None]) / (nodes[:, k] - nodes[:, j])[
                    :, None
                ]
    return values


def _curvature(
    transcription: Transcription, indices: PhaseIndices, x: Array, p: Array, row_multipliers: Array
) -> Array:
    """(R, nu, nu) second derivatives of the Lagrangian in the controls of each rate node."""
    nx, nu = len(indices.functions.states), len(indices.functions.controls)
    found = np.zeros((len(indices.layout.rate_state), nu, nu))
    for block in (indices.node_block, indices.cost_block):
        if block is None:
            continue
        rows, columns = block.function.hessian_pattern
        own = (rows >= nx) & (rows < nx + nu) & (columns >= nx) & (columns < nx + nu)
        if not np.any(own):
            continue
        weights = _output_weights(block, row_multipliers)
        values = block.hessian_values(x, p, weights)[own]
        a, b = rows[own] - nx, columns[own] - nx
        found[:, a, b] += values.T
        off = a != b
        found[:, b[off], a[off]] += values[off].T
    return found


def _output_weights(block: Block, row_multipliers: Array) -> Array:
    """(size_y, n) what each output of a block counts in the Lagrangian."""
    weights = np.zeros(block.count * block.function.size_y)
    np.add.at(weights, block.place, block.weight * row_multipliers[block.row])
    np.add.at(weights, block.cost_place, block.cost_weight)
    return weights.reshape(block.count, -1).T
