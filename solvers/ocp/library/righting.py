"""The kangaroo rat rights itself in the air: swings of its tail turn its body over.

Without outer torque the angular momentum about the centre of mass stays what it was; at
rest it is zero, and only a closed loop in the space of the tail's shapes leaves a turn
behind.  Torques are compared as *bending moments* tau / n of a segment whose n links share
its angles, and bendings as those of the whole segment, theta = n (alpha, beta), so that
articulated tails of any number of links and continuum tails have the same limits and cost:

    effort     integral of  mean_i |tau_i / n|^2 / moment_limit^2  dt
    smoothness integral of  sum_i m |n r_i''|^2 / (1000 rad/s^2)^2  dt

with m segments: mean squares along the tail of its bending moment and of the acceleration
of its curvature (times its length).  A motion of a coarser tail is one of a finer tail with
as many links in all, and has the same smoothness there; its effort need not be the same,
since the coarser tail's coupling evens out moments at no cost.

Effort alone has a flat valley: many motions cost nearly the same, and a solver creeps along
it.  A small weight of smoothness picks one of them; lower it step by step by
``problem.set(smoothness_weight=...)`` and ``solve(guess=solution)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from ...attitude import SEQUENCES
from ...kangaroo_rat import TORQUE_LIMIT
from ...references import segment_links
from ..errors import OptimalControlError
from ..flight import BASE, add_free_flight, base_attitude, base_twist, full_coordinates
from ..interpolation import Interpolant
from ..orientation import Attitude, attitude, conjugate, product
from ..phase import Phase
from ..problem import OptimalControlProblem
from ..user_calls import number, numbers
from ..variables import positive

Array: TypeAlias = np.ndarray

SEQUENCE = "zxy"
"""Yaw about z, pitch about x, roll about the long axis y."""
TAILS = ("articulated", "continuum")
FORMULATIONS = ("reduced", "full")
COSTS = ("effort", "time", "smoothness")
GUESSES = ("swing", "line")
END_TAILS = ("straight", "free")

MOMENT_LIMIT = TORQUE_LIMIT / 4
"""Largest bending moment of a segment [N m]: what the four links of the default tail share."""
BENDING_LIMIT = math.pi
"""Largest bending of a segment [rad]; physics: an arc closes to a ring at two pi."""
AIR_TIME = 0.4
LONGEST = 0.571
"""Ballistic time of a 0.40 m jump [s]."""
ACCELERATION = 1000.0
"""Unit of the curvature acceleration [rad/s^2]."""
WEIGHTS = {
    "effort": {"effort": 1.0, "smoothness": 0.003, "time": 0.0},
    "smoothness": {"effort": 0.0, "smoothness": 1.0, "time": 0.0},
    "time": {"effort": 1e-3, "smoothness": 3e-3, "time": 1.0},
}
SWING, TURNS = 1.2, 2.0
"""Bending [rad] and turns of the guessed cone."""
ONE_BEND = math.radians(25.0)
"""Largest pitch or yaw that is guessed to come from bending the tail once [rad]."""
PUMPING = 5 / 3
"""Bending of a guessed loop of two segments in one plane, in bendings of the cone."""
LINE = 0.02
"""Bending [rad] of a tail that is guessed to be nearly straight."""


def righting(
    robot: Any = None,
    *,
    tail: str = "articulated",
    segments: int = 2,
    links: int = 4,
    roll: float = math.pi,
    pitch: float = 0.0,
    yaw: float = 0.0,
    spin: Sequence[float] = (0.0, 0.0, 0.0),
    duration: Any = AIR_TIME,
    cost: str = "effort",
    formulation: str = "reduced",
    effort_weight: float | None = None,
    smoothness_weight: float | None = None,
    moment_limit: float = MOMENT_LIMIT,
    bending_limit: float = BENDING_LIMIT,
    link_limits: bool = True,
    tolerance: float | None = None,
    end_tail: str = "straight",
    guess: str = "swing",
) -> OptimalControlProblem:
    """Turn the falling rat upright, beginning with the tail straight and at rest.

    Parameters
    ----------
    robot:
        A rat without contact; by default the one of ``tail``, ``segments`` and ``links``,
        which has to be built (``bestiary build kangaroo_rat_articulated contact=False``).
    tail, segments, links:
        ``"articulated"`` or ``"continuum"``; links of each segment.
    roll, pitch, yaw:
        Attitude at the start [rad], sequence zxy; upright at the end.
    spin:
        (3,) angular velocity of the body at the start, body axes [rad/s].  It tumbles if
        this is not zero: then the tail, not the body, is at rest at the end.
    duration:
        Seconds: a number, or (low, high); None is free, up to 0.571 s.
    cost:
        ``"effort"``, ``"time"`` or ``"smoothness"``, see the module.
    formulation:
        ``"reduced"``: angular momentum is constant by construction; ``"full"``: all
        coordinates of the robot.
    effort_weight, smoothness_weight:
        Of the terms of the cost; constants of the problem.
    moment_limit, bending_limit:
        Of each bending coordinate [N m] and of each segment [rad].
    link_limits:
        Whether the robot's own limits of the angles between links hold too (0.6 rad): a
        segment of two links then bends by 1.2 rad about each axis.
    tolerance:
        Of the attitude at the end [rad]; None: exactly upright.
    end_tail:
        ``"straight"`` or ``"free"`` at the end, where it rests against the body.  Bending
        the tail once pitches the body by 20 to 35 degrees at most, since a curled tail has
        little inertia.  More takes loops: two segments that swing in one plane, one a
        quarter of a turn behind the other, pitch the body a little with each (60 degrees
        are tested).  A single segment has no such loop.
    guess:
        ``"swing"``: the tail turns on a cone; ``"line"``: the body turns steadily and the
        tail is all but straight (a hundredth of a radian a link or less).  An exactly
        straight tail is no start: to first order it has no angular momentum about its own
        axis, so that no small change brings the body round.

    Returns
    -------
    OptimalControlProblem
        With one phase, ``flight``.

    Raises
    ------
    OptimalControlError
        For options that make no sense.
    """
    for label, value, known in (
        ("tail", tail, TAILS),
        ("cost", cost, COSTS),
        ("formulation", formulation, FORMULATIONS),
        ("guess", guess, GUESSES),
        ("end_tail", end_tail, END_TAILS),
    ):
        if value not in known:
            raise OptimalControlError(
                f"righting: {label} must be one of {', '.join(known)}, got {value!r}"
            )
    for label, size in (("moment_limit", moment_limit), ("bending_limit", bending_limit)):
        positive(number(size, f"righting: {label}"), f"righting: {label}")
    for label, weight in (
        ("effort_weight", effort_weight),
        ("smoothness_weight", smoothness_weight),
    ):
        if weight is not None and number(weight, f"righting: {label}") < 0:
            raise OptimalControlError(f"righting: {label}: expected 0 or more, got {weight!r}")
    if not isinstance(link_limits, bool):
        raise OptimalControlError(
            f"righting: link_limits: expected True or False, got {link_limits!r}"
        )
    if numbers(spin, "righting: spin", "three numbers").shape != (3,):
        raise OptimalControlError(f"righting: spin: expected three numbers, got {spin!r}")
    if robot is None:
        robot = load_rat(tail, segments, links)
    start = attitude(roll, pitch, yaw, sequence=SEQUENCE)
    upright = attitude(0.0, 0.0, 0.0, sequence=SEQUENCE)
    q0, p0 = at_rest(robot, start, spin)
    momentum = robot.momentum(q0, p0)[:3]
    momentum[np.abs(momentum) < 1e-15] = 0.0
    span = (0.1, LONGEST) if duration is None else duration
    problem = OptimalControlProblem(
        robot if formulation == "full" else None, name=f"righting, {formulation}"
    )
    flight = problem.phase("flight", duration=span)
    if formulation == "reduced":
        add_free_flight(flight, robot, momentum)
    else:
        flight.start(**{c.name: float(v) for c, v in zip(robot.coordinates, q0, strict=True)})
        flight.start(**{v.name: float(x) for v, x in zip(robot.velocities, p0, strict=True)})
    flight.start_orientation(quaternion=start.quaternion)
    flight.end_orientation(quaternion=upright.quaternion, tolerance=tolerance)
    shape = Shape(flight, robot)
    flight.start(**dict.fromkeys((*shape.coordinates, *shape.rates), 0.0))
    flight.end(**dict.fromkeys(shape.rates, 0.0))
    if end_tail == "straight":
        flight.end(**dict.fromkeys(shape.coordinates, 0.0))
    limit(shape, moment_limit, bending_limit, link_limits)
    weights = dict(WEIGHTS[cost])
    weights["effort"] = weights["effort"] if effort_weight is None else effort_weight
    weights["smoothness"] = (
        weights["smoothness"] if smoothness_weight is None else smoothness_weight
    )
    weigh(shape, weights, moment_limit)
    swing(shape, start, upright, SWING if guess == "swing" else LINE, end_tail == "free")
    return problem


def load_rat(tail: str, segments: int, links: int) -> Any:
    """The rat without contact that has this tail, if it was built."""
    from bestiary.generated import load

    if tail == "articulated":
        return load("kangaroo_rat_articulated", segments=segments, links=links, contact=False)
    return load("kangaroo_rat_continuum", segments=segments, contact=False)


def at_rest(robot: Any, start: Attitude, spin: Sequence[float]) -> tuple[Array, Array]:
    """(q, p) with the tail straight and the centre of mass at rest.

    Parameters
    ----------
    robot:
        A rat.
    start:
        Attitude of the body.
    spin:
        (3,) its angular velocity, body axes [rad/s].
    """
    if base_attitude(robot) != 4:
        raise OptimalControlError("righting: the rat needs a quaternion base")
    q = np.array(robot.neutral)
    q[:4] = start.quaternion
    p = np.zeros(len(robot.velocities))
    p[:3] = spin
    mass = robot.mass_matrix(q)
    p[3:BASE] = -mass[3:BASE, :3] @ p[:3] / mass[3, 3]
    return q, p


class Shape:
    """The tail of a rat in a phase: its bending coordinates, by segment.

    Attributes
    ----------
    segments, links:
        Their number; links of each segment, 1 for arcs.
    coordinates, rates, torques:
        Names, two for each segment: about x, about z.
    """

    def __init__(self, phase: Phase, robot: Any) -> None:
        self.phase, self.robot = phase, robot
        self.coordinates = robot.coordinates.names[base_attitude(robot) + 3 :]
        self.rates = robot.velocities.names[BASE:]
        self.torques = robot.inputs.names
        self.segments = len(self.coordinates) // 2
        self.links = segment_links(robot, 1) if "alpha_1" in self.coordinates else 1

    def bending(self, segment: int) -> ca.SX:
        """(2,) bending of a segment about x and z [rad]."""
        names = self.coordinates[2 * segment : 2 * segment + 2]
        return self.links * ca.vertcat(*(self.phase[n] for n in names))

    def moments(self) -> ca.SX:
        """Bending moments [N m]."""
        return ca.vertcat(*(self.phase[n] for n in self.torques)) / self.links

    def mean_square_moment(self) -> ca.SX:
        """Mean square of the bending moment along the tail [N^2 m^2]."""
        return ca.sumsqr(self.moments()) / self.segments

    def curvature_acceleration(self) -> ca.SX:
        """Mean square of the tail's curvature acceleration times its length [rad^2/s^4]."""
        rates = ca.vertcat(*(self.phase[f"{n}_rate"] for n in self.rates))
        return self.segments * ca.sumsqr(self.links * rates)


