"""A planar swimmer: a floating base and links in a row, in water that resists sideways motion.

The model of the tests and benchmarks that need a robot of a chosen size: with ten links it
has 12 degrees of freedom and 9 joint torques, with eighteen 20 and 17.  The equations of
motion are derived by the core; the water's resistance is linear in the velocity of each
link's middle and stronger across than along (Gray and Hancock, 1955, "The propulsion of
sea-urchin spermatozoa", J. Exp. Biol. 32).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import casadi as ca
import numpy as np

from bestiary.build_tools.backends.casadi import casadi_function
from bestiary.modeling.formalisms.poincare import poincare
from bestiary.modeling.joints import Planar, Revolute
from bestiary.modeling.model import Model

LENGTH, MASS = 0.1, 0.05  # of a link [m], [kg]
ALONG, ACROSS = 0.1, 0.4  # resistance of a link [N s/m]
TURNING = 2e-4  # resistance of a link to turning [N m s/rad]


def swimmer_model(links: int = 10) -> Model:
    """Links in the plane x, y, each hinged to the end of the one before."""
    model = Model("swimmer", gravity=0, title=f"planar swimmer with {links} links")
    about = MASS * LENGTH**2 / 12
    inertia = (0, about, about)  # a thin rod
    parent = model.body(
        "head",
        joint=Planar("z", ("heading", "x", "y"), ("turn_rate", "surge", "sway")),
        mass=MASS,
        com=(LENGTH / 2, 0, 0),
        inertia=inertia,
        frame=False,
    )
    for k in range(1, links):
        parent = model.body(
            f"link_{k}",
            parent=parent,
            at=(LENGTH, 0, 0),
            joint=Revolute(f"bend_{k}", axis="z"),
            mass=MASS,
            com=(LENGTH / 2, 0, 0),
            inertia=inertia,
            frame=False,
        )
        model.actuate(f"bend_{k}_rate")
    return model


@lru_cache(maxsize=4)
def inverse_dynamics(links: int = 10) -> ca.Function:
    """(q, p, accelerations) -> generalized forces, of the derived model."""
    equations = poincare(swimmer_model(links))
    return casadi_function(equations.program, "inverse_dynamics", equations.values())


def resistance(q: Any, p: Any, links: int) -> Any:
    """Generalized forces of the water, by one sweep out and one back."""
    turn, surge, sway = p[0], p[1], p[2]
    forces = []
    for k in range(links):
        if k:
            c, s = ca.cos(q[2 + k]), ca.sin(q[2 + k])
            sway = sway + turn * LENGTH
            surge, sway = c * surge + s * sway, c * sway - s * surge
            turn = turn + p[2 + k]
        middle = sway + turn * LENGTH / 2
        forces.append((-TURNING * turn, -ALONG * surge, -ACROSS * middle))
    moment: Any = 0
    fx: Any = 0
    fy: Any = 0
    torques = []
    for k in reversed(range(links)):
        own_moment, own_x, own_y = forces[k]
        moment = moment + own_moment + own_y * LENGTH / 2
        fx, fy = fx + own_x, fy + own_y
        torques.append(moment)
        if k:
            c, s = ca.cos(q[2 + k]), ca.sin(q[2 + k])
            fx, fy = c * fx - s * fy, s * fx + c * fy
            moment = moment + LENGTH * fy
    return ca.vertcat(torques[-1], fx, fy, *reversed(torques[:-1]))


def _wave(times: Any, place: float, duration: float) -> Any:
    part = np.asarray(times) / duration
    return 0.5 * np.sin(np.pi * part) * np.sin(2 * np.pi * (2 * part - place))


def swimmer_problem(links: int = 10, distance: float = 0.1, duration: float = 2.0) -> Any:
    """Swim ahead from rest with little torque; accelerations are variables, no inverse of M."""
    from bestiary.solvers.ocp.problem import OptimalControlProblem

    joints = [f"bend_{k}" for k in range(1, links)]
    places, speeds = ["heading", "x", "y", *joints], ["turn_rate", "surge", "sway"]
    speeds += [f"{j}_rate" for j in joints]
    many = len(joints)
    problem = OptimalControlProblem(name=f"swimmer with {links} links")
    swim = problem.phase("swim", duration=duration)
    q = ca.vertcat(*swim.states(places, ["rad", "m", "m", *["rad"] * many]))
    p = ca.vertcat(*swim.states(speeds, ["rad/s", "m/s", "m/s", *["rad/s"] * many]))
    u = ca.vertcat(*swim.controls([f"{j}_torque" for j in joints], ["N m"] * many))
    rates = ca.vertcat(*(swim.rate(s) for s in speeds))
    c, s = ca.cos(q[0]), ca.sin(q[0])
    swim.dynamics({"heading": p[0], "x": c * p[1] - s * p[2], "y": s * p[1] + c * p[2]})
    swim.dynamics({j: p[3 + k] for k, j in enumerate(joints)})
    forces = resistance(q, p, links) + ca.vertcat(ca.SX.zeros(3), u)
    balance = inverse_dynamics(links)(q, p, rates) - forces
    for k, (speed, unit) in enumerate(zip(speeds, ["N m", "N", "N", *["N m"] * many], strict=True)):
        swim.equation(f"{speed}_balance", balance[k], unit)
    swim.start(**{name: 0 for name in [*places, *speeds]})
    swim.end(x=distance)
    swim.bound(**{j: (-1.2, 1.2) for j in joints})
    swim.minimize(integral=1e4 * ca.sumsqr(u))
    # straight and at rest is a dead end of the search: start from waves that run tailwards
    for k, joint in enumerate(joints, start=1):
        swim.guess(**{joint: partial(_wave, place=k / links, duration=duration)})
    return problem
