"""Problems with linear dynamics, most of them with an optimum in closed form."""

from __future__ import annotations

import math

import casadi as ca

from ..phase import Phase
from ..problem import OptimalControlProblem
from .benchmark import benchmark

EXACT = 1e-6


@benchmark(12.0, EXACT, "analytic: u = 6 - 12 t")
def double_integrator_energy() -> OptimalControlProblem:
    """Move a unit mass by 1 m in 1 s, rest to rest, with the least integral of force squared."""
    problem = OptimalControlProblem(name="double integrator, least effort")
    move = problem.phase("move", duration=1.0)
    x, v = move.states("x v", units="m m/s")
    (u,) = move.controls("u", units="m/s^2")
    move.dynamics({x: v, v: u})
    move.start(x=0, v=0)
    move.end(x=1, v=0)
    move.minimize(integral=u**2)
    return problem


@benchmark(2.0, EXACT, "analytic: bang-bang, switch at 1 s")
def double_integrator_time() -> OptimalControlProblem:
    """Move a unit mass by 1 m, rest to rest, in the least time with a force of at most 1 N."""
    problem = OptimalControlProblem(name="double integrator, least time")
    move = problem.phase("move")
    x, v = move.states("x v", units="m m/s")
    (u,) = move.controls("u", units="m/s^2")
    move.dynamics({x: v, v: u})
    move.start(x=0, v=0)
    move.end(x=1, v=0)
    move.bound(u=(-1, 1))
    problem.minimize(move.duration, "time")
    return problem


@benchmark(30.0, EXACT, "analytic: switch at 20 s")
def brake_harder_than_accelerate() -> OptimalControlProblem:
    """Drive 300 m in the least time, accelerating with 1 and braking with 2 m/s^2."""
    problem = OptimalControlProblem(name="asymmetric bang-bang")
    drive = problem.phase("drive")
    x, v = drive.states("x v", units="m m/s")
    (u,) = drive.controls("u", units="m/s^2")
    drive.dynamics({x: v, v: u})
    drive.start(x=0, v=0)
    drive.end(x=300, v=0)
    drive.bound(u=(-2, 1))
    problem.minimize(drive.duration, "time")
    return problem


@benchmark(0.5 * math.tanh(1.0), EXACT, "analytic: Riccati, tanh(1) / 2")
def scalar_regulator() -> OptimalControlProblem:
    """Bring a scalar integrator from 1 towards 0 in 1 s at quadratic cost."""
    problem = OptimalControlProblem(name="scalar linear-quadratic regulator")
    phase = problem.phase("regulate", duration=1.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: u})
    phase.start(x=1)
    phase.minimize(integral=0.5 * (x**2 + u**2))
    return problem


def _limited_rise(limit: float, name: str) -> OptimalControlProblem:
    problem = OptimalControlProblem(name=name)
    phase = problem.phase("rise", duration=1.0)
    x, v = phase.states("x v", units="m m/s")
    (u,) = phase.controls("u", units="m/s^2")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=1)
    phase.end(x=0, v=-1)
    phase.bound(x=(None, limit))
    phase.minimize(integral=u**2 / 2)
    return problem


@benchmark(4.0, EXACT, "analytic: 4 / (9 l), Bryson and Denham 1963")
def bryson_denham() -> OptimalControlProblem:
    """Return a mass with reversed speed without passing 1/9 m: a state constraint of order 2."""
    return _limited_rise(1 / 9, "Bryson-Denham")


@benchmark(40 / 9, EXACT, "analytic: 4 / (9 l); PSOPT 4.444439")
def breakwell() -> OptimalControlProblem:
    """As :func:`bryson_denham` with a limit of 0.1 m."""
    return _limited_rise(0.1, "Breakwell")


