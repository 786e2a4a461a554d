"""The verdict on a solve: what was reached, what was not, and why; plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .status import Status


@dataclass(frozen=True)
class Violation:
    """A constraint or bound that is not met.

    Attributes
    ----------
    name:
        Of the constraint; with its phase if there are several.
    amount:
        How far outside, in ``unit``.
    relative:
        The same relative to the size of the quantity.
    time:
        When it is worst [s]; None where it has no time.
    count:
        At how many nodes it is not met.
    """

    name: str
    amount: float
    relative: float
    unit: str
    time: float | None
    count: int = 1

    def __str__(self) -> str:
        when = "" if self.time is None else f" at {self.time:.6g} s"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name}: {self.amount:.3g}{unit}{when}"


@dataclass(frozen=True)
class NotFinite:
    """An expression that is NaN or infinite, or has such a derivative.

    Attributes
    ----------
    name:
        "rate of v", "path constraint q", "first derivative of rate of v".
    time:
        Of the first node where it happens [s]; None where there is no time.
    cause:
        The operation that is to blame, with its arguments.
    inputs:
        Values there of all variables that the expression depends on, by name.
    nodes, total:
        At how many of the nodes it happens.
    """

    name: str
    time: float | None
    cause: str
    inputs: Mapping[str, float]
    nodes: int
    total: int

    def __str__(self) -> str:
        when = "" if self.time is None else f" at {self.time:.6g} s"
        many = f" ({self.nodes} of {self.total} nodes)" if self.total > 1 else ""
        cause = f": {self.cause}" if self.cause else ""
        values = ", ".join(f"{k} = {v:.6g}" for k, v in self.inputs.items())
        return f"{self.name}{when}{many}{cause}" + (f"; there {values}" if values else "")


@dataclass(frozen=True)
class Verdict:
    """What a solve is worth.

    Attributes
    ----------
    status:
        How it ended.
    reasons:
        Sentences that say what was found, most important first; after a success,
        what is worth knowing all the same.
    suggestion:
        What to try next; "" after a success.
    violations:
        Worst first.
    segment_error, open_loop_error:
        Largest relative errors of the re-simulation; see :mod:`.replay`.
    mesh_error:
        Largest relative error of an interval; see :mod:`.estimate`.
    overshoot:
        Largest relative violation of limits between nodes.
    cost_error:
        By how much the cost is above the best one (negative: below), relative; None where it
        is not known; see :mod:`.cost_error`.
    active:
        Limits that are reached, and for which part of the time.
    not_finite:
        What is NaN or infinite at the last iterate or the guess.
    """

    status: Status
    reasons: Sequence[str] = ()
    suggestion: str = ""
    violations: Sequence[Violation] = ()
    segment_error: float = float("nan")
    open_loop_error: float = float("nan")
    mesh_error: float = float("nan")
    overshoot: float = float("nan")
    cost_error: float | None = None
    active: Mapping[str, float] = field(default_factory=dict)
    not_finite: Sequence[NotFinite] = ()

    @property
    def success(self) -> bool:
        """Whether the motion may be used."""
        return self.status.success
