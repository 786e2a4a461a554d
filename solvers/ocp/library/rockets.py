"""Rockets and orbits: Goddard's problem, orbit raising, a launch in four stages."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from ..problem import OptimalControlProblem
from .benchmark import benchmark


@benchmark(1.012836918, 1e-6, "COPS 3: 1.01283; digits refined here", maximized=True)
def goddard_normalized() -> OptimalControlProblem:
    """Bring a rocket as high as possible (Goddard; COPS' normalized numbers): a singular arc."""
    problem = OptimalControlProblem(name="Goddard's rocket, normalized")
    phase = problem.phase("ascent")
    v, h, m = phase.states("speed height mass")
    (thrust,) = phase.controls("thrust")
    drag = 310 * v**2 * ca.exp(-500 * (h - 1))
    phase.dynamics({v: (thrust - drag) / m - 1 / h**2, h: v, m: -2 * thrust})
    phase.start(speed=0, height=1, mass=1)
    phase.end(mass=0.6)
    phase.bound(thrust=(0, 3.5), speed=(0, None), height=(1, None), mass=(0.6, 1))
    phase.guess(times=0.2, height=1.0, speed=0.05)
    phase.maximize(final=h)
    return problem


SIGMA, EXHAUST, SCALE_HEIGHT = 5.49153484923381010e-05, 1580.9425279876559, 23800.0
GRAVITY, LARGEST_THRUST = 32.174, 193.044


def _goddard(phase: Any) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Height [ft], speed [ft/s], mass [slug] and thrust [lbf]; see Betts 2010, 4.14."""
    h, v, m = phase.states("height speed mass", units="ft ft/s slug")
    (thrust,) = phase.controls("thrust", units="lbf")
    drag = SIGMA * v**2 * ca.exp(-h / SCALE_HEIGHT)
    phase.dynamics({h: v, v: (thrust - drag) / m - GRAVITY, m: -thrust / EXHAUST})
    phase.bound(thrust=(0, LARGEST_THRUST))
    return h, v, m, drag


@benchmark(18550.8718638, 1e-6, "YAPSS' test, three phases: 18550.8718638 ft", maximized=True)
def goddard() -> OptimalControlProblem:
    """Bring a rocket as high as possible (Goddard), in feet and pounds, as one phase."""
    problem = OptimalControlProblem(name="Goddard's rocket")
    phase = problem.phase("ascent")
    h, _, _, _ = _goddard(phase)
    phase.start(height=0, speed=0, mass=3)
    phase.end(speed=0, mass=1)
    phase.bound(height=(0, 30000), speed=(-1000, 1000), mass=(1, 3))
    phase.guess(times=45.0, height=[0, 15000])
    phase.maximize(final=h)
    return problem


@benchmark(18550.8718638, 1e-9 * 100, "YAPSS' test: 18550.8718638 ft", maximized=True)
def goddard_three_phases() -> OptimalControlProblem:
    """Goddard's rocket with its structure stated: full thrust, singular arc, coast."""
    problem = OptimalControlProblem(name="Goddard's rocket in three phases")
    phases = []
    for name in ("boost", "singular", "coast"):
        phase = problem.phase(name)
        h, v, m, drag = _goddard(phase)
        phase.bound(height=(0, 30000), speed=(-1000, 1000), mass=(1, 3))
        if name == "boost":
            phase.bound(thrust=LARGEST_THRUST)
            phase.start(height=0, speed=0, mass=3)
        elif name == "singular":
            # where thrust is neither full nor none, speed, height and mass keep this
            phase.path("arc", m * GRAVITY - (1 + v / EXHAUST) * drag, 0.0, 0.0, unit="lbf")
        else:
            phase.bound(thrust=0.0)
            phase.end(speed=0, mass=1)
            phase.maximize(final=h)
        phases.append(phase)
    phases[0].guess(times=15.0, height=[0, 5000], speed=[0, 800], mass=[3, 2])
    phases[1].guess(times=8.0, height=[5000, 12000], speed=[800, 800], mass=[2, 1], thrust=100)
    phases[2].guess(times=22.0, height=[12000, 18000], speed=[800, 0], mass=1)
    problem.link(phases[0], phases[1])
    problem.link(phases[1], phases[2])
    return problem


@benchmark(1.5252777, 1e-7, "YAPSS' test; Bryson and Ho 1975 (2.5)", maximized=True)
def orbit_raising() -> OptimalControlProblem:
    """Reach the largest circular orbit in 3.32 time units with a small steerable thrust."""
    problem = OptimalControlProblem(name="orbit raising")
    phase = problem.phase("transfer", duration=3.32)
    r, _, vr, vt = states = phase.states("radius angle radial transverse")
    u1, u2 = phase.controls("u_radial u_transverse")
    a = 0.1405 / (1 - 0.0749 * phase.time)
    phase.dynamics(
        dict(
            zip(
                states,
                (vr, vt / r, vt**2 / r - 1 / r**2 + a * u1, -vr * vt / r + a * u2),
                strict=True,
            )
        )
    )
    phase.path("direction", u1**2 + u2**2, None, 1.0)
    phase.bound(radius=(0.5, 5))
    phase.start(radius=1, angle=0, radial=0, transverse=1)
    phase.end(radial=0)
    phase.guess(radius=[1, 1.5], transverse=1, u_transverse=1)
    problem.constrain("circular", phase.final(r * vt**2), equals=1)
    phase.maximize(final=r)
    return problem


MU, EARTH_RADIUS, EARTH_RATE = 3.986012e14, 6378145.0, 7.29211585e-5
GROSS = {"booster": 19290.0, "first": 104380.0, "second": 19300.0, "payload": 4164.0}
FUEL = {"booster": 17010.0, "first": 95550.0, "second": 16820.0}
THRUST = {"booster": 628500.0, "first": 1083100.0, "second": 110094.0}
BURN = {"booster": 75.2, "first": 261.0, "second": 700.0}


def _perifocal(degrees: tuple[float, float, float]) -> np.ndarray:
    """(3, 3) columns: directions to perigee, along the orbit there, and of its normal."""
    inclination, node, perigee = np.radians(degrees)
    ci, si = math.cos(inclination), math.sin(inclination)
    cn, sn = math.cos(node), math.sin(node)
    cp, sp = math.cos(perigee), math.sin(perigee)
    about_node = np.array([[cn, -sn, 0], [sn, cn, 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, ci, -si], [0, si, ci]])
    in_plane = np.array([[cp, -sp, 0], [sp, cp, 0], [0, 0, 1]])
    return np.asarray(about_node @ tilt @ in_plane)


@benchmark(7529.712287, 1e-8 * 20, "YAPSS' test: 7529.712287 kg; PSOPT 7529.661", maximized=True)
def delta_iii() -> OptimalControlProblem:
    """Launch a Delta III into a transfer orbit with the largest payload mass (Betts; SI units).

    Nine boosters, six of them lit on the ground, and two stages; each phase ends when
    its boosters or its stage are empty and dropped.  The orbit is reached when the
    angular momentum and the direction and size of the eccentricity vector are right.
    """
    problem = OptimalControlProblem(name="Delta III ascent")
    rate = {k: FUEL[k] / BURN[k] for k in FUEL}
    times = (0.0, 75.2, 150.4, 261.0)
    dry = {k: GROSS[k] - FUEL[k] for k in FUEL}
    latitude = math.radians(28.5)
    launch = EARTH_RADIUS * np.array([math.cos(latitude), 0.0, math.sin(latitude)])
    spin = EARTH_RATE * np.array([-launch[1], launch[0], 0.0])
    axes = _perifocal((28.5, 269.8, 130.5))
    a, e = 24361140.0, 0.7308
    momentum = math.sqrt(MU * a * (1 - e**2))
    perigee = a * (1 - e) * axes[:, 0]
    fastest = math.sqrt(MU / a * (1 + e) / (1 - e)) * axes[:, 1]
    mass = 9 * GROSS["booster"] + GROSS["first"] + GROSS["second"] + GROSS["payload"]
    engines = ({"booster": 6, "first": 1}, {"booster": 3, "first": 1}, {"first": 1}, {"second": 1})
    dropped = (6 * dry["booster"], 3 * dry["booster"], dry["first"])
    phases: list[Any] = []
    for k, lit in enumerate(engines):
        end = times[k + 1] if k < 3 else (times[3] + 1.0, times[3] + BURN["second"])
        phase = problem.phase(f"stage_{k + 1}", start=times[k], end=end)
        r = ca.vertcat(*phase.states("x y z", units="m"))
        v = ca.vertcat(*phase.states("vx vy vz", units="m/s"))
        (m,) = phase.states("mass", units="kg")
        u = ca.vertcat(*phase.controls("ux uy uz"))
        distance = ca.sqrt(ca.sumsqr(r))
        wind = v - EARTH_RATE * ca.vertcat(-r[1], r[0], 0)
        density = 1.225 * ca.exp(-(distance - EARTH_RADIUS) / 7200.0)
        drag = -0.5 * density * 0.5 * 4 * math.pi * ca.sqrt(ca.sumsqr(wind) + 1e-12) * wind
        force = sum(n * THRUST[name] for name, n in lit.items()) * u + drag
        acceleration = force / m - MU / distance**3 * r
        flow = sum(n * rate[name] for name, n in lit.items())
        phase.dynamics({f"{c}": v[i] for i, c in enumerate("xyz")})
        phase.dynamics({f"v{c}": acceleration[i] for i, c in enumerate("xyz")})
        phase.dynamics({m: -flow})
        phase.path("thrust_direction", ca.sumsqr(u), None, 1.0)
        phase.path("above_ground", distance, EARTH_RADIUS, unit="m")
        phase.bound(ux=(-1, 1), uy=(-1, 1), uz=(-1, 1))
        place, speed = (launch, spin) if k < 2 else (perigee, fastest)
        duration = times[k + 1] - times[k] if k < 3 else BURN["second"]
        phase.guess(
            **{c: place[i] for i, c in enumerate("xyz")},
            **{f"v{c}": speed[i] for i, c in enumerate("xyz")},
            ux=1.0 if k == 0 else 0.0,
            uy=0.0 if k == 0 else 1.0,
            mass=[mass, mass - flow * duration],
        )
        mass -= flow * duration + (dropped[k] if k < 3 else 0.0)
        if phases:
            problem.link(phases[-1], phase, jumps={"mass": -dropped[k - 1]})
        phases.append(phase)
    first, last = phases[0], phases[-1]
    first.start(
        **{c: launch[i] for i, c in enumerate("xyz")},
        **{f"v{c}": spin[i] for i, c in enumerate("xyz")},
        mass=sum((9 if k == "booster" else 1) * g for k, g in GROSS.items()),
    )
    r, v = ca.vertcat(*(last[c] for c in "xyz")), ca.vertcat(*(last[f"v{c}"] for c in "xyz"))
    h = ca.cross(r, v)
    eccentricity = ca.cross(v, h) / MU - r / ca.sqrt(ca.sumsqr(r))
    for i, c in enumerate("xyz"):
        problem.constrain(f"momentum_{c}", last.final(h[i] / momentum), equals=float(axes[i, 2]))
    for i, (name, value) in enumerate((("perigee_ahead", e), ("perigee_aside", 0.0))):
        problem.constrain(name, last.final(ca.dot(eccentricity, ca.DM(axes[:, i]))), equals=value)
    last.maximize(final=last["mass"])
    return problem
