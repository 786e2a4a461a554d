"""Flight in air: re-entry, gliding, soaring."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from ..problem import OptimalControlProblem
from .benchmark import benchmark


@benchmark(
    34.1411843, 1e-8 * 50, "Radau 3 on 200 intervals: 34.1411843; Dymos 34.1412", maximized=True
)
def shuttle_reentry() -> OptimalControlProblem:
    """Glide a space shuttle to the largest latitude [deg] (Betts 2010, 6.1), in feet and slugs."""
    problem = OptimalControlProblem(name="shuttle re-entry")
    phase = problem.phase("entry")
    h, lon, lat, v, path, heading = phase.states(
        "height longitude latitude speed flight_path heading", units="ft rad rad ft/s rad rad"
    )
    attack, bank = phase.controls("attack bank", units="rad")
    radius = 20902900.0 + h
    density = 0.002378 * ca.exp(-h / 23800.0)
    degrees = attack * 180 / math.pi
    lift = -0.20704 + 0.029244 * degrees
    drag = 0.07854 - 0.61592e-2 * degrees + 0.621408e-3 * degrees**2
    mass = 203000.0 / 32.174
    per_mass = 0.5 * density * v**2 * 2690.0 / mass
    g = 0.14076539e17 / radius**2
    phase.dynamics(
        {
            h: v * ca.sin(path),
            lon: v * ca.cos(path) * ca.sin(heading) / (radius * ca.cos(lat)),
            lat: v * ca.cos(path) * ca.cos(heading) / radius,
            v: -per_mass * drag - g * ca.sin(path),
            path: per_mass * lift * ca.cos(bank) / v + ca.cos(path) * (v / radius - g / v),
            heading: per_mass * lift * ca.sin(bank) / (v * ca.cos(path))
            + v * ca.cos(path) * ca.sin(heading) * ca.tan(lat) / radius,
        }
    )
    phase.bound(
        height=(0, None),
        speed=(1, None),
        latitude=(-math.radians(89), math.radians(89)),
        flight_path=(-math.radians(89), math.radians(89)),
        attack=(-math.pi / 2, math.pi / 2),
        bank=(-math.radians(89), math.radians(1)),
    )
    phase.start(
        height=260000,
        longitude=0,
        latitude=0,
        speed=25600,
        flight_path=math.radians(-1),
        heading=math.pi / 2,
    )
    phase.end(height=80000, speed=2500, flight_path=math.radians(-5))
    phase.guess(times=2000.0, attack=0.3, bank=-0.7)
    phase.maximize(final=lat * 180 / math.pi)
    return problem


@benchmark(
    1247.98742, 1e-6, "self-converged; Bulirsch et al. 1993 and COPS 3: 1248.0 m", maximized=True
)
def hang_glider() -> OptimalControlProblem:
    """Glide as far as possible from 1000 to 900 m through a thermal (Bulirsch)."""
    problem = OptimalControlProblem(name="hang glider")
    phase = problem.phase("glide")
    x, y, vx, vy = phase.states("x y vx vy", units="m m m/s m/s")
    (lift,) = phase.controls("lift")
    gravity, mass, area, density = 9.81, 100.0, 14.0, 1.13
    shape = (x / 100 - 2.5) ** 2
    rising = vy - 2.5 * (1 - shape) * ca.exp(-shape)
    speed = ca.sqrt(vx**2 + rising**2)
    pressure = 0.5 * density * area * speed
    drag = (0.034 + 0.069662 * lift**2) * pressure
    phase.dynamics(
        {
            x: vx,
            y: vy,
            vx: (-lift * pressure * rising - drag * vx) / mass,
            vy: (lift * pressure * vx - drag * rising) / mass - gravity,
        }
    )
    phase.bound(lift=(0, 1.4), x=(0, None), vx=(0, None))
    ends = {"vx": 13.2275675, "vy": -1.28750052}
    phase.start(x=0, y=1000, **ends)
    phase.end(y=900, **ends)
    phase.guess(times=100.0, x=[0, 1250], lift=1.0)
    phase.maximize(final=x)
    return problem


@benchmark(0.0635869566, 1e-6, "YAPSS' test; Zhao 2004")
def dynamic_soaring() -> OptimalControlProblem:
    """Fly a closed turn of an albatross-like glider in the weakest wind shear [1/s] (Zhao)."""
    problem = OptimalControlProblem(name="dynamic soaring")
    shear = problem.parameter("shear", (0.005, 0.15), guess=0.08, unit="1/s")
    phase = problem.phase("turn", duration=(10, 30))
    x, y, h, v, climb, heading = phase.states(
        "x y height speed climb heading", units="ft ft ft ft/s rad rad"
    )
    lift, roll = phase.controls("lift roll", units="- rad")
    mass, area, density, g = 5.6, 45.09703, 0.002378, 32.2
    pressure = 0.5 * density * area * v**2
    rise = v * ca.sin(climb)
    gust = shear * rise
    phase.dynamics(
        {
            x: v * ca.cos(climb) * ca.sin(heading) + shear * h,
            y: v * ca.cos(climb) * ca.cos(heading),
            h: rise,
            v: -pressure * (0.00873 + 0.045 * lift**2) / mass
            - g * ca.sin(climb)
            - gust * ca.cos(climb) * ca.sin(heading),
            climb: (
                pressure * lift * ca.cos(roll) / mass
                - g * ca.cos(climb)
                + gust * ca.sin(climb) * ca.sin(heading)
            )
            / v,
            heading: (pressure * lift * ca.sin(roll) / mass - gust * ca.cos(heading))
            / (v * ca.cos(climb)),
        }
    )
    phase.path("load_factor", pressure * lift / (mass * g), -2.0, 5.0)
    limit = math.radians(75)
    phase.bound(
        x=(-1500, 1500),
        y=(-1000, 1000),
        height=(0, 1000),
        speed=(10, 350),
        climb=(-limit, limit),
        heading=(math.radians(-225), math.radians(225)),
        lift=(0, 1.5),
        roll=(-limit, limit),
    )
    phase.start(x=0, y=0, height=0)
    phase.end(x=0, y=0, height=0)
    for name, turn in (("speed", 0.0), ("climb", 0.0), ("heading", 2 * math.pi)):
        difference = phase.final(phase[name]) - phase.initial(phase[name])
        problem.constrain(f"periodic_{name}", difference, equals=turn)
    t = np.linspace(0, 24, 49)
    angle = 2 * math.pi * t / 24
    phase.guess(
        times=t,
        x=600 * (np.cos(angle) - 1),
        y=-200 * np.sin(angle),
        height=420 * (1 - np.cos(angle)),
        speed=150,
        climb=0,
        heading=[-math.pi, math.pi],
        lift=0.5,
        roll=math.radians(45),
    )
    problem.minimize(shear, "wind shear")
    return problem
