"""Simulating a robot: SciPy on the compiled right-hand side, or rollouts inside C.

The state is (q, p) with q̇ = V(q) p and ṗ from forward dynamics.  With SciPy
the work done by inputs and damping, ∫ pᵀQ dt, is integrated along, so that the
energy balance T + U − W is known to the tolerance of the integrator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from .results import make_result

Array: TypeAlias = np.ndarray
Control: TypeAlias = Callable[[float, Array, Array], Sequence[float] | Array]

COMPILED_METHODS = ("rk4", "dopri5")
SCIPY_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


class SimulationError(RuntimeError):
    """A motion that could not be integrated to its end."""


def simulate(
    robot: Any,
    duration: float,
    *,
    q: Sequence[float] | Array | None = None,
    p: Sequence[float] | Array | None = None,
    control: Control | Array | None = None,
    method: str = "DOP853",
    rtol: float = 1e-9,
    atol: float = 1e-12,
    samples: int = 201,
    step: float | None = None,
    period: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Integrate a robot's motion.

    Parameters
    ----------
    robot:
        From :func:`bestiary.generated.load`.
    duration:
        Length of the motion [s].
    q, p:
        Start: (nq,) coordinates (neutral pose by default) and (np,)
        quasi-velocities (rest by default).
    control:
        Function u(t, q, p) → (nu,); or an array (samples − 1, nu) held between the
        samples; zero inputs by default.
    method:
        One of SciPy's (``"DOP853"``, ``"RK45"``, ``"LSODA"`` …) or, compiled,
        ``"dopri5"`` (adaptive Dormand–Prince) and ``"rk4"`` (fixed step).
    rtol, atol:
        Tolerances of adaptive methods.
    samples:
        Number of equidistant times in the result, both ends included.
    step:
        Step of ``"rk4"`` [s]; a whole number of steps is taken between
        samples, none longer than this (default: one step a sample).
    period:
        Sample the control function at this period [s] and hold its value in
        between, as firmware does; a whole number of periods is taken between
        samples.  Compiled methods need it, SciPy's take the control as continuous.
    progress:
        Called with the fraction done, from 0 to 1.

    Returns
    -------
    xarray.Dataset
        q, p, u, kinetic_energy, potential_energy, momentum and, with SciPy's
        methods, work; see :mod:`.results`.

    Raises
    ------
    ValueError
        For a duration, method, step or control that makes no sense.
    SimulationError
        If the integrator gives up; the message says when.
    """
    start_q, start_p = _start(robot, q, p)
    if not np.isfinite(duration) or duration <= 0:
        raise ValueError(f"duration must be a positive number of seconds, got {duration!r}")
    if samples < 2:
        raise ValueError(f"samples must be at least 2 (both ends), got {samples!r}")
    times = np.linspace(0.0, float(duration), samples)
    held = _held_inputs(robot, control, samples)
    kind = "function" if callable(control) else "none" if control is None else "held"
    options = {
        "method": method,
        "rtol": rtol,
        "atol": atol,
        "step": step,
        "period": period,
        "samples": samples,
        "control": kind,
    }
    _refuse_unused(method, kind, step, period)
    if method in COMPILED_METHODS:
        work = None
        if callable(control):
            qs, ps, us = _sampled(
                robot, times, start_q, start_p, control, method, rtol, atol, step, period, progress
            )
        else:
            qs, ps = _rollout(robot, times, start_q, start_p, held, method, rtol, atol, step)
            us = _repeat_last(held)
    elif method in SCIPY_METHODS:
        law = control if callable(control) else _held_law(held, times)
        qs, ps, work = _scipy(
            robot, times, start_q, start_p, law, held, method, rtol, atol, progress
        )
        us = np.array(
            [law(t, a.copy(), b.copy()) for t, a, b in zip(times, qs, ps, strict=True)], dtype=float
        )
        if not callable(control):
            us = _repeat_last(held)
    else:
        known = ", ".join((*SCIPY_METHODS, *COMPILED_METHODS))
        raise ValueError(f"unknown method {method!r}; choose one of {known}")
    result = make_result(robot, times, qs, ps, us.reshape(samples, -1), options)
    if work is not None:
        result["work"] = (
            "time",
            work,
            {"units": "J", "long_name": "work of inputs and damping"},
        )
    return add_energy_and_momentum(robot, result)


