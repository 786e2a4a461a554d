"""Where NaN or infinity comes from: which expression, at what time, for which values.

Every block is evaluated at the point in question: values first, then first, then
second derivatives.  The expression that is found is taken apart until the one
operation is left whose arguments are numbers and whose result is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np

from .blocks import Block
from .numbering import PhaseIndices
from .subexpressions import Culprit, culprit
from .transcription import Transcription
from .verdict import NotFinite

Array: TypeAlias = np.ndarray

ORDERS = ("", "first derivative of ", "second derivative of ")
MOST_FOUND = 5


@dataclass(frozen=True)
class _Output:
    """An output of a block: its name for reports and the expression in the user's symbols."""

    name: str
    expression: ca.SX


def find_not_finite(transcription: Transcription, x: Array, p: Array) -> list[NotFinite]:
    """NaN and infinities of a program at a decision vector, earliest first.

    Parameters
    ----------
    transcription:
        The program and its indices.
    x, p:
        Decision vector, and values of the problem's constants.

    Returns
    -------
    list of NotFinite
        One an expression; empty if all values and derivatives are numbers.
    """
    for order in range(3):
        found: list[NotFinite] = []
        for block in transcription.program.blocks:
            found += _in_block(transcription, block, x, p, order)
        if found:
            return sorted(found, key=lambda f: -1.0 if f.time is None else f.time)[:MOST_FOUND]
    return []


def _evaluate(block: Block, x: Array, p: Array, order: int) -> tuple[Array, Array]:
    """(entries, nodes) numbers of one order, and the output each belongs to (-1: any)."""
    function = block.function
    with np.errstate(all="ignore"):
        if order == 0:
            return block.values(x, p), np.arange(function.size_y)
        if order == 1:
            return block.jacobian_values(x, p), function.jacobian_pattern[0]
        values = block.hessian_values(x, p, np.ones((function.size_y, block.count)))
    return values, np.full(len(values), -1)


def _in_block(
    transcription: Transcription, block: Block, x: Array, p: Array, order: int
) -> list[NotFinite]:
    values, outputs = _evaluate(block, x, p, order)
    bad = ~np.isfinite(values)
    if not np.any(bad):
        return []
    indices = _phase_of(transcription, block)
    if indices is None:
        return _in_boundary(transcription, block, x, p, order, bad, outputs)
    shoots = transcription.scheme.shoots and indices.node_block is None
    node_times = _times(transcription, indices, block, x)
    nodes = np.flatnonzero(np.any(bad, axis=0))
    first = int(nodes[np.argmin(node_times[nodes])])
    symbols, numbers = _point(transcription, indices, block, first, float(node_times[first]), x, p)
    rows = sorted({int(k) for k in outputs[bad[:, first]]})
    named = _outputs(indices)
    if block is indices.cost_block:
        named = [
            _Output(f"cost term {t.name!r}", t.integrand) for t in indices.phase.cost_integrals
        ]
        rows = [-1]
    every = rows == [-1] or shoots
    chosen = named if every else [named[k] for k in rows]
    found = []
    for output in chosen:
        cause = _cause(output.expression, symbols, numbers, order)
        if every and cause is None:
            continue
        found.append(
            _report(ORDERS[order] + output.name, float(node_times[first]), len(nodes), block.count,
                    cause, output.expression, symbols, numbers, indices)
        )  # fmt: skip
    if not found:
        name = f"{ORDERS[order]}the equations of phase {indices.phase.name!r}"
        found.append(NotFinite(name, float(node_times[first]), "", {}, len(nodes), block.count))
    return found


def _report(
    name: str,
    time: float,
    nodes: int,
    count: int,
    cause: Culprit | None,
    expression: ca.SX,
    symbols: Sequence[ca.SX],
    numbers: Array,
    indices: PhaseIndices,
) -> NotFinite:
    used = {s.element_hash() for s in ca.symvar(expression)}
    values = {
        s.name(): float(v)
        for s, v in zip(symbols, numbers, strict=True)
        if s.element_hash() in used
    }
    return NotFinite(name, time, "" if cause is None else str(cause), values, nodes, count)


def _cause(
    expression: ca.SX, symbols: Sequence[ca.SX], values: Array, order: int
) -> Culprit | None:
    """The operation that is not finite in an expression or its derivatives of some order."""
    found = culprit(expression, symbols, values)
    if found is not None or order == 0:
        return found
    column = ca.vertcat(*symbols)
    slopes = ca.gradient(expression, column)
    terms = [slopes[k] for k in range(slopes.numel())]
    if order == 2:
        full = ca.triu(ca.jacobian(slopes, column))
        terms = [full.nz[k] for k in range(full.nnz())]
    values_of = np.asarray(
        ca.Function("terms", [column], [ca.densify(ca.vertcat(*terms))])(values)
    ).ravel()
    for k in np.flatnonzero(~np.isfinite(values_of)):
        found = culprit(ca.SX(terms[k]), symbols, values)
        if found is not None:
            return found
    return None


