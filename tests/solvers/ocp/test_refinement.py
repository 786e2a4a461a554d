"""Meshes become finer until motion and cost are right: knots, and the cost's own error."""

import itertools

import numpy as np
import pytest

from bestiary.solvers.ocp import Gauss
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
