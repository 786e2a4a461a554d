"""The verdict on a solve: what was reached, what was not, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .status import Status


@dataclass(frozen=True)
class Violation:
    """A constraint or bound that is not met.

    Attributes
    ----------
    name:
        Of the constraint, with its phase.
    amount:
        How far outside, in ``unit``.
    relative:
        The same relative to the size of the quantity.
    time:
        When [s]; None where it has no time.
    """

    name: str
    amount: float
    relative: float
    unit: str
    time: float | None

    def __str__(self) -> str:
        when = "" if self.time is None else f" at {self.time:.6g} s"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name}: {self.amount:.3g}{unit}{when}"


@dataclass(frozen=True)
class Verdict:
    """What a solve is worth.

    Attributes
    ----------
    status:
        How it ended.
    reasons:
        Sentences that say what was found, most important first.
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
    active:
        Names of bounds that are active, and for which part of the time.
    """

    status: Status
    reasons: Sequence[str] = ()
    suggestion: str = ""
    violations: Sequence[Violation] = ()
    segment_error: float = float("nan")
    open_loop_error: float = float("nan")
    mesh_error: float = float("nan")
    overshoot: float = float("nan")
    active: dict[str, float] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """Whether the motion may be used."""
        return self.status.success
