"""Meshes: a phase cut into sections at times that may be free, and sections into intervals.

A *knot* between two sections is a decision variable: where a control jumps or a
constraint becomes active, the solver itself places the knot, and the motion is
smooth on either side.  Within a section intervals keep their fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .errors import OptimalControlError
from .schemes import Scheme

Array: TypeAlias = np.ndarray


@dataclass(frozen=True)
class Held:
    """What stays at a limit: "control", "state" or "path", its number, -1 low or 1 high."""

    kind: str
    number: int
    side: int


@dataclass(frozen=True)
class Joined:
    """A control that reaches a limit without a jump.

    Where the slope of the Hamiltonian in a control passes through zero as the control
    reaches its limit, the cost depends on the time of the knot by the third power only; that
    the control is continuous there is what determines it.

    Attributes
    ----------
    number:
        Of the control.
    end:
        Of its section, 0 or 1, where it meets the limit that is held beyond.
    side:
        -1 low, 1 high.
    """

    number: int
    end: int
    side: int


@dataclass(frozen=True)
class Section:
    """Intervals between two knots.

    Attributes
    ----------
    edges:
        (n+1,) ends of the intervals, from 0 to 1.
    degrees:
        (n,) degree of the scheme on each.
    held:
        Limits that are active all along: what a motion's structure fixes there.
    singular:
        Whether a control chattered there on an earlier mesh: a singular arc, which wants
        few polynomials of high degree.
    fenced:
        Numbers of the controls whose polynomials obey their bounds also at ends of
        intervals that are no nodes.
    joined:
        Controls that are free here and come from, or go on to, a limit without a jump:
        they are at that limit at this end.
    """

    edges: tuple[float, ...]
    degrees: tuple[int, ...]
    held: tuple[Held, ...] = ()
    singular: bool = False
    fenced: tuple[int, ...] = ()
    joined: tuple[Joined, ...] = ()

    @classmethod
    def uniform(cls, intervals: int, degree: int) -> Section:
        """Equal intervals of one degree."""
        return cls(tuple(np.linspace(0.0, 1.0, intervals + 1)), (degree,) * intervals)


@dataclass(frozen=True)
class Mesh:
    """Sections of one phase, and where their knots are in a first guess.

    Attributes
    ----------
    sections:
        At least one.
    knots:
        (len(sections) - 1,) fractions of the phase, increasing; starting values.
    """

    sections: tuple[Section, ...]
    knots: tuple[float, ...] = ()

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return sum(len(s.degrees) for s in self.sections)

    @property
    def boundaries(self) -> Array:
        """Fractions of the phase where sections begin and end, in the first guess."""
        return np.array([0.0, *self.knots, 1.0])

    def fractions(self, boundaries: Array | None = None) -> Array:
        """(intervals+1,) ends of all intervals as fractions of the phase."""
        b = self.boundaries if boundaries is None else boundaries
        parts = [
            b[k] + (b[k + 1] - b[k]) * np.array(s.edges[:-1]) for k, s in enumerate(self.sections)
        ]
        return np.append(np.concatenate(parts), b[-1])


def make_mesh(value: Any, scheme: Scheme, label: str) -> Mesh:
    """A mesh from a number of intervals, their ends as fractions, or a mesh.

    Raises
    ------
    OptimalControlError
        If it is none of these.
    """
    if isinstance(value, Mesh):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if not 1 <= value <= 100_000:
            raise OptimalControlError(f"{label}: mesh: expected 1 to 100000 intervals, got {value}")
        return Mesh((Section.uniform(int(value), scheme.degree),))
    try:
        edges = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty(0)
    whole = edges.ndim == 1 and len(edges) >= 2 and edges[0] == 0.0 and edges[-1] == 1.0
    if not whole or not np.all(np.diff(edges) > 0):
        raise OptimalControlError(
            f"{label}: mesh: expected a number of intervals or increasing fractions from 0 to 1, "
            f"got {value!r}"
        )
    return Mesh((Section(tuple(edges), (scheme.degree,) * (len(edges) - 1)),))


@dataclass(frozen=True)
class Interval:
    """Where one interval finds its states and rates in the arrays of its phase."""

    section: int
    start: float
    fraction: float
    degree: int
    states: Array
    rates: Array


class Layout:
    """Numbering of the states and rates of a phase on a mesh.

    Attributes
    ----------
    intervals:
        In order of time.
    state_section, state_place:
        (S,) section of each state node and its place in the section, 0 to 1.
    rate_state, rate_section, rate_place:
        (R,) state node of each rate node, its section and place.
    """

    def __init__(self, mesh: Mesh, scheme: Scheme) -> None:
        self.mesh, self.scheme = mesh, scheme
        sections, places = [0], [0.0]
        rate_state: list[int] = []
        rate_section: list[int] = []
        rate_place: list[float] = []
        intervals: list[Interval] = []
        for s, section in enumerate(mesh.sections):
            shared_rate: int | None = None
            for left, right, degree in zip(
                section.edges[:-1], section.edges[1:], section.degrees, strict=True
            ):
                basis, width = scheme.basis(degree), right - left
                first = len(places) - 1
                sections += [s] * len(basis.nodes)
                places += [left + width * c for c in basis.nodes]
                states = np.arange(first, len(places))
                rates = []
                for c, local in zip(basis.rates, basis.rate_states, strict=True):
                    if c == 0.0 and shared_rate is not None:
                        rates.append(shared_rate)
                        continue
                    rates.append(len(rate_state))
                    rate_state.append(int(states[local]))
                    rate_section.append(s)
                    rate_place.append(left + width * c)
                shared_rate = rates[-1] if basis.rates[0] == 0.0 and len(basis.rates) > 1 else None
                intervals.append(Interval(s, left, width, degree, states, np.array(rates)))
        self.intervals: Sequence[Interval] = intervals
        self.state_section = np.array(sections)
        self.state_place = np.array(places)
        self.rate_state = np.array(rate_state)
        self.rate_section = np.array(rate_section)
        self.rate_place = np.array(rate_place)

    @cached_property
    def by_degree(self) -> dict[int, list[Interval]]:
        """Intervals of each degree, in order of time."""
        found: dict[int, list[Interval]] = {}
        for interval in self.intervals:
            found.setdefault(interval.degree, []).append(interval)
        return found

    @cached_property
    def interval_starts(self) -> Array:
        """(N+1,) state nodes at the ends of intervals."""
        return np.array([i.states[0] for i in self.intervals] + [self.intervals[-1].states[-1]])

    def state_times(self, boundaries: Array) -> Array:
        """(S,) times of the state nodes for times of the section boundaries."""
        b = np.asarray(boundaries)
        return np.asarray(b[self.state_section] + self.state_place * np.diff(b)[self.state_section])

    def rate_times(self, boundaries: Array) -> Array:
        """(R,) times of the rate nodes."""
        b = np.asarray(boundaries)
        return np.asarray(b[self.rate_section] + self.rate_place * np.diff(b)[self.rate_section])

    def interval_times(self, boundaries: Array) -> Array:
        """(N+1,) times of the ends of intervals."""
        return np.asarray(self.state_times(boundaries)[self.interval_starts])
