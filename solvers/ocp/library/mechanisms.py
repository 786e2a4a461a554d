"""Machines: cart-pole, cranes, arms, a free-flying robot, a pendulum on a rod."""

from __future__ import annotations

import math

import casadi as ca

from ..problem import OptimalControlProblem
from .benchmark import benchmark


@benchmark(58.8076675, 1e-8 * 10, "Radau 4 on 200 intervals; Kelly 2017 states 58.8")
def cart_pole() -> OptimalControlProblem:
    """Swing up a pole on a cart in 2 s with the least effort (Kelly 2017)."""
    problem = OptimalControlProblem(name="cart-pole swing-up")
    phase = problem.phase("swing-up", duration=2.0)
    x, angle, v, w = phase.states("x angle v rate", units="m rad m/s rad/s")
    (force,) = phase.controls("force", units="N")
    m1, m2, length, g = 1.0, 0.3, 0.5, 9.81
    s, c = ca.sin(angle), ca.cos(angle)
    inertia = m1 + m2 * (1 - c**2)
    phase.dynamics(
        {
            x: v,
            angle: w,
            v: (length * m2 * s * w**2 + force + m2 * g * c * s) / inertia,
            w: -(length * m2 * c * s * w**2 + force * c + (m1 + m2) * g * s) / (length * inertia),
        }
    )
    phase.bound(force=(-20, 20), x=(-2, 2))
    phase.start(x=0, angle=0, v=0, rate=0)
    phase.end(x=1, angle=math.pi, v=0, rate=0)
    phase.minimize(integral=force**2)
    return problem


@benchmark(
    0.0051503851, 1e-5, "self-converged; Radau 4 on 100 intervals: 0.00515044; PSOPT 0.0051513"
)
def container_crane() -> OptimalControlProblem:
    """Swing a container from a ship to a truck in 9 s with little swing (Sakawa, Shindo)."""
    problem = OptimalControlProblem(name="container crane")
    phase = problem.phase("transfer", duration=1.0)
    x1, x2, x3, x4, x5, x6 = phase.states("x1 x2 x3 x4 x5 x6")
    u1, u2 = phase.controls("u1 u2")
    phase.dynamics(
        {
            x1: 9 * x4,
            x2: 9 * x5,
            x3: 9 * x6,
            x4: 9 * (u1 + 17.2656 * x3),
            x5: 9 * u2,
            x6: -9 * (u1 + 27.0756 * x3 + 2 * x5 * x6) / x2,
        }
    )
    phase.bound(u1=(-2.83374, 2.83374), u2=(-0.80865, 0.71265), x4=(-2.5, 2.5), x5=(-1, 1))
    phase.start(x1=0, x2=22, x3=0, x4=0, x5=-1, x6=0)
    phase.end(x1=10, x2=14, x3=0, x4=2.5, x5=0, x6=0)
    phase.minimize(integral=4.5 * (x3**2 + x6**2))
    return problem


@benchmark(9.140911746, 1e-6, "self-converged to 1e-8; COPS 3: 9.14093 on its meshes")
def robot_arm() -> OptimalControlProblem:
    """Turn a robot arm that can also slide, in the least time (Moessner-Beigel; COPS 3)."""
    problem = OptimalControlProblem(name="robot arm")
    phase = problem.phase("move")
    rho, theta, phi, d_rho, d_theta, d_phi = phase.states(
        "rho theta phi rho_rate theta_rate phi_rate", units="m rad rad m/s rad/s rad/s"
    )
    u_rho, u_theta, u_phi = phase.controls("u_rho u_theta u_phi")
    length = 5.0
    i_phi = ((length - rho) ** 3 + rho**3) / 3
    i_theta = i_phi * ca.sin(phi) ** 2
    phase.dynamics(
        {
            rho: d_rho,
            theta: d_theta,
            phi: d_phi,
            d_rho: u_rho / length,
            d_theta: u_theta / i_theta,
            d_phi: u_phi / i_phi,
        }
    )
    phase.bound(
        u_rho=(-1, 1),
        u_theta=(-1, 1),
        u_phi=(-1, 1),
        rho=(0, length),
        theta=(-math.pi, math.pi),
        phi=(0, math.pi),
    )
    phase.start(rho=4.5, theta=0, phi=math.pi / 4, rho_rate=0, theta_rate=0, phi_rate=0)
    phase.end(rho=4.5, theta=2 * math.pi / 3, phi=math.pi / 4, rho_rate=0, theta_rate=0, phi_rate=0)
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(7.9104955, 5e-6, "self-converged; Sakawa 1999 and Betts 2010: 7.91")
def free_flying_robot() -> OptimalControlProblem:
    """Bring a robot on four jets to rest at the origin with the least fuel (Sakawa)."""
    problem = OptimalControlProblem(name="free-flying robot")
    phase = problem.phase("flight", duration=12.0)
    x, y, angle, vx, vy, w = phase.states("x y angle vx vy rate", units="m m rad m/s m/s rad/s")
    u1, u2, u3, u4 = phase.controls("u1 u2 u3 u4")
    left, right = u1 - u2, u3 - u4
    phase.dynamics(
        {
            x: vx,
            y: vy,
            angle: w,
            vx: (left + right) * ca.cos(angle),
            vy: (left + right) * ca.sin(angle),
            w: 0.2 * left - 0.2 * right,
        }
    )
    phase.bound(u1=(0, 1), u2=(0, 1), u3=(0, 1), u4=(0, 1))
    phase.path("left_jet", u1 + u2, None, 1.0)
    phase.path("right_jet", u3 + u4, None, 1.0)
    phase.start(x=-10, y=-10, angle=math.pi / 2, vx=0, vy=0, rate=0)
    phase.end(x=0, y=0, angle=0, vx=0, vy=0, rate=0)
    phase.minimize(integral=u1 + u2 + u3 + u4)
    return problem


