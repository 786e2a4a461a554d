"""The kangaroo rat props itself up: its weight is behind its feet, and the tail presses the ground.

The torso stands with its centre of mass behind the heels, in static balance on feet and
tail.  The tail's torques may change only at finite rates; what they do shows at the ground:

    effort     integral of  sum_i |tau_i / n|^2 / moment_limit^2   dt
    unrest     integral of  |omega|^2                              dt   (omega in rad/s)
    haste      integral of  sum_i |tau_i' / n|^2 / (moment_limit / 0.05 s)^2   dt
    swinging   integral of  sum_i |n r_i'|^2                       dt

The last two have small weights.  Without them a motion that swings the tail in the air and
one that presses it on the ground cost about the same, and a solver wanders between them.

The full model with contact at feet and tail is the dynamics; contact sets in by a ladder,
:func:`.support_ladder`, from soft and rounded to the robot's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from ...kangaroo_rat import TORQUE_LIMIT
from ...references import segment_links
from ..contact import RELAXATION, SMALLEST_RELAXATION, add_robot_in_contact, declare_contact
from ..errors import OptimalControlError
from ..flight import BASE
from ..phase import Phase
from ..problem import OptimalControlProblem
from ..user_calls import number
from ..variables import mapping, positive
from .righting import Shape

Array: TypeAlias = np.ndarray

TAILS = ("articulated", "continuum")
TASKS = ("hold", "restore")
HEEL = 0.015
"""How far the heels are before the torso's centre of mass [m]."""
CONE = math.radians(5.0)
"""Half angle of the cone about the vertical in which the torso has to be [rad]."""
MARGIN = 0.5
"""A restoration ends within this part of the cone: what follows it is not exact."""
LEANING = math.radians(15.0)
"""How far the torso leans back at the start of a restoration [rad]."""
MOMENT_LIMIT = TORQUE_LIMIT / 4
"""Largest bending moment of a segment [N m]; as in :mod:`.righting`."""
RATE_UNIT = 0.05
"""Time in which a torque may go to its limit at unit cost [s]."""
WEIGHTS = {"effort": 1.0, "unrest": 1.0, "haste": 1e-2, "swinging": 1e-2}

STIFFNESS, DAMPING_TIME, SMOOTHING, SLIP_VELOCITY = 2e4, 0.2, 1e-5, 5e-3
"""K [N m^-3/2], D/K [s], eps [m], v_eps [m/s]: the rat's own contact."""


@dataclass(frozen=True)
class Softness:
    """A rung of the ladder: how soft the ground is.

    Attributes
    ----------
    stiffness:
        K [N m^(-3/2)]; the damping is K times the rat's D/K.
    smoothing, slip_velocity, relaxation:
        eps [m], v_eps [m/s] and kappa [N m^(-1/2)].
    """

    stiffness: float = STIFFNESS
    smoothing: float = SMOOTHING
    slip_velocity: float = SLIP_VELOCITY
    relaxation: float = SMALLEST_RELAXATION

    @property
    def constants(self) -> dict[str, float]:
        """Values of the problem's constants."""
        return {
            "contact_stiffness": self.stiffness,
            "contact_damping": DAMPING_TIME * self.stiffness,
            "contact_smoothing": self.smoothing,
            "contact_slip_velocity": self.slip_velocity,
            RELAXATION: self.relaxation,
        }

    def towards(self, other: Softness, share: float) -> Softness:
        """Part of the way to another rung, geometrically."""
        pairs = zip(self._numbers(), other._numbers(), strict=True)
        return Softness(*(a * (b / a) ** share for a, b in pairs))

    def _numbers(self) -> tuple[float, ...]:
        return self.stiffness, self.smoothing, self.slip_velocity, self.relaxation

    def __str__(self) -> str:
        return (
            f"K {self.stiffness:.3g} N/m^1.5, eps {1e3 * self.smoothing:.3g} mm, "
            f"v_eps {1e3 * self.slip_velocity:.3g} mm/s, kappa {self.relaxation:.2g}"
        )


STIFF = Softness()
LADDER = (
    Softness(1e3, 5e-4, 5e-2, 2.0),
    Softness(3e3, 2.5e-4, 2.5e-2, 1.0),
    Softness(7e3, 1.6e-4, 1.25e-2, 0.5),
    Softness(1.25e4, 1.2e-4, 7.5e-3, 0.5),
    Softness(STIFFNESS, 1e-4, SLIP_VELOCITY, 0.5),
    *(
        Softness(STIFFNESS, SMOOTHING, SLIP_VELOCITY, float(kappa))
        for kappa in np.geomspace(0.5, SMALLEST_RELAXATION, 12)[:-1]
    ),
    STIFF,
)
"""From a ground in which the rat sinks by 4 mm to the robot's own."""


