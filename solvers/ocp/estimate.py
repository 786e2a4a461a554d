"""How well a motion obeys its equations *between* the nodes, interval by interval.

The polynomials of the solution are put into the differential equations at Gauss
points that the solver never saw.  With the defect r = f(x, u) - x', the error of
an interval is the largest of its running integral, relative to the size of each
state: what re-integrating the interval from its own start would change, to first
order.  Algebraic variables are solved for anew at each point, so implicit
dynamics are judged by their accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.polynomial import legendre

from .cost_error import Prices
from .functions import PhaseFunctions
from .schemes import lagrange_integrals
from .trajectory import PhaseTrajectory

Array: TypeAlias = np.ndarray

EXTRA_POINTS = 2
NEWTON_STEPS = 8
STILL = 1e-2
"""A control that changes by a smaller part of its size does not change."""


class _Mapped:
    """A CasADi function at many points, on NumPy's own memory: no conversions in a loop."""

    def __init__(self, function: ca.Function, count: int) -> None:
        many = function if count == 1 else function.map(count)
        self._buffer, self._trigger = many.buffer()
        sizes = [function.nnz_in(k) for k in range(function.n_in())]
        self._inputs = [np.zeros((count, size)) for size in sizes]
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg,arg-type]
        self._shapes = [(count, function.nnz_out(k)) for k in range(function.n_out())]

    def __call__(self, *values: Array) -> list[Array]:
        for own, value in zip(self._inputs, values, strict=True):
            own[...] = np.asarray(value).reshape(own.shape)
        results = [np.empty(shape) for shape in self._shapes]
        for k, array in enumerate(results):
            self._buffer.set_res(k, memoryview(array))  # type: ignore[call-arg,arg-type]
        self._trigger()
        return results


class Evaluator:
    """Rates of a phase at many points at once, algebraic variables solved for."""

    def __init__(self, functions: PhaseFunctions, s: Array, p: Array, ends: tuple[float, float]):
        self.functions = functions
        self.parameters, self.constants, self.ends = s, p, ends
        self._mapped: dict[tuple[str, int], _Mapped] = {}

    def _call(self, function: ca.Function, x: Array, u: Array, z: Array, t: Array) -> list[Array]:
        """Outputs at all points, each (T, size)."""
        n = len(t)
        key = function.name(), n
        if key not in self._mapped:
            self._mapped[key] = _Mapped(function, n)
        ends = np.broadcast_to(self.ends, (n, 2))
        return self._mapped[key](
            x,
            u,
            z,
            np.broadcast_to(self.parameters, (n, len(self.parameters))),
            np.broadcast_to(self.constants, (n, len(self.constants))),
            t,
            ends[:, 0],
            ends[:, 1],
        )

    def all(self, x: Array, u: Array, z: Array, t: Array) -> dict[str, Array]:
        """Rates, equations, paths, integrands and cost integrand: (T, ...) arrays."""
        found = self._call(self.functions.explicit, x, u, z, t)
        names = ("rates", "equations", "paths", "integrands", "cost")
        return dict(zip(names, found, strict=True))

    def solve_algebraics(self, x: Array, u: Array, z: Array, t: Array) -> Array:
        """Algebraic variables that satisfy the equations, by Newton's method from ``z``."""
        nz = z.shape[1]
        if not nz:
            return z
        for _ in range(NEWTON_STEPS):
            residual = self.all(x, u, z, t)["equations"]
            (slopes,) = self._call(self.functions.equation_slopes, x, u, z, t)
            matrices = slopes.reshape(len(t), nz, nz).transpose(0, 2, 1)  # column-major
            try:
                step = np.linalg.solve(matrices, residual[..., None])[..., 0]
            except np.linalg.LinAlgError:
                return np.full_like(z, np.nan)
            z = z - step
            if np.max(np.abs(step) / (1 + np.abs(z)), initial=0.0) < 1e-12:
                break
        return z

    def rates(self, x: Array, u: Array, z: Array, t: Array) -> Array:
        """(T, nx) rates with algebraic variables solved for."""
        own = self.functions.phase.explicit_rates
        if own is not None:
            return np.asarray(own(x, u, self.parameters, self.constants, t))
        return self.all(x, u, self.solve_algebraics(x, u, z, t), t)["rates"]


