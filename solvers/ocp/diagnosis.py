"""From the numbers of a solve to a verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from .nlp import NonlinearProgram, RowGroup
from .refinement import Refined
from .replay import PhaseReplay
from .status import Status
from .transcription import Transcription
from .verdict import Verdict, Violation

Array: TypeAlias = np.ndarray

MOST_VIOLATIONS = 10
FEASIBLE = 1e-6
REPLAY_FACTOR = 10.0
"""A solution whose segments miss by more than this many tolerances is refused."""


def violations(transcription: Transcription, x: Array, p: Array) -> list[Violation]:
    """Constraints that are not met, worst first, with names, times and units."""
    program = transcription.program
    g = program.residuals(x, p)
    outside = np.maximum(program.row_lower - g, g - program.row_upper)
    relative = outside / program.row_scale
    bad = np.flatnonzero(~(relative <= FEASIBLE))
    order = bad[np.argsort(-np.where(np.isfinite(relative[bad]), relative[bad], np.inf))]
    return [
        _violation(transcription, x, int(row), float(outside[row]), float(relative[row]))
        for row in order[:MOST_VIOLATIONS]
    ]


def _violation(
    transcription: Transcription, x: Array, row: int, amount: float, relative: float
) -> Violation:
    group = row_group(transcription.program, row)
    index = row - group.first
    component, place = index % len(group.names), index // len(group.names)
    time = None
    if len(group.places):
        indices = next(i for i in transcription.phases if i.phase.name == group.phase)
        b = indices.boundaries(x)
        section, share = int(group.places[place, 0]), float(group.places[place, 1])
        time = float(b[section] + share * (b[section + 1] - b[section]))
    prefix = f"{group.phase}: " if group.phase else ""
    return Violation(
        f"{prefix}{group.kind} {group.names[component]}",
        amount,
        relative,
        group.units[component],
        time,
    )


def row_group(program: NonlinearProgram, row: int) -> RowGroup:
    """The group that a row belongs to."""
    return next(g for g in program.groups if g.first <= row < g.first + g.count)


def judge(
    refined: Refined, replays: Sequence[PhaseReplay] | None, p: Array, tolerance: float
) -> Verdict:
    """The verdict on a refined solution and its replay."""
    outcome = refined.outcome
    found = violations(refined.transcription, outcome.x, p)
    reasons: list[str] = []
    status = outcome.status
    last = next((r for r in reversed(refined.rounds) if r.outcome is outcome), None)
    segment = open_loop = float("nan")
    if replays is not None:
        segment = max(r.worst_segment for r in replays)
        open_loop = max(r.worst_open_loop for r in replays)
    if status is Status.SOLVED and found:
        status = Status.FAILED
        reasons.append(f"constraints are not met: {found[0]}")
    if status is Status.SOLVED and not refined.reached:
        status = Status.TOLERANCE_NOT_REACHED
    if status.converged and segment > REPLAY_FACTOR * tolerance:
        if status is Status.SOLVED:
            status = Status.REPLAY_DISAGREES
        reasons.append(f"re-simulated segments miss by {segment:.2g} (relative)")
    elif status is Status.TOLERANCE_NOT_REACHED and segment <= REPLAY_FACTOR * tolerance:
        # the replay is the judge: the estimate was stricter than need be
        status = Status.SOLVED
    return Verdict(
        status,
        tuple(reasons),
        "",
        tuple(found),
        segment,
        open_loop,
        last.worst if last else float("nan"),
        last.overshoot if last else float("nan"),
    )
