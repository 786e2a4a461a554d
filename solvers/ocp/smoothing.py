"""A preference for smooth controls that vanishes as the mesh becomes fine.

On a singular arc the cost does not care about a control to first or second order, so the
nodes of a mesh jump to and fro, and between the nodes the polynomials leave their
limits: the solver gains by errors of the mesh.  Of each control on each interval the two
highest Legendre coefficients are what a converged solution does not have.  Their squares
are added to the cost, with a weight in proportion to the error of the last mesh; the cost
that is reported is without them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.polynomial import legendre

from .blocks import Block, NodeFunction
from .estimate import control_ranges
from .numbering import PhaseIndices
from .transcription import Transcription

Array: TypeAlias = np.ndarray

FEWEST_NODES = 3
"""Of an interval with fewer nodes the highest coefficients are the motion itself."""
ERRORS = 10.0
"""Weight of the preference in errors of the last mesh."""
LEAST, MOST = 1e-7, 1e-2


@lru_cache(maxsize=64)
def _roughness(nodes: tuple[float, ...], order: int) -> NodeFunction:
    """Sum of squares of the two highest Legendre coefficients through values at nodes."""
    c = np.array(nodes)
    inverse = np.linalg.inv(legendre.legvander(2 * c - 1, len(c) - 1))
    values = ca.SX.sym("u", len(c))
    top = ca.mtimes(ca.DM(inverse[-order:]), values)
    return NodeFunction(f"roughness_{len(c)}", values, ca.SX(0, 1), ca.sumsqr(top))


def smoothing_weight(error: float) -> float:
    """Weight of the preference, relative to the cost, for the relative error of the last mesh."""
    return float(np.clip(ERRORS * error, LEAST, MOST))


def smoothing_blocks(transcription: Transcription, weight: float) -> list[Block]:
    """Blocks to add to a program's cost.

    Parameters
    ----------
    transcription:
        Its guess must be an earlier solution: it tells the controls' ranges.
    weight:
        What a control costs all of whose range is in its highest coefficients.
    """
    if transcription.scheme.shoots:
        return []
    blocks = []
    for indices in transcription.phases:
        blocks += _of_phase(transcription, indices, weight)
    return blocks


def _of_phase(transcription: Transcription, indices: PhaseIndices, weight: float) -> list[Block]:
    program, layout = transcription.program, indices.layout
    count = indices.controls.shape[1]
    if not count:
        return []
    values = program.guess[indices.controls]
    spread = control_ranges(values)
    b = layout.mesh.boundaries
    widths = np.diff(b)
    by_degree: dict[int, list[tuple[Array, float]]] = {}
    for interval in layout.intervals:
        share = interval.fraction * widths[interval.section]
        for k in range(count):
            low = program.lower[indices.controls[interval.rates, k]]
            high = program.upper[indices.controls[interval.rates, k]]
            if np.all(low == high):
                continue
            entry = indices.controls[interval.rates, k], share / spread[k] ** 2
            by_degree.setdefault(interval.degree, []).append(entry)
    blocks = []
    for degree, entries in by_degree.items():
        nodes = transcription.scheme.basis(degree).rates
        if len(nodes) < FEWEST_NODES:
            continue
        n = len(entries)
        function = _roughness(tuple(nodes), 2 if len(nodes) > FEWEST_NODES else 1)
        blocks.append(
            Block(
                function,
                np.stack([e for e, _ in entries]),
                np.empty((n, 0)),
                np.full(n, -1),
                np.arange(n),
                weight * np.array([s for _, s in entries]),
            )
        )
    return blocks


def smoothing_cost(blocks: list[Block], x: Array, p: Array) -> float:
    """What the blocks add to the cost."""
    return float(sum(b.cost_weight @ b.values(x, p).ravel(order="F")[b.cost_place] for b in blocks))
