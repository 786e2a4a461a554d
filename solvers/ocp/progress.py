"""One line that tells how a solve is getting on, updated in place; silent where nobody looks.

The line goes to stderr if that is a terminal or a notebook; what is worth keeping
goes to the logger ``bestiary.ocp``.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO, TypeAlias

from .errors import OptimalControlError
from .user_calls import call, truth

LOG = logging.getLogger("bestiary.ocp")
LOG.addHandler(logging.NullHandler())  # silent unless the application configures logging

INTERVAL = 0.1
"""Seconds between updates of the line."""


@dataclass(frozen=True)
class Iterate:
    """What is told of one iteration of the solver.

    Attributes
    ----------
    number:
        Iteration on this mesh.
    cost:
        In the units of the problem.
    violation:
        Largest violation of a constraint, relative to its scale.
    seconds:
        Since the solve of this mesh began.
    round, intervals:
        Number of the mesh, and its intervals.
    """

    number: int
    cost: float
    violation: float
    seconds: float
    round: int = 1
    intervals: int = 0


Watch: TypeAlias = Callable[[Iterate], Any]
"""Called at every iteration; a true result stops the solve, keeping the best iterate."""


class ProgressLine:
    """Writes iterates to a stream, each over the one before.

    Parameters
    ----------
    name:
        Of the problem.
    stream:
        Where to; stderr by default.
    """

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self._name = name
        self._stream = sys.stderr if stream is None else stream
        self._begun = time.perf_counter()
        self._shown = float("-inf")
        self._width = 0

    def __call__(self, iterate: Iterate) -> None:
        """Show an iterate, unless the last one was shown a moment ago."""
        now = time.perf_counter()
        if now - self._shown < INTERVAL:
            return
        self._shown = now
        self._write(
            f"{self._name}: mesh {iterate.round}, {iterate.intervals} intervals, "
            f"iteration {iterate.number}, cost {iterate.cost:.6g}, "
            f"violation {iterate.violation:.1e}, {now - self._begun:.1f} s"
        )

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        room = shutil.get_terminal_size((120, 24)).columns - 1
        text = text[:room]
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = max(self._width, len(text))


def watcher(progress: Any, name: str) -> tuple[Watch | None, Callable[[], None]]:
    """What to call at each iteration, and what to call in the end.

    Parameters
    ----------
    progress:
        None: a line if somebody looks; True: a line in any case; False: nothing; or a
        function of an :class:`Iterate`, which stops the solve by returning True.
    name:
        Of the problem.

    Raises
    ------
    OptimalControlError
        If it is something else.
    """
    if callable(progress):
        return lambda iterate: truth(call("progress", progress, iterate), "progress"), lambda: None
    if progress is not None and not isinstance(progress, bool):
        raise OptimalControlError(
            f"progress: expected None, True, False or a function of an iterate, got {progress!r}"
        )
    if progress or (progress is None and _watched(sys.stderr)):
        line = ProgressLine(name)
        return line, line.close
    return None, lambda: None


def _watched(stream: Any) -> bool:
    """Whether a stream is a terminal, or belongs to a notebook."""
    if stream is None:
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) or type(stream).__module__.startswith("ipykernel")