@dataclass(frozen=True)
class IntervalErrors:
    """Measures of the intervals of a phase.

    Attributes
    ----------
    dynamics:
        (N, nx) relative error of each state.
    cost:
        (N,) error of the cost integral, relative to the size of the cost, or of another
        integral, relative to its own size: the larger.
    overshoot:
        (N,) largest relative violation of bounds and path constraints between nodes.
    worst_overshoot:
        Name of what overshoots most in each interval, or "".
    suboptimality:
        (N,) square of what is missing of the controls' polynomials, relative to their range,
        times the part of the phase that the interval takes: to first order nothing is lost
        by a control that is off by little, so this is what a cost may lose.
    cost_gap:
        (N,) what the cost would change by if the motion followed its equations and integrals
        were exact, in the unit of the cost; see :mod:`.cost_error`.
    """

    dynamics: Array
    cost: Array
    overshoot: Array
    worst_overshoot: list[str]
    suboptimality: Array
    cost_gap: Array


def state_sizes(motion: PhaseTrajectory, scale: Array) -> Array:
    """(nx,) sizes that errors of the states are measured by."""
    return np.asarray(np.maximum(np.max(np.abs(motion.states), axis=0), 0.01 * scale))


def interval_errors(
    evaluator: Evaluator,
    motion: PhaseTrajectory,
    scale: Array,
    cost_size: float,
    path_sizes: Array | None = None,
    price: Prices | None = None,
) -> IntervalErrors:
    """Errors of all intervals of a phase.

    Parameters
    ----------
    evaluator, motion:
        The phase's equations and its motion.
    scale:
        (nx,) scales of the states.
    cost_size:
        Size of the cost.
    path_sizes:
        (np,) scales of the path constraints; their largest values by default.
    price:
        Costates; without them the gap of the cost is not known (NaN).
    """
    functions, layout = evaluator.functions, motion.layout
    count = len(layout.intervals)
    widths = np.diff(motion.edges)
    sizes = state_sizes(motion, scale)
    dynamics = np.zeros((count, len(functions.states)))
    cost = np.zeros(count)
    cost_gap = np.zeros(count) if price is not None else np.full(count, np.nan)
    quadratures, sizes_of = {}, {}
    if functions.phase.cost_integrals:
        quadratures["cost"], sizes_of["cost"] = _quadrature(evaluator, motion, "cost"), cost_size
    if functions.phase.integrals:
        found = _quadrature(evaluator, motion, "integrands")
        quadratures["integrands"] = found
        sizes_of["integrands"] = np.maximum(np.sum(np.abs(found), axis=0), 1e-8)
    degrees = np.array([i.degree for i in layout.intervals])
    for degree in np.unique(degrees):
        own = np.flatnonzero(degrees == degree)
        points = max(degree, 2) + EXTRA_POINTS
        nodes, weights = legendre.leggauss(points)
        nodes, weights = (nodes + 1) / 2, weights / 2
        sampled = {
            k: motion.on_intervals(nodes, k, own)
            for k in ("states", "controls", "algebraics", "rates")
        }
        times = motion.edges[own][:, None] + widths[own][:, None] * nodes
        flat = {k: v.reshape(len(own) * points, -1) for k, v in sampled.items()}
        x, u, z, t = flat["states"], flat["controls"], flat["algebraics"], times.ravel()
        defect = (evaluator.rates(x, u, z, t) - flat["rates"]).reshape(len(own), points, -1)
        running = lagrange_integrals(nodes, np.append(nodes, 1.0))
        drift = widths[own][:, None, None] * np.einsum("jk,ikn->ijn", running, defect)
        dynamics[own] = np.max(np.abs(drift), axis=1) / sizes
        fine = evaluator.all(x, u, z, t)
        for name, size in sizes_of.items():
            exact = np.einsum("ijk,j->ik", fine[name].reshape(len(own), points, -1), weights)
            gap = widths[own][:, None] * exact - quadratures[name][own]
            cost[own] = np.maximum(cost[own], np.max(np.abs(gap) / size, axis=1))
            if price is not None:
                cost_gap[own] += gap @ (
                    np.ones(gap.shape[1]) if name == "cost" else price.integrals
                )
        if price is not None:
            costate = np.stack([price.at(int(k), nodes) for k in own])
            cost_gap[own] += widths[own] * np.einsum("j,ijk,ijk->i", weights, costate, defect)
    bad = ~np.isfinite(dynamics)
    dynamics[bad] = np.inf
    overshoot, names = _overshoots(evaluator, motion, sizes, path_sizes)
    return IntervalErrors(
        dynamics,
        np.where(np.isfinite(cost), cost, np.inf),
        overshoot,
        names,
        _suboptimality(motion),
        cost_gap,
    )


