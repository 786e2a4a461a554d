"""What a user gives as a guess, as arrays: times of a phase, and values at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .errors import OptimalControlError
from .user_calls import numbers
from .variables import Range

Array: TypeAlias = np.ndarray

COVER = 1e-6
"""Relative difference of a guess's length from that of its phase which is rounding."""


@dataclass(frozen=True)
class GuessTable:
    """A guess at several times: (T,) ``places`` from 0 to 1 in the phase, (T,) ``values``."""

    places: Array
    values: Array


def guessed_times(times: Any, durations: Range, label: str) -> Array:
    """(T,) times from the start of a phase to its end [s]; of a duration, its two ends.

    Raises
    ------
    OptimalControlError
        If they do not increase, or their span is not one of ``durations``.
    """
    array = numbers(times, label, "increasing seconds, or a duration")
    if array.ndim == 0:
        array = np.array([0.0, float(array)])
    if array.ndim != 1 or len(array) < 2 or np.any(np.diff(array) <= 0):
        raise OptimalControlError(f"{label} must increase, from the start to the end")
    span = float(array[-1] - array[0])
    low, high = durations
    if not low - COVER * low <= span <= high + COVER * high:
        lasts = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
        raise OptimalControlError(
            f"{label} cover {span:g} s, but the phase lasts {lasts}; give the times of the "
            "values from its start to its end"
        )
    return array


def guessed_values(value: Any, places: Array | None, label: str) -> Array | GuessTable:
    """One or two numbers, or a table with a value at each of ``places``.

    Raises
    ------
    OptimalControlError
        If it is neither.
    """
    expected = "a number, a pair, as many numbers as there are times, or a function of times"
    array = np.atleast_1d(numbers(value, label, expected))
    if array.ndim == 1 and len(array) <= 2 and len(array):
        return array
    if array.ndim != 1 or places is None or len(array) != len(places):
        told = "no times are given" if places is None else f"there are {len(places)} times"
        raise OptimalControlError(
            f"{label}: expected {expected}, got shape {array.shape}, and {told}"
        )
    return GuessTable(places, array)
