"""How far a swing of the tail turns the rat: the largest turn in a given time.

From rest, tail straight, the body turns about one of its axes and is at rest again at the
end; the angle is a parameter of the problem and is maximised.  A little effort and
smoothness is weighed against it, as in least time (:mod:`.righting`), so the angle found is
slightly less than the largest.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from ..errors import OptimalControlError
from ..flight import add_free_flight
from ..orientation import attitude
from ..problem import OptimalControlProblem
from .righting import (
    AIR_TIME,
    BENDING_LIMIT,
    END_TAILS,
    MOMENT_LIMIT,
    SEQUENCE,
    SWING,
    Shape,
    at_rest,
    limit,
    load_rat,
    swing,
    weigh,
)

AXES = {"pitch": "x", "roll": "y", "yaw": "z"}
"""Turn -> the axis of the body that it is about."""
MOST = 8 * math.pi
"""Largest turn that is looked for [rad]."""
FIRST = {"pitch": 0.4, "roll": math.pi, "yaw": 0.4}
"""Guess of the turn [rad]."""
WEIGHTS = {"effort": 1e-3, "smoothness": 3e-3, "time": 0.0}


def farthest_turn(
    robot: Any = None,
    *,
    tail: str = "articulated",
    segments: int = 2,
    links: int = 4,
    turn: str = "roll",
    duration: float = AIR_TIME,
    end_tail: str = "straight",
    effort_weight: float | None = None,
    smoothness_weight: float | None = None,
    moment_limit: float = MOMENT_LIMIT,
    bending_limit: float = BENDING_LIMIT,
    link_limits: bool = True,
    first: float | None = None,
) -> OptimalControlProblem:
    """Turn the falling rat as far as its tail can about one axis, from rest to rest.

    Parameters
    ----------
    robot, tail, segments, links:
        As of :func:`.righting.righting`.
    turn:
        ``"roll"`` about the long axis y, ``"pitch"`` about x, ``"yaw"`` about z.
    duration:
        Seconds.
    end_tail:
        ``"straight"`` or ``"free"`` at the end, at rest either way.
    effort_weight, smoothness_weight:
        Against one radian of turn; constants of the problem.
    moment_limit, bending_limit:
        Of each bending coordinate [N m] and of each segment [rad].
    link_limits:
        As of :func:`.righting.righting`.
    first:
        Guess of the turn [rad]; by default 180 degrees of roll, 23 of pitch or yaw.

    Returns
    -------
    OptimalControlProblem
        With one phase, ``flight``, and the parameter ``turn`` [rad].

    Raises
    ------
    OptimalControlError
        For options that make no sense.
    """
    for label, value, known in (("turn", turn, AXES), ("end_tail", end_tail, END_TAILS)):
        if value not in known:
            raise OptimalControlError(
                f"farthest_turn: {label} must be one of {', '.join(known)}, got {value!r}"
            )
    if robot is None:
        robot = load_rat(tail, segments, links)
    start = attitude(0.0, 0.0, 0.0, sequence=SEQUENCE)
    at_rest(robot, start, (0.0, 0.0, 0.0))  # refuses other bases
    problem = OptimalControlProblem(name=f"farthest {turn}, tail {end_tail}")
    guess = FIRST[turn] if first is None else first
    angle = problem.parameter("turn", (0.0, MOST), guess=guess, unit="rad", nominal=1.0)
    flight = problem.phase("flight", duration=duration)
    add_free_flight(flight, robot)
    flight.start_orientation(quaternion=start.quaternion)
    shape = Shape(flight, robot)
    flight.start(**dict.fromkeys((*shape.coordinates, *shape.rates), 0.0))
    flight.end(**dict.fromkeys(shape.rates, 0.0))
    if end_tail == "straight":
        flight.end(**dict.fromkeys(shape.coordinates, 0.0))
    # (cos, axis sin) of half the turn: one equation beside two zeros, as the length is kept
    about = f"q{AXES[turn]}"
    flight.end(**{f"q{a}": 0.0 for a in "xyz" if f"q{a}" != about})
    ended = flight.final(flight["qw"]) * ca.sin(angle / 2) - flight.final(flight[about]) * ca.cos(
        angle / 2
    )
    problem.constrain("turn_at_end", ended, equals=0.0)
    limit(shape, moment_limit, bending_limit, link_limits)
    weights = dict(WEIGHTS)
    for name, given in (("effort", effort_weight), ("smoothness", smoothness_weight)):
        weights[name] = weights[name] if given is None else given
    weigh(shape, weights, moment_limit)
    problem.maximize(angle, "turn")
    little = {name: 0.1 * (name == turn) for name in AXES}  # one bend or a cone that way
    end = attitude(little["roll"], little["pitch"], little["yaw"], sequence=SEQUENCE)
    swing(shape, start, end, SWING, end_tail == "free")
    share = flight.guess_times / duration  # type: ignore[operator]  # swing has set it
    half = guess / 2 * share**2 * (3 - 2 * share)
    flight.guess(**{"qw": np.cos(half), about: np.sin(half)})
    return problem


def found_turn(solution: Any) -> float:
    """The turn of a solution [deg]."""
    return math.degrees(solution.parameters["turn"])


__all__ = ["AXES", "farthest_turn", "found_turn"]
