"""What can go wrong with a loaded robot, and how near misses are named."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BestiaryError(Exception):
    """Base of all errors that a loaded robot raises on purpose."""


class ModelInputError(BestiaryError, ValueError):
    """An argument of a wrong shape, type or value; the message names it and what was expected."""


class MissingFunctionError(BestiaryError, AttributeError):
    """A function that the robot has, but not this build of it; the message says which has."""


class SingularityError(BestiaryError, ArithmeticError):
    """A state at which the asked quantity does not exist, or is not finite."""


class LimitError(BestiaryError, ArithmeticError):
    """A motion that leaves the limits of its coordinates on the way."""


class StepLimitError(BestiaryError, RuntimeError):
    """An adaptive rollout that needed more steps than it was allowed."""


class ModelNotFoundError(BestiaryError, LookupError):
    """No generated model of that name; the message says how to build it."""


class GeneratedFolderError(BestiaryError, ValueError):
    """A generated folder that cannot be read: a part is missing or of another format."""


class NotCompiledWarning(UserWarning):
    """A robot runs in its NumPy form because no compiled module fits."""


def listed(names: Iterable[str], limit: int = 40) -> str:
    """Names separated by commas, cut after ``limit`` of them; "none" if empty."""
    every = list(names)
    text = ", ".join(every[:limit]) or "none"
    return f"{text}, … ({len(every)} in all)" if len(every) > limit else text


def suggestion(name: object, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for a near miss, else an empty string."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
