"""What a guess looked like before the solver got it: values moved into bounds, defects, NaN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .labels import Labels, at, with_unit
from .nan_search import find_not_finite
from .transcription import Transcription
from .verdict import NotFinite
from .violations import row_misses

Array: TypeAlias = np.ndarray

MOVED = 1e-6
"""Moves below this part of a variable's scale are rounding."""
MOST_NAMED = 4


@dataclass(frozen=True)
class Moved:
    """A quantity whose guess was outside its bounds.

    Attributes
    ----------
    name, unit:
        The quantity.
    given, used:
        The value furthest outside, and what it became.
    time:
        When [s], or NaN.
    count, total:
        How many of its values were moved.
    """

    name: str
    unit: str
    given: float
    used: float
    time: float
    count: int
    total: int

    def __str__(self) -> str:
        share = f" ({self.count} of {self.total} values moved)" if self.total > 1 else ""
        return (
            f"the guess of {self.name}{at(self.time)} was {with_unit(self.given, self.unit)}, "
            f"outside its bounds; moved to {with_unit(self.used, self.unit)}{share}"
        )


@dataclass(frozen=True)
class FirstSizes:
    """Sizes at the first guess.

    Attributes
    ----------
    lengths:
        Of the phases [s].
    states, controls:
        Scales by phase.
    parameters:
        Scales.
    """

    lengths: tuple[float, ...]
    states: tuple[Array, ...]
    controls: tuple[Array, ...]
    parameters: Array


def _first_sizes(transcription: Transcription) -> FirstSizes:
    scale = transcription.program.variable_scale
    ends = [i.boundaries(transcription.program.guess) for i in transcription.phases]
    return FirstSizes(
        tuple(float(b[-1] - b[0]) for b in ends),
        tuple(scale[i.states[0]] for i in transcription.phases),
        tuple(scale[i.controls[0]] for i in transcription.phases),
        scale[transcription.parameters],
    )


@dataclass(frozen=True)
class GuessCheck:
    """A guess before and after it was put within bounds.

    Attributes
    ----------
    moved:
        Quantities that were moved, worst first.
    defect_before, defect_after:
        Largest violation of the rows, relative to their scales; NaN if not a number.
    not_finite:
        Expressions that are not a number at the guess.
    sizes:
        What values that run away are measured by; None if not known.
    """

    moved: tuple[Moved, ...]
    defect_before: float
    defect_after: float
    not_finite: tuple[NotFinite, ...]
    sizes: FirstSizes | None = None

    def sentences(self) -> list[str]:
        """What is worth telling."""
        told = [f"at the guess: {found}" for found in self.not_finite[:2]]
        told += [str(m) for m in self.moved[:MOST_NAMED]]
        if len(self.moved) > MOST_NAMED:
            told.append(f"and {len(self.moved) - MOST_NAMED} more guesses were moved")
        if self.moved:
            told.append(
                f"moving it changed the largest relative violation of the guess from "
                f"{self.defect_before:.2g} to {self.defect_after:.2g}"
            )
        return told


def check_guess(transcription: Transcription, given: Array, p: Array) -> GuessCheck:
    """Compare a guess with what the bounds made of it.

    Parameters
    ----------
    transcription:
        Its program holds the guess within bounds, and its scales.
    given:
        (n,) the guess as it was stated.
    p:
        Values of the problem's constants.
    """
    program = transcription.program
    after = _worst(transcription, program.guess, p)
    bad: tuple[NotFinite, ...] = ()
    if not np.isfinite(after):
        bad = tuple(find_not_finite(transcription, program.guess, p))
    sizes = _first_sizes(transcription)
    move = np.abs(program.guess - given) / program.variable_scale
    # the ends of a line or table are often only near the end conditions: not worth a word
    fixed = program.lower == program.upper
    outside = (move > MOVED) & ~fixed
    if not np.any(outside):
        return GuessCheck((), after, after, bad, sizes)
    labels = Labels(transcription, program.guess)
    moved = []
    for number in np.unique(labels.variable[outside]):
        own = np.flatnonzero(labels.variable == number)
        out = own[outside[own]]
        k = int(out[np.argmax(move[out])])
        label = labels.labels[number]
        moved.append(
            (
                float(move[k]),
                Moved(
                    str(label), label.unit, float(given[k]), float(program.guess[k]),
                    float(labels.variable_time[k]), len(out), len(own),
                ),
            )
        )  # fmt: skip
    moved.sort(key=lambda m: -m[0])
    before = _worst(transcription, given, p)
    return GuessCheck(tuple(m for _, m in moved), before, after, bad, sizes)


def _worst(transcription: Transcription, x: Array, p: Array) -> float:
    misses = row_misses(transcription, x, p) / transcription.program.row_scale
    return float(np.max(misses, initial=0.0))
