"""Reference motions of single coordinates: functions of time for a tracker.

A reference returns (position, rate, acceleration) at time t [s]; the three
belong together, each the derivative of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Jet: TypeAlias = tuple[float, float, float]
"""A value with its first and second derivative."""

Reference: TypeAlias = Callable[[float], Jet]

_PAIRS = (("alpha", "beta"), ("u", "w"))
"""The two bending coordinates of a segment: angles of each link, or of a whole arc."""


def hold(position: float) -> Reference:
    """Stay at a position."""
    return lambda t: (float(position), 0.0, 0.0)


def smooth_cycle(
    amplitude: float,
    period: float,
    phase: float = 0.0,
    ramp: float = 0.5,
    stop: float | None = None,
) -> Reference:
    """A sine that grows from rest and, given ``stop``, comes back to rest there.

    amplitude · s(t/ramp) · s((stop − t)/ramp) · sin(2π t/period + phase) with the
    quintic step s(x) = 10x³ − 15x⁴ + 6x⁵: position, rate and acceleration are
    continuous everywhere.  With ``ramp`` 0 the sine is there from the start.
    Times in seconds, angles in radians.

    Raises
    ------
    ValueError
        If the period is not positive or the ramp negative.
    """
    if not (np.isfinite(period) and period > 0):
        raise ValueError(f"period must be a positive number of seconds, got {period!r}")
    if not ramp >= 0:
        raise ValueError(f"ramp must not be negative, got {ramp!r} s")
    omega = 2 * np.pi / period

    def law(t: float) -> Jet:
        wave = (
            np.sin(omega * t + phase),
            omega * np.cos(omega * t + phase),
            -(omega**2) * np.sin(omega * t + phase),
        )
        value, rate, acceleration = _product(_envelope(t, ramp, stop), wave)
        return float(amplitude * value), float(amplitude * rate), float(amplitude * acceleration)

    return law


def conical_motion(
    robot: Any,
    bending: float,
    frequency: float,
    *,
    phase: float = 0.0,
    lag: float = 0.0,
    ramp: float = 0.0,
    stop: float | None = None,
) -> dict[str, Reference]:
    """Every segment of a tail bends by the same angle, in a plane that turns steadily.

    (about x, about z) = bending · (cos φ, sin φ) with φ = 2π frequency t + phase:
    for arcs the coordinates (u, w); for rigid links (alpha, beta), shared evenly
    by the links of a segment.

    Parameters
    ----------
    robot:
        A robot with coordinates ``alpha_1``, ``beta_1`` … or ``u_1``, ``w_1`` …
    bending:
        Of each segment [rad].
    frequency:
        Turns per second [Hz]; negative turns the other way.
    phase, lag:
        Direction of the first segment at t = 0, and how far each further
        segment is behind the one before [rad].
    ramp, stop:
        As in :func:`smooth_cycle`: growing from, and returning to, the straight tail.

    Returns
    -------
    dict
        Coordinate name → reference.

    Raises
    ------
    ValueError
        If the robot has no such tail or the frequency is 0.
    """
    if not np.isfinite(frequency) or frequency == 0:
        raise ValueError(f"frequency must be a number of Hz other than 0, got {frequency!r}")
    names = [c.name for c in robot.coordinates]
    references: dict[str, Reference] = {}
    sense, period = float(np.sign(frequency)), 1 / abs(frequency)
    for about_x, about_z in _PAIRS:
        numbers = [int(m[1]) for n in names if (m := re.fullmatch(rf"{about_x}_(\d+)", n))]
        for k in numbers:
            if f"{about_z}_{k}" not in names:
                continue
            start = sense * (phase - lag * (k - min(numbers)))
            size = bending / segment_links(robot, k)
            cosine = smooth_cycle(size, period, start + np.pi / 2, ramp, stop)
            references[f"{about_x}_{k}"] = cosine
            references[f"{about_z}_{k}"] = smooth_cycle(sense * size, period, start, ramp, stop)
    if not references:
        raise ValueError(
            f"{robot.name} has no bending segments (alpha_1, beta_1 … or u_1, w_1 …); "
            f"its coordinates are {', '.join(names)}"
        )
    return references


def held_bend(
    robot: Any, bending: Mapping[int, tuple[float, float]], *, rise: float
) -> dict[str, Reference]:
    """Segments of a tail bend within ``rise`` seconds and stay bent.

    Parameters
    ----------
    robot:
        As for :func:`conical_motion`.
    bending:
        Segment number (from 1) → bending of the whole segment about x and z [rad];
        segments without an entry get no reference.
    rise:
        Time of the quintic rise from the straight tail [s].

    Raises
    ------
    ValueError
        If the robot has no such segment or ``rise`` is not positive.
    """
    if not rise > 0:
        raise ValueError(f"rise must be positive, got {rise!r} s")
    names = [c.name for c in robot.coordinates]
    references: dict[str, Reference] = {}
    for segment, angles in bending.items():
        pair = next((p for p in _PAIRS if all(f"{axis}_{segment}" in names for axis in p)), None)
        if pair is None:
            raise ValueError(f"{robot.name} has no tail segment {segment!r}")
        for axis, angle in zip(pair, angles, strict=True):
            references[f"{axis}_{segment}"] = _rising(angle / segment_links(robot, segment), rise)
    return references


def _rising(target: float, rise: float) -> Reference:
    def law(t: float) -> Jet:
        value, rate, acceleration = _step(t / rise)
        return target * value, target * rate / rise, target * acceleration / rise**2

    return law


def segment_links(robot: Any, segment: int) -> int:
    """Links of a tail segment that share its angles; 1 for an arc."""
    nodes = (n["name"] for n in robot.meta["nodes"])
    named = sum(bool(re.fullmatch(rf"link_{segment}_\d+", n)) for n in nodes)
    return named or int(robot.meta["options"].get("links", 1))  # long tails name no links


def sampled_references(
    times: ArrayLike, positions: ArrayLike, names: Sequence[str]
) -> dict[str, Reference]:
    """Cubic splines through sampled motions, held still before and after.

    Parameters
    ----------
    times:
        (T,) increasing times [s], at least two.
    positions:
        (T, m) positions, one column a name.
    names:
        The m coordinates.

    Returns
    -------
    dict
        Coordinate name → reference.  The rate is zero at both ends, so that
        position and rate are continuous also there.

    Raises
    ------
    ValueError
        If the shapes do not fit, times do not increase, or a number is not finite.
    """
    from scipy.interpolate import CubicSpline

    t, table = np.array(times, dtype=float), np.array(positions, dtype=float)
    if t.ndim != 1 or t.size < 2 or table.shape != (t.size, len(names)):
        raise ValueError(
            f"sampled references: positions must have shape (T, {len(names)}) for "
            f"{', '.join(names)} at T ≥ 2 times; got times {t.shape} and positions {table.shape}"
        )
    if not (np.isfinite(t).all() and np.isfinite(table).all()):
        raise ValueError("sampled references: times and positions must be finite")
    if not (np.diff(t) > 0).all():
        raise ValueError("sampled references: times must increase")
    spline = CubicSpline(t, table, bc_type="clamped")
    derivatives = [spline, spline.derivative(1), spline.derivative(2)]

    def column(k: int) -> Reference:
        def law(time: float) -> Jet:
            if not t[0] <= time <= t[-1]:
                return float(table[0 if time < t[0] else -1, k]), 0.0, 0.0
            position, rate, acceleration = (float(d(time)[k]) for d in derivatives)
            return position, rate, acceleration

        return law

    return {name: column(k) for k, name in enumerate(names)}


def _envelope(t: float, ramp: float, stop: float | None) -> Jet:
    """Up from zero at t = 0 and down to zero at ``stop``, each within ``ramp``."""
    if ramp == 0:
        return float(t >= 0 and (stop is None or t <= stop)), 0.0, 0.0
    rise = _step(t / ramp)
    fall = _step((stop - t) / ramp) if stop is not None else (1.0, 0.0, 0.0)
    up = (rise[0], rise[1] / ramp, rise[2] / ramp**2)
    down = (fall[0], -fall[1] / ramp, fall[2] / ramp**2)
    return _product(up, down)


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