def supporting(
    robot: Any = None,
    *,
    tail: str = "articulated",
    segments: int = 2,
    links: int = 4,
    task: str = "hold",
    heel: float = HEEL,
    duration: float | None = None,
    cone: float = CONE,
    leaning: float = LEANING,
    moment_limit: float = MOMENT_LIMIT,
    weights: Mapping[str, float] | None = None,
    softness: Softness = STIFF,
) -> OptimalControlProblem:
    """Hold the torso upright by the tail, or bring it back there.

    Parameters
    ----------
    robot:
        A rat with contact and a quaternion base; by default the one of ``tail``,
        ``segments`` and ``links``, which has to be built.
    tail, segments, links:
        ``"articulated"`` or ``"continuum"``; links of each segment.
    task:
        ``"hold"``: from static balance with the torso level, stay within the cone at all
        times.  ``"restore"``: from static balance leaning back on the tail, end within half
        the cone, all but at rest.
    heel:
        How far the heels are before the torso's centre of mass [m].
    duration:
        Seconds; by default 1.0 to hold and 0.6 to restore.
    cone, leaning:
        Half angle of the cone about the vertical; attitude at the start of a restoration [rad].
    moment_limit:
        Of each bending coordinate [N m].
    weights:
        Of the terms of the cost; those not named are the default ones.
    softness:
        Of the ground; :func:`set_softness` changes it.

    Returns
    -------
    OptimalControlProblem
        With one phase, ``stand``; ``problem.solve()`` climbs :func:`.support_ladder`.

    Raises
    ------
    OptimalControlError
        For options that make no sense.
    """
    for label, value, known in (("tail", tail, TAILS), ("task", task, TASKS)):
        if value not in known:
            raise OptimalControlError(
                f"supporting: {label} must be one of {', '.join(known)}, got {value!r}"
            )
    given = mapping(weights or {}, "supporting: weights", '{"effort": 2.0}')
    unknown = sorted({str(name) for name in given} - set(WEIGHTS))
    if unknown:
        raise OptimalControlError(
            f"supporting: no cost {', '.join(unknown)}; have {', '.join(WEIGHTS)}"
        )
    for label, length in (("heel", heel), ("cone", cone), ("leaning", leaning)):
        number(length, f"supporting: {label}")
    for label, size in (("moment_limit", moment_limit), ("duration", duration)):
        if size is not None or label == "moment_limit":
            positive(number(size, f"supporting: {label}"), f"supporting: {label}")
    for label, weight in (weights or {}).items():
        if number(weight, f"supporting: weight of {label}") < 0:
            raise OptimalControlError(
                f"supporting: weight of {label}: expected 0 or more, got {weight!r}"
            )
    if not isinstance(softness, Softness):
        raise OptimalControlError(f"supporting: softness: expected a Softness, got {softness!r}")
    if not 0.0 < cone < math.pi / 2:
        raise OptimalControlError(
            f"supporting: cone must be within 0 and 90 degrees, got {cone} rad"
        )
    robot = (_load(tail, segments, links) if robot is None else robot).with_parameters(foot_y=heel)
    if duration is None:
        duration = 1.0 if task == "hold" else 0.6
    problem = OptimalControlProblem(name=f"supporting, {task}")
    declare_contact(problem, robot)
    phase = problem.phase("stand", duration=float(duration))
    add_robot_in_contact(phase, robot, input_rates=True)
    shape = Shape(phase, robot)
    limit = moment_limit * shape.links
    phase.bound(**dict.fromkeys(shape.torques, (-limit, limit)))
    upright = 1.0 - 2.0 * (phase["qx"] ** 2 + phase["qy"] ** 2)
    widest = cone if task == "hold" else max(cone, leaning) + math.radians(2.0)
    phase.path("cosine_of_tilt", upright, low=math.cos(widest), unit="1")
    if task == "restore":
        problem.constrain("tilt_at_end", phase.final(upright), low=math.cos(MARGIN * cone))
        phase.end(**dict.fromkeys(robot.velocities.names[:3], (-0.05, 0.05)))
        phase.end(**dict.fromkeys(shape.rates, (-0.05, 0.05)))
    _minimize(phase, shape, {**WEIGHTS, **(weights or {})}, limit)
    _scale(phase, robot, shape, limit)
    set_softness(problem, softness, leaning if task == "restore" else 0.0)
    problem.strategy = _by_ladder
    return problem


def _by_ladder(problem: OptimalControlProblem, **options: Any) -> Any:
    from .support_ladder import by_ladder

    return by_ladder(problem, **options)


def _load(tail: str, segments: int, links: int) -> Any:
    from bestiary.generated import load

    if tail == "articulated":
        return load("kangaroo_rat_articulated", segments=segments, links=links)
    return load("kangaroo_rat_continuum", segments=segments)


