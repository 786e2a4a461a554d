"""One contestant of the optimal-control benchmark solves the cart-pole, several times.

    python benchmarks/cart_pole.py bestiary|opty|rockit SCHEME SOLVES FOLDER

It prints a line of JSON: processor and wall seconds of importing and of each solve, from
the statement of the problem to its solution, and the cost found.  FOLDER keeps what the
contestant compiles.  The problem is the swing-up of Kelly (2017, "An introduction to
trajectory optimization", SIAM Review 59, section 6) with force bounds of 20 N.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

DURATION, DISTANCE, FORCE, RAIL = 2.0, 1.0, 20.0, 2.0
CART, BOB, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
TOLERANCE = 1e-8  # of the nonlinear program

Solve = Callable[[], tuple[float, int]]
"""States and solves the problem; its cost, and iterations (-1 where they are not told)."""


def _accelerations(theta: Any, omega: Any, force: Any, sin: Any, cos: Any) -> tuple[Any, Any]:
    s, c = sin(theta), cos(theta)
    moved = CART + BOB * (1 - c**2)
    pull = LENGTH * BOB * s * omega**2
    cart = (pull + force + BOB * GRAVITY * c * s) / moved
    bob = -(pull * c + force * c + (CART + BOB) * GRAVITY * s) / (LENGTH * moved)
    return cart, bob


def bestiary(scheme: str, _folder: str) -> Solve:
    """Ours, with the re-simulation and the verdict that belong to every solution."""
    import math

    from casadi import cos, sin

    from bestiary.solvers import ocp

    chosen, mesh = {
        "midpoint": (ocp.Gauss(1), 200),
        "trapezoid": (ocp.Trapezoid(), 200),
        "radau": (ocp.Radau(3), 50),
    }[scheme]

    def solve() -> tuple[float, int]:
        problem = ocp.OptimalControlProblem(name="cart-pole")
        cart = problem.phase("swing-up", duration=DURATION)
        x, theta, v, omega = cart.states("x theta v omega", units="m rad m/s rad/s")
        (force,) = cart.controls("force", units="N")
        a, b = _accelerations(theta, omega, force, sin, cos)
        cart.dynamics({x: v, theta: omega, v: a, omega: b})
        cart.start(x=0, theta=0, v=0, omega=0)
        cart.end(x=DISTANCE, theta=math.pi, v=0, omega=0)
        cart.bound(force=(-FORCE, FORCE), x=(-RAIL, RAIL))
        cart.minimize(integral=force**2)
        # the program's tolerance is a thousandth of the mesh's
        solution = problem.solve(
            scheme=chosen, mesh=mesh, tolerance=1e3 * TOLERANCE, refine_mesh=False
        )
        outcome = solution.refined.outcome
        assert outcome.status.converged
        return outcome.cost, outcome.iterations

    return solve


def opty(_scheme: str, folder: str) -> Solve:
    """Midpoint rule, 201 nodes; its compiled functions are kept in the folder."""
    import numpy as np
    import sympy as sm
    from opty import Problem, create_objective_function

    def solve() -> tuple[float, int]:
        nodes = 201
        step = DURATION / (nodes - 1)
        t = sm.symbols("t")
        names = ("x", "theta", "v", "omega", "force")
        x, theta, v, omega, force = (sm.Function(n)(t) for n in names)
        a, b = _accelerations(theta, omega, force, sm.sin, sm.cos)
        rates = (v, omega, a, b)
        states = (x, theta, v, omega)
        equations = sm.Matrix([s.diff(t) - r for s, r in zip(states, rates, strict=True)])
        cost, gradient = create_objective_function(
            sm.Integral(force**2, t), states, (force,), (), nodes, step,
            integration_method="midpoint",
        )  # fmt: skip
        ends = [s.subs(t, 0) for s in states]
        ends += [
            s.subs(t, DURATION) - e for s, e in zip(states, (DISTANCE, sm.pi, 0, 0), strict=True)
        ]
        problem = Problem(
            cost, gradient, equations, states, nodes, step,
            instance_constraints=tuple(ends), bounds={force: (-FORCE, FORCE), x: (-RAIL, RAIL)},
            integration_method="midpoint", tmp_dir=folder, time_symbol=t,
        )  # fmt: skip
        for option, value in (("tol", TOLERANCE), ("print_level", 0), ("sb", "yes")):
            problem.add_option(option, value)
        found, info = problem.solve(problem.create_linear_initial_guess())
        assert info["status"] == 0, info["status_msg"]
        assert np.all(np.isfinite(found))
        return float(info["obj_val"]), -1

    return solve


def rockit(_scheme: str, _folder: str) -> Solve:
    """Radau points of degree 3 on 50 intervals, constant controls, expanded: its fastest."""
    import rockit as r
    from casadi import cos, pi, sin

    def solve() -> tuple[float, int]:
        problem = r.Ocp(T=DURATION)
        x, theta, v, omega = (problem.state() for _ in range(4))
        force = problem.control()
        a, b = _accelerations(theta, omega, force, sin, cos)
        for state, rate in ((x, v), (theta, omega), (v, a), (omega, b)):
            problem.set_der(state, rate)
        problem.add_objective(problem.integral(force**2))
        for state, end in ((x, DISTANCE), (theta, pi), (v, 0), (omega, 0)):
            problem.subject_to(problem.at_t0(state) == 0)
            problem.subject_to(problem.at_tf(state) == end)
        problem.subject_to((force <= FORCE) >= -FORCE)
        problem.subject_to((x <= RAIL) >= -RAIL)
        problem.set_initial(x, DISTANCE * problem.t / DURATION)
        problem.set_initial(theta, pi * problem.t / DURATION)
        quiet = {"ipopt.tol": TOLERANCE, "ipopt.print_level": 0, "ipopt.sb": "yes"}
        problem.solver("ipopt", {**quiet, "print_time": False, "expand": True})
        problem.method(r.DirectCollocation(N=50, M=1, degree=3, scheme="radau"))
        found = problem.solve()
        return float(found.value(problem.objective)), int(found.stats["iter_count"])

    return solve


def main() -> None:
    """Import, then state and solve as often as was asked."""
    name, scheme, solves, folder = sys.argv[1:]
    processor, wall = time.process_time(), time.perf_counter()
    solve = {"bestiary": bestiary, "opty": opty, "rockit": rockit}[name](scheme, folder)
    times = [[time.process_time() - processor, time.perf_counter() - wall]]
    cost, iterations = float("nan"), -1
    told, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  peers print banners
    for _ in range(int(solves)):
        before = time.process_time() + sum(os.times()[2:4]), time.perf_counter()
        cost, iterations = solve()
        after = time.process_time() + sum(os.times()[2:4]), time.perf_counter()
        times.append([after[0] - before[0], after[1] - before[1]])
    sys.stdout = told
    print(json.dumps({"times": times, "cost": cost, "iterations": iterations}))


if __name__ == "__main__":
    main()
