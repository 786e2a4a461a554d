"""Functions that the user gave: what they raise becomes one sentence that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .errors import OptimalControlError

Array: TypeAlias = np.ndarray


def call(label: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a user's function.

    Parameters
    ----------
    label:
        Which argument it was given for: begins the sentence.

    Raises
    ------
    OptimalControlError
        With the function's name and its own error, which is chained.
    """
    try:
        return function(*arguments)
    except OptimalControlError:
        raise  # it says itself what is wrong
    except Exception as error:
        raise OptimalControlError(f"{label}: {described(function)} raised {told(error)}") from error


def truth(value: Any, label: str) -> bool:
    """Whether what a user's function gave is true.

    Raises
    ------
    OptimalControlError
        If it is neither true nor false, as an array of several numbers.
    """
    try:
        return bool(value)
    except Exception as error:
        raise OptimalControlError(
            f"{label}: expected True, False or None from the function, got {_shown(value)}"
        ) from error


def described(function: Any) -> str:
    """A function by its name."""
    name = getattr(function, "__name__", type(function).__name__)
    return "the lambda function" if name == "<lambda>" else f"the function {name!r}"


def told(error: BaseException) -> str:
    """An error's kind and first line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def numbers(value: Any, label: str, expected: str) -> Array:
    """An array of finite numbers.

    Raises
    ------
    OptimalControlError
        Saying what was expected and what came.
    """
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError) as error:
        raise OptimalControlError(f"{label}: expected {expected}, got {_shown(value)}") from error
    if not np.all(np.isfinite(array)):
        raise OptimalControlError(
            f"{label}: expected {expected}, got {_shown(value)}, which is not finite everywhere"
        )
    return array


def number(value: Any, label: str) -> float:
    """A finite number.

    Raises
    ------
    OptimalControlError
        If it is something else.
    """
    if isinstance(value, str | bytes | bool) or np.ndim(value) != 0:
        raise OptimalControlError(f"{label}: expected a number, got {_shown(value)}")
    return float(numbers(value, label, "a number"))


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