def _minimize(phase: Phase, shape: Shape, weights: Mapping[str, float], limit: float) -> None:
    torques = ca.vertcat(*(phase[n] for n in shape.torques)) / limit
    changes = ca.vertcat(*(phase[f"{n}_rate"] for n in shape.torques)) * RATE_UNIT / limit
    spin = ca.vertcat(*(phase[n] for n in ("wx", "wy", "wz")))
    rates = shape.links * ca.vertcat(*(phase[n] for n in shape.rates))
    for name, term in (
        ("effort", torques),
        ("unrest", spin),
        ("haste", changes),
        ("swinging", rates),
    ):
        if weights[name]:
            phase.minimize(integral=weights[name] * ca.sumsqr(term), name=name)


def _scale(phase: Phase, robot: Any, shape: Shape, limit: float) -> None:
    """Sizes of a motion that moves by centimetres within tenths of a second."""
    velocities = robot.velocities.names
    sizes = {**dict.fromkeys(("x", "y", "z"), 0.01), **dict.fromkeys(("qx", "qy", "qz"), 0.1)}
    sizes |= dict.fromkeys(velocities[:3], 1.0) | dict.fromkeys(velocities[3:BASE], 0.05)
    sizes |= dict.fromkeys(shape.coordinates, 1.2 / shape.links)
    sizes |= dict.fromkeys(shape.rates, 8.0 / shape.links)
    for k, name in enumerate(velocities):
        sizes[f"{name}_rate"] = 100.0 if k < 3 else 10.0 if k < BASE else 400.0 / shape.links
    for name in shape.torques:
        sizes[f"{name}_rate"] = limit / RATE_UNIT
    phase.nominal(**sizes)


def set_softness(
    problem: OptimalControlProblem, softness: Softness, tilt: float | None = None
) -> None:
    """Make the ground so soft: constants, and the start in static balance on it.

    Parameters
    ----------
    problem:
        From :func:`supporting`.
    softness:
        The rung.
    tilt:
        Of the torso at the start [rad]; as it was by default.
    """
    (phase,) = problem.phases
    robot = phase.robot
    constants = softness.constants
    problem.set(**constants)
    own = robot.with_parameters(**{n: v for n, v in constants.items() if n in robot.parameters})
    if tilt is None:
        qx = phase.start_bounds["qx"][0]
        tilt = 2.0 * math.asin(qx)
    q, u = balance(own, tilt)
    still = dict.fromkeys(robot.velocities.names, 0.0)
    values = dict(zip(robot.coordinates.names, map(float, q), strict=True)) | still
    values |= dict(zip(robot.inputs.names, map(float, u), strict=True))
    phase.start(**values)
    phase.guess(**values)
    phase.guess(**{f"{n}_rate": 0.0 for n in robot.velocities.names})


def balance(robot: Any, tilt: float = 0.0) -> tuple[Array, Array]:
    """Static balance on feet and tail: the pose (nq,) and the tail's torques (nu,).

    The torso leans back by ``tilt`` [rad]; its height and the bending of the tail's first
    segment follow from the balance of the vertical force and of the moment about x, the
    torques from the tail's own rows of M p' + C p + F = Q at rest.

    Raises
    ------
    OptimalControlError
        If feet and tail cannot carry the torso at this tilt.
    """
    from scipy.optimize import brentq

    q = np.array(robot.neutral)
    q[0], q[1] = math.cos(tilt / 2), math.sin(tilt / 2)
    still, none = np.zeros(len(robot.velocities)), np.zeros(len(robot.inputs))
    z, bend = 6, 7
    links = links_of_segment(robot)

    def missing(height: float, bending: float) -> Array:
        q[z], q[bend] = height, bending / links
        needed = robot.inverse_dynamics(q, still, still)
        return np.asarray(needed - robot.generalized_forces(q, still, none))

    def height(bending: float) -> float:
        up = robot.node_pose("torso", q)[2, :3]
        return float(
            brentq(lambda h: up @ missing(h, bending)[3:BASE], -0.05, 0.3, xtol=1e-15, rtol=1e-14)
        )

    def moment(bending: float) -> float:
        return float(missing(height(bending), bending)[0])

    tried = np.linspace(-0.6, 1.2, 181)
    found = [moment(b) for b in tried]
    for a, b, left, right in zip(tried, tried[1:], found, found[1:], strict=False):
        if left * right <= 0 and abs(left) + abs(right) < 1.0:
            bending = float(brentq(moment, a, b, xtol=1e-15, rtol=1e-14))
            rest = missing(height(bending), bending)
            forces, _, _ = robot.contact_forces_batch(q[None], still[None])
            feet = [not str(n).startswith("segment") for n in robot.meta["contacts"]]
            if forces[0, feet].sum() > forces[0].sum() / 2:  # else it stands on its tail alone
                return q.copy(), rest[BASE:]
    raise OptimalControlError(
        f"{robot.name}: no static balance on feet and tail with the torso leaning back by "
        f"{math.degrees(tilt):.3g} degrees"
    )


def links_of_segment(robot: Any) -> int:
    """Links of a segment that share its angles; 1 for an arc."""
    return segment_links(robot, 1) if "alpha_1" in robot.coordinates.names else 1
