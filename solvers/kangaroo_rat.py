"""Scenarios of the kangaroo rat: righting in the air, leaning on the tail, a planar swing.

Every scenario works for the articulated and for the continuum tail and returns
a labelled result with the attitude of the torso, the forces of the ground and
the torques of the tail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .control import JointTracker
from .references import Reference, held_bend
from .sea_lion import add_attitude
from .simulation import simulate

AIR_TIME = 0.571
"""Ballistic time of a 0.40 m jump, 2 √(2h/g) [s]."""


def airborne(
    robot: Any,
    references: Mapping[str, Reference],
    *,
    duration: float = AIR_TIME,
    roll: float = np.pi,
    settling_time: float = 0.02,
    samples: int = 201,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Free flight from rest, turned by ``roll`` about the body axis, while the tail tracks.

    Parameters
    ----------
    robot:
        A rat with a quaternion base.
    references:
        Bending coordinate → function of time (position, rate, acceleration).
    duration, roll:
        Time in the air [s]; initial rotation about the long axis y [rad].
    settling_time:
        Of the tail's tracking error [s].
    samples, progress:
        As in :func:`~bestiary.solvers.simulation.simulate`.
    """
    q = np.array(robot.neutral)
    q[:4] = np.cos(roll / 2), 0, np.sin(roll / 2), 0
    q[6] = 1.0  # high above the ground
    tracker = JointTracker(robot, references, settling_time)
    result = simulate(
        robot, duration, q=q, control=tracker, samples=samples, rtol=1e-9, progress=progress
    )
    return add_ground(robot, add_attitude(result))


def standing(
    robot: Any,
    *,
    tail: bool = True,
    duration: float = 1.0,
    bend: float = 0.9,
    samples: int = 201,
    period: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Stand on the heels with the weight behind the feet: the tail props the torso, or not.

    With ``tail`` the first segment bends down by ``bend`` [rad] until the tail
    presses on the ground; without, the tail is held straight and the rat tips
    over.  Control is sampled every ``period`` [s].
    """
    rest = np.array(robot.neutral)
    rest[6] = -float(robot.parameters["foot_z"]) - 5e-4
    references = held_bend(robot, {1: (bend, 0.0)}, rise=0.15) if tail else {}
    tracker = JointTracker(robot, references, 0.05, rest=rest)
    result = simulate(
        robot,
        duration,
        q=rest,
        control=tracker,
        method="dopri5",
        period=period,
        samples=samples,
        rtol=1e-7,
        atol=1e-9,
        progress=progress,
    )
    return add_ground(robot, add_attitude(result))


def add_ground(robot: Any, result: xr.Dataset) -> xr.Dataset:
    """Add ground forces [N], penetration [m] and slip [m/s] of each contact node."""
    qs, ps = np.ascontiguousarray(result.q), np.ascontiguousarray(result.p)
    forces, depth, slip = robot.contact_forces_batch(qs, ps)
    return result.assign(
        ground_force=(("time", "contact", "axis"), forces, {"units": "N"}),
        penetration=(("time", "contact"), depth, {"units": "m"}),
        slip=(("time", "contact"), slip, {"units": "m/s"}),
    ).assign_coords(contact=list(robot.meta["contacts"]), axis=list("xyz"))
