"""The motion of a phase as the scheme sees it: polynomials on intervals, at any time.

The state on an interval is the integral of the polynomial through its rates, the
control the polynomial through its controls: the interpolant that the defects
were written for, so that whoever samples, plots or re-simulates a solution sees
what the solver saw.  Controls may be cut off at their bounds, see :mod:`.cut_off`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from .mesh import Layout
from .schemes import lagrange_integrals, lagrange_values

Array: TypeAlias = np.ndarray


@lru_cache(maxsize=256)
def _matrix(nodes: bytes, places: bytes, integrals: bool) -> Array:
    """Lagrange polynomials (or their integrals) of some nodes at some places: asked for often."""
    evaluate = lagrange_integrals if integrals else lagrange_values
    return evaluate(np.frombuffer(nodes), np.frombuffer(places))


@dataclass(frozen=True)
class PhaseTrajectory:
    """Values of a phase at its nodes.

    Attributes
    ----------
    layout:
        The nodes.
    boundaries:
        (sections+1,) times of the ends of sections [s].
    states:
        (S, nx) at the state nodes.
    rates:
        (R, nx) time derivatives at the rate nodes; for shooting (N, 2, nx) at both
        ends of the intervals.
    controls, algebraics:
        (R, nu), (R, nz) at the rate nodes.
    control_bounds:
        (nu, 2) at which the controls are cut off; None: they are not.
    """

    layout: Layout
    boundaries: Array
    states: Array
    rates: Array
    controls: Array
    algebraics: Array
    control_bounds: Array | None = None

    @cached_property
    def edges(self) -> Array:
        """(N+1,) times of the ends of intervals."""
        return self.layout.interval_times(self.boundaries)

    @property
    def start(self) -> float:
        """First time [s]."""
        return float(self.boundaries[0])

    @property
    def end(self) -> float:
        """Last time [s]."""
        return float(self.boundaries[-1])

    def locate(self, times: Array) -> tuple[Array, Array]:
        """Interval of each time (the later one at an edge) and its place in it, 0 to 1."""
        t = np.asarray(times, dtype=float)
        k = np.clip(np.searchsorted(self.edges, t, side="right") - 1, 0, len(self.edges) - 2)
        width = np.diff(self.edges)[k]
        return k, np.clip((t - self.edges[k]) / np.where(width > 0, width, 1.0), 0.0, 1.0)

    def states_at(self, times: Array) -> Array:
        """(T, nx) states."""
        return self._evaluate(*self.locate(times), "states")

    def controls_at(self, times: Array) -> Array:
        """(T, nu) controls; at a jump the value after it."""
        return self.applied(self._evaluate(*self.locate(times), "controls"))

    def applied(self, controls: Array) -> Array:
        """Values of the controls' polynomials (..., nu), cut off at the bounds."""
        if self.control_bounds is None:
            return controls
        return np.asarray(np.clip(controls, *self.control_bounds.T))

    def algebraics_at(self, times: Array) -> Array:
        """(T, nz) algebraic variables."""
        return self._evaluate(*self.locate(times), "algebraics")

    def rates_at(self, times: Array) -> Array:
        """(T, nx) time derivatives of the state polynomials."""
        return self._evaluate(*self.locate(times), "rates")

    def on_intervals(self, places: Array, what: str, own: Array | None = None) -> Array:
        """(N, len(places), n) values at the same places of every interval (or of some).

        ``what`` is "states", "controls", "algebraics", "rates", or "polynomials" for the
        controls before they are cut off at their bounds.
        """
        if what == "controls":
            return self.applied(self.on_intervals(places, "polynomials", own))
        chosen = np.arange(len(self.layout.intervals)) if own is None else own
        places = np.ascontiguousarray(places, dtype=float)
        if self.layout.scheme.shoots:
            k = np.repeat(chosen, len(places))
            found = self._evaluate(k, np.tile(places, len(chosen)), what)
            return found.reshape(len(chosen), len(places), found.shape[1])
        items = [self.layout.intervals[int(k)] for k in chosen]
        source = {"states": self.rates, "rates": self.rates, "polynomials": self.controls}.get(
            what, self.algebraics
        )
        result = np.empty((len(chosen), len(places), source.shape[1]))
        degrees = np.array([i.degree for i in items])
        widths = np.diff(self.edges)[chosen]
        for degree in np.unique(degrees):
            same = np.flatnonzero(degrees == degree)
            nodes = self.layout.scheme.basis(int(degree)).rates
            matrix = _matrix(nodes.tobytes(), places.tobytes(), what == "states")
            values = source[np.stack([items[k].rates for k in same])]
            found = np.einsum("pk,nkx->npx", matrix, values)
            if what == "states":
                first = self.states[[items[k].states[0] for k in same]]
                found = first[:, None] + widths[same, None, None] * found
            result[same] = found
        return result

    def _evaluate(self, interval: Array, place: Array, what: str) -> Array:
        source = {"states": self.states, "rates": self.states}.get(what)
        if source is None:
            source = self.algebraics if what == "algebraics" else self.controls
        result = np.empty((len(interval), source.shape[1]))
        widths = np.diff(self.edges)
        for index in np.unique(interval):
            own = interval == index
            item = self.layout.intervals[index]
            basis = self.layout.scheme.basis(item.degree)
            c = place[own]
            if what in ("states", "rates") and self.layout.scheme.shoots:
                result[own] = self._hermite(index, c, what)
            elif what == "states":
                step = widths[index] * lagrange_integrals(basis.rates, c)
                result[own] = self.states[item.states[0]] + step @ self.rates[item.rates]
            elif what == "rates":
                result[own] = lagrange_values(basis.rates, c) @ self.rates[item.rates]
            else:
                result[own] = lagrange_values(basis.rates, c) @ source[item.rates]
        return result

    def _hermite(self, index: int, c: Array, what: str) -> Array:
        item = self.layout.intervals[index]
        h = np.diff(self.edges)[index]
        a, b = self.states[item.states[0]], self.states[item.states[-1]]
        fa, fb = self.rates[index]
        s = c[:, None]
        if what == "states":
            return np.asarray(
                (1 + 2 * s) * (1 - s) ** 2 * a
                + s * (1 - s) ** 2 * h * fa
                + s**2 * (3 - 2 * s) * b
                + s**2 * (s - 1) * h * fb
            )
        return np.asarray(
            6 * s * (s - 1) / h * (a - b) + (1 - s) * (1 - 3 * s) * fa + s * (3 * s - 2) * fb
        )
