"""What a supporting motion does in the full compiled simulation, on the robot's own stiff ground.

Open loop a rat on its heels is an upside-down pendulum, however exact its torques are; with
its tail's coordinates tracked (collocated partial feedback linearization) feet and tail
are three legs.  Without the tail on the ground it falls over backwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr

from ...attitude import add_attitude
from ...control import JointTracker
from ...kangaroo_rat import add_ground
from ...references import Reference, sampled_references
from ...simulation import simulate
from ..flight import BASE
from .supporting import MOMENT_LIMIT, links_of_segment

if TYPE_CHECKING:
    from ..solution import Solution

Array: TypeAlias = np.ndarray

PERIOD = 5e-4
"""Of the controller [s]; torques are held in between.  At 1 kHz a tail on the ground rings at
20 Hz, since what it presses has changed by the next millisecond; at 2 kHz that is damped."""
SETTLING_TIME = 0.05
"""Of the tail's tracking error [s]."""
REFERENCE_POINTS = 401
"""Of the splines that are tracked."""
RAISED = -1.0
"""Bending of the first segment of a tail that is of no use [rad]."""
LOADED = 1e-3
"""A node with less force than this is in the air [N]."""


def open_loop(solution: Solution, *, samples: int = 401) -> xr.Dataset:
    """The torques of a solution, every half millisecond, and nothing else.

    Parameters
    ----------
    solution:
        Of a problem from :func:`.supporting`, on stiff ground.
    samples:
        Times in the result.
    """
    robot, motion = _robot(solution), solution.motion()
    nu = len(robot.inputs)

    def law(t: float, q: Array, p: Array) -> Array:
        inside = min(t + PERIOD / 2, motion.end)
        return np.asarray(motion.states_at(np.array([inside]))[0, -nu:])

    return _run(robot, solution, law, solution.duration(), samples)


def tracked(
    solution: Solution,
    *,
    rest: float = 0.0,
    torso_mass: float = 1.0,
    push: float = 0.0,
    samples: int = 401,
) -> xr.Dataset:
    """The tail's coordinates follow the solution, then stay as they are at its end.

    Parameters
    ----------
    solution:
        As for :func:`open_loop`.
    rest:
        How long to go on after the end of the solution [s].
    torso_mass:
        True mass of the torso, as a part of the one that the controller believes in.
    push:
        Angular velocity about x that the torso has at the start, turning about its heels
        [rad/s]; positive: backwards.
    samples:
        Times in the result.
    """
    robot = _robot(solution)
    tracker = JointTracker(
        robot,
        references(solution),
        SETTLING_TIME,
        limits=_limit(robot),
    )
    mass = float(robot.parameters["torso_mass"]) * torso_mass
    true = robot.with_parameters(torso_mass=mass)
    return _run(true, solution, tracker, solution.duration() + rest, samples, push)


def without_tail(solution: Solution, *, rest: float = 0.0, samples: int = 401) -> xr.Dataset:
    """The same torso on the same feet, with the tail held up in the air."""
    robot = _robot(solution)
    q, _ = start(solution)
    place = BASE + 1
    q[place:] = 0.0
    q[place] = RAISED / links_of_segment(robot)
    tracker = JointTracker(robot, {}, SETTLING_TIME, rest=q, limits=_limit(robot))
    return _simulate(robot, q, tracker, solution.duration() + rest, samples)


def references(solution: Solution) -> dict[str, Reference]:
    """The tail's coordinates along a solution, as references for a tracker."""
    robot, motion = _robot(solution), solution.motion()
    times = np.linspace(motion.start, motion.end, REFERENCE_POINTS)
    names = robot.coordinates.names[BASE + 1 :]
    first = len(robot.coordinates) - len(names)
    table = motion.states_at(times)[:, first : first + len(names)]
    return sampled_references(times, table, names)


def start(solution: Solution) -> tuple[Array, Array]:
    """(q, p) at the start of a solution."""
    robot, motion = _robot(solution), solution.motion()
    x = motion.states_at(np.array([motion.start]))[0]
    nq = len(robot.coordinates)
    return x[:nq].copy(), x[nq : nq + len(robot.velocities)].copy()


def _robot(solution: Solution) -> Any:
    """The robot with the ground of the solution."""
    assert solution.problem is not None
    (phase,) = solution.problem.phases
    robot = phase.robot
    own = {n: v for n, v in solution.constants.items() if n in robot.parameters}
    return robot.with_parameters(**own)