def add_energy_and_momentum(robot: Any, result: xr.Dataset) -> xr.Dataset:
    """Add kinetic and potential energy [J] and momentum along a motion."""
    qs, ps = np.ascontiguousarray(result.q), np.ascontiguousarray(result.p)
    out = result.assign(
        kinetic_energy=("time", robot.kinetic_energy_batch(qs, ps), {"units": "J"}),
        potential_energy=("time", robot.potential_energy_batch(qs), {"units": "J"}),
    )
    parts = [f"angular_{a}" for a in "xyz"] + [f"linear_{a}" for a in "xyz"]
    return out.assign(
        momentum=(
            ("time", "momentum_part"),
            robot.momentum_batch(qs, ps),
            {"long_name": "angular about the centre of mass [kg m^2/s], linear [kg m/s]"},
        )
    ).assign_coords(momentum_part=parts)


def energy_error(result: xr.Dataset) -> xr.DataArray:
    """Energy that appeared from nowhere, T + U − W less its value at the start [J].

    Raises
    ------
    ValueError
        If the result has no ``work``: only SciPy's methods integrate it along.
    """
    if "work" not in result:
        raise ValueError(
            "the result has no work of inputs, damping and contact, so its energy balance is not "
            f"known; simulate with one of {', '.join(SCIPY_METHODS)}"
        )
    total = result.kinetic_energy + result.potential_energy - result.work
    error: xr.DataArray = total - total[0]
    return error.rename("energy_error").assign_attrs(units="J")


def _refuse_unused(method: str, control: str, step: float | None, period: float | None) -> None:
    """Refuse options that the chosen method would not use."""
    if step is not None and method != "rk4":
        raise ValueError(f"step is for method 'rk4'; {method!r} chooses its own steps")
    if period is not None and (method not in COMPILED_METHODS or control != "function"):
        raise ValueError(
            "period samples a control function inside a compiled rollout (methods "
            f"{', '.join(COMPILED_METHODS)}); here it would not be used"
        )


def _start(
    robot: Any, q: Sequence[float] | Array | None, p: Sequence[float] | Array | None
) -> tuple[Array, Array]:
    start_q = robot.neutral if q is None else q
    start_p = np.zeros(len(robot.velocities)) if p is None else p
    return (
        _vector(start_q, "q", [c.name for c in robot.coordinates]),
        _vector(start_p, "p", [v.name for v in robot.velocities]),
    )


