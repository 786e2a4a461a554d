"""Re-simulation: what the found controls really do, apart from the scheme that found them.

Every solve is replayed twice with Runge-Kutta steps that are halved until they
agree: *per segment*, each interval from the solution's own state at its start,
and *open loop*, from the first state to the end.  An unstable system may have a
large open-loop error however good its solution is; the error of the segments is
then the one that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from .estimate import Evaluator, state_sizes
from .interpolation import Interpolant
from .trajectory import PhaseTrajectory

Array: TypeAlias = np.ndarray

FEWEST, MOST = 2, 256
"""Steps in a segment."""
ADAPTIVE_TOLERANCE = 1e-11
"""Relative, of the open-loop replay of implicit dynamics."""
STIFF_TOLERANCE = 1e-8
"""The same where the phase is stiff."""


@dataclass(frozen=True, repr=False)
class PhaseReplay:
    """Errors of one phase, relative to the sizes of its states.

    Attributes
    ----------
    segments:
        (N, nx) at the end of each interval, from the solution's state at its start.
    open_loop:
        (N, nx) at the end of each interval, from the first state on; inf where the
        simulation has left the numbers.
    times:
        (N,) ends of the intervals [s].
    converged:
        Whether halving the steps no longer changed the segments.
    states:
        (N+1, nx) open-loop states at the ends of intervals.
    """

    segments: Array
    open_loop: Array
    times: Array
    converged: bool
    states: Array

    def __repr__(self) -> str:
        accurate = "" if self.converged else ", not converged"
        return (
            f"PhaseReplay(segments to {self.worst_segment:.1e}, open loop to "
            f"{self.worst_open_loop:.1e}, {len(self.times)} intervals{accurate})"
        )

    @property
    def worst_segment(self) -> float:
        """Largest error of a segment."""
        return float(np.max(self.segments, initial=0.0))

    @property
    def worst_open_loop(self) -> float:
        """Largest open-loop error."""
        return float(np.max(self.open_loop, initial=0.0))


def replay(
    evaluators: Sequence[Evaluator],
    motions: Sequence[PhaseTrajectory],
    scales: Sequence[Array],
    accuracy: float,
) -> list[PhaseReplay]:
    """Re-simulate all phases.

    Parameters
    ----------
    evaluators, motions:
        Equations and motion of each phase.
    scales:
        (nx,) scales of the states of each phase.
    accuracy:
        Relative change at which steps need not be halved again.
    """
    return [
        _phase(e, m, state_sizes(m, s), accuracy)
        for e, m, s in zip(evaluators, motions, scales, strict=True)
    ]


def _phase(
    evaluator: Evaluator, motion: PhaseTrajectory, sizes: Array, accuracy: float
) -> PhaseReplay:
    starts = motion.layout.interval_starts
    edges = motion.states[starts]
    steps, before, converged = FEWEST, None, False
    stepper = _Stepper(evaluator, motion, sizes)
    found: Array | None = None
    if stepper.stiff:
        found = stepper.stiff_segments(edges[:-1])
    elif stepper.calls_are_dear:
        found = stepper.adaptive_segments(edges[:-1])
    while found is None:
        ends = stepper.segments(edges[:-1], steps)
        if before is not None:
            change = np.max(np.abs(ends - before) / sizes, initial=0.0)
            if np.isfinite(change) and change < accuracy:
                ends = ends + (ends - before) / 15  # Richardson: the order is 4
                converged = True
                break
        if steps >= MOST:
            break
        before, steps = ends, 2 * steps
    if found is not None:
        ends, converged = found, True
    segments = np.abs(ends - edges[1:]) / sizes
    states = stepper.open_loop(edges[0], steps)
    gaps = np.abs(states[1:] - edges[1:]) / sizes
    return PhaseReplay(
        np.where(np.isfinite(segments), segments, np.inf),
        np.where(np.isfinite(gaps), gaps, np.inf),
        motion.edges[1:],
        converged,
        states,
    )


class _Stepper:
    """Runge-Kutta steps on the intervals of a motion, with its controls."""

    def __init__(self, evaluator: Evaluator, motion: PhaseTrajectory, sizes: Array) -> None:
        self._evaluator, self._motion, self._sizes = evaluator, motion, sizes
        self._tables: dict[int, Any] = {}

    def _table(self, steps: int) -> tuple[Array, Array, Array, Array]:
        """Controls, algebraics and times at ends and middles of all steps, and the step lengths."""
        if steps not in self._tables:
            places = np.linspace(0.0, 1.0, 2 * steps + 1)
            motion = self._motion
            u = motion.on_intervals(places, "controls")
            z = motion.on_intervals(places, "algebraics")
            widths = np.diff(motion.edges)
            t = motion.edges[:-1, None] + widths[:, None] * places
            self._tables[steps] = u, z, t, widths / steps
        found: tuple[Array, Array, Array, Array] = self._tables[steps]
        return found

    def segments(self, x: Array, steps: int) -> Array:
        """(N, nx) ends of all intervals from their starts, all intervals at once."""
        if not self.calls_are_dear:
            return self._mapped(x, steps)
        u, z, t, h = self._table(steps)
        for k in range(steps):
            x = self._step(
                x,
                [u[:, 2 * k + j] for j in range(3)],
                [z[:, 2 * k + j] for j in range(3)],
                [t[:, 2 * k + j] for j in range(3)],
                h[:, None],
            )
            if not np.any(np.isfinite(x)):
                break
        return x

    def open_loop(self, x: Array, steps: int) -> Array:
        """(N+1, nx) states at the ends of intervals, one after another."""
        return self._adaptive(x) if self.calls_are_dear else self._rolled(x, steps)

    @property
    def calls_are_dear(self) -> bool:
        """Whether rates come from Python or from solving equations: few long steps pay then."""
        functions = self._evaluator.functions
        return functions.z.numel() > 0 or functions.phase.explicit_rates is not None

    @property
    def stiff(self) -> bool:
        """Whether explicit steps would have to be far shorter than the motion asks for."""
        return self._evaluator.functions.phase.stiff

    def stiff_segments(self, x: Array) -> Array | None:
        """(N, nx) ends of all intervals, by implicit steps; None if that fails."""
        found = np.array([self._integrate(n, state) for n, state in enumerate(x)])
        return found if np.all(np.isfinite(found)) else None

    def _integrate(self, number: int, x: Array) -> Array:
        """State at the end of an interval from its start; NaN if that fails."""
        from scipy.integrate import solve_ivp

        motion, rates = self._motion, self._evaluator.rates
        u, z = Interpolant(motion, "controls"), Interpolant(motion, "algebraics")

        def rate(time: float, state: Array) -> Array:
            found = rates(
                state[None],
                u.within(number, time)[None],
                z.within(number, time)[None],
                np.array([time]),
            )
            return np.asarray(found[0])

        tolerance = STIFF_TOLERANCE if self.stiff else ADAPTIVE_TOLERANCE
        with np.errstate(all="ignore"):
            made = solve_ivp(
                rate,
                (motion.edges[number], motion.edges[number + 1]),
                x,
                method="LSODA" if self.stiff else "DOP853",
                rtol=tolerance,
                atol=tolerance * self._sizes,
            )
        return made.y[:, -1] if made.success else np.full_like(x, np.nan)

    def adaptive_segments(self, x: Array) -> Array | None:
        """(N, nx) ends of all intervals at once, by steps of high order; None if that fails."""
        from scipy.integrate import solve_ivp

        motion, rates = self._motion, self._evaluator.rates
        u, z = Interpolant(motion, "controls"), Interpolant(motion, "algebraics")
        starts, widths = motion.edges[:-1], np.diff(motion.edges)

        def rate(place: float, flat: Array) -> Array:
            t = starts + place * widths
            held = np.array([u.within(n, time) for n, time in enumerate(t)])
            near = np.array([z.within(n, time) for n, time in enumerate(t)])
            found = rates(flat.reshape(x.shape), held, near, t)
            return np.asarray(widths[:, None] * found).ravel()

        with np.errstate(all="ignore"):
            made = solve_ivp(
                rate,
                (0.0, 1.0),
                x.ravel(),
                method="DOP853",
                rtol=ADAPTIVE_TOLERANCE,
                atol=np.tile(ADAPTIVE_TOLERANCE * self._sizes, len(x)),
            )
        ends = made.y[:, -1].reshape(x.shape)
        return ends if made.success and np.all(np.isfinite(ends)) else None

    def _adaptive(self, x: Array) -> Array:
        """Open loop with steps as long as they can be."""
        count = len(self._motion.edges) - 1
        found = np.full((count + 1, len(x)), np.nan)
        found[0] = x
        for n in range(count):
            found[n + 1] = self._integrate(n, found[n])
            if not np.all(np.isfinite(found[n + 1])):
                break
        return found

    def _step(
        self, x: Array, u: Sequence[Array], z: Sequence[Array], t: Sequence[Array], h: Any
    ) -> Array:
        rates = self._evaluator.rates
        with np.errstate(all="ignore"):
            k1 = rates(x, u[0], z[0], t[0])
            k2 = rates(x + h / 2 * k1, u[1], z[1], t[1])
            k3 = rates(x + h / 2 * k2, u[1], z[1], t[1])
            k4 = rates(x + h * k3, u[2], z[2], t[2])
            return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    @cached_property
    def _explicit_step(self) -> ca.Function:
        """(x, controls, times, length) -> the state after one step; explicit dynamics."""
        functions, evaluator = self._evaluator.functions, self._evaluator
        nx, nu = functions.x.numel(), functions.u.numel()
        y, held = ca.SX.sym("y", nx), ca.SX.sym("u", nu, 3)
        time, length = ca.SX.sym("t", 3), ca.SX.sym("h")

        def rate(state: ca.SX, j: int) -> ca.SX:
            return functions.explicit(
                state,
                held[:, j],
                ca.SX(0, 1),
                evaluator.parameters,
                evaluator.constants,
                time[j],
                *evaluator.ends,
            )[0]

        k1 = rate(y, 0)
        k2 = rate(y + length / 2 * k1, 1)
        k3 = rate(y + length / 2 * k2, 1)
        k4 = rate(y + length * k3, 2)
        return ca.Function(
            "step",
            [y, held, time, length],
            [y + length / 6 * (k1 + 2 * k2 + 2 * k3 + k4)],
            {"cse": True},
        )

    def _along(self, steps: int) -> tuple[Array, Array, Array]:
        """Controls, times and lengths of all steps one after another, in CasADi's order."""
        u, _, t, h = self._table(steps)
        count = len(h) * steps
        spans = 2 * np.arange(steps)[:, None] + np.arange(3)  # (steps, 3)
        return (
            u[:, spans].reshape(count * 3, u.shape[2]).T,
            t[:, spans].reshape(count, 3).T,
            np.repeat(h, steps)[None, :],
        )

    def _rolled(self, x: Array, steps: int) -> Array:
        """Open loop in CasADi's loop."""
        held, times, lengths = self._along(steps)
        count = lengths.shape[1]
        step = self._explicit_step
        rolled = step.mapaccum("replay", count) if count > 1 else step
        found = np.asarray(rolled(x, held, times, lengths))
        return np.vstack([x, found.T[steps - 1 :: steps]])

    def _mapped(self, x: Array, steps: int) -> Array:
        """All segments in CasADi's loop."""
        held, times, lengths = self._along(steps)
        one = self._explicit_step.mapaccum("segment", steps)
        every = one if len(x) == 1 else one.map(len(x))
        found = np.asarray(every(np.ascontiguousarray(x.T), held, times, lengths))
        return np.ascontiguousarray(found.T[steps - 1 :: steps])
