"""Where a search starts: straight lines and given values, or an earlier motion on any mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .errors import OptimalControlError
from .guess_tables import GuessTable
from .numbering import PhaseIndices
from .phase import Phase
from .trajectory import PhaseTrajectory
from .transcription import Transcription
from .user_calls import call, numbers
from .variables import Range, Variable

Array: TypeAlias = np.ndarray

INSIDE = 1e-9


def initial_guess(transcription: Transcription) -> None:
    """Fill the program's guess from what the phases and parameters say."""
    program = transcription.program
    start = 0.0
    for indices in transcription.phases:
        phase = indices.phase
        t0, tf = _times(phase, start)
        start = tf
        b = indices.layout.mesh.boundaries
        boundaries = t0 + (tf - t0) * b
        own = indices.times >= 0
        program.guess[indices.times[own]] = boundaries[own]
        boundaries = indices.boundaries(program.guess)
        state_times = indices.layout.state_times(boundaries)
        rate_times = indices.layout.rate_times(boundaries)
        for entries, variables, times in (
            (indices.states, indices.functions.states, state_times),
            (indices.controls, indices.functions.controls, rate_times),
            (indices.algebraics, indices.functions.algebraics, rate_times),
        ):
            for k, variable in enumerate(variables):
                program.guess[entries[:, k]] = _values(
                    phase, variable, times, float(boundaries[0]), float(boundaries[-1])
                )
        _ends_and_integrals(transcription, indices)
    for place, variable in zip(
        transcription.parameters, transcription.problem.parameters, strict=True
    ):
        program.guess[place] = transcription.problem.parameter_guesses[variable.name]


def resampled_guess(
    transcription: Transcription,
    trajectories: Sequence[PhaseTrajectory],
    parameters: Array,
    boundaries: Sequence[Array],
) -> None:
    """Fill the program's guess from a motion that was found on other meshes.

    Parameters
    ----------
    trajectories:
        One a phase.
    parameters:
        (ns,) values.
    boundaries:
        For each phase, times of the ends of the new sections.
    """
    program = transcription.program
    for indices, motion, b in zip(transcription.phases, trajectories, boundaries, strict=True):
        own = indices.times >= 0
        program.guess[indices.times[own]] = b[own]
        layout = indices.layout
        program.guess[indices.states] = motion.states_at(layout.state_times(b))
        # a control may jump at an edge: look from inside the interval it belongs to
        times = layout.rate_times(b)
        for interval in layout.intervals:
            left = b[interval.section] + interval.start * (
                b[interval.section + 1] - b[interval.section]
            )
            width = interval.fraction * (b[interval.section + 1] - b[interval.section])
            inside = np.clip(
                times[interval.rates], left + INSIDE * width, left + (1 - INSIDE) * width
            )
            program.guess[indices.controls[interval.rates]] = motion.controls_at(inside)
            program.guess[indices.algebraics[interval.rates]] = motion.algebraics_at(inside)
        _ends_and_integrals(transcription, indices)
    program.guess[transcription.parameters] = parameters


def _ends_and_integrals(transcription: Transcription, indices: PhaseIndices) -> None:
    """Values that follow from the rest: controls at ends and integrals."""
    program = transcription.program
    for (where, name), entry in indices.endpoints.items():
        k = [v.name for v in indices.functions.controls].index(name)
        program.guess[entry] = program.guess[indices.controls[0 if where == "start" else -1, k]]


def _times(phase: Phase, start: float) -> tuple[float, float]:
    t0 = float(np.clip(start, *phase.start_range))
    if phase.guess_times is not None:
        length = float(phase.guess_times[-1] - phase.guess_times[0])
    else:
        length = _length(phase.duration_range, phase.end_range, t0)
    low, high = phase.end_range
    return t0, float(np.clip(t0 + length, low, high))


def _length(duration: Range, end: Range, start: float) -> float:
    low = max(duration[0], end[0] - start, 0.0)
    high = min(duration[1], end[1] - start)
    if np.isfinite(high):
        return (low + high) / 2
    return 2 * low if low > 0 else 1.0


def _values(phase: Phase, variable: Variable, times: Array, t0: float, tf: float) -> Array:
    given: Any = phase.guesses.get(variable.name)
    low, high = variable.bounds
    if callable(given):
        values = _called(f"phase {phase.name!r}: guess of {variable.name}", given, times)
    elif given is None:
        a = _end(phase.start_bounds.get(variable.name), variable.bounds)
        b = _end(phase.end_bounds.get(variable.name), variable.bounds)
        if variable.name not in phase.end_bounds and variable.name in phase.start_bounds:
            b = a
        if variable.name not in phase.start_bounds and variable.name in phase.end_bounds:
            a = b
        share = (times - t0) / (tf - t0) if tf > t0 else np.zeros_like(times)
        return np.asarray(np.clip(a + (b - a) * share, low, high))
    elif isinstance(given, GuessTable):
        # given times are stretched over the phase: its ends may be free
        values = np.interp(times, t0 + given.places * (tf - t0), given.values)
    elif len(given) == 1:
        values = np.full(times.shape, given[0])
    else:
        values = np.interp(times, np.array([t0, tf]), given)
    return np.array(values)


def _called(label: str, function: Any, times: Array) -> Array:
    """(T,) values of a function of times that the user gave."""
    values = call(label, function, times)
    found = numbers(values, label, f"a function of times that gives {len(times)} numbers")
    if found.ndim > 1 or found.size not in (1, len(times)):
        raise OptimalControlError(
            f"{label}: the function was called with {len(times)} times at once, and gave "
            f"{found.size} numbers (shape {found.shape}); expected one for each"
        )
    return np.broadcast_to(found, times.shape)


def _end(ends: Range | None, bounds: Range) -> float:
    """A value within both ranges: the middle if it is finite, else what is nearest to zero."""
    low, high = bounds
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    return float(np.clip(0.0, low, high))
