"""Constraints that are not met, and limits that are active: by name, time and unit."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .labels import Labels, with_unit
from .transcription import Transcription
from .verdict import Violation

Array: TypeAlias = np.ndarray

MOST_VIOLATIONS = 10
FEASIBLE = 1e-6
"""Rows and bounds may be missed by this, relative to their scales."""
ACTIVE = 1e-5
"""A limit is active within this part of the quantity's range or scale."""


def row_misses(transcription: Transcription, x: Array, p: Array) -> Array:
    """(m,) how far each row is outside its limits, in its unit; NaN where it is not a number."""
    program = transcription.program
    with np.errstate(all="ignore"):
        g = program.residuals(x, p)
        return np.asarray(np.maximum(np.maximum(program.row_lower - g, g - program.row_upper), 0))


def violations(
    transcription: Transcription, x: Array, p: Array, most: int = MOST_VIOLATIONS
) -> list[Violation]:
    """Constraints and bounds that are not met, each where it is worst; the worst first.

    Parameters
    ----------
    transcription:
        The program and its indices.
    x, p:
        Decision vector, and values of the problem's constants.
    most:
        How many are listed.
    """
    return [v for v in misses(transcription, x, p)[:most] if not v.relative <= FEASIBLE]


def misses(transcription: Transcription, x: Array, p: Array) -> list[Violation]:
    """How far each constraint and bound is from being met where it is worst, worst first."""
    program = transcription.program
    labels = Labels(transcription, x)
    row_miss = row_misses(transcription, x, p)
    with np.errstate(all="ignore"):
        bound_miss = np.maximum(np.maximum(program.lower - x, x - program.upper), 0)
        relative = np.concatenate(
            [row_miss / program.row_scale, bound_miss / program.variable_scale]
        )
    size = np.where(np.isnan(relative), np.inf, relative)
    amount = np.concatenate([row_miss, bound_miss])
    times = np.concatenate([labels.row_time, labels.variable_time])
    number = np.concatenate([labels.row, labels.variable])
    found = []
    for k in np.unique(number):
        own = np.flatnonzero(number == k)
        worst = int(own[np.argmax(size[own])])
        if not size[worst] > 0:
            continue
        label = labels.labels[k]
        name = str(label)
        if worst >= program.rows:
            entry = worst - program.rows
            name = f"{'lower' if x[entry] < program.lower[entry] else 'upper'} bound of {label}"
        found.append(
            Violation(
                name,
                float(amount[worst]),
                float(relative[worst]),
                label.unit,
                float(times[worst]) if np.isfinite(times[worst]) else None,
                int(np.count_nonzero(size[own] > FEASIBLE)),
            )
        )
    return sorted(found, key=lambda v: -v.relative if np.isfinite(v.relative) else -np.inf)


def active_limits(transcription: Transcription, x: Array, p: Array) -> dict[str, float]:
    """Limits that are reached, with the share of the phase's time in which they are.

    End conditions and what is fixed are left out; a parameter or time has share 1.
    """
    program = transcription.program
    labels = Labels(transcription, x)
    g = program.residuals(x, p)
    shares: dict[str, float] = {}
    free = program.lower < program.upper
    free_rows = program.row_lower < program.row_upper
    weight, row_weight = _weights(transcription, x)
    for numbers, times, values, low, high, usable, scale, weights in (
        (
            labels.variable, labels.variable_time, x, program.lower, program.upper, free,
            program.variable_scale, weight,
        ),
        (
            labels.row, labels.row_time, g, program.row_lower, program.row_upper, free_rows,
            program.row_scale, row_weight,
        ),
    ):  # fmt: skip
        with np.errstate(all="ignore"):
            both = np.isfinite(low) & np.isfinite(high)
            size = np.where(both, high - low, scale)
        for side, limit in (("lower", low), ("upper", high)):
            with np.errstate(all="ignore"):
                near = usable & np.isfinite(limit) & (np.abs(values - limit) <= ACTIVE * size)
            for number in np.unique(numbers[near]):
                own = numbers == number
                label = labels.labels[number]
                if label.kind == "knot":
                    continue
                share = 1.0
                if np.any(np.isfinite(times[own])):
                    share = float(np.sum(weights[own & near]))
                    if share < 1e-9:
                        continue
                shown = float(limit[near & own][0])
                shares[f"{label} at its {side} limit {with_unit(shown, label.unit)}"] = share
    return shares


def _weights(transcription: Transcription, x: Array) -> tuple[Array, Array]:
    """Share of the phase that each variable and row with a time stands for."""
    program = transcription.program
    variables, rows = np.zeros(program.size), np.zeros(program.rows)
    for indices in transcription.phases:
        layout, b = indices.layout, indices.boundaries(x)
        length = b[-1] - b[0]
        if not length > 0:
            continue
        state = _node_widths(layout.state_times(b)) / length
        rate = _node_widths(layout.rate_times(b)) / length
        variables[indices.states] = state[:, None]
        variables[indices.controls] = rate[:, None]
        variables[indices.algebraics] = rate[:, None]
        for group in program.groups:
            if group.phase == indices.phase.name and group.kind == "path":
                span = slice(group.first, group.first + group.count)
                rows[span] = np.repeat(rate, len(group.names))
    return variables, rows


def _node_widths(times: Array) -> Array:
    """Half the way to the neighbours on both sides; the whole adds up to the phase."""
    order = np.argsort(times, kind="stable")
    t = times[order]
    if len(t) < 2:
        return np.ones(len(t))
    middles = (t[1:] + t[:-1]) / 2
    edges = np.concatenate([[t[0]], middles, [t[-1]]])
    widths = np.empty(len(t))
    widths[order] = np.diff(edges) * 1.0
    total = float(np.sum(widths))
    return np.asarray(widths / total * (t[-1] - t[0]) if total > 0 else widths)