def _outputs(indices: PhaseIndices) -> list[_Output]:
    """Outputs of a node function, in order."""
    phase = indices.phase
    return [
        *(_Output(f"rate of {v.name}", phase.rates[v.name]) for v in indices.functions.states),
        *(_Output(f"equation {name}", e) for name, (e, _, _) in phase.equations.items()),
        *(_Output(f"path constraint {c.name}", c.expression) for c in phase.paths),
        *(_Output(f"integral {t.name}", t.integrand) for t in phase.integrals),
        *(_Output(f"cost term {t.name!r}", t.integrand) for t in phase.cost_integrals),
    ]


def _phase_of(transcription: Transcription, block: Block) -> PhaseIndices | None:
    first = int(block.inputs[0, 0]) if block.inputs.size else -1
    for indices in transcription.phases:
        if block.function.name == "boundary":
            return None
        if first in indices.states or first in indices.controls:
            return indices
    return None


def _times(transcription: Transcription, indices: PhaseIndices, block: Block, x: Array) -> Array:
    layout, boundaries = indices.layout, indices.boundaries(x)
    if transcription.scheme.shoots and block.count == len(layout.intervals):
        return layout.interval_times(boundaries)[:-1]
    return layout.rate_times(boundaries)


def _point(
    transcription: Transcription,
    indices: PhaseIndices,
    block: Block,
    node: int,
    time: float,
    x: Array,
    p: Array,
) -> tuple[list[ca.SX], Array]:
    """The user's symbols of a phase and their values at a node of a block."""
    functions, phase, layout = indices.functions, indices.phase, indices.layout
    boundaries = indices.boundaries(x)
    rate = node
    if transcription.scheme.shoots and block.count == len(layout.intervals):
        rate = int(layout.intervals[node].rates[0])
        state = int(layout.intervals[node].states[0])
    else:
        state = int(layout.rate_state[node])
    variables = [
        *functions.states, *functions.controls, *functions.algebraics,
        *transcription.problem.parameters, *transcription.problem.constants,
    ]  # fmt: skip
    symbols = [v.symbol for v in variables] + [phase.time, phase.start_time, phase.end_time]
    algebraics = x[indices.algebraics[rate]] if len(indices.algebraics) else np.empty(0)
    values = np.concatenate(
        [x[indices.states[state]], x[indices.controls[rate]], algebraics,
         x[transcription.parameters], p, [time, boundaries[0], boundaries[-1]]]
    )  # fmt: skip
    return symbols, values


def _in_boundary(
    transcription: Transcription,
    block: Block,
    x: Array,
    p: Array,
    order: int,
    bad: Array,
    outputs: Array,
) -> list[NotFinite]:
    problem = transcription.problem
    named = [
        *(_Output(f"condition {b.name}", b.expression) for b in problem.boundaries),
        *(_Output(f"cost term {c.name!r}", c.expression) for c in problem.costs),
    ]
    symbols, values = boundary_point(transcription, x, p)
    rows = sorted({int(k) for k in outputs[bad[:, 0]]})
    chosen = named if rows == [-1] else [named[k] for k in rows]
    found = []
    for output in chosen:
        cause = _cause(output.expression, symbols, values, order)
        if cause is None and rows == [-1]:
            continue
        used = {s.element_hash() for s in ca.symvar(output.expression)}
        inputs = {
            s.name(): float(v)
            for s, v in zip(symbols, values, strict=True)
            if s.element_hash() in used
        }
        found.append(NotFinite(ORDERS[order] + output.name, None, str(cause or ""), inputs, 1, 1))
    return found


def boundary_point(transcription: Transcription, x: Array, p: Array) -> tuple[list[ca.SX], Array]:
    """Symbols that have a meaning between phases, and their values."""
    problem = transcription.problem
    symbols: list[ca.SX] = []
    values: list[float] = []
    for indices in transcription.phases:
        phase, boundaries = indices.phase, indices.boundaries(x)
        symbols += [phase.start_time, phase.end_time]
        values += [float(boundaries[0]), float(boundaries[-1])]
        names = [v.name for v in indices.functions.states]
        for (where, name), symbol in phase.endpoint_symbols.items():
            symbols.append(symbol)
            if (where, name) in indices.endpoints:
                values.append(float(x[indices.endpoints[where, name]]))
            else:
                node = 0 if where == "start" else -1
                values.append(float(x[indices.states[node, names.index(name)]]))
        for term, entry in zip(phase.integrals, indices.integrals, strict=True):
            if term.symbol is not None:
                symbols.append(term.symbol)
                values.append(float(x[entry]))
    symbols += [v.symbol for v in (*problem.parameters, *problem.constants)]
    values += [float(v) for v in (*x[transcription.parameters], *p)]
    return symbols, np.array(values)
