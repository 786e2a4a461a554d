"""Controls and algebraic variables of a motion at one time after another, quickly.

An integrator asks for one time at a call, thousands of times; the polynomials on the
intervals are then evaluated by the second barycentric formula.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .trajectory import PhaseTrajectory

Array: TypeAlias = np.ndarray


class Interpolant:
    """What a motion holds at its rate nodes, as a function of time.

    Parameters
    ----------
    motion:
        The motion.
    what:
        "controls" or "algebraics".
    """

    def __init__(self, motion: PhaseTrajectory, what: str = "controls") -> None:
        table = motion.controls if what == "controls" else motion.algebraics
        self._within_bounds = motion.applied if what == "controls" else _unchanged
        self._edges = motion.edges
        self._pieces = []
        for interval, start, width in zip(
            motion.layout.intervals, motion.edges[:-1], np.diff(motion.edges), strict=True
        ):
            nodes = motion.layout.scheme.basis(interval.degree).rates
            gaps = nodes[:, None] - nodes + np.eye(len(nodes))
            self._pieces.append(
                (start + width * nodes, 1.0 / gaps.prod(axis=1), table[interval.rates])
            )

    def __call__(self, time: float) -> Array:
        """(n,) values; of the later interval at an edge."""
        k = int(np.searchsorted(self._edges, time, side="right")) - 1
        return self.within(min(max(k, 0), len(self._pieces) - 1), time)

    def within(self, interval: int, time: float) -> Array:
        """(n,) values of the polynomial of one interval."""
        nodes, weights, values = self._pieces[interval]
        gaps = time - nodes
        near = np.flatnonzero(gaps == 0.0)
        if len(near):
            return np.asarray(values[near[0]])
        shares = weights / gaps
        return self._within_bounds(np.asarray(shares @ values / shares.sum()))


def _unchanged(values: Array) -> Array:
    return values
