"""Costates and multipliers against a problem whose Riccati equation has a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    MultipleShooting,
    OptimalControlProblem,
    Radau,
    Scheme,
    Solution,
    Trapezoid,
)

LIMIT = 0.4


def regulator(limit: float | None = None) -> OptimalControlProblem:
    """Min int (x^2 + u^2)/2, x' = u, x(0) = 1: p = sinh(1 - t)/cosh(1), u = -p."""
    problem = OptimalControlProblem(name="regulator")
    phase = problem.phase("run", duration=1.0)
    (x,) = phase.states("x", units="m")
    (u,) = phase.controls("u")
    phase.dynamics({x: u})
    phase.start(x=1.0)
    phase.minimize(integral=(x**2 + u**2) / 2)
    if limit is not None:
        phase.bound(u=(-limit, None))
    return problem


def _solve(scheme: Scheme, intervals: int, limit: float | None = None) -> Solution:
    return regulator(limit).solve(scheme=scheme, mesh=intervals, refine_mesh=False).unseal()


def _error(scheme: Scheme, intervals: int, inner: bool = False) -> float:
    found = _solve(scheme, intervals).costates()
    error = np.abs(found.x - np.sinh(1 - found.time) / np.cosh(1)).values
    return float(np.max(error[1:-1] if inner else error))


@pytest.mark.parametrize(
    ("scheme", "accuracy"),
    [(Radau(5), 1e-8), (Gauss(3), 1e-7), (MultipleShooting(4), 1e-7)],
    ids=str,
)
def test_costates_have_the_analytic_value_and_sign(scheme: Scheme, accuracy: float) -> None:
    assert _error(scheme, 10) < accuracy


@pytest.mark.parametrize(
    ("scheme", "order"),
    [(Radau(3), 3), (Gauss(3), 3), (HermiteSimpson(), 2), (Trapezoid(), 2)],
    ids=str,
)
def test_costates_converge_with_the_mesh(scheme: Scheme, order: int) -> None:
    # Lobatto schemes lose an order at the first and last node, where the control does too
    inner = isinstance(scheme, HermiteSimpson | Trapezoid)
    coarse, fine = (_error(scheme, n, inner) for n in (5, 10))
    assert np.log2(coarse / fine) > order - 0.5


@pytest.mark.parametrize("scheme", [Radau(3), HermiteSimpson(), Trapezoid()], ids=str)
def test_costate_and_control_fulfil_the_hamiltonian_condition_at_the_nodes(
    scheme: Scheme,
) -> None:
    solution = _solve(scheme, 8)
    nodes = solution.sample("nodes")
    own = nodes.collocated.values
    residual = nodes.u + solution.costates().x  # dH/du = u + p
    assert np.max(np.abs(residual.values[own])) < 1e-7


def test_the_first_costate_is_the_slope_of_the_optimal_cost() -> None:
    slopes = []
    for start in (1 - 1e-3, 1 + 1e-3):
        problem = regulator()
        problem.phases[0].start(x=start)
        slopes.append(problem.solve(mesh=5, scheme=Radau(5)).cost)
    slope = (slopes[1] - slopes[0]) / 2e-3
    for scheme in (Radau(5), Gauss(5), MultipleShooting(4)):
        assert float(_solve(scheme, 5).costates().x[0]) == pytest.approx(slope, rel=1e-5)


def test_multipliers_of_a_bound_are_negative_where_its_lower_side_is_active() -> None:
    solution = _solve(Radau(3), 20, LIMIT)
    multiplier, nodes = solution.multipliers().u, solution.sample("nodes")
    active = (nodes.u < -LIMIT + 1e-6).values & nodes.collocated.values
    free = ~active & nodes.collocated.values
    assert active.any()
    assert np.all(multiplier.values[active][:-1] < 0)
    assert np.max(np.abs(multiplier.values[free])) < 1e-5
    # dH/du + multiplier = u + p + multiplier = 0 everywhere
    total = nodes.u + solution.costates().x + multiplier
    assert np.nanmax(np.abs(total.values[nodes.collocated.values])) < 1e-6


def test_the_multiplier_of_a_condition_is_the_price_of_moving_it() -> None:
    def stated(distance: float) -> OptimalControlProblem:
        problem = OptimalControlProblem(name="distance")
        phase = problem.phase("move", duration=1.0)
        x, v = phase.states("x v")
        (u,) = phase.controls("u")
        phase.dynamics({x: v, v: u})
        phase.start(x=0, v=0)
        phase.end(v=0)
        problem.constrain("distance", phase.final(x), equals=distance)
        phase.minimize(integral=u**2)
        return problem

    price = float(stated(1.0).solve(mesh=3).multipliers()["distance"])
    # cost 12 d^2; L = f + multiplier (x - d), so the multiplier is -df/dd = -24 d
    assert price == pytest.approx(-24.0, rel=1e-6)
