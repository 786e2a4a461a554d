"""Curves: brachistochrones, steering in the plane, chains and areas."""

from __future__ import annotations

import math

import casadi as ca

from ..problem import OptimalControlProblem
from .benchmark import benchmark


@benchmark(1.80160312, 1e-8 * 100, "Dymos' brachistochrone; Radau 3 on 50 intervals: 1.80160312 s")
def brachistochrone() -> OptimalControlProblem:
    """Slide from (0, 10) to (10, 5) m in the least time under gravity."""
    problem = OptimalControlProblem(name="brachistochrone")
    phase = problem.phase("slide")
    x, y, v = phase.states("x y v", units="m m m/s")
    (angle,) = phase.controls("angle", units="rad")
    phase.dynamics({x: v * ca.sin(angle), y: -v * ca.cos(angle), v: 9.80665 * ca.cos(angle)})
    phase.start(x=0, y=10, v=0)
    phase.end(x=10, y=5)
    phase.bound(angle=(0, math.pi))
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(math.sqrt(math.pi / 32.174), 1e-6, "analytic: sqrt(pi / g)")
def brachistochrone_free_height() -> OptimalControlProblem:
    """Slide 1 ft forward in the least time, to any height."""
    problem = OptimalControlProblem(name="brachistochrone to a wall")
    phase = problem.phase("slide")
    x, y, v = phase.states("x y v", units="ft ft ft/s")
    (angle,) = phase.controls("angle", units="rad")
    phase.dynamics({x: v * ca.sin(angle), y: v * ca.cos(angle), v: 32.174 * ca.cos(angle)})
    phase.start(x=0, y=0, v=0)
    phase.end(x=1)
    phase.bound(angle=(0, math.pi))
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(0.5545709, 1e-7, "PSOPT; 0.554570878 with Radau 4 on 100 intervals")
def linear_tangent_steering() -> OptimalControlProblem:
    """Reach a height and a speed in the least time with a constant acceleration to steer."""
    problem = OptimalControlProblem(name="linear tangent steering")
    phase = problem.phase("steer")
    x, vx, y, vy = phase.states("x vx y vy", units="m m/s m m/s")
    (angle,) = phase.controls("angle", units="rad")
    phase.dynamics({x: vx, vx: 100 * ca.cos(angle), y: vy, vy: 100 * ca.sin(angle)})
    phase.start(x=0, vx=0, y=0, vy=0)
    phase.end(y=5, vx=45, vy=0)
    phase.bound(angle=(-math.pi / 2, math.pi / 2))
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(
    2 / 3 * math.sqrt(3),
    1e-6,
    "analytic: straight across with the bow against the stream, 1 / sqrt(1 - 1/4)",
)
def zermelo_uniform_stream() -> OptimalControlProblem:
    """Cross to a point abeam in a uniform stream of half the boat's speed."""
    problem = OptimalControlProblem(name="Zermelo in a uniform stream")
    phase = problem.phase("cross")
    x, y = phase.states("x y", units="m")
    ux, uy = phase.controls("ux uy", units="m/s")
    phase.dynamics({x: ux + 0.5, y: uy})
    phase.path("speed", ux**2 + uy**2, None, 1.0)
    phase.start(x=0, y=0)
    phase.end(x=0, y=1)
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(5.457865263, 1e-6, "Zermelo's law, shot to 1e-12; Bryson and Ho 1975 (2.7): 5.46")
def zermelo_shear() -> OptimalControlProblem:
    """Sail to the origin in a stream that grows with y (Zermelo; Bryson and Ho)."""
    problem = OptimalControlProblem(name="Zermelo in a shear flow")
    phase = problem.phase("sail")
    x, y = phase.states("x y", units="m")
    ux, uy = phase.controls("ux uy", units="m/s")
    phase.dynamics({x: ux - y, y: uy})
    phase.path("speed", ux**2 + uy**2, None, 1.0)
    phase.start(x=3.66, y=-1.86)
    phase.end(x=0, y=0)
    phase.guess(times=5.0)
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(5.068480110993, 1e-6, "catenary of length 4 (COPS 3): from its equation")
def hanging_chain() -> OptimalControlProblem:
    """Hang a chain of length 4 m between (0, 1) and (1, 3) m: the least potential energy."""
    problem = OptimalControlProblem(name="hanging chain")
    phase = problem.phase("chain", duration=1.0)
    (height,) = phase.states("height", units="m")
    (slope,) = phase.controls("slope")
    phase.dynamics({height: slope})
    phase.start(height=1)
    phase.end(height=3)
    arc = ca.sqrt(1 + slope**2)
    problem.constrain("length", phase.integral(arc, "length", unit="m"), equals=4, unit="m")
    phase.bound(height=(-10, 10), slope=(-20, 20))
    phase.guess(slope=2)
    phase.minimize(integral=height * arc)
    return problem


