"""Meshes become finer until motion and cost are right: knots, and the cost's own error."""

import itertools

import numpy as np
import pytest

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    MultipleShooting,
    OptimalControlProblem,
    Radau,
    Status,
    Trapezoid,
)
from bestiary.solvers.ocp.library import BENCHMARKS


def test_knot_where_a_control_reaches_its_limit_without_a_jump_is_found_to_many_digits():
    known = BENCHMARKS["van_der_pol"]
    solution = known.build().solve(scheme=Gauss(3), mesh=20, tolerance=1e-7)
    assert solution.success
    assert known.error(solution) < 2e-8
    motion = solution.motion()
    joined = [s.joined for s in motion.layout.mesh.sections]
    assert any(joined)
    # a control that is continuous at a knot is so in the solution, up to its polynomials
    for (left, right), knot in zip(
        itertools.pairwise(joined), motion.boundaries[1:-1], strict=True
    ):
        if any(j.end == 1 for j in left) or any(j.end == 0 for j in right):
            before, after = motion.controls_at(np.array([knot - 1e-9, knot + 1e-9]))[:, 0]
            assert before == pytest.approx(after, abs=1e-6)


def best_cost(known):
    return -known.optimum if known.maximized else known.optimum


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("scalar_regulator", Gauss(1)),
        ("scalar_regulator", Radau(1)),
        ("scalar_regulator", Radau(2)),
        ("scalar_regulator", Trapezoid()),
        ("van_der_pol", Gauss(1)),
        ("van_der_pol", Radau(1)),
        ("van_der_pol", Trapezoid()),
    ],
    ids=str,
)
def test_estimated_error_of_the_cost_is_the_true_one(name, scheme):
    known = BENCHMARKS[name]
    solution = known.build().solve(scheme=scheme, mesh=80, refine_mesh=False).unseal()
    true = solution.cost / best_cost(known) - 1
    assert solution.verdict.cost_error == pytest.approx(true, rel=0.15, abs=1e-8)


@pytest.mark.parametrize(
    "scheme", [Gauss(1), Radau(1), Trapezoid(), HermiteSimpson(), MultipleShooting(4)], ids=str
)
@pytest.mark.parametrize("name", ["double_integrator_energy", "scalar_regulator"])
def test_cost_is_right_to_the_tolerance_whatever_the_order_of_the_scheme(name, scheme):
    known = BENCHMARKS[name]
    solution = known.build().solve(scheme=scheme, mesh=5, tolerance=1e-5)
    assert solution.success
    assert known.error(solution) < 2e-5


def test_cost_of_a_mesh_that_is_kept_is_told_but_no_failure():
    known = BENCHMARKS["scalar_regulator"]
    solution = known.build().solve(scheme=Trapezoid(), mesh=300, tolerance=1e-6, refine_mesh=False)
    assert solution.success
    assert solution.verdict.cost_error > 2e-6
    assert "the mesh was to be kept as it is" in solution.verdict.reasons[0]
    assert "above the best" in str(solution.report())


def test_cost_that_cannot_be_made_right_is_no_success():
    known = BENCHMARKS["scalar_regulator"]
    solution = known.build().solve(scheme=Trapezoid(), mesh=20, tolerance=1e-6, nodes=60)
    assert solution.status is Status.TOLERANCE_NOT_REACHED
    assert any("% above the best one" in reason for reason in solution.verdict.reasons)
    assert "nodes=" in solution.verdict.suggestion


def test_a_cost_of_zero_is_right():
    problem = OptimalControlProblem(name="follow what can be followed")
    phase = problem.phase("go", duration=1.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: u})
    phase.start(x=1)
    phase.minimize(integral=(x - 1 - phase.time**2) ** 2 + (u - 2 * phase.time) ** 2)
    solution = problem.solve(mesh=5)
    assert solution.success
    assert solution.cost == pytest.approx(0, abs=1e-12)