def limit(shape: Shape, moment: float, bending: float, link_limits: bool = True) -> None:
    """Bound the bending moments [N m] and the bending of each segment [rad].

    Without ``link_limits`` bounds of single coordinates, which the robot has, are dropped.
    """
    phase = shape.phase
    if not link_limits:
        phase.bound(**dict.fromkeys(shape.coordinates, (None, None)))
        phase.nominal(**dict.fromkeys(shape.coordinates, bending / shape.links))
    largest = moment * shape.links
    phase.bound(**dict.fromkeys(shape.torques, (-largest, largest)))
    replaced = {f"length_{shape.coordinates[2 * k]}_{shape.coordinates[2 * k + 1]}"
                for k in range(shape.segments)}  # fmt: skip
    phase.paths = [p for p in phase.paths if p.name not in replaced]  # ours is tighter
    for k in range(shape.segments):
        squared = ca.sumsqr(shape.bending(k))
        phase.path(f"bending_{k + 1}_squared", squared, high=bending**2, unit="rad^2")


def weigh(shape: Shape, weights: dict[str, float], moment: float) -> None:
    """Add effort, smoothness and time to the cost, by their weights; see the module."""
    problem, phase = shape.phase.problem, shape.phase
    effort = problem.constant("effort_weight", weights["effort"])
    smooth = problem.constant("smoothness_weight", weights["smoothness"])
    phase.minimize(integral=effort * shape.mean_square_moment() / moment**2, name="effort")
    phase.minimize(
        integral=smooth * shape.curvature_acceleration() / ACCELERATION**2, name="smoothness"
    )
    if weights["time"]:
        problem.minimize(weights["time"] * phase.duration, "time")