def _vector(values: Any, label: str, names: Sequence[str]) -> Array:
    vector = np.array(values, dtype=float)
    if vector.shape != (len(names),):
        raise ValueError(
            f"simulate: {label} must have shape ({len(names)},) in the order "
            f"{', '.join(names)}; got shape {vector.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise ValueError(f"simulate: {label}[{names[bad[0]]}] is not finite")
    return vector


def _held_inputs(robot: Any, control: Control | Array | None, samples: int) -> Array:
    nu = len(robot.inputs)
    if control is None or callable(control):
        return np.zeros((samples - 1, nu))
    held = np.array(control, dtype=float)
    if held.shape != (samples - 1, nu):
        raise ValueError(
            f"held inputs must have shape ({samples - 1}, {nu}) (samples − 1 intervals, inputs "
            f"{', '.join(i.name for i in robot.inputs) or 'none'}), got {held.shape}"
        )
    if not np.isfinite(held).all():
        raise ValueError("held inputs must be finite")
    return held


def _repeat_last(held: Array) -> Array:
    return np.vstack([held, held[-1:]])


def _held_law(held: Array, times: Array) -> Control:
    def law(t: float, q: Array, p: Array) -> Array:
        row = int(np.searchsorted(times, t, side="right")) - 1
        values: Array = held[min(max(row, 0), len(held) - 1)]
        return values

    return law


def _rollout(
    robot: Any,
    times: Array,
    q: Array,
    p: Array,
    held: Array,
    method: str,
    rtol: float,
    atol: float,
    step: float | None,
) -> tuple[Array, Array]:
    inputs = held if held.shape[1] else None
    if method == "dopri5":
        qs, ps = robot.rollout_adaptive(times, q, p, inputs, rtol=rtol, atol=atol)[:2]
        return qs, ps
    interval = times[1] - times[0]
    if step is not None and not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be a positive number of seconds, got {step!r}")
    substeps = 1 if step is None else max(1, int(np.ceil(interval / step - 1e-9)))
    fine = None if inputs is None else np.repeat(inputs, substeps, axis=0)
    qs, ps = robot.rollout(q, p, fine, interval / substeps, substeps * (len(times) - 1))
    return qs[::substeps], ps[::substeps]


def _sampled(
    robot: Any,
    times: Array,
    q: Array,
    p: Array,
    law: Control,
    method: str,
    rtol: float,
    atol: float,
    step: float | None,
    period: float | None,
    progress: Callable[[float], None] | None,
) -> tuple[Array, Array, Array]:
    """Roll out in C from one sample of the control to the next."""
    if period is None:
        raise ValueError(
            f"method {method!r} runs inside C and cannot call a Python control as it goes; give "
            f"a sampling period, an array of held inputs, or use one of {', '.join(SCIPY_METHODS)}"
        )
    if not (np.isfinite(period) and period > 0):
        raise ValueError(f"period must be a positive number of seconds, got {period!r}")
    interval = times[1] - times[0]
    count = max(1, int(np.ceil(interval / period - 1e-9)))
    qs, ps, us = [q], [p], []
    for k, start in enumerate(times[:-1]):
        for n in range(count):
            t = np.array([start + n * interval / count, start + (n + 1) * interval / count])
            u = np.asarray(law(float(t[0]), q.copy(), p.copy()), dtype=float)
            if n == 0:
                us.append(u)
            pair = _rollout(robot, t, q, p, u[None, :], method, rtol, atol, step)
            q, p = (np.ascontiguousarray(part[-1]) for part in pair)
        qs.append(q)
        ps.append(p)
        if progress is not None:
            progress((k + 1) / (len(times) - 1))
    us.append(np.asarray(law(float(times[-1]), q.copy(), p.copy()), dtype=float))
    return np.array(qs), np.array(ps), np.array(us)


def _scipy(
    robot: Any,
    times: Array,
    q: Array,
    p: Array,
    law: Control,
    held: Array,
    method: str,
    rtol: float,
    atol: float,
    progress: Callable[[float], None] | None,
) -> tuple[Array, Array, Array]:
    nq, n, duration = len(q), len(p), times[-1]

    def rates(t: float, state: Array) -> Array:
        a, b = state[:nq], state[nq : nq + n]
        u = np.asarray(law(t, a.copy(), b.copy()), dtype=float)
        q_dot, p_dot = robot.state_rates(a, b, u)
        if progress is not None:
            progress(float(t / duration))
        power = float(b @ robot.generalized_forces(a, b, u))
        return np.concatenate([q_dot, p_dot, [power]])

    state = np.concatenate([q, p, [0.0]])
    # Held inputs jump at the samples: integrate from jump to jump.  Smooth laws run through.
    jumps = times if np.any(np.diff(held, axis=0)) else times[[0, -1]]
    states = [state]
    for left, right in pairwise(jumps):
        inner = times[(times > left) & (times <= right)]
        solution = solve_ivp(
            _at_left_of(rates, right) if len(jumps) > 2 else rates,
            (left, right),
            states[-1],
            method=method,
            t_eval=inner,
            rtol=rtol,
            atol=atol,
        )
        if not solution.success:
            reached = solution.t[-1] if len(solution.t) else left
            raise SimulationError(
                f"{method} stopped at t = {reached:.6g} s of {duration:.6g} s: {solution.message}"
            )
        states.extend(solution.y.T)
    if progress is not None:
        progress(1.0)
    result = np.array(states)
    return result[:, :nq].copy(), result[:, nq : nq + n].copy(), result[:, -1].copy()


def _at_left_of(
    rates: Callable[[float, Array], Array], right: float
) -> Callable[[float, Array], Array]:
    """The same rates, with the input of the interval that ends at ``right``."""
    last = np.nextafter(right, -np.inf)
    return lambda t, state: rates(min(t, last), state)
