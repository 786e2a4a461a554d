"""The rollouts of the generated C once more in Python, for robots without a compiler.

The same methods, constants and step control as ``<model>_rollout_f64.c``:
classical Runge–Kutta 4, and Dormand and Prince's pair 5(4) with Gustafsson's
PI controller (E. Hairer, S. P. Nørsett and G. Wanner, *Solving Ordinary
Differential Equations I*, section II.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Rates: TypeAlias = Callable[[Array, Array, Array], tuple[int, Array, Array]]

OK, SINGULAR, NOT_FINITE, STEP_LIMIT = range(4)

STAGES = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
"""Weights of stages 2 to 7; the last row is also the result of order 5."""

ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
"""Weights of the difference between the results of order 5 and 4."""


class _System:
    """State (q, p) in one array, as the integrators see it."""

    def __init__(self, rates: Rates, size_q: int, quaternions: Sequence[slice]) -> None:
        self._rates, self._size_q, self._quaternions = rates, size_q, quaternions
        self.evaluations = 0

    def rates(self, state: Array, u: Array) -> tuple[int, Array]:
        """Status and rates of change."""
        self.evaluations += 1
        status, q_dot, p_dot = self._rates(state[: self._size_q], state[self._size_q :], u)
        return status, np.concatenate([q_dot, p_dot])

    def normalise(self, state: Array) -> None:
        """Scale quaternions back to unit length."""
        for place in self._quaternions:
            norm = np.sqrt((state[place] ** 2).sum())
            if norm > 0:
                state[place] /= norm


def rk4(
    rates: Rates,
    q0: Array,
    p0: Array,
    u: Array,
    dt: float,
    q: Array,
    p: Array,
    quaternions: Sequence[slice] = (),
) -> int:
    """Fixed steps; ``u`` has a row for each, ``q`` and ``p`` one more.  Returns the status."""
    system = _System(rates, q0.size, quaternions)
    state = np.concatenate([q0, p0])
    q[0], p[0] = q0, p0
    for step, held in enumerate(u[: len(q) - 1]):
        with np.errstate(all="ignore"):
            status, slope = system.rates(state, held)
            total = slope / 6
            for reach, share in ((0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
                if status != OK:
                    return status
                status, slope = system.rates(state + dt * reach * slope, held)
                total += share * slope
            state = state + dt * total
            system.normalise(state)
        if status != OK:
            return status
        if not np.isfinite(state).all():
            return NOT_FINITE
        q[step + 1], p[step + 1] = state[: q0.size], state[q0.size :]
    return OK


def dopri5(
    rates: Rates,
    q0: Array,
    p0: Array,
    times: Array,
    u: Array,
    tolerances: tuple[float, float, int],
    q: Array,
    p: Array,
    counts: NDArray[np.intc],
    quaternions: Sequence[slice] = (),
) -> int:
    """Adaptive steps that end exactly at the times.

    ``u[k]`` is held from ``times[k]`` on; ``tolerances`` are rtol, atol and
    the largest number of steps; ``counts`` receives accepted and rejected
    steps and evaluations.  Returns the status.
    """
    rtol, atol, max_steps = tolerances
    system = _System(rates, q0.size, quaternions)
    control = _Control(system, rtol, atol)
    state = np.concatenate([q0, p0])
    q[0], p[0] = q0, p0
    status = OK
    for row in range(1, times.size):
        with np.errstate(all="ignore"):
            status, state = control.advance(
                state, u[row - 1], times[row] - times[row - 1], max_steps
            )
        if status != OK:
            break
        q[row], p[row] = state[: q0.size], state[q0.size :]
    counts[:] = control.accepted, control.rejected, system.evaluations
    return status


class _Control:
    """Step control that lives on from one interval to the next."""

    def __init__(self, system: _System, rtol: float, atol: float) -> None:
        self.system, self.rtol, self.atol = system, rtol, atol
        self.accepted = self.rejected = 0
        self.proposal, self.last_error = 0.0, 1e-4
        self.held: Array | None = None
        self.first = np.empty(0)  # rates at the state

    def norm(self, values: Array, a: Array, b: Array) -> float:
        scale = self.atol + self.rtol * np.maximum(np.abs(a), np.abs(b))
        return float(np.sqrt(((values / scale) ** 2).sum() / values.size))

    def advance(self, state: Array, u: Array, span: float, max_steps: int) -> tuple[int, Array]:
        """Integrate over one interval with held inputs."""
        length, direction = abs(span), -1.0 if span < 0 else 1.0
        if self.held is None or (u.size and not np.array_equal(u, self.held)):
            status, self.first = self.system.rates(state, u)
            if status == OK and not (np.isfinite(state).all() and np.isfinite(self.first).all()):
                status = NOT_FINITE
            if status != OK:
                return status, state
            self.held = u
        if not self.proposal > 0:
            self.proposal = self.first_step(state, u, direction)
        done, just_rejected = 0.0, False
        while done < length:
            left = length - done
            lands = self.proposal * 1.01 >= left
            shortened = lands or 2 * self.proposal > left
            step = left if lands else 0.5 * left if shortened else self.proposal
            if self.accepted + self.rejected >= max_steps:
                return STEP_LIMIT, state
            status, new, slopes = self.try_step(state, u, direction * step)
            error, growth = 2.0, 0.2
            if status == OK:
                found = self.norm(direction * step * (ERROR @ slopes), state, new)
                if found < np.inf:
                    error = found
                    growth = 0.9 * self.last_error**0.04 / max(error, 1e-30) ** 0.17
                    growth = min(max(growth, 0.2), 10.0)
            if error <= 1.0:
                wanted = step * (1.0 if just_rejected and growth > 1 else growth)
                self.accepted += 1
                done = length if lands else done + step
                if not shortened:
                    self.last_error = max(error, 1e-4)
                    self.proposal = wanted
                elif wanted > self.proposal:
                    self.proposal = wanted
                just_rejected = False
                state, self.first = new, slopes[6]  # first same as last
                self.system.normalise(state)
            else:
                self.rejected += 1
                just_rejected = True
                self.proposal = step * min(growth, 0.9)
                if self.proposal <= 16 * 2.0**-52 * length:
                    return (STEP_LIMIT if status == OK else status), state
        return OK, state

    def try_step(self, state: Array, u: Array, step: float) -> tuple[int, Array, Array]:
        """Status, new state, and the seven slopes of one step."""
        slopes = np.zeros((7, state.size))
        slopes[0] = self.first
        new = state
        for k in range(6):
            new = state + step * (STAGES[k, : k + 1] @ slopes[: k + 1])
            status, slopes[k + 1] = self.system.rates(new, u)
            if status != OK:
                return status, new, slopes
        finite = np.isfinite(new).all() and np.isfinite(slopes[6]).all()
        return (OK if finite else NOT_FINITE), new, slopes

    def first_step(self, state: Array, u: Array, direction: float) -> float:
        """Size of the first step, from the first and second derivative."""
        d0 = self.norm(state, state, state)
        d1 = self.norm(self.first, state, state)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        status, rates = self.system.rates(state + direction * h0 * self.first, u)
        if status != OK:
            return h0
        steepest = max(self.norm(rates - self.first, state, state) / h0, d1)
        h1 = (0.01 / steepest) ** 0.2 if steepest > 1e-15 else 1e-3 * h0
        return min(max(h1, 1e-6), 100 * h0)