def swing(shape: Shape, start: Attitude, end: Attitude, bending: float, free: bool = False) -> None:
    """Guess a swing: each segment on a loop that turns the body towards the end.

    About the long axis y the tail turns on a cone against the body; about x and z each
    segment swings a quarter of a turn behind the one before, or, with a ``free`` end and if
    that is enough, all bend one way against the body.
    """
    phase = shape.phase
    if phase.duration_range[0] == phase.duration_range[1]:
        length = phase.duration_range[1]
    else:
        length = min(AIR_TIME, phase.duration_range[1])
    times = np.linspace(0.0, length, 201)
    way = product(conjugate(start.quaternion), end.quaternion)
    axis = (way[1:] if way[0] >= 0 else -way[1:]) + 0.0
    size = float(np.linalg.norm(axis))
    axis = np.array([0.0, 1.0, 0.0]) if size < 1e-9 else axis / size
    turn = 2 * math.pi * TURNS * times / length
    once = free and (shape.segments == 1 or 2 * math.atan2(size, abs(way[0])) <= ONE_BEND)
    envelope = bending / shape.links * np.sin(math.pi * times / length) ** 2
    share = times / length
    ramp = bending / shape.links * share**3 * (10 - 15 * share + 6 * share**2)
    phase.guess(times=times)
    for k in range(shape.segments):
        lag = k * math.pi / 2
        loop = -ramp if once else -PUMPING * envelope * np.sin(turn - lag)
        about_x = envelope * abs(axis[1]) * np.cos(turn) + axis[0] * loop
        about_z = envelope * axis[1] * np.sin(turn) + axis[2] * loop
        for place, position in ((2 * k, about_x), (2 * k + 1, about_z)):
            rate = np.gradient(position, times)
            phase.guess(
                **{
                    shape.coordinates[place]: position,
                    shape.rates[place]: rate,
                    f"{shape.rates[place]}_rate": np.gradient(rate, times),
                }
            )


