"""Which number of the decision vector and of the rows stands for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from .blocks import Block
from .functions import PhaseFunctions
from .mesh import Joined, Layout
from .nlp import RowGroup
from .phase import Phase
from .schemes import lagrange_values

Array: TypeAlias = np.ndarray


@dataclass
class PhaseIndices:
    """Entries of the decision vector that belong to a phase; -1 where there is none.

    Attributes
    ----------
    states, controls, algebraics:
        (S, nx), (R, nu), (R, nz).
    times:
        (sections+1,) ends of sections.
    fixed_times:
        (sections+1,) their values where they are no variables.
    integrals:
        (ni,) values of integrals with a symbol.
    endpoints:
        (where, control name) -> variable that holds a control at an end.
    joins:
        (section, control that meets its limit) -> row that says so.
    """

    phase: Phase
    functions: PhaseFunctions
    layout: Layout
    states: Array
    controls: Array
    algebraics: Array
    times: Array
    fixed_times: Array
    integrals: Array
    endpoints: dict[tuple[str, str], int] = field(default_factory=dict)
    path_rows: Array = field(default_factory=lambda: np.empty((0, 0), dtype=int))
    joins: dict[tuple[int, Joined], int] = field(default_factory=dict)
    node_block: Block | None = None
    cost_block: Block | None = None

    @property
    def free_times(self) -> bool:
        """Whether any end of a section is a decision variable."""
        return bool(np.any(self.times >= 0))

    def boundaries(self, x: Array) -> Array:
        """(sections+1,) times of the ends of sections."""
        return np.where(self.times >= 0, x[self.times], self.fixed_times)


def joined_interval(layout: Layout, section: int, end: int) -> tuple[int | None, Array, Array]:
    """The rate node at an end (0 or 1) of a section, or None; and how values there follow.

    Returns
    -------
    node, rates, weights:
        The number of the rate node; the rate nodes of the interval there, and what each counts
        in a control's value at that end.
    """
    own = [i for i in layout.intervals if i.section == section]
    interval = own[-1 if end else 0]
    nodes = layout.scheme.basis(interval.degree).rates
    at = np.flatnonzero(np.abs(nodes - end) < 1e-12)
    weights = lagrange_values(nodes, np.array([float(end)]))[0]
    return (int(interval.rates[at[0]]) if len(at) else None), interval.rates, weights


class Rows:
    """Collects rows of the program: linear entries, bounds and what to call them."""

    def __init__(self) -> None:
        self.count = 0
        self.groups: list[RowGroup] = []
        self.lower: list[Array] = []
        self.upper: list[Array] = []
        self.scale: list[Array] = []
        self.entries: list[tuple[Array, Array, Array]] = []

    def add(
        self,
        kind: str,
        phase: str,
        names: Sequence[str],
        units: Sequence[str],
        places: Array,
        lower: Array,
        upper: Array,
        scale: Array,
    ) -> Array:
        """Rows for each place and name; (places, names) their numbers."""
        n = max(1, len(places))
        rows = self.count + np.arange(n * len(names)).reshape(n, len(names))
        self.groups.append(
            RowGroup(kind, phase, tuple(names), tuple(units), self.count, np.asarray(places))
        )
        self.count += rows.size
        for target, value in ((self.lower, lower), (self.upper, upper), (self.scale, scale)):
            target.append(np.broadcast_to(value, rows.shape).ravel())
        return rows

    def linear(self, rows: Array, columns: Array, values: Array) -> None:
        """Entries of the linear part (broadcast against each other)."""
        r, c, v = np.broadcast_arrays(rows, columns, values)
        self.entries.append((r.ravel(), c.ravel(), v.ravel()))


def direct(
    numbers: Array, offset: int, ny: int, row: list[Array], place: list[Array], weight: list[Array]
) -> None:
    """Outputs ``offset`` on of every node, straight to rows of their own."""
    n, m = numbers.shape
    row.append(numbers.ravel())
    place.append((np.arange(n)[:, None] * ny + offset + np.arange(m)).ravel())
    weight.append(np.ones(n * m))


def joined(parts: Sequence[Array]) -> Array:
    """All of some arrays, one after another."""
    return np.concatenate(parts) if parts else np.empty(0)
