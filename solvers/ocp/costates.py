"""Costates and multiplier functions of a motion, from the multipliers of its rows.

The program's Lagrangian is f + lambda . g.  A control at a rate node enters it through
its own rate alone, with the scheme's weight b of that node,

    h b dg/du - h (Q^T lambda) df/du + ... = 0,

which is the condition dH/du = 0 of the Hamiltonian H = g + p . f with the costate

    p = -(Q^T lambda) / b        (summed over the intervals that share the node).

For Radau and Gauss Q is the identity there, so this is the covector mapping of the
pseudospectral literature (Garg et al., Automatica 46, 2010); for Hermite-Simpson and
the trapezoid it is the weight that makes control and costate belong together.  At
ends of intervals that are no rate nodes the costate is the multiplier of the state's
own row: what a jump of the state there would cost.  The sign is that of
p = dJ/dx: a costate is positive where a larger state would cost more.

At the first and last node of Hermite-Simpson and the trapezoid the costate is as exact as
the control there: one order less than within the phase.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .blocks import Block
from .mesh import Layout
from .numbering import PhaseIndices

Array: TypeAlias = np.ndarray


def node_rows(layout: Layout) -> tuple[Array, Array]:
    """(M,) state node and rate node (-1: none) of every row of a table of nodes, in order.

    A state node with two rates, as at a knot of a Lobatto scheme, has two rows.
    """
    states, rates = [], []
    of_state: dict[int, list[int]] = {}
    for rate, state in enumerate(layout.rate_state):
        of_state.setdefault(int(state), []).append(rate)
    for state in range(len(layout.state_place)):
        own = of_state.get(state, [-1])
        states += [state] * len(own)
        rates += own
    return np.array(states), np.array(rates)


def quadrature(layout: Layout) -> Array:
    """(R,) weight of each rate node, as a part of its section."""
    weights = np.zeros(len(layout.rate_state))
    for interval in layout.intervals:
        own = interval.fraction * layout.scheme.basis(interval.degree).weights
        np.add.at(weights, interval.rates, own)
    return weights


def node_durations(layout: Layout, boundaries: Array) -> Array:
    """(R,) what each rate node stands for in an integral over time [s]."""
    return np.asarray(quadrature(layout) * np.diff(boundaries)[layout.rate_section])


def costates(layout: Layout, multipliers: Array, start: Array | None = None) -> Array:
    """(M, nx) costates at the rows of :func:`node_rows`.

    Parameters
    ----------
    layout:
        The nodes.
    multipliers:
        (S-1, nx) of the rows of the dynamics, in physical units.
    start:
        (nx,) costate at the first node of a shooting scheme; else it follows from the rows.
    """
    states, rates = node_rows(layout)
    own_rates = np.zeros((len(layout.rate_state), multipliers.shape[1]))
    at_ends = np.zeros((len(layout.state_place), multipliers.shape[1]))
    for number, interval in enumerate(layout.intervals):
        rows = multipliers[interval.states[1:] - 1]
        at_ends[interval.states[-1]] = -rows[-1]
        if layout.scheme.shoots:
            continue
        basis = layout.scheme.basis(interval.degree)
        np.add.at(own_rates, interval.rates, -interval.fraction * basis.defect_rates.T @ rows)
        if number == 0:
            at_ends[0] = basis.defect_states[:, 0] @ rows
    if layout.scheme.shoots:
        if start is not None:
            at_ends[0] = start
        return np.asarray(at_ends[states])
    own_rates /= quadrature(layout)[:, None]
    return np.asarray(np.where(rates[:, None] >= 0, own_rates[rates], at_ends[states]))


def row_multipliers(layout: Layout, rows: Array, ends: Array) -> Array:
    """(S-1, nx) multipliers of the dynamics' rows that stand for costates: the way back.

    Parameters
    ----------
    layout:
        The nodes.
    rows:
        (R, nx) costates at the rate nodes.
    ends:
        (N, nx) costates at the ends of the intervals.
    """
    found = np.zeros((len(layout.state_place) - 1, ends.shape[1]))
    for number, interval in enumerate(layout.intervals):
        own = interval.states[1:] - 1
        if layout.scheme.shoots:
            found[own] = -ends[number]
            continue
        basis = layout.scheme.basis(interval.degree)
        weighted = basis.weights[:, None] * rows[interval.rates]
        found[own] = -np.linalg.lstsq(basis.defect_rates.T, weighted, rcond=None)[0]
        if len(own) > len(basis.rates):
            found[own[-1]] = -ends[number]
    return found


def shooting_start(
    indices: PhaseIndices, block: Block, x: Array, p: Array, weights: Array
) -> Array:
    """(nx,) derivative of the Lagrangian's first interval in the state it starts from.

    Parameters
    ----------
    block:
        The block of the shots.
    weights:
        (size_y,) what each output of the first shot counts in the Lagrangian.
    """
    out, inp = block.function.jacobian_pattern
    slopes = weights[out] * block.jacobian_values(x, p)[:, 0]
    total = np.zeros(block.function.size_w)
    np.add.at(total, inp, slopes)
    entries = block.inputs[0]
    return np.array([total[entries == e].sum() for e in indices.states[0]])
