"""Every scheme has the order that it states, and all of them find the same motions."""

import pytest

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    MultipleShooting,
    OptimalControlProblem,
    Radau,
    Trapezoid,
)
from bestiary.solvers.ocp.convergence import observe, plot_convergence, reference_solution
from bestiary.solvers.ocp.library import BENCHMARKS

MESHES = {
    Trapezoid(): (40, 80, 160),
    HermiteSimpson(): (20, 40),
    MultipleShooting(4): (20, 40),
    Radau(2): (20, 40),
    Radau(3): (10, 20),
    Radau(4): (12, 18),
    Gauss(2): (20, 40),
    Gauss(3): (10, 20),
}


def smooth_van_der_pol():
    problem = OptimalControlProblem(name="Van der Pol without limits")
    phase = problem.phase("regulate", duration=5.0)
    x1, x2 = phase.states("x1 x2")
    (u,) = phase.controls("u")
    phase.dynamics({x1: (1 - x2**2) * x1 - x2 + u, x2: x1})
    phase.start(x1=0, x2=1)
    phase.minimize(integral=x1**2 + x2**2 + u**2)
    return problem


@pytest.fixture(scope="module")
def reference():
    solution = reference_solution(smooth_van_der_pol)
    assert solution.verdict.mesh_error < 1e-12
    return solution


@pytest.mark.parametrize("scheme", MESHES, ids=str)
def test_observed_order_is_the_stated_order(scheme, reference):
    result = observe(smooth_van_der_pol, scheme, MESHES[scheme], reference)
    assert scheme.order() - 0.5 < result.order < scheme.order() + 0.7


def test_picture_of_convergence_has_a_curve_and_a_slope_for_each_scheme(reference):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    schemes = (Trapezoid(), HermiteSimpson())
    results = [observe(smooth_van_der_pol, s, (10, 20), reference) for s in schemes]
    axes = plot_convergence(results)
    assert len(axes.lines) == 4
    assert "stated 4" in axes.get_legend().get_texts()[1].get_text()
    axes.figure.clear()


# what a scheme is off by on a mesh that is not refined, in the cost, relative
FIXED = {
    "cart_pole": {
        Trapezoid(): (200, 1e-3),
        HermiteSimpson(): (50, 2e-5),
        MultipleShooting(4): (60, 1e-4),
        Radau(3): (50, 2e-6),
        Gauss(3): (40, 1e-6),
    },
    "van_der_pol": {
        Trapezoid(): (200, 1e-3),
        HermiteSimpson(): (60, 5e-5),
        MultipleShooting(4): (60, 3e-4),
        Radau(3): (60, 5e-6),
        Gauss(3): (60, 5e-6),
    },
    "shuttle_reentry": {
        Trapezoid(): (150, 1e-3),
        HermiteSimpson(): (60, 1e-5),
        MultipleShooting(4): (60, 1e-3),
        Radau(3): (60, 1e-5),
        Gauss(3): (50, 1e-5),
    },
}
CASES = [(name, scheme) for name, table in FIXED.items() for scheme in table]


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        pytest.param(
            n, s, id=f"{n}-{s}", marks=[pytest.mark.slow] if n == "shuttle_reentry" else []
        )
        for n, s in CASES
    ],
)
def test_schemes_agree_within_their_orders_on_a_fixed_mesh(name, scheme):
    intervals, bound = FIXED[name][scheme]
    known = BENCHMARKS[name]
    solution = known.build().solve(scheme=scheme, mesh=intervals, refine_mesh=False).unseal()
    assert solution.status.converged
    assert known.error(solution) < bound


@pytest.mark.parametrize("scheme", [Gauss(3), HermiteSimpson(), Radau(2), Radau(5)], ids=str)
@pytest.mark.parametrize("name", ["cart_pole", "van_der_pol"])
def test_refined_schemes_reach_the_same_optimum(name, scheme):
    known = BENCHMARKS[name]
    # schemes of low order leave more of the tolerance in the cost
    tolerance = 1e-7 if scheme.order() <= 4 else 1e-6
    solution = known.build().solve(scheme=scheme, mesh=20, tolerance=tolerance)
    assert solution.success
    assert known.error(solution) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [Gauss(3), HermiteSimpson()], ids=str)
def test_refined_schemes_reach_the_same_shuttle_reentry(scheme):
    known = BENCHMARKS["shuttle_reentry"]
    solution = known.build().solve(scheme=scheme, mesh=20)
    assert solution.success
    assert known.error(solution) < 1e-6
