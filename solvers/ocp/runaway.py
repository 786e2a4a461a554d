"""Values that have no best: the cost falls, as they grow, towards what it never reaches.

A solver that walks after such a value stops where the slope of the cost is below its
tolerance, and calls that a solution.  A value far beyond the first guess is therefore put
to the test: it is fixed at several times its size, everything else is solved for anew, and
if the cost is not higher there, there is no best value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .backend import ipopt
from .guess_check import FirstSizes
from .interruption import Stop
from .labels import with_unit
from .trajectory import PhaseTrajectory
from .transcription import Transcription

Array: TypeAlias = np.ndarray

FAR = 100.0
"""A value beyond this many times its first guess may have run away."""
DRIFTED = 1e3
"""So may a state or control beyond this many times its first scale."""
FURTHER = 10.0
"""How many times further the test goes."""
HIGHER = 1e-6
"""A cost that rises by less than this part of its size does not rise."""
ITERATIONS = 200
_NONE = np.empty(0, dtype=int)


@dataclass(frozen=True)
class Runaway:
    """A value that has run away, and what the cost is there and further on."""

    name: str
    value: str
    cost: float
    further: float

    @property
    def falls(self) -> bool:
        """Whether the cost is still falling; else it has become flat."""
        return self.further < self.cost - HIGHER * abs(self.cost)

    def __str__(self) -> str:
        if self.falls:
            return (
                f"{self.name} has no best value: it went to {self.value}, and at {FURTHER:g} "
                f"times that the cost is lower still ({self.further:.3g} after {self.cost:.3g})"
            )
        return (
            f"{self.name} went to {self.value}, far beyond its guess; at {FURTHER:g} times that "
            "the cost is the same: it is not determined"
        )


@dataclass(frozen=True)
class _Candidate:
    """A value far from its guess: what to call it, its entry, and what else went with it."""

    name: str
    value: str
    entry: int
    wanted: float
    along: Array


def find_runaway(
    transcription: Transcription,
    sizes: FirstSizes,
    x: Array,
    p: Array,
    cost: float,
    motions: Sequence[PhaseTrajectory],
    linear_solver: str = "mumps",
    stop: Stop | None = None,
) -> Runaway | None:
    """The first value that has no best one; None if there is none.

    Parameters
    ----------
    transcription:
        Of the solution.
    sizes:
        Of the first guess.
    x, p, cost, motions:
        The solution, values of the constants, its cost and motions.
    linear_solver, stop:
        As of :func:`.backend.ipopt`.
    """
    for found in (
        *_durations(transcription, sizes, motions),
        *_parameters(transcription, sizes, x),
        *_drifted(transcription, sizes, x),
    ):
        further = _cost_at(transcription, x, p, motions, found, linear_solver, stop)
        if further is not None and further <= cost + HIGHER * abs(cost):
            return Runaway(found.name, found.value, cost, further)
    return None


def _durations(
    transcription: Transcription, sizes: FirstSizes, motions: Sequence[PhaseTrajectory]
) -> list[_Candidate]:
    found = []
    program = transcription.program
    for indices, motion, guess in zip(transcription.phases, motions, sizes.lengths, strict=True):
        length, end = motion.end - motion.start, int(indices.times[-1])
        wanted = motion.start + FURTHER * length
        if end < 0 or not length > FAR * guess or wanted > program.upper[end]:
            continue
        if FURTHER * length <= indices.phase.duration_range[1]:
            many = f" of phase {indices.phase.name!r}" if len(motions) > 1 else ""
            told = with_unit(length, "s")
            found.append(_Candidate(f"the duration{many}", told, end, wanted, _NONE))
    return found


def _parameters(transcription: Transcription, sizes: FirstSizes, x: Array) -> list[_Candidate]:
    found = []
    program = transcription.program
    for variable, entry, size in zip(
        transcription.problem.parameters, transcription.parameters, sizes.parameters, strict=True
    ):
        value = float(x[entry])
        wanted = FURTHER * value
        if abs(value) > FAR * size and program.lower[entry] <= wanted <= program.upper[entry]:
            told = with_unit(value, variable.unit)
            found.append(_Candidate(variable.name, told, int(entry), wanted, _NONE))
    return found


def _drifted(transcription: Transcription, sizes: FirstSizes, x: Array) -> list[_Candidate]:
    """The state or control that is furthest from its scale, and all that are far with it."""
    program = transcription.program
    far: list[tuple[float, str, str, int]] = []
    along = [_NONE]
    for indices, states, controls in zip(
        transcription.phases, sizes.states, sizes.controls, strict=True
    ):
        functions = indices.functions
        for table, variables, scales in (
            (indices.states, functions.states, states),
            (indices.controls, functions.controls, controls),
        ):
            for k, (variable, scale) in enumerate(zip(variables, scales, strict=True)):
                entries = table[:, k]
                entry = int(entries[np.argmax(np.abs(x[entries]))])
                ratio = abs(float(x[entry])) / scale
                if not ratio > DRIFTED:
                    continue
                along.append(entries)
                if program.lower[entry] <= FURTHER * x[entry] <= program.upper[entry]:
                    told = with_unit(float(x[entry]), variable.unit)
                    far.append((ratio, variable.name, told, entry))
    if not far:
        return []
    _, name, told, entry = max(far)
    return [_Candidate(name, told, entry, FURTHER * float(x[entry]), np.concatenate(along))]


def _cost_at(
    transcription: Transcription,
    x: Array,
    p: Array,
    motions: Sequence[PhaseTrajectory],
    tried: _Candidate,
    linear_solver: str,
    stop: Stop | None,
) -> float | None:
    """The least cost with one value fixed; None if that was not found."""
    program, entry = transcription.program, tried.entry
    kept = program.guess, program.lower.copy(), program.upper.copy()
    try:
        program.guess = x.copy()
        program.guess[tried.along] *= FURTHER
        for indices, motion in zip(transcription.phases, motions, strict=True):
            if entry == indices.times[-1]:  # the same values at other times
                own = indices.times[indices.times >= 0]
                ratio = (tried.wanted - motion.start) / (motion.end - motion.start)
                program.guess[own] = motion.start + ratio * (x[own] - motion.start)
        program.guess[entry] = program.lower[entry] = program.upper[entry] = tried.wanted
        program.guess = np.clip(program.guess, program.lower, program.upper)
        found = ipopt(
            program,
            p,
            tolerance=1e-8,
            iterations=ITERATIONS,
            linear_solver=linear_solver,
            stop=stop,
        )
    finally:
        program.guess, program.lower, program.upper = kept
    return found.cost if found.status.converged else None
