"""Stopping without loss: Ctrl-C and time limits end a solve at its next iteration."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any


class Stop(threading.Event):
    """An event that is also set when a deadline has passed.

    Parameters
    ----------
    seconds:
        From now on; None: no deadline.
    """

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__()
        self._deadline = None if seconds is None else time.perf_counter() + seconds

    @property
    def remaining(self) -> float | None:
        """Seconds to the deadline, at least 0; None if there is none."""
        if self._deadline is None:
            return None
        return max(0.0, self._deadline - time.perf_counter())

    @property
    def asked(self) -> bool:
        """Whether somebody asked to stop, deadlines apart."""
        return super().is_set()

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.remaining == 0.0

    def is_set(self) -> bool:
        """Whether to stop."""
        return self.asked or self.late


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interruptible(seconds: float | None = None) -> Iterator[Stop]:
    """An event that Ctrl-C sets while the context lasts; a second Ctrl-C raises.

    A request to end (SIGTERM) for which the application has a handler sets it too, and is
    handed to that handler at the end of the context.

    Signals reach the main thread only; in others there is just the deadline.

    Raises
    ------
    KeyboardInterrupt
        At the second Ctrl-C.
    """
    stop = Stop(seconds)
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # what is not Python's to handle, or not wanted, stays as it is
    before = {n: h for n in SIGNALS if callable(h := signal.getsignal(n))}
    ended: list[tuple[int, Any]] = []

    def on_signal(number: int, frame: Any) -> None:
        if number != signal.SIGINT:
            ended.append((number, frame))
        elif stop.asked:
            raise KeyboardInterrupt
        stop.set()

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for which, frame in ended[:1]:  # raised in a function of the solver's it would be lost
        before[signal.Signals(which)](which, frame)
