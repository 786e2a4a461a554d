"""How well a motion followed its reference: errors, saturation, observed settling rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from .control import UNLIMITED, JointTracker

SMALLEST_PART = 1e-6
"""Errors below this share of the largest one are rounding and integration, not decay."""


@dataclass(frozen=True)
class TrackingReport:
    """What :func:`tracking_report` found.

    ``error`` is reference less coordinate, dimensions (time, coordinate);
    ``largest_error`` and ``rms_error`` are of the last half of the motion;
    ``saturation`` is the share of samples at which an input is at its limit;
    ``decay_rate`` the λ observed [1/s], nan where there was no error to decay,
    and ``set_rate`` the λ asked for.
    """

    error: xr.DataArray
    largest_error: Mapping[str, float]
    rms_error: Mapping[str, float]
    saturation: Mapping[str, float]
    decay_rate: Mapping[str, float]
    set_rate: Mapping[str, float]

    def __str__(self) -> str:
        width = max(map(len, (*self.decay_rate, *self.saturation, "coordinate")))
        lines = [f"{'coordinate':{width}}  largest error   rms error   decay rate   set rate [1/s]"]
        for name, rate in self.decay_rate.items():
            lines.append(
                f"{name:{width}}  {self.largest_error[name]:13.3g} {self.rms_error[name]:11.3g} "
                f"{rate:12.4g} {self.set_rate[name]:10.4g}"
            )
        lines += ["", f"{'input':{width}}  at its limit"]
        lines += [f"{name:{width}}  {share:11.1%}" for name, share in self.saturation.items()]
        return "\n".join(lines)


def tracking_report(result: xr.Dataset, tracker: JointTracker) -> TrackingReport:
    """Compare a simulated motion with the reference of its tracker.

    Parameters
    ----------
    result:
        From :func:`bestiary.solvers.simulation.simulate` with the tracker as control.
    tracker:
        The tracker.
    """
    times = np.asarray(result.time, dtype=float)
    error = np.array(
        [
            tracker.error(t, q, p)[0]
            for t, q, p in zip(times, result.q.values, result.p.values, strict=True)
        ]
    )
    late = error[len(error) // 2 :]
    names = tracker.tracked
    used = result.u.sel(input=list(tracker.inputs)).values
    limited = tracker.limits < UNLIMITED
    full = (np.abs(used) >= tracker.limits * (1 - 1e-9)).mean(axis=0) * limited

    def named(values: Any, keys: tuple[str, ...] = names) -> dict[str, float]:
        return {k: float(v) for k, v in zip(keys, values, strict=True)}

    return TrackingReport(
        xr.DataArray(
            error,
            {"time": result.time, "coordinate": list(names)},
            ("time", "coordinate"),
            "tracking_error",
        ),
        named(np.abs(late).max(axis=0)),
        named(np.sqrt((late**2).mean(axis=0))),
        named(full, tracker.inputs),
        named([fit_decay_rate(times, e) for e in error.T]),
        named(tracker.gains),
    )


def fit_decay_rate(times: np.ndarray, error: np.ndarray) -> float:
    """The λ [1/s] of e(t) = (a + b t) exp(−λt), the error of a double pole.

    Least squares on the relative error, that is on log|e| where it is small:
    for a given λ the best a and b are linear, and λ is searched for.

    Parameters
    ----------
    times, error:
        (T,) samples; those after the error has fallen to a millionth of its
        largest value are left out.

    Returns
    -------
    float
        nan if fewer than five samples are left or the error is all zero.
    """
    from scipy.optimize import minimize_scalar

    t, e = np.asarray(times, dtype=float), np.asarray(error, dtype=float)
    size = np.abs(e)
    if not size.max() > 1e-9:
        return float("nan")
    last = int(np.flatnonzero(size > SMALLEST_PART * size.max())[-1]) + 1
    t, e, size = t[:last] - t[0], e[:last], size[:last]
    t, e = t[size > 0], e[size > 0]
    if len(t) < 5:
        return float("nan")

    def misfit(log_rate: float) -> float:
        # Columns scaled to e itself: rows (1, t) exp(−λt)/e against 1.
        envelope = np.exp(-np.exp(log_rate) * t) / e
        rows = np.column_stack([envelope, envelope * t])
        scale = np.linalg.norm(rows, axis=0)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            return float(len(t))
        solution = np.linalg.lstsq(rows / scale, np.ones(len(t)), rcond=None)[0]
        return float(np.sum((rows / scale @ solution - 1) ** 2))

    span = t[-1]
    grid = np.linspace(np.log(0.01 / span), np.log(300 / span), 200)
    best = int(np.argmin([misfit(x) for x in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(misfit, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))
