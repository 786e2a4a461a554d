"""Free durations and parameters without a best value: the cost falls towards what it never reaches.

A solver that walks after such a value stops where the slope of the cost is below its
tolerance, and calls that a solution.  A value far beyond the first guess is therefore put
to the test: it is fixed at several times its size, everything else is solved for anew, and
if the cost is not higher there, there is no best value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .backend import ipopt
from .guess import resampled_guess
from .interruption import Stop
from .labels import with_unit
from .trajectory import PhaseTrajectory
from .transcription import Transcription

Array: TypeAlias = np.ndarray

FAR = 100.0
"""A value beyond this many times its first guess may have run away."""
FURTHER = 10.0
"""How many times further the test goes."""
HIGHER = 1e-6
"""A cost that rises by less than this part of its size does not rise."""
ITERATIONS = 200


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


def find_runaway(
    transcription: Transcription,
    first: Array,
    x: Array,
    p: Array,
    cost: float,
    motions: list[PhaseTrajectory],
    linear_solver: str = "mumps",
    stop: Stop | None = None,
) -> Runaway | None:
    """The first duration or parameter that has no best value; None if there is none.

    Parameters
    ----------
    transcription:
        Of the solution.
    first:
        Guessed lengths of the phases, then of the parameters.
    x, p, cost, motions:
        The solution, values of the constants, its cost and motions.
    linear_solver, stop:
        As of :func:`.backend.ipopt`.
    """
    program = transcription.program
    candidates: list[tuple[str, str, int, float, float]] = []
    for indices, motion, guess in zip(transcription.phases, motions, first, strict=False):
        length, end = motion.end - motion.start, int(indices.times[-1])
        if end < 0 or not length > FAR * guess:
            continue
        wanted = motion.start + FURTHER * length
        longest = indices.phase.duration_range[1]
        if wanted <= program.upper[end] and FURTHER * length <= longest:
            many = f" of phase {indices.phase.name!r}" if len(motions) > 1 else ""
            name = f"the duration{many}"
            candidates.append((name, with_unit(length, "s"), end, wanted, length))
    for variable, entry, guess in zip(
        transcription.problem.parameters,
        transcription.parameters,
        first[len(motions) :],
        strict=True,
    ):
        value = float(x[entry])
        wanted = FURTHER * value
        if abs(value) > FAR * guess and program.lower[entry] <= wanted <= program.upper[entry]:
            candidates.append(
                (variable.name, with_unit(value, variable.unit), int(entry), wanted, value)
            )
    for name, told, entry, wanted, _ in candidates:
        further = _cost_at(transcription, x, p, motions, entry, wanted, linear_solver, stop)
        if further is not None and further <= cost + HIGHER * abs(cost):
            return Runaway(name, told, cost, further)
    return None


def _cost_at(
    transcription: Transcription,
    x: Array,
    p: Array,
    motions: list[PhaseTrajectory],
    entry: int,
    wanted: float,
    linear_solver: str,
    stop: Stop | None,
) -> float | None:
    """The least cost with one value fixed; None if that was not found."""
    program = transcription.program
    kept = program.guess, program.lower.copy(), program.upper.copy()
    try:
        program.guess = x.copy()
        boundaries = []
        for indices, motion in zip(transcription.phases, motions, strict=True):
            b = motion.boundaries
            if entry == indices.times[-1]:
                b = motion.start + (b - motion.start) * (wanted - motion.start) / (
                    motion.end - motion.start
                )
            boundaries.append(b)
        stretched = [
            _stretched(m, b) for m, b in zip(motions, boundaries, strict=True)
        ]  # the same values at other times
        resampled_guess(transcription, stretched, x[transcription.parameters], boundaries)
        program.guess[entry] = program.lower[entry] = program.upper[entry] = wanted
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


def _stretched(motion: PhaseTrajectory, boundaries: Array) -> PhaseTrajectory:
    ratio = (boundaries[-1] - boundaries[0]) / (motion.end - motion.start)
    return PhaseTrajectory(
        motion.layout,
        boundaries,
        motion.states,
        motion.rates / ratio,
        motion.controls,
        motion.algebraics,
    )
