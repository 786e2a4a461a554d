"""Small nonlinear systems: oscillators, and problems that are stiff in both directions of time."""

from __future__ import annotations

from typing import Any

import casadi as ca

from ..problem import OptimalControlProblem
from .benchmark import benchmark


def _hypersensitive(start: float, end: float, weight: float, name: str) -> OptimalControlProblem:
    problem = OptimalControlProblem(name=name)
    phase = problem.phase("decay", duration=10000.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: u - x**3})
    phase.start(x=start)
    phase.end(x=end)
    phase.minimize(integral=weight * (x**2 + u**2))
    return problem


@benchmark(
    1.330806904943,
    1e-6,
    "two integrals of the Hamilton-Jacobi equation of the infinite horizon; Rao and Mease 2000",
)
def hypersensitive() -> OptimalControlProblem:
    """Leave 1.5, rest at 0 and arrive at 1 after 10,000 s: all that happens is in the layers."""
    return _hypersensitive(1.5, 1.0, 0.5, "hypersensitive")


@benchmark(6.724113810, 1e-6, "as hypersensitive; Betts 2010 (10.7)")
def hypersensitive_betts() -> OptimalControlProblem:
    """As :func:`hypersensitive` from 1 to 1.5 with twice the cost."""
    return _hypersensitive(1.0, 1.5, 1.0, "hypersensitive (Betts)")


def _van_der_pol(phase: Any) -> tuple[ca.SX, ca.SX, ca.SX]:
    x1, x2 = phase.states("x1 x2")
    (u,) = phase.controls("u")
    phase.dynamics({x1: (1 - x2**2) * x1 - x2 + u, x2: x1})
    phase.start(x1=0, x2=1)
    return x1, x2, u


@benchmark(2.86726104, 1e-7 * 5, "refined here (Radau 4, 200 intervals); 2.8673 in PROPT")
def van_der_pol() -> OptimalControlProblem:
    """Bring a Van der Pol oscillator to rest in 5 s with a limited input."""
    problem = OptimalControlProblem(name="Van der Pol oscillator")
    phase = problem.phase("regulate", duration=5.0)
    x1, x2, u = _van_der_pol(phase)
    phase.bound(u=(-0.3, 1))
    phase.minimize(integral=x1**2 + x2**2 + u**2)
    return problem


@benchmark(3.6151811, 1e-6, "Gauss 3 and Radau 4 on 400 intervals: 3.6151811 and 3.6151813")
def van_der_pol_limited_state() -> OptimalControlProblem:
    """As :func:`van_der_pol` over 10 s with a limited state (of CasADi's examples)."""
    problem = OptimalControlProblem(name="Van der Pol oscillator with a limited state")
    phase = problem.phase("regulate", duration=10.0)
    x1, x2, u = _van_der_pol(phase)
    phase.bound(u=(-1, 1), x1=(-0.25, None))
    phase.minimize(integral=x1**2 + x2**2 + u**2)
    return problem


@benchmark(29.7489313, 2e-8 * 50, "uniform mesh of 200 intervals, Radau 4: 29.7489313")
def rayleigh() -> OptimalControlProblem:
    """Damp a Rayleigh oscillator (tunnel-diode circuit) in 4.5 s."""
    problem = OptimalControlProblem(name="Rayleigh oscillator")
    phase = problem.phase("regulate", duration=4.5)
    x1, x2 = phase.states("x1 x2")
    (u,) = phase.controls("u")
    phase.dynamics({x1: x2, x2: -x1 + x2 * (1.4 - 0.14 * x2**2) + 4 * u})
    phase.start(x1=-5, x2=-5)
    phase.minimize(integral=u**2 + x1**2)
    return problem


@benchmark(44.80444491, 1e-6, "self-converged; PSOPT 44.8 (44.77625 on its mesh)")
def rayleigh_mixed_constraint() -> OptimalControlProblem:
    """As :func:`rayleigh` with a mixed constraint u + x1/6 <= 0."""
    problem = rayleigh()
    problem.name = "Rayleigh oscillator with a mixed constraint"
    phase = problem.phases[0]
    phase.path("mixed", phase["u"] + phase["x1"] / 6, None, 0.0)
    return problem


@benchmark(2030.85609, 1e-5, "Betts 2010 (alp rider)")
def alp_rider() -> OptimalControlProblem:
    """Stay above a landscape of four peaks at the least cost (Betts): stiff, steep, stubborn."""
    problem = OptimalControlProblem(name="alp rider")
    phase = problem.phase("ride", duration=20.0)
    x1, x2, x3, x4 = phase.states("x1 x2 x3 x4")
    u1, u2 = phase.controls("u1 u2")
    phase.dynamics(
        {
            x1: -10 * x1 + u1 + u2,
            x2: -2 * x2 + u1 + 2 * u2,
            x3: -3 * x3 + 5 * x4 + u1 - u2,
            x4: 5 * x3 - 3 * x4 + u1 + 3 * u2,
        }
    )
    t = phase.time
    size = x1**2 + x2**2 + x3**2 + x4**2

    def peak(at: float, steepness: float) -> ca.SX:
        return ca.exp(-steepness * (t - at) ** 2)

    ground = 3 * peak(3, 12) + 3 * peak(6, 10) + 3 * peak(10, 6) + 8 * peak(15, 4) + 0.01
    phase.path("clearance", size - ground, 0.0)
    phase.start(x1=2, x2=1, x3=2, x4=1)
    phase.end(x1=2, x2=3, x3=1, x4=-2)
    phase.minimize(integral=100 * size + 0.01 * (u1**2 + u2**2))
    return problem


@benchmark(1.344081, 1e-5, "Sager 2006: 1.34408 for the relaxed problem; PSOPT 1.344093")
def lotka_volterra_fishing() -> OptimalControlProblem:
    """Bring prey and predators to a steady state by fishing (Sager): a singular arc."""
    problem = OptimalControlProblem(name="Lotka-Volterra fishing")
    phase = problem.phase("fish", duration=12.0)
    prey, predator = phase.states("prey predator")
    (w,) = phase.controls("fishing")
    phase.dynamics(
        {
            prey: prey - prey * predator - 0.4 * w * prey,
            predator: prey * predator - predator - 0.2 * w * predator,
        }
    )
    phase.start(prey=0.5, predator=0.7)
    phase.bound(fishing=(0, 1), prey=(0, None), predator=(0, None))
    phase.minimize(integral=(prey - 1) ** 2 + (predator - 1) ** 2)
    return problem