def _quadrature(evaluator: Evaluator, motion: PhaseTrajectory, name: str) -> Array:
    """(N, n) integrals over the intervals as the scheme has them: "cost" or "integrands"."""
    layout = motion.layout
    widths = np.diff(motion.edges)
    if layout.scheme.shoots:
        return _shooting_quadrature(evaluator, motion, name)
    times = layout.rate_times(motion.boundaries)
    values = evaluator.all(
        motion.states[layout.rate_state], motion.controls, motion.algebraics, times
    )[name]
    return np.array(
        [
            widths[k] * layout.scheme.basis(item.degree).weights @ values[item.rates]
            for k, item in enumerate(layout.intervals)
        ]
    )


def _shooting_quadrature(evaluator: Evaluator, motion: PhaseTrajectory, name: str) -> Array:
    """Simpson's rule on the steps, as the Runge-Kutta steps integrate."""
    steps = motion.layout.scheme.degree
    places = np.linspace(0, 1, 2 * steps + 1)
    weights = np.ones(2 * steps + 1) / (6 * steps)
    weights[1::2] *= 4
    weights[2:-1:2] *= 2
    widths = np.diff(motion.edges)
    x, u, z = (
        motion.on_intervals(places, k).reshape(len(widths) * len(places), -1)
        for k in ("states", "controls", "algebraics")
    )
    t = (motion.edges[:-1, None] + widths[:, None] * places).ravel()
    values = evaluator.all(x, u, z, t)[name].reshape(len(widths), len(places), -1)
    return np.asarray(widths[:, None] * np.einsum("ijk,j->ik", values, weights))


def _overshoots(
    evaluator: Evaluator, motion: PhaseTrajectory, sizes: Array, path_sizes: Array | None
) -> tuple[Array, list[str]]:
    """Largest relative violation of limits between nodes, and of what."""
    functions, layout = evaluator.functions, motion.layout
    count = len(layout.intervals)
    places = np.linspace(0.0, 1.0, 2 * max(i.degree for i in layout.intervals) + 3)
    worst, names = np.zeros(count), [""] * count

    def consider(values: Array, low: float, high: float, size: float, name: str) -> None:
        outside = np.maximum(low - values, values - high).max(axis=1) / size
        for k in np.flatnonzero(outside > worst):
            worst[k], names[k] = outside[k], name

    x = motion.on_intervals(places, "states")
    u = motion.on_intervals(places, "controls")
    for values, variables, measure in ((x, functions.states, sizes), (u, functions.controls, None)):
        for k, variable in enumerate(variables):
            low, high = variable.bounds
            if np.isfinite(low) or np.isfinite(high):
                size = measure[k] if measure is not None else _range(low, high, values[..., k])
                consider(values[..., k], low, high, size, variable.name)
    if functions.phase.paths:
        z = motion.on_intervals(places, "algebraics")
        t = motion.edges[:-1, None] + np.diff(motion.edges)[:, None] * places
        n = count * len(places)
        found = evaluator.all(x.reshape(n, -1), u.reshape(n, -1), z.reshape(n, -1), t.ravel())[
            "paths"
        ].reshape(count, len(places), -1)
        for k, path in enumerate(functions.phase.paths):
            low, high = path.bounds
            size = _range(low, high, found[..., k])
            if path_sizes is not None and (low == high or not np.isfinite(high - low)):
                size = max(size, float(path_sizes[k]))  # where it is zero it has no size
            consider(found[..., k], low, high, size, path.name)
    return worst, names


def _range(low: float, high: float, values: Array) -> float:
    """Size of a quantity: its range if it has one, else its largest value."""
    if np.isfinite(low) and np.isfinite(high) and high > low:
        return high - low
    finite = values[np.isfinite(values)]
    return max(float(np.max(np.abs(finite), initial=0.0)), 1e-3)


def control_ranges(values: Array) -> Array:
    """(nu,) ranges of controls; one that hardly changes is measured by its size."""
    spread = np.maximum(np.ptp(values, axis=0), STILL * np.max(np.abs(values), axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _suboptimality(motion: PhaseTrajectory) -> Array:
    """(N,) see :class:`IntervalErrors`."""
    layout = motion.layout
    result = np.zeros(len(layout.intervals))
    if layout.scheme.shoots or not motion.controls.shape[1]:
        return result
    spread = control_ranges(motion.controls)
    shares = np.diff(motion.edges) / (motion.end - motion.start)
    for k, interval in enumerate(layout.intervals):
        nodes = layout.scheme.basis(interval.degree).rates
        if len(nodes) < 3:
            continue  # too few to tell what is missing
        vandermonde = legendre.legvander(2 * nodes - 1, len(nodes) - 1)
        coefficients = np.abs(np.linalg.solve(vandermonde, motion.controls[interval.rates]))
        last, before = coefficients[-1], np.maximum(coefficients[-2], 1e-300)
        missing = last * np.minimum(1.0, last / before) / spread
        result[k] = shares[k] * float(np.max(missing)) ** 2
    return result
