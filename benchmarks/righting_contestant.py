"""One contestant rights the kangaroo rat from its back, once.

    python benchmarks/righting_contestant.py bestiary|opty SCHEME SEGMENTS LINKS FOLDER

It prints lines of JSON as it gets on: processor and wall seconds of each step, and in the
end the cost found.  FOLDER keeps what the contestant compiles.  The problem is that of
``solvers/ocp/library/righting.py``: 180 degrees of roll in 0.4 s, at rest and with a straight
tail at both ends; effort and a little smoothness; the same limits of torque.  The bending
limit of half a turn for each segment is left out for opty.

opty gets the full model without gravity, as its users state it: Kane's equations of a torso
with a quaternion and a chain of links, angles shared by the links of a segment, by
``sympy.physics.mechanics``.  As a momentum needs no place, place is left out.  Accelerations of
the tail are inputs, since the cost needs them, and torques are variables without a rate.  Both
start from the default guess of ``righting``.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

TORSO_MASS, SEMI_AXES = 0.105, (0.030, 0.065, 0.030)
TAIL_LENGTH, TAIL_MASS, TAIL_RADIUS = 0.19, 0.005, 0.0025
TAIL_BASE = (0.0, -0.060, 0.005)
AIR_TIME = 0.4
MOMENT = 0.04  # N m, of a segment, shared by its links
SMOOTHNESS, ACCELERATION = 0.003, 1000.0
TOLERANCE = 1e-8  # of the nonlinear program
NODES = 101

Tell = Callable[..., None]


def teller() -> Tell:
    """Prints the seconds since the last step."""
    before = [time.process_time() + sum(os.times()[2:4]), time.perf_counter()]
    out = sys.stdout

    def tell(step: str, **facts: Any) -> None:
        now = [time.process_time() + sum(os.times()[2:4]), time.perf_counter()]
        seconds = {"processor": now[0] - before[0], "wall": now[1] - before[1]}
        print(json.dumps({"step": step, **seconds, **facts}), file=out, flush=True)
        before[:] = now

    return tell


def bestiary(scheme: str, segments: int, links: int, _folder: str, tell: Tell) -> None:
    """Ours, with the re-simulation and the verdict that belong to every solution."""
    import bestiary as package
    from bestiary.solvers import ocp
    from bestiary.solvers.ocp.library.righting import righting

    tell("imports")
    kind = {"segments": segments, "links": links, "contact": False}
    robot = package.load("kangaroo_rat_articulated", **kind)
    tell("equations")
    formulation, rule = scheme.split("-")
    problem = righting(robot, formulation=formulation, link_limits=False)
    if rule == "midpoint":
        options: dict[str, Any] = {"scheme": ocp.Gauss(1), "mesh": NODES - 1, "refine_mesh": False}
    else:
        options = {"mesh": 16}
    solution = problem.solve(tolerance=1e-5, progress=False, **options)
    outcome = solution.refined.outcome
    assert outcome.status.converged, outcome.status
    iterations = sum(r.outcome.iterations for r in solution.refined.rounds)
    tell("solve", cost=outcome.cost, iterations=iterations, verdict=solution.status.value)


def kane(segments: int, links: int) -> dict[str, Any]:
    """Kane's equations of the rat, and their symbols."""
    import sympy as sm
    import sympy.physics.mechanics as me

    e, w, v = (me.dynamicsymbols(n) for n in ("e0:4", "w0:3", "v0:3"))
    r, s, torques = (me.dynamicsymbols(f"{n}0:{2 * segments}") for n in ("r", "s", "tau"))
    world, torso = me.ReferenceFrame("N"), me.ReferenceFrame("B")
    torso.orient_quaternion(world, e)
    spin = w[0] * torso.x + w[1] * torso.y + w[2] * torso.z
    turning = (
        -e[1] * w[0] - e[2] * w[1] - e[3] * w[2],
        e[0] * w[0] + e[2] * w[2] - e[3] * w[1],
        e[0] * w[1] + e[3] * w[0] - e[1] * w[2],
        e[0] * w[2] + e[1] * w[1] - e[2] * w[0],
    )
    kinematics = [a.diff() - b / 2 for a, b in zip(e, turning, strict=True)]
    torso.set_ang_vel(world, spin)
    centre = me.Point("C")
    centre.set_vel(world, v[0] * torso.x + v[1] * torso.y + v[2] * torso.z)
    x, y, z = (n * n for n in SEMI_AXES)
    fifth = TORSO_MASS / 5
    inertia = me.inertia(torso, fifth * (y + z), fifth * (x + z), fifth * (x + y))
    bodies = [me.RigidBody("torso", centre, torso, TORSO_MASS, (inertia, centre))]
    mass, length = TAIL_MASS / (segments * links), TAIL_LENGTH / (segments * links)
    across = mass * (3 * TAIL_RADIUS**2 + length**2) / 12
    along = mass * TAIL_RADIUS**2 / 2
    joint = centre.locatenew("J", TAIL_BASE[1] * torso.y + TAIL_BASE[2] * torso.z)
    joint.v2pt_theory(centre, world, torso)
    before = torso
    for k in range(segments * links):
        alpha, beta = 2 * (k // links), 2 * (k // links) + 1
        turned, frame = me.ReferenceFrame(f"A{k}"), me.ReferenceFrame(f"L{k}")
        turned.orient_axis(before, before.x, r[alpha])
        frame.orient_axis(turned, turned.z, r[beta])
        turned.set_ang_vel(before, s[alpha] * before.x)
        frame.set_ang_vel(turned, s[beta] * turned.z)
        middle = joint.locatenew(f"M{k}", -length / 2 * frame.y)
        middle.v2pt_theory(joint, world, frame)
        own = me.inertia(frame, across, along, across)
        bodies.append(me.RigidBody(f"link{k}", middle, frame, mass, (own, middle)))
        following = joint.locatenew(f"J{k}", -length * frame.y)
        following.v2pt_theory(joint, world, frame)
        joint, before = following, frame
    method = me.KanesMethod(
        world,
        q_ind=[*e, *r],
        u_ind=[*w, *v, *s],
        kd_eqs=[*kinematics, *(a.diff() - b for a, b in zip(r, s, strict=True))],
    )
    rows, star = method.kanes_equations(bodies)
    forces = sm.Matrix([0] * 6 + list(torques))  # generalized, as torques on shared angles are
    return {
        "kinematics": kinematics, "dynamics": rows + star + forces,
        "e": e, "w": w, "v": v, "r": r, "s": s, "torques": torques,
    }  # fmt: skip


def opty(_scheme: str, segments: int, links: int, folder: str, tell: Tell) -> None:
    """Midpoint rule; its compiled functions are kept in the folder."""
    import numpy as np
    import sympy as sm
    import sympy.physics.mechanics as me
    from opty import Problem, create_objective_function

    tell("imports")
    made = kane(segments, links)
    tell("equations")
    t = me.dynamicsymbols._t
    e, w, v, r, s, torques = (made[k] for k in ("e", "w", "v", "r", "s", "torques"))
    inputs = me.dynamicsymbols(f"a0:{2 * segments}")
    dynamics = made["dynamics"].xreplace({x.diff(): a for x, a in zip(s, inputs, strict=True)})
    equations = sm.Matrix(
        [
            *made["kinematics"],
            *(x.diff() - y for x, y in zip(r, s, strict=True)),
            *dynamics,
            *(x.diff() - y for x, y in zip(s, inputs, strict=True)),
        ]
    )
    states = (*e, *r, *w, *v, *s, *torques)
    step = AIR_TIME / (NODES - 1)
    effort = sum(x**2 for x in torques) / links**2 / segments / MOMENT**2
    smooth = segments * links**2 * sum(x**2 for x in inputs) / ACCELERATION**2
    cost, gradient = create_objective_function(
        sm.Integral(effort + SMOOTHNESS * smooth, t), states, tuple(inputs), (), NODES, step,
        integration_method="midpoint", time_symbol=t,
    )  # fmt: skip
    start = {e[2]: 1, **dict.fromkeys((e[0], e[1], e[3], *r, *w, *v, *s), 0)}
    end = dict.fromkeys((e[1], e[2], e[3], *r, *s), 0)
    conditions = [x.subs(t, 0) - value for x, value in start.items()]
    conditions += [x.subs(t, AIR_TIME) - value for x, value in end.items()]
    problem = Problem(
        cost, gradient, equations, states, NODES, step,
        instance_constraints=tuple(conditions), time_symbol=t, tmp_dir=folder,
        bounds=dict.fromkeys(torques, (-MOMENT * links, MOMENT * links)),
        integration_method="midpoint",
    )  # fmt: skip
    tell("set-up")
    for option, value in (("tol", TOLERANCE), ("print_level", 0), ("sb", "yes")):
        problem.add_option(option, value)
    found, info = problem.solve(_guess(np, segments, links, len(states)))
    assert np.all(np.isfinite(found))
    tell("solve", cost=float(info["obj_val"]), status=int(info["status"]), iterations=-1)


def _guess(np: Any, segments: int, links: int, states: int) -> Any:
    """The default guess of ``righting`` at opty's nodes."""
    share = np.linspace(0.0, 1.0, NODES)
    time_ = AIR_TIME * share
    found = np.zeros((states + 2 * segments, NODES))
    found[0], found[2] = np.sin(math.pi / 2 * share), np.cos(math.pi / 2 * share)
    size = 1.2 / links * np.sin(math.pi * share) ** 2
    turn = 4 * math.pi * share
    for k in range(segments):
        for place, x in (
            (2 * k, size * np.cos(turn)),
            (2 * k + 1, -size * np.sin(turn)),
        ):
            rate = np.gradient(x, time_)
            found[4 + place] = x
            found[4 + 2 * segments + 6 + place] = rate
            found[states + place] = np.gradient(rate, time_)
    return found.ravel()


def main() -> None:
    """Solve once."""
    name, scheme, segments, links, folder = sys.argv[1:]
    tell = teller()
    told, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  peers print banners
    solve = {"bestiary": bestiary, "opty": opty}[name]
    solve(scheme, int(segments), int(links), folder, tell)
    sys.stdout = told


if __name__ == "__main__":
    main()
