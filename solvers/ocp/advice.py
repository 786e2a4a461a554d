"""Likely causes of a failure, found in the statement and its scales, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import casadi as ca
import numpy as np

from .backend import Outcome
from .labels import Labels, at, listed, with_unit
from .scaling import LARGEST
from .status import Status
from .subexpressions import not_smooth, only_branches, walk
from .transcription import Transcription

Array: TypeAlias = np.ndarray

GROWN = 1e6
"""Variables beyond this many times their scales have left what they were scaled for."""
STEEP = 1e7
"""Scaled derivatives beyond this mean that two scales do not fit."""
STALLED = 1e-4
"""Relative change of the cost below which the last half of the iterations stalled."""


@dataclass
class Causes:
    """What may explain a failure.

    Attributes
    ----------
    jumps, kinks:
        Expressions with operations that are not smooth: "rate of v (sign)".
    unit_norms:
        Nonlinear equalities in controls alone.
    grown:
        Variables far beyond their scales: sentences.
    steep:
        Variables whose scales do not fit: sentences.
    unbounded_controls:
        Controls without bounds.
    stalled:
        Iterations over which the cost hardly changed.
    """

    jumps: list[str] = field(default_factory=list)
    kinks: list[str] = field(default_factory=list)
    unit_norms: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    steep: list[str] = field(default_factory=list)
    unbounded_controls: list[str] = field(default_factory=list)
    stalled: int = 0


def find_causes(transcription: Transcription, outcome: Outcome, p: Array) -> Causes:
    """Look for the usual causes of a failed solve."""
    causes = Causes()
    causes.jumps, causes.kinks = rough_expressions(transcription)
    for indices in transcription.phases:
        phase = indices.phase
        controls = {v.symbol.element_hash() for v in indices.functions.controls}
        for path in phase.paths:
            symbols = ca.symvar(path.expression)
            if (
                path.bounds[0] == path.bounds[1]
                and symbols
                and all(s.element_hash() in controls for s in symbols)
                and not ca.is_linear(path.expression, ca.vertcat(*symbols))
            ):
                causes.unit_norms.append(path.name)
        causes.unbounded_controls += [
            v.name for v in indices.functions.controls if not np.all(np.isfinite(v.bounds))
        ]
    if np.all(np.isfinite(outcome.x)):
        labels = Labels(transcription, outcome.x)
        causes.grown = grown(transcription, outcome.x, labels)
        causes.steep = _steep(transcription, outcome.x, p, labels)
    causes.stalled = stalled(outcome)
    return causes


def rough_expressions(
    transcription: Transcription, branches: bool = True
) -> tuple[list[str], list[str]]:
    """Expressions of a statement that jump, and those that have kinks, with the operations.

    Branches in a robot's own equations are left out: they guard the formulas of a continuum
    or a rotation where these are 0 / 0, and join smoothly.
    """
    problem = transcription.problem
    expressions = []
    for indices in transcription.phases:
        phase = indices.phase
        own = [
            *((f"rate of {name}", e) for name, e in phase.rates.items()),
            *((f"equation {name}", e) for name, (e, _, _) in phase.equations.items()),
        ]
        if phase.robot is not None:
            own = [(name, e) for name, e in own if not only_branches(not_smooth(e)[0])]
        expressions += [
            *own,
            *((f"path constraint {c.name}", c.expression) for c in phase.paths),
            *((f"integral {t.name}", t.integrand) for t in phase.integrals),
            *((f"cost term {t.name!r}", t.integrand) for t in phase.cost_integrals),
        ]
    expressions += [(f"condition {b.name}", b.expression) for b in problem.boundaries]
    expressions += [(f"cost term {c.name!r}", c.expression) for c in problem.costs]
    # a branch may be continuous: without a failure it is not suspected
    rough: tuple[list[str], list[str]] = ([], [])
    for name, jumps, kinks in walk(expressions):
        if (jumps or kinks) and (branches or not only_branches(jumps)):
            rough[0 if jumps else 1].append(f"{name} ({', '.join(sorted(jumps or kinks))})")
    return rough


def grown(transcription: Transcription, x: Array, labels: Labels) -> list[str]:
    """Variables far beyond their scales, the furthest first."""
    relative = np.abs(x) / transcription.program.variable_scale
    return [
        f"{labels.of_variable(k)} reaches "
        f"{with_unit(float(x[k]), labels.of_variable(k).unit)}{at(labels.variable_time[k])}"
        for k in _worst_of_each(relative, labels.variable, GROWN)
    ]


def _steep(transcription: Transcription, x: Array, p: Array, labels: Labels) -> list[str]:
    """Pairs of a row and a variable whose scaled derivative is far from 1."""
    program = transcription.program
    entries = program.jacobian_entries(x, p).scaled(
        rows=1 / program.row_scale, columns=program.variable_scale
    )
    size = np.abs(entries.values)
    told = _beyond_scaling(transcription)
    told += _weak(transcription, labels, entries.rows, entries.columns, size)
    for k in _worst_of_each(size, labels.variable[entries.columns], STEEP):
        row, column = int(entries.rows[k]), int(entries.columns[k])
        told.append(
            f"a change of {labels.of_variable(column)} by its scale "
            f"{program.variable_scale[column]:.3g} changes {labels.of_row(row)} by "
            f"{size[k]:.1e} times that one's scale {program.row_scale[row]:.3g}"
        )
    return told


def _weak(
    transcription: Transcription, labels: Labels, rows: Array, columns: Array, size: Array
) -> list[str]:
    """States that nothing can move at the scales that were chosen."""
    program = transcription.program
    told = []
    for number in np.unique(labels.row):
        label = labels.labels[number]
        if label.kind != "dynamics":
            continue
        names = np.array([v.name == label.name for v in labels.labels])
        own = (labels.row[rows] == number) & ~names[labels.variable[columns]] & (size > 0)
        if not np.any(own):
            continue
        k = int(np.flatnonzero(own)[np.argmax(size[own])])
        if size[k] < 1 / STEEP:
            variable = labels.of_variable(int(columns[k]))
            told.append(
                f"a change of {variable} by its scale {program.variable_scale[columns[k]]:.3g} "
                f"moves {label.name} by {size[k]:.1e} of its scale {program.row_scale[rows[k]]:.3g}"
            )
    return told


def _beyond_scaling(transcription: Transcription) -> list[str]:
    """Variables whose bounds or guess are beyond the sizes that scales may have."""
    told = []
    for indices in transcription.phases:
        phase = indices.phase
        for variable in (*indices.functions.states, *indices.functions.controls):
            sizes = [
                abs(v)
                for ends in (phase.start_bounds, phase.end_bounds)
                for v in ends.get(variable.name, ())
                if np.isfinite(v) and v != 0
            ]
            if sizes and max(sizes) > LARGEST:
                told.append(
                    f"{variable.name} is of size {max(sizes):.3g}, beyond {LARGEST:g}, "
                    "where scaling ends"
                )
    return told


def _worst_of_each(size: Array, numbers: Array, limit: float) -> list[int]:
    """The largest entry of each label that exceeds a limit, largest first."""
    bad = np.flatnonzero(size > limit)
    found: dict[int, int] = {}
    for k in bad[np.argsort(-size[bad], kind="stable")]:
        found.setdefault(int(numbers[k]), int(k))
    return list(found.values())


def stalled(outcome: Outcome) -> int:
    """Number of iterations at the end over which the cost hardly changed."""
    costs = outcome.history.get("obj")
    if costs is None or len(costs) < 40 or not np.all(np.isfinite(costs)):
        return 0
    size = max(abs(float(costs[-1])), 1e-8)
    same = np.abs(costs - costs[-1]) < STALLED * size
    changed = np.flatnonzero(~same)
    count = len(costs) - 1 - (int(changed[-1]) if len(changed) else -1)
    return count if count >= len(costs) / 2 else 0


_SLOW = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.NO_PROGRESS, Status.ACCEPTABLE)


def suggest(status: Status, causes: Causes, conflict: str = "") -> str:
    """One or two sentences: what to try next."""
    if status is Status.SOLVED:
        return ""
    if status is Status.NOT_A_NUMBER:
        return (
            "keep the arguments inside the domain: bound the named variables, add a small positive "
            "number under roots and in denominators, or give a guess that avoids the place"
        )
    if status is Status.TOO_FEW_FREEDOMS:
        return "remove conditions, or free a control, a time or a parameter" + (
            f"; first of all: {conflict}" if conflict else ""
        )
    if causes.unit_norms and status in (*_SLOW, Status.RESTORATION_FAILED):
        names = listed(causes.unit_norms)
        return (
            f"state the equality of {names} as an inequality (high= only): a circle of controls is "
            "hard to walk on, and its disc usually has the same optimum; check with a second solve"
        )
    if causes.jumps and status is not Status.INTERRUPTED:
        return (
            f"smooth what jumps: {listed(causes.jumps)}; use tanh(value / width) for a sign or a "
            "step and lower the width from solve to solve, or split the phase at the jump"
        )
    if status is Status.INTERRUPTED:
        return _by_status(status, causes, conflict)
    if status is Status.UNBOUNDED:
        names = listed(causes.unbounded_controls)
        return (
            f"bound {names}, or add a cost that grows with them"
            if names
            else ("bound the named variables, or check the sign of the cost")
        )
    if causes.steep or causes.grown:
        return (
            "choose other units, or give nominal= (the typical size) of the named variables where "
            "they are declared"
        )
    return _by_status(status, causes, conflict)


def _by_status(status: Status, causes: Causes, conflict: str) -> str:
    if status in (Status.INFEASIBLE, Status.RESTORATION_FAILED):
        if conflict:
            return f"relax one of these conditions, first of all: {conflict}"
        return (
            "give a guess that comes closer to the motion (phase.guess, or guess= an earlier "
            "solution of an easier problem), and check bounds and end conditions"
        )
    if status is Status.ITERATION_LIMIT:
        if causes.stalled:
            return (
                "add a small cost on the controls (1e-4 of the cost) so that one motion is best, "
                "or accept a looser tolerance"
            )
        return "raise iterations=, give a better guess, or begin with a coarser mesh"
    if status in (Status.TIME_LIMIT, Status.INTERRUPTED):
        return "solve again with guess= this solution (after unseal()), or with more seconds="
    if status is Status.TOLERANCE_NOT_REACHED:
        extra = (
            f"; {listed(causes.kinks)} has a kink, which polynomials follow slowly"
            if causes.kinks
            else ""
        )
        return f"raise rounds= or nodes=, or accept a looser tolerance={extra}"
    if status is Status.REPLAY_DISAGREES:
        return "refine further (rounds=, nodes=), or look for dynamics that are not smooth"
    if status is Status.ACCEPTABLE:
        return "solve again with guess= this solution (after unseal()), or loosen the tolerance"
    return (
        "give a better guess, widen bounds that are active, or call solution.diagnose() for the "
        "rank of the constraints"
    )