@benchmark(2.98227994, 1e-6, "self-converged; PSOPT 2.988662 on its coarse mesh")
def two_link_arm() -> OptimalControlProblem:
    """Move a two-link arm in the least time (Luus)."""
    problem = OptimalControlProblem(name="two-link arm")
    phase = problem.phase("move")
    w1, w2, a, b = phase.states("w1 w2 shoulder elbow", units="rad/s rad/s rad rad")
    u1, u2 = phase.controls("u1 u2", units="N*m")
    s, c = ca.sin(a), ca.cos(a)
    det = 31 / 36 + 9 / 4 * s**2
    phase.dynamics(
        {
            w1: (s * (9 / 4 * c * w1**2 + 2 * w2**2) + 4 / 3 * (u1 - u2) - 3 / 2 * c * u2) / det,
            w2: -(s * (7 / 2 * w1**2 + 9 / 4 * c * w2**2) - 7 / 3 * u2 + 3 / 2 * c * (u1 - u2))
            / det,
            a: w2 - w1,
            b: w1,
        }
    )
    phase.bound(u1=(-1, 1), u2=(-1, 1))
    phase.start(w1=0, w2=0, shoulder=0.5, elbow=0)
    phase.end(w1=0, w2=0, shoulder=0.5, elbow=0.522)
    problem.minimize(phase.duration, "time")
    return problem


@benchmark(36.640289067, 1e-7, "the pendulum in its angle, which agrees to 1e-10")
def pendulum_in_coordinates() -> OptimalControlProblem:
    """Swing a pendulum up with x, y and the force of its rod as an algebraic variable (index 1)."""
    problem = OptimalControlProblem(name="pendulum in Cartesian coordinates")
    phase = problem.phase("swing-up", duration=3.0)
    x, y, vx, vy = phase.states("x y vx vy", units="m m m/s m/s")
    (torque,) = phase.controls("torque", units="N*m")
    (rod,) = phase.algebraics("rod", units="1/s^2")
    g = 9.81
    ax, ay = -rod * x - torque * y, -rod * y + torque * x - g
    phase.dynamics({x: vx, y: vy, vx: ax, vy: ay})
    phase.equation("rod_length", x * ax + y * ay + vx**2 + vy**2)
    phase.bound(torque=(-15, 15))
    phase.start(x=0, y=-1, vx=0, vy=0)
    phase.end(x=0, y=(0.5, 1.5), vx=0)
    phase.guess(y=[-1, 1], rod=9.81)
    phase.minimize(integral=torque**2)
    return problem


@benchmark(36.640289067, 1e-7, "the pendulum in its coordinates, which agrees to 1e-10")
def pendulum_in_angle() -> OptimalControlProblem:
    """The pendulum of :func:`pendulum_in_coordinates` in its angle, by an implicit equation."""
    problem = OptimalControlProblem(name="pendulum in its angle")
    phase = problem.phase("swing-up", duration=3.0)
    angle, w = phase.states("angle rate", units="rad rad/s")
    (torque,) = phase.controls("torque", units="N*m")
    phase.dynamics({angle: w})
    phase.equation("moment", phase.rate(w) - torque + 9.81 * ca.sin(angle))
    phase.bound(torque=(-15, 15))
    phase.start(angle=0, rate=0)
    phase.end(angle=math.pi, rate=0)
    phase.minimize(integral=torque**2)
    return problem


@benchmark(8.970632, 1e-6, "self-converged")
def parallel_parking() -> OptimalControlProblem:
    """Park a car sideways in the least time with limits on speed and steering."""
    problem = OptimalControlProblem(name="parallel parking")
    phase = problem.phase("park")
    x, y, heading, v, steer = phase.states("x y heading speed steer", units="m m rad m/s rad")
    acceleration, turn = phase.controls("acceleration turn", units="m/s^2 rad/s")
    phase.dynamics(
        {
            x: v * ca.cos(heading),
            y: v * ca.sin(heading),
            heading: v * ca.tan(steer) / 2.5,
            v: acceleration,
            steer: turn,
        }
    )
    phase.bound(speed=(-2, 2), steer=(-0.6, 0.6), acceleration=(-1, 1), turn=(-0.5, 0.5))
    phase.start(x=0, y=0, heading=0, speed=0, steer=0)
    phase.end(x=0, y=2, heading=0, speed=0)
    phase.guess(times=10.0, speed=0.5)
    problem.minimize(phase.duration, "time")
    return problem
