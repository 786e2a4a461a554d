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

from .attitude import add_attitude
from .control import JointTracker
from .references import Reference, segment_links
from .simulation import simulate

TORQUE_LIMIT = 0.16
"""Largest tail torque [N m]; the whole animal weighs 1.1 N and its tail is 0.19 m long."""

AIR_TIME = 0.571
"""Ballistic time of a 0.40 m jump, 2 √(2h/g) [s]."""


def airborne(
    robot: Any,
    references: Mapping[str, Reference],
    *,
    duration: float = AIR_TIME,
    roll: float = np.pi,
    settling_time: float = 0.02,
    torque_limit: float = TORQUE_LIMIT,
    samples: int = 201,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """A ballistic jump without spin, turned by ``roll`` about the body axis; the tail tracks.

    The rat leaves 1 m above the ground just fast enough to be there again at the end.

    Parameters
    ----------
    robot:
        A rat with a quaternion base.
    references:
        Bending coordinate → function of time (position, rate, acceleration).
    duration, roll:
        Time in the air [s]; initial rotation about the long axis y [rad].
    settling_time, torque_limit:
        Of the tail's tracking error [s]; largest torque of each bending coordinate [N m].
    samples, progress:
        As in :func:`~bestiary.solvers.simulation.simulate`.
    """
    q = np.array(robot.neutral)
    q[:4] = np.cos(roll / 2), 0, np.sin(roll / 2), 0
    q[6] = 1.0
    p = np.zeros(len(robot.velocities))
    launch = 0.5 * float(robot.parameters["gravity"]) * duration
    p[3:6] = launch * robot.node_pose("torso", q)[2, :3]  # upwards, in torso axes
    tracker = JointTracker(robot, references, settling_time, limits=torque_limit)
    result = simulate(
        robot, duration, q=q, p=p, control=tracker, samples=samples, rtol=1e-9, progress=progress
    )
    return add_ground(robot, add_attitude(result, "zxy"))


def standing(
    robot: Any,
    *,
    prop: bool = True,
    heel: float = 0.015,
    duration: float = 1.0,
    samples: int = 201,
    period: float = 1e-3,
    torque_limit: float = TORQUE_LIMIT,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Stand with the weight behind the heels: the tail props the torso, or is raised.

    Parameters
    ----------
    robot:
        A rat with a quaternion base.
    prop:
        Bend the first segment down until the tail just clears the ground; else
        bend it up by a radian, out of the way, and the rat tips over backwards.
    heel:
        How far the heels are before the torso's centre of mass [m].
    duration, period:
        Length of the motion, and sampling period of the tail's controller [s].
    torque_limit:
        Largest torque of each bending coordinate [N m].
    samples, progress:
        As in :func:`~bestiary.solvers.simulation.simulate`.
    """
    robot = robot.with_parameters(foot_y=heel)
    rest = np.array(robot.neutral)
    rest[6] = -float(robot.parameters["foot_z"])
    bend = _touching_bend(robot, rest) if prop else -1.0
    names, share = _first_segment(robot)
    rest[robot.coordinates.index(names[0])] = bend * share
    tracker = JointTracker(robot, {}, 0.05, rest=rest, limits=torque_limit)
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
    return add_ground(robot, add_attitude(result, "zxy"))


def _first_segment(robot: Any) -> tuple[tuple[str, str], float]:
    """Bending coordinates of the first segment, and the share of one link."""
    names = [c.name for c in robot.coordinates]
    pair = ("alpha_1", "beta_1") if "alpha_1" in names else ("u_1", "w_1")
    return pair, 1.0 / segment_links(robot, 1)


def _touching_bend(robot: Any, rest: np.ndarray, clearance: float = 5e-4) -> float:
    """Bending of the first segment [rad] with the lowest tail node just above the ground."""
    from scipy.optimize import brentq

    names, share = _first_segment(robot)
    tail = [n for n in robot.meta["contacts"] if n.startswith("segment")]

    def lowest(bend: float) -> float:
        q = rest.copy()
        q[robot.coordinates.index(names[0])] = bend * share
        return min(float(robot.node_pose(n, q)[2, 3]) for n in tail) - clearance

    return float(brentq(lowest, 0.0, 1.5))


def add_ground(robot: Any, result: xr.Dataset) -> xr.Dataset:
    """Add ground forces [N], penetration [m] and slip [m/s] of each contact node."""
    qs, ps = np.ascontiguousarray(result.q), np.ascontiguousarray(result.p)
    forces, depth, slip = robot.contact_forces_batch(qs, ps)
    return result.assign(
        ground_force=(("time", "contact", "axis"), forces, {"units": "N"}),
        penetration=(("time", "contact"), depth, {"units": "m"}),
        slip=(("time", "contact"), slip, {"units": "m/s"}),
    ).assign_coords(contact=list(robot.meta["contacts"]), axis=list("xyz"))
