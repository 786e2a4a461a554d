"""The sea lion's free swing: what head and pelvis alone do to a floating body.

Without water forces and weight nothing can change the robot's momentum.  Head
and pelvis bend to the same side and carry the bend once around the long axis,
again and again, then come back to rest: the momentum stays zero all the time,
the joints end where they began, and yet the body has rolled, as a falling cat
does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from .attitude import add_attitude
from .control import JointTracker, smooth_cycle
from .simulation import simulate


def free_swing(
    robot: Any,
    *,
    amplitude: float = 0.5,
    period: float = 1.5,
    duration: float = 6.0,
    samples: int = 301,
    rtol: float = 1e-9,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Swing head and pelvis of a weightless sea lion in circles.

    Parameters
    ----------
    robot:
        A sea lion with a quaternion base; it is simulated with gravity 0.
    amplitude:
        Half opening angle of the cones that head and pelvis describe [rad].
    period, duration:
        Time of one circle and of the whole motion, rest to rest [s].
    samples, rtol, progress:
        As in :func:`~bestiary.solvers.simulation.simulate`.

    Returns
    -------
    xarray.Dataset
        The motion, with ``attitude``: yaw, pitch, roll of the main body [rad].
    """
    weightless = robot.with_parameters(gravity=0.0)
    timing = {"ramp": duration / 4, "stop": duration}
    quarter = np.pi / 2
    references = {
        "head_pitch": smooth_cycle(amplitude, period, quarter, **timing),
        "head_yaw": smooth_cycle(amplitude, period, 0.0, **timing),
        "pelvis_pitch": smooth_cycle(-amplitude, period, quarter, **timing),
        "pelvis_yaw": smooth_cycle(-amplitude, period, 0.0, **timing),
    }
    tracker = JointTracker(weightless, references)
    result = simulate(
        weightless,
        duration,
        control=tracker,
        rtol=rtol,
        atol=1e-12,
        samples=samples,
        progress=progress,
    )
    return add_attitude(result, "zyx")
