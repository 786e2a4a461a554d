"""Small optimal-control problems with known answers, for several test modules."""

from __future__ import annotations

from bestiary.solvers.ocp import OptimalControlProblem


def integrator() -> OptimalControlProblem:
    """x'' = u with least effort: u = 6 - 12 t, cost 12."""
    problem = OptimalControlProblem(name="integrator")
    phase = problem.phase("move", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.bound(u=(-10, 10))
    phase.path("power", u * v, low=-20, high=20, unit="m^2/s^3")
    phase.minimize(integral=u**2, name="effort")
    return problem


def two_phases() -> OptimalControlProblem:
    """Two linked phases; only the second one has the control w, both cost time and effort."""
    problem = OptimalControlProblem(name="relay")
    gain = problem.parameter("gain", (0.5, 2.0), 1.0, "1/s")
    first = problem.phase("first", duration=(0.2, 2.0))
    second = problem.phase("second", duration=(0.2, 2.0))
    (x,) = first.states("x", units="m")
    (u,) = first.controls("u")
    first.dynamics({x: gain * u})
    first.start(x=0)
    (y,) = second.states("x", units="m")
    (w,) = second.controls("w")
    second.dynamics({y: gain * w})
    second.end(x=1)
    problem.link(first, second)
    first.minimize(integral=u**2, name="effort")
    second.minimize(integral=2 * w**2, name="braking")
    problem.minimize(second.end_time, name="time")
    problem.minimize(0.1 * gain**2, name="gain")
    return problem


def bang_bang() -> OptimalControlProblem:
    """Least time between rests: a knot at half time."""
    problem = OptimalControlProblem(name="bang")
    phase = problem.phase("move")
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    phase.bound(u=(-1, 0.5))
    problem.minimize(phase.duration)
    return problem
