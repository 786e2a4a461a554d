"""Chemistry and epidemics: reactors, catalysts, treatments."""

from __future__ import annotations

import casadi as ca

from ..problem import OptimalControlProblem
from .benchmark import benchmark


@benchmark(0.0480556858, 1e-6, "COPS 3: 0.0480556; digits refined here", maximized=True)
def catalyst_mixing() -> OptimalControlProblem:
    """Mix two catalysts along a reactor for the largest yield (Jackson): bang, singular, bang."""
    problem = OptimalControlProblem(name="catalyst mixing")
    phase = problem.phase("reactor", duration=1.0)
    a, b = phase.states("a b")
    (u,) = phase.controls("mix")
    phase.dynamics({a: u * (10 * b - a), b: u * (a - 10 * b) - (1 - u) * b})
    phase.bound(mix=(0, 1))
    phase.start(a=1, b=0)
    phase.maximize(final=1 - a - b)
    return problem


@benchmark(0.57354505, 1e-6, "Logsdon and Biegler 1989: 0.57354; refined here", maximized=True)
def batch_reactor() -> OptimalControlProblem:
    """Steer A -> B while A -> C, by a scaled temperature, to the most B after 1 h (Ray)."""
    problem = OptimalControlProblem(name="batch reactor")
    phase = problem.phase("batch", duration=1.0)
    a, b = phase.states("a b")
    (u,) = phase.controls("u")
    phase.dynamics({a: -(u + u**2 / 2) * a, b: u * a})
    phase.bound(u=(0, 5))
    phase.start(a=1, b=0)
    phase.maximize(final=b)
    return problem


@benchmark(0.6108029, 2e-6, "self-converged; Dadebo and McAuley 1995: 0.610775", maximized=True)
def batch_reactor_temperature() -> OptimalControlProblem:
    """Steer A -> B -> C by the temperature, 298 to 398 K, to the most B after 1 h."""
    problem = OptimalControlProblem(name="consecutive reactions")
    phase = problem.phase("batch", duration=1.0)
    a, b = phase.states("a b")
    (temperature,) = phase.controls("temperature", units="K")
    k1 = 4000 * ca.exp(-2500 / temperature)
    k2 = 620000 * ca.exp(-5000 / temperature)
    phase.dynamics({a: -k1 * a**2, b: k1 * a**2 - k2 * b})
    phase.bound(temperature=(298, 398), a=(0, 1), b=(0, 1))
    phase.start(a=1, b=0)
    phase.maximize(final=b)
    return problem


@benchmark(32.6860, 5e-5, "Luus 2000, Park and Ramirez 1988: 32.686", maximized=True)
def secreted_protein() -> OptimalControlProblem:
    """Feed a fed-batch reactor for the most secreted protein after 15 h (Park and Ramirez)."""
    problem = OptimalControlProblem(name="Park-Ramirez bioreactor")
    phase = problem.phase("fermentation", duration=15.0)
    secreted, total, cells, substrate, volume = phase.states(
        "secreted total cells substrate volume"
    )
    (feed,) = phase.controls("feed", units="L/h")
    growth = 21.87 * substrate / ((substrate + 0.4) * (substrate + 62.5))
    secretion = 4.75 * growth / (0.12 + growth)
    expression = substrate * ca.exp(-5 * substrate) / (0.1 + substrate)
    phase.dynamics(
        {
            secreted: secretion * (total - secreted) - feed / volume * secreted,
            total: expression * cells - feed / volume * total,
            cells: growth * cells - feed / volume * cells,
            substrate: -7.3 * growth * cells + feed / volume * (20 - substrate),
            volume: feed,
        }
    )
    phase.bound(feed=(0, 2), substrate=(0, None), cells=(0, None))
    phase.start(secreted=0, total=0, cells=1, substrate=5, volume=1)
    phase.guess(volume=[1, 10], feed=1)
    phase.maximize(final=secreted * volume)
    return problem


@benchmark(5152.0732, 1e-6, "Betts 2010 (6.16): 5152.07; digits refined here")
def tuberculosis() -> OptimalControlProblem:
    """Treat two strains of tuberculosis for five years at the least cost (Jung, Lenhart, Feng)."""
    problem = OptimalControlProblem(name="tuberculosis")
    phase = problem.phase("treatment", duration=5.0)
    s, treated, l1, i1, l2, i2 = phase.states("S T L1 I1 L2 I2")
    u1, u2 = phase.controls("u1 u2")
    beta1, beta2, beta3, mu, d1, d2 = 13.0, 13.0, 0.029, 0.0143, 0.0, 0.0
    k1, k2, r1, r2, p, q = 0.5, 1.0, 2.0, 1.0, 0.4, 0.1
    n = 30000.0
    b1, b2 = 50.0, 500.0
    resistant = beta3 * i2 / n
    phase.dynamics(
        {
            s: mu * n - beta1 * s * i1 / n - resistant * s - mu * s,
            treated: u1 * r1 * l1
            - mu * treated
            + (1 - (1 - u2) * (p + q)) * r2 * i1
            - beta2 * treated * i1 / n
            - resistant * treated,
            l1: beta1 * s * i1 / n
            - (mu + k1) * l1
            - u1 * r1 * l1
            + (1 - u2) * p * r2 * i1
            + beta2 * treated * i1 / n
            - resistant * l1,
            l2: (1 - u2) * q * r2 * i1 - (mu + k2) * l2 + resistant * (s + l1 + treated),
            i1: k1 * l1 - (mu + d1) * i1 - r2 * i1,
            i2: k2 * l2 - (mu + d2) * i2,
        }
    )
    phase.bound(u1=(0.05, 0.95), u2=(0.05, 0.95))
    phase.start(
        S=76 / 120 * n,
        T=1 / 120 * n,
        L1=36 / 120 * n,
        L2=2 / 120 * n,
        I1=4 / 120 * n,
        I2=1 / 120 * n,
    )
    phase.minimize(integral=l2 + i2 + b1 / 2 * u1**2 + b2 / 2 * u2**2)
    return problem
