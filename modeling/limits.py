"""Limits of coordinates: what an input may be, and what is only worth knowing.

Limits are checked where arguments come in from Python, never inside generated code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import ModelError


@dataclass(frozen=True)
class Limit:
    """Range of one coordinate, or of the length √(Σ q²) of several together.

    ``low`` or ``high`` may be None.  With ``refuse`` an input outside is an
    error; otherwise the limit is information for planners and plots.
    """

    coordinates: tuple[str, ...]
    unit: str
    low: float | None = None
    high: float | None = None
    refuse: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        label = f"limit of {', '.join(map(repr, self.coordinates)) or 'nothing'}"
        if not self.coordinates or len(set(self.coordinates)) != len(self.coordinates):
            raise ModelError(f"{label}: name one coordinate or several different ones")
        for name, value in (("low", self.low), ("high", self.high)):
            if value is not None and (isinstance(value, bool) or not math.isfinite(value)):
                raise ModelError(f"{label}: {name} must be a finite number or None, got {value!r}")
        if self.low is None and self.high is None:
            raise ModelError(f"{label}: give low, high or both")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ModelError(f"{label}: low {self.low:g} must be below high {self.high:g}")
        if len(self.coordinates) > 1 and (self.low is not None or not (self.high or 0) > 0):
            raise ModelError(
                f"{label}: the length of several coordinates takes high alone, above 0"
            )

    def to_dict(self) -> dict[str, object]:
        """Plain data, for the manifest."""
        return {
            "coordinates": list(self.coordinates),
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "refuse": self.refuse,
            "reason": self.reason,
        }


def common_unit(coordinates: tuple[str, ...], units: Mapping[str, str]) -> str:
    """The one unit of some coordinates.

    Raises
    ------
    ModelError
        For an unknown coordinate, or units that differ.
    """
    label = f"limit of {', '.join(map(repr, coordinates))}"
    unknown = [c for c in coordinates if c not in units]
    if unknown:
        raise ModelError(
            f"{label}: no coordinate {', '.join(map(repr, unknown))}; have {', '.join(units)}"
        )
    found = sorted({units[c] for c in coordinates})
    if len(found) > 1:
        raise ModelError(f"{label}: these coordinates have different units, {', '.join(found)}")
    return found[0] if found else ""