@benchmark(1 / (4 * math.pi), 1e-6, "analytic: the circle", maximized=True)
def isoperimetric() -> OptimalControlProblem:
    """Enclose the largest area with a closed curve of length 1 m (periodic, any start)."""
    problem = OptimalControlProblem(name="isoperimetric problem")
    phase = problem.phase("curve", duration=1.0)
    x, y = phase.states("x y", units="m")
    ux, uy = phase.controls("ux uy")
    phase.dynamics({x: ux, y: uy})
    phase.path("speed", ux**2 + uy**2, None, 1.0)
    phase.start(x=0, y=0)
    phase.end(x=0, y=0)
    phase.maximize(integral=(x * uy - y * ux) / 2)
    phase.guess(
        times=[0, 0.25, 0.5, 0.75, 1.0],
        x=[0, 0.2, 0.2, 0, 0],
        y=[0, 0, 0.2, 0.2, 0],
        ux=[1, 0, -1, 0, 1],
        uy=[0, 1, 0, -1, 0],
    )
    return problem


@benchmark(
    1.499263915138482,
    1e-6,
    "Newton 1687; YAPSS' test",
)
def newton_nose() -> OptimalControlProblem:
    """Shape the nose of length 1 and radius 1 of least resistance: starts at a free radius."""
    problem = OptimalControlProblem(name="Newton's nose")
    phase = problem.phase("nose", start=(0.0, 0.7), end=1.0)
    (height,) = phase.states("height")
    (slope,) = phase.controls("slope")
    phase.dynamics({height: slope})
    phase.start(height=1)
    phase.end(height=0)
    phase.bound(slope=(-20, 0))
    phase.guess(slope=-1)
    phase.minimize(integral=8 * phase.time / (1 + slope**2))
    problem.minimize(4 * phase.start_time**2, "flat face")
    return problem


@benchmark(2.131722291465, 1e-6, "analytic: two tangents and an arc around the first obstacle")
def obstacle_course() -> OptimalControlProblem:
    """Run from (0, 0) to (1.2, 1.6) m at constant speed around two round obstacles."""
    problem = OptimalControlProblem(name="two round obstacles")
    phase = problem.phase("run")
    x, y = phase.states("x y", units="m")
    ux, uy = phase.controls("ux uy", units="m/s")
    phase.dynamics({x: ux, y: uy})
    phase.path("speed", ux**2 + uy**2, None, 1.0)
    phase.path("first", (x - 0.4) ** 2 + (y - 0.5) ** 2, 0.1)
    phase.path("second", (x - 0.8) ** 2 + (y - 1.5) ** 2, 0.1)
    phase.start(x=0, y=0)
    phase.end(x=1.2, y=1.6)
    phase.guess(times=[0, 1, 2], x=[0, 0.8, 1.2], y=[0, 0.3, 1.6])
    problem.minimize(phase.duration, "time")
    return problem
