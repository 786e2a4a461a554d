"""A problem as a function: other numbers, the same answers as a full solve, without set-up."""

from __future__ import annotations

import time

import numpy as np
import pytest
from ocp_harness import bang_bang, integrator, two_phases

from bestiary.solvers.ocp import OptimalControlError, OptimalControlProblem
from bestiary.solvers.ocp.library import PROBLEMS


def test_end_values_change_the_cost_as_they_should() -> None:
    function = integrator().to_function(mesh=5)
    assert set(function.arguments) == {"start_x", "start_v", "end_x", "end_v"}
    for distance in (1.0, 0.5, 0.9):
        found = function(end_x=distance)
        assert found.success
        assert found.cost == pytest.approx(12 * distance**2, rel=1e-7)
        assert float(found["x"][-1]) == pytest.approx(distance)
        assert found.record.phases[0].end["x"] == (distance, distance)
    assert function().cost == pytest.approx(12.0)  # defaults are those of the statement


def test_constants_are_arguments() -> None:
    problem = integrator()
    weight = problem.constant("weight", 1.0)
    problem.phases[0].minimize(integral=weight)
    function = problem.to_function(mesh=5)
    assert function(weight=3.0).cost == pytest.approx(15.0)
    assert function(weight=3.0).constants["weight"] == 3.0
    assert problem.constant_values["weight"] == 1.0


def test_results_are_those_of_full_solves() -> None:
    function = PROBLEMS["cart_pole"]().to_function(mesh=10)
    for distance in (0.8, 1.2):
        problem = PROBLEMS["cart_pole"]()
        problem.phases[0].end(x=distance)
        full = problem.solve(mesh=10, guess=function.solution)
        assert function(end_x=distance).cost == pytest.approx(full.cost, rel=1e-6)


def test_a_kept_knot_moves_with_the_values() -> None:
    function = bang_bang().to_function(mesh=10)
    for distance in (1.0, 2.0, 4.0):
        found = function(end_x=distance)
        assert found.options["resolved"] == "the call before"
        # from rest to rest with +1/2 and -1: T = sqrt(6 d), the switch at 2/3 of it
        assert found.cost == pytest.approx(np.sqrt(6 * distance), rel=1e-7)
        assert found.motion().boundaries[1] == pytest.approx(2 / 3 * found.cost, rel=1e-6)


def structured(target: float = 3.0) -> OptimalControlProblem:
    """x' = u, |u| <= 1: a far target needs the limit throughout, a near one does not."""
    problem = OptimalControlProblem(name="near or far")
    phase = problem.phase("go", duration=2.0)
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=target, v=0)
    phase.bound(u=(-4, 4))
    phase.minimize(integral=u**2)
    return problem


def test_values_that_the_mesh_does_not_suit_are_solved_in_full_or_refused() -> None:
    function = structured(3.9).to_function(mesh=10)  # nearly bang-bang: knots
    assert len(function.solution.motion().layout.mesh.sections) > 1
    free = function(end_x=1.0)  # no limit is active: u = 1.5 (1 - t)
    assert free.success
    assert free.options["resolved"] == "a full solve"
    assert free.cost == pytest.approx(1.5, rel=1e-5)
    strict = structured(3.9).to_function(mesh=10, fallback=False)
    refused = strict(end_x=1.0)
    assert not refused.success
    assert refused.sealed


def test_what_cannot_be_done_is_said() -> None:
    function = integrator().to_function(mesh=5, fallback=False)
    with pytest.raises(OptimalControlError, match="no argument 'end_y'; did you mean 'end_"):
        function(end_y=1.0)
    with pytest.raises(OptimalControlError, match="end_x: expected a number, got nan"):
        function(end_x=np.nan)
    assert not function(end_x=50.0).success  # out of reach within the limits
    assert function(end_x=0.5).success  # and the next call is none the worse for it


def test_several_phases_have_their_own_arguments() -> None:
    function = two_phases().to_function(mesh=5)
    assert set(function.arguments) == {"start_x", "end_x"}
    assert function(end_x=2.0).cost > function(end_x=1.0).cost


def test_without_a_replay_the_intervals_are_still_measured() -> None:
    found = integrator().to_function(mesh=5, replay=False)(end_x=0.7)
    assert found.success
    assert found.verdict.mesh_error < 1e-6
    assert np.isnan(found.verdict.segment_error)


@pytest.mark.slow
def test_a_call_is_several_times_faster_than_a_full_solve() -> None:
    problem = PROBLEMS["cart_pole"]()
    function = problem.to_function(mesh=10, replay=False)
    function(end_x=0.95)
    calls, fulls = [], []
    for distance in (0.9, 0.8, 0.7):
        begun = time.process_time()
        function(end_x=distance)
        calls.append(time.process_time() - begun)
        other = PROBLEMS["cart_pole"]()
        other.phases[0].end(x=distance)
        begun = time.process_time()
        other.solve(mesh=10)
        fulls.append(time.process_time() - begun)
    assert min(fulls) > 3 * min(calls)