def _limit(robot: Any) -> float:
    return MOMENT_LIMIT * links_of_segment(robot)


def _run(
    robot: Any,
    solution: Solution,
    law: Any,
    duration: float,
    samples: int,
    push: float = 0.0,
) -> xr.Dataset:
    q, _ = start(solution)
    p = np.zeros(len(robot.velocities))
    if push:
        # about the line through the heels: v = omega x (origin - heel), in body axes
        heel = robot.node_pose("left_heel", q)[:3, 3] - q[4:7]
        arm = robot.node_pose("torso", q)[:3, :3].T @ heel
        p[0] = push
        p[3:BASE] = -np.cross(p[:3], [0.0, arm[1], arm[2]])
        # and the tail bends so that its end neither leaves the ground nor strikes it
        tip = str(robot.meta["contacts"][-1])
        up = robot.node_pose(tip, q)[2, :3] @ robot.node_jacobian(tip, q)[3:]
        p[BASE] = -(up @ p) / up[BASE]
    return _simulate(robot, q, law, duration, samples, p)


def _simulate(
    robot: Any, q: Array, law: Any, duration: float, samples: int, p: Array | None = None
) -> xr.Dataset:
    made = simulate(
        robot,
        duration,
        q=q,
        p=p,
        control=law,
        method="dopri5",
        period=PERIOD,
        samples=samples,
        rtol=1e-7,
        atol=1e-9,
    )
    return add_tilt(add_ground(robot, add_attitude(made, "zxy")))


def add_tilt(result: xr.Dataset) -> xr.Dataset:
    """Add the angle between the torso's z axis and the vertical [rad]."""
    qx, qy = (result.q.sel(coordinate=n).values for n in ("qx", "qy"))
    cosine = np.clip(1.0 - 2.0 * (qx**2 + qy**2), -1.0, 1.0)
    return result.assign(tilt=("time", np.arccos(cosine), {"units": "rad"}))


def leaves_cone(result: xr.Dataset, cone: float, after: float = 0.0) -> float:
    """Time at which the torso is first outside a cone about the vertical; NaN if never [s].

    Parameters
    ----------
    result:
        With ``tilt``.
    cone:
        Half angle [rad].
    after:
        Earlier times do not count [s].
    """
    times = result.time.values
    outside = (result.tilt.values > cone) & (times >= after)
    return float(times[np.argmax(outside)]) if outside.any() else math.nan


@dataclass(frozen=True)
class GroundRow:
    """One contact of a motion: forces [N], penetration and way slipped [m], speed [m/s].

    ``loaded`` is the share of the time in which it carries more than a millinewton;
    ``slip`` and ``way`` are of that time only.
    """

    node: str
    loaded: float
    mean_force: float
    largest_force: float
    largest_friction: float
    depth: float
    slip: float
    way: float


def ground_table(result: xr.Dataset) -> list[GroundRow]:
    """Ground reaction force, penetration and slip of each contact."""
    times = result.time.values
    rows = []
    for node in map(str, result.contact.values):
        force = result.ground_force.sel(contact=node).values
        normal, friction = force[:, 2], np.hypot(force[:, 0], force[:, 1])
        on = (normal > LOADED).astype(float)
        slip = np.where(on > 0, result.slip.sel(contact=node).values, 0.0)
        depth = result.penetration.sel(contact=node).values
        rows.append(
            GroundRow(
                node,
                float(np.trapezoid(on, times) / (times[-1] - times[0])),
                float(np.trapezoid(normal, times) / (times[-1] - times[0])),
                float(normal.max()),
                float(friction.max()),
                float(max(depth.max(), 0.0)),
                float(slip.max()),
                float(np.trapezoid(slip, times)),
            )
        )
    return rows


def ground_text(rows: list[GroundRow]) -> str:
    """The table for reading."""
    lines = [
        f"{'contact':15s} loaded   mean    max  friction  depth   slip     way",
        f"{'':15s}           [N]    [N]     [N]     [mm]  [mm/s]   [mm]",
    ]
    lines += [
        f"{r.node:15s} {r.loaded:5.0%} {r.mean_force:7.3f} {r.largest_force:6.3f} "
        f"{r.largest_friction:7.3f} {1e3 * r.depth:8.3f} {1e3 * r.slip:7.2f} {1e3 * r.way:6.2f}"
        for r in rows
    ]
    return "\n".join(lines)