@benchmark(2 * math.sqrt(17), EXACT, "analytic: switch at 1.41540 s, landing at 4.16414 s")
def moon_lander() -> OptimalControlProblem:
    """Land softly with the least fuel (Meditch): coast, then full thrust."""
    problem = OptimalControlProblem(name="moon lander")
    phase = problem.phase("descent")
    h, v = phase.states("height speed", units="m m/s")
    (u,) = phase.controls("thrust", units="m/s^2")
    phase.dynamics({h: v, v: u - 1.5})
    phase.start(height=10, speed=-2)
    phase.end(height=0, speed=0)
    phase.bound(thrust=(0, 3))
    phase.minimize(integral=u)
    return problem


def _tail_righting(problem: OptimalControlProblem, duration: float | None) -> tuple[Phase, ca.SX]:
    """Two coaxial bodies without outer torque: what one gains the other loses."""
    phase = problem.phase("righting", duration=duration)
    body, tail, w_body, w_tail = phase.states(
        "body tail body_rate tail_rate", units="rad rad rad/s rad/s"
    )
    (torque,) = phase.controls("torque", units="N*m")
    phase.dynamics({body: w_body, tail: w_tail, w_body: -torque / 1.0, w_tail: torque / 0.25})
    phase.start(body=0, tail=0, body_rate=0, tail_rate=0)
    phase.end(body=math.pi / 2, body_rate=0, tail_rate=0)
    return phase, torque


@benchmark(math.sqrt(2 * math.pi), EXACT, "analytic: 2 sqrt(angle inertia / torque)")
def tail_righting_time() -> OptimalControlProblem:
    """Turn a body by 90 degrees by swinging its tail, in the least time with 1 N m at most."""
    problem = OptimalControlProblem(name="tail righting, least time")
    phase, _ = _tail_righting(problem, None)
    phase.bound(torque=(-1, 1))
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(3 * math.pi**2, EXACT, "analytic: 12 angle^2 inertia^2 / T^3")
def tail_righting_energy() -> OptimalControlProblem:
    """Turn a body by 90 degrees by swinging its tail within 1 s, with the least effort."""
    problem = OptimalControlProblem(name="tail righting, least effort")
    phase, torque = _tail_righting(problem, 1.0)
    phase.minimize(integral=torque**2)
    return problem


@benchmark(
    0.37699193, 1e-6, "refined here (Radau 4, 100 intervals: 0.376991821); 0.37699 Jacobson 1970"
)
def jacobson_singular() -> OptimalControlProblem:
    """Bring a double integrator to rest at a cost of the state alone: bang, then singular."""
    problem = OptimalControlProblem(name="Jacobson's singular regulator")
    phase = problem.phase("regulate", duration=5.0)
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=1)
    phase.bound(u=(-1, 1))
    phase.minimize(integral=0.5 * (x**2 + v**2))
    return problem


@benchmark(1.041686148, 1e-6, "self-converged; PSOPT 1.042568 on 30 nodes a phase")
def two_phase_path_tracking() -> OptimalControlProblem:
    """Track an L-shaped path in two phases (Schwartz): the reference turns at 1 s."""
    problem = OptimalControlProblem(name="path tracking in two phases")
    phases = []
    for name, begin in (("along x", 0.0), ("along y", 1.0)):
        phase = problem.phase(name, start=begin, end=begin + 1.0)
        x, y, vx, vy = phase.states("x y vx vy", units="m m m/s m/s")
        ax, ay = phase.controls("ax ay", units="m/s^2")
        phase.dynamics({x: vx, y: vy, vx: ax, vy: ay})
        phase.bound(ax=(-10, 10), ay=(-10, 10))
        along = phase.time / 2 if not begin else 0.5
        across = 0.0 if not begin else (phase.time - 1) / 2
        fast, still = (0.5, 0.0) if not begin else (0.0, 0.5)
        phase.minimize(
            integral=100 * (x - along) ** 2
            + 100 * (y - across) ** 2
            + 500 * (vx - fast) ** 2
            + 500 * (vy - still) ** 2
        )
        phases.append(phase)
    phases[0].start(x=0, y=0, vx=0.5, vy=0)
    phases[1].end(x=0.5, y=0.5, vx=0, vy=0.5)
    problem.link(phases[0], phases[1])
    return problem
