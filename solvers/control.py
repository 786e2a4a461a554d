"""Tracking joint motions: collocated partial feedback linearization.

With the velocities split into free ones (f, no input) and actuated ones (a),

    M_ff ṗ_f + M_fa v + h_f = 0 ,     u = M_af ṗ_f + M_aa v + h_a ,

so that the actuated joints obey ṗ_a = v exactly, whatever the free part (a
floating base) does.  h = C p + F − Q(q, p, 0).  The choice
v = q̈_d + 2λ(q̇_d − q̇) + λ²(q_d − q) makes the error critically damped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray
Reference: TypeAlias = Callable[[float], tuple[Array, Array, Array]]

SETTLING_FACTOR = 5.834
"""(1 + x) e^−x = 0.02 at x = 5.834: two-percent settling of a double pole, λ = x / time."""


class JointTracker:
    """Control law u(t, q, p) that makes actuated joints follow a reference.

    Parameters
    ----------
    robot:
        A robot whose inputs each act on one single-axis joint velocity.
    references:
        Coordinate name → function of time that returns (q_d, q̇_d, q̈_d);
        actuated joints without one are held at ``rest``.
    settling_time:
        Two-percent settling time of the tracking error [s].
    rest:
        (nq,) pose whose joint angles the other joints hold (neutral by default).

    Raises
    ------
    ValueError
        If a reference names no actuated joint or the settling time is not positive.
    """

    def __init__(
        self,
        robot: Any,
        references: Mapping[str, Callable[[float], tuple[float, float, float]]],
        settling_time: float = 0.2,
        rest: Array | None = None,
    ) -> None:
        if not settling_time > 0:
            raise ValueError(f"settling_time must be positive, got {settling_time!r} s")
        self.robot = robot
        pose = np.array(robot.neutral if rest is None else rest, dtype=float)
        self.gain = SETTLING_FACTOR / settling_time
        inputs = robot.input_matrix(pose)
        if not np.array_equal(np.sort(inputs, axis=0)[-1], np.ones(inputs.shape[1])) or (
            np.count_nonzero(inputs) != inputs.shape[1]
        ):
            raise ValueError("every input must act on exactly one joint velocity")
        self.actuated = inputs.argmax(axis=0)
        free = np.ones(inputs.shape[0], dtype=bool)
        free[self.actuated] = False
        self.free = np.flatnonzero(free)
        # Single-axis joints have q̇ = p: the coordinate of each actuated velocity.
        velocity_map = robot.velocity_map(pose)
        self.coordinates = velocity_map[:, self.actuated].argmax(axis=0)
        names = [robot.coordinates[k].name for k in self.coordinates]
        unknown = sorted(set(references) - set(names))
        if unknown:
            raise ValueError(
                f"no actuated joint {', '.join(unknown)}; actuated are {', '.join(names)}"
            )
        self.references = {names.index(name): law for name, law in references.items()}
        self.rest = pose[self.coordinates]

    def target(self, t: float) -> tuple[Array, Array, Array]:
        """(q_d, q̇_d, q̈_d) of the actuated joints at time t, in the order of the inputs."""
        position, rate = self.rest.copy(), np.zeros(len(self.rest))
        acceleration = np.zeros(len(self.rest))
        for k, law in self.references.items():
            position[k], rate[k], acceleration[k] = law(t)
        return position, rate, acceleration

    def __call__(self, t: float, q: Array, p: Array) -> Array:
        """Inputs (nu,) at time t and state (q, p)."""
        position, rate, acceleration = self.target(t)
        mass, coriolis, force = self.robot.equations_of_motion(q, p)
        passive = self.robot.generalized_forces(q, p, np.zeros(len(self.actuated)))
        bias = coriolis @ p + force - passive
        a, f = self.actuated, self.free
        wanted = (
            acceleration
            + 2 * self.gain * (rate - p[a])
            + self.gain**2 * (position - q[self.coordinates])
        )
        base = np.linalg.solve(mass[np.ix_(f, f)], -(bias[f] + mass[np.ix_(f, a)] @ wanted))
        result: Array = mass[np.ix_(a, f)] @ base + mass[np.ix_(a, a)] @ wanted + bias[a]
        return result


def smooth_cycle(
    amplitude: float,
    period: float,
    phase: float = 0.0,
    ramp: float = 0.5,
    stop: float | None = None,
) -> Callable[[float], tuple[float, float, float]]:
    """A sine that grows from rest and, given ``stop``, comes back to rest there.

    amplitude · s(t/ramp) · s((stop − t)/ramp) · sin(2π t/period + phase) with the
    quintic step s(x) = 10x³ − 15x⁴ + 6x⁵: position, rate and acceleration are
    continuous everywhere.  Times in seconds, angles in radians.
    """
    omega = 2 * np.pi / period

    def law(t: float) -> tuple[float, float, float]:
        rise = _step(t / ramp)
        fall = _step((stop - t) / ramp) if stop is not None else (1.0, 0.0, 0.0)
        up = (rise[0], rise[1] / ramp, rise[2] / ramp**2)
        down = (fall[0], -fall[1] / ramp, fall[2] / ramp**2)
        wave = (
            np.sin(omega * t + phase),
            omega * np.cos(omega * t + phase),
            -(omega**2) * np.sin(omega * t + phase),
        )
        value, rate, acceleration = _product(_product(up, down), wave)
        return float(amplitude * value), float(amplitude * rate), float(amplitude * acceleration)

    return law


Jet: TypeAlias = tuple[float, float, float]  # a value with its first and second derivative


def _step(x: float) -> Jet:
    x = min(max(x, 0.0), 1.0)
    return (
        x**3 * (10 - 15 * x + 6 * x**2),
        30 * x**2 * (1 - x) ** 2,
        60 * x * (1 - x) * (1 - 2 * x),
    )


def _product(a: Jet, b: Jet) -> Jet:
    return (
        a[0] * b[0],
        a[1] * b[0] + a[0] * b[1],
        a[2] * b[0] + 2 * a[1] * b[1] + a[0] * b[2],
    )