def angles(robot: Any, quaternion: Array) -> dict[str, float]:
    """Roll, pitch and yaw [rad] of the rat's body, sequence zxy."""
    from scipy.spatial.transform import Rotation

    w, x, y, z = quaternion
    values = Rotation.from_quat([x, y, z, w]).as_euler(SEQUENCE.upper())
    return dict(zip(SEQUENCES[SEQUENCE], map(float, values), strict=True))


def fly(robot: Any, solution: Any, *, samples: int = 201, rtol: float = 1e-11) -> Any:
    """The found torques in the full model, by an adaptive integrator, from the same start.

    Parameters
    ----------
    robot:
        The robot of the problem, or one with other parameters.
    solution:
        Of :func:`righting`, in either formulation.
    samples, rtol:
        As in :func:`~bestiary.solvers.simulation.simulate`.

    Returns
    -------
    xarray.Dataset
        A motion with energies [J], angular momentum about the centre of mass [kg m^2/s],
        attitude [rad] and torques, which are kept within the limits of the problem.
    """
    from ...attitude import add_attitude
    from ...simulation import simulate

    motion = solution.motion("flight")
    found = solution.record.phases[0]
    x = dict(zip((q.name for q in found.states), motion.states[0], strict=True))
    q = np.array([x.get(n, 0.0) for n in robot.coordinates.names])
    if "vx" in x:
        p = np.array([x[n] for n in robot.velocities.names])
    else:
        s = np.array([[x[n] for n in robot.velocities.names[BASE:]]])
        momentum = np.array([solution.constants.get(f"angular_momentum_{a}", 0.0) for a in "xyz"])
        p = np.concatenate([base_twist(robot, q[None], s, momentum)[0], s[0]])

    # between nodes the polynomials may exceed the limits a little, which no motor does
    limits = np.array([(q.low, q.high) for q in found.controls])
    torques = Interpolant(replace(motion, control_bounds=limits))
    flown = simulate(
        robot,
        motion.end,
        q=q,
        p=p,
        control=lambda t, q, p: torques(t),
        samples=samples,
        rtol=rtol,
        atol=1e-13,
    )
    return add_attitude(flown, SEQUENCE)


def tilt(result: Any) -> float:
    """Angle [rad] between the final attitude of a flight and the upright one."""
    q = np.asarray(result.q.sel(coordinate=["qw", "qx", "qy", "qz"]))[-1]
    return 2 * math.atan2(float(np.linalg.norm(q[1:])), abs(float(q[0])))


__all__ = ["Shape", "angles", "at_rest", "fly", "full_coordinates", "righting", "swing", "tilt"]
