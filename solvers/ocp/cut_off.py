"""Controls that leave their bounds between nodes are cut off there.

Beside a jump, and where a control chatters, the polynomial through values that are within
their bounds exceeds them.  Refinement makes that small; where it cannot, the control that
can be applied is the polynomial cut off at its bounds.  What this does to the motion
is an error like any other: measured here, and by the re-simulation that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from .refinement import Refined, measure_cost, measured_errors
from .remesh import overshoot_limit
from .trajectory import PhaseTrajectory
from .variables import Variable

Array: TypeAlias = np.ndarray


def within_bounds(refined: Refined, p: Array, tolerance: float) -> Refined:
    """The solution with its controls cut off, if nothing else leaves its limits.

    A solution whose controls stay within what ``tolerance`` allows is returned as it is.
    """
    transcription, outcome = refined.transcription, refined.outcome
    last = next((r for r in reversed(refined.rounds) if r.outcome is outcome), None)
    limit = overshoot_limit(tolerance)
    if last is None or not outcome.status.converged or not last.overshoot > limit:
        return refined
    motions = [
        replace(motion, control_bounds=_bounds(indices.functions.controls))
        for indices, motion in zip(transcription.phases, refined.motions, strict=True)
    ]
    errors = measured_errors(transcription, outcome, p, motions)
    cut = replace(last, errors=errors)
    if not cut.overshoot <= limit:
        return refined
    if np.isfinite(last.cost_error):
        measure_cost(cut, transcription, motions, p, last.cost_size)
    rounds = [cut if r is last else r for r in refined.rounds]
    return replace(refined, motions=motions, rounds=rounds)


def _bounds(controls: Sequence[Variable]) -> Array:
    return np.array([v.bounds for v in controls]).reshape(-1, 2)


def largest_cut(motion: PhaseTrajectory) -> tuple[int, float] | None:
    """The control that is cut off most, and by how much; None if none is."""
    if motion.control_bounds is None or not motion.controls.shape[1]:
        return None
    places = np.linspace(0.0, 1.0, 2 * max(i.degree for i in motion.layout.intervals) + 3)
    values = motion.on_intervals(places, "polynomials")
    off = np.abs(values - motion.applied(values)).max(axis=(0, 1))
    most = int(np.argmax(off))
    return (most, float(off[most])) if off[most] > 0 else None
