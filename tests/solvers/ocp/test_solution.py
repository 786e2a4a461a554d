"""Solutions: values by name, datasets on any grid, sealed failures."""

from __future__ import annotations

import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from ocp_harness import integrator, two_phases

from bestiary.solvers.ocp import (
    Gauss,
    HermiteSimpson,
    MultipleShooting,
    OptimalControlError,
    OptimalControlProblem,
    Radau,
    Scheme,
    SealedSolutionError,
    Solution,
    Trapezoid,
    load_solution,
)

SCHEMES = [
    Radau(3),
    Gauss(3),
    HermiteSimpson(),
    Trapezoid(),
    MultipleShooting(4),
    MultipleShooting(4, "constant"),
]


@pytest.fixture(scope="module")
def solved() -> Solution:
    return integrator().solve(mesh=5)


@pytest.fixture(scope="module")
def relay() -> Solution:
    return two_phases().solve(mesh=5)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_nodes_are_the_numbers_that_the_solver_had(scheme: Scheme) -> None:
    solution = integrator().solve(scheme=scheme, mesh=20, refine_mesh=False).unseal()
    motion, data = solution.motion(), solution.sample("nodes")
    own = data.collocated.values
    assert own.sum() == len(motion.controls)
    assert np.array_equal(data.u.values[own], motion.controls[:, 0])
    assert set(data.x.values) == set(motion.states[:, 0])
    assert np.all(np.diff(data.time.values) >= 0)


def test_a_control_that_jumps_within_an_interval_is_cut_off_at_its_bounds(tmp_path: Path) -> None:
    problem = OptimalControlProblem(name="fastest")
    phase = problem.phase("move", duration=(0.1, 10.0))
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0.0, v=0.0)
    phase.end(x=1.0, v=0.0)
    phase.bound(u=(-1.0, 2.0))
    problem.minimize(phase.duration)
    solution = problem.solve(mesh=41, tolerance=1e-3, knots=False, refine_mesh=False)
    motion, places = solution.motion(), np.linspace(0.0, 1.0, 21)
    polynomials = motion.on_intervals(places, "polynomials")
    assert polynomials.max() > 2.05 or polynomials.min() < -1.05  # beside the jump
    assert np.array_equal(motion.on_intervals(places, "controls"), np.clip(polynomials, -1.0, 2.0))
    assert solution.success
    assert solution.verdict.overshoot == 0.0
    assert any("u is cut off at its bounds" in reason for reason in solution.verdict.reasons)
    loaded = load_solution(solution.save(tmp_path / "fastest.nc"))
    for found in (solution, loaded):
        applied = found.sample(points=2001).u
        assert -1.0 <= applied.min() <= applied.max() <= 2.0


def test_samples_are_the_analytic_motion(solved: Solution) -> None:
    data = solved.sample(points=101)
    t = data.time.values
    assert len(t) == 101
    assert np.allclose(data.x, 3 * t**2 - 2 * t**3, atol=1e-8)
    assert np.allclose(data.u, 6 - 12 * t, atol=1e-6)
    assert np.allclose(data.power, data.u * data.v, atol=1e-9)
    assert np.allclose(solved.sample([0.25, 0.75]).x, [0.15625, 0.84375], atol=1e-8)


def test_names_carry_units_kinds_and_limits(solved: Solution) -> None:
    data = solved.sample()
    assert data.x.attrs["units"] == "m"
    assert data.u.attrs == {"units": "m/s^2", "kind": "control", "low": -10.0, "high": 10.0}
    assert data.power.attrs["kind"] == "path"
    assert data.attrs["problem"] == "integrator"
    assert data.attrs["status"] == "SOLVED"
    assert data.attrs["cost"] == pytest.approx(12.0)
    assert set(data.phase.values) == {"move"}


def test_items_are_found_by_name_symbol_and_expression(solved: Solution) -> None:
    phase = solved.problem.phases[0]
    assert solved["x"].equals(solved[phase["x"]])
    speed = solved[phase["v"] ** 2]
    assert np.allclose(speed, solved["v"] ** 2, atol=1e-12)
    values = solved.evaluate(ca.sin(phase["x"]) + phase.time, [0.0, 0.5])
    assert np.allclose(values, [0.0, np.sin(0.5) + 0.5], atol=1e-8)


def test_an_unknown_name_is_answered_with_the_closest(solved: Solution) -> None:
    with pytest.raises(OptimalControlError, match="no quantity 'powr'; did you mean 'power'"):
        solved["powr"]


def test_times_outside_the_motion_are_refused(solved: Solution) -> None:
    with pytest.raises(OptimalControlError, match=r"1\.5 s is outside the motion \(0 to 1 s\)"):
        solved.sample([0.5, 1.5])
    with pytest.raises(OptimalControlError, match="points: expected 2 or more"):
        solved.sample(points=1)


def test_phases_stand_one_after_another(relay: Solution) -> None:
    data = relay.sample(points=11)
    assert list(data.phase.values) == ["first"] * 11 + ["second"] * 11
    first, second = data.isel(time=slice(0, 11)), data.isel(time=slice(11, 22))
    assert np.all(np.isnan(second.u)) and np.all(np.isnan(first.w))  # noqa: PT018
    assert np.all(np.diff(data.x) > -1e-9)
    assert float(data.gain) == pytest.approx(relay.parameters["gain"])
    whole = relay.sample([0.1, relay.duration("first"), relay.motion("second").end])
    assert list(whole.phase.values) == ["first", "second", "second"]
    assert "w" not in relay.sample(phase="first")
    with pytest.raises(OptimalControlError, match="name one of its phases"):
        relay.motion()


def test_terms_of_the_cost_add_up(relay: Solution) -> None:
    assert set(relay.costs) == {"effort", "braking", "time", "gain"}
    assert sum(relay.costs.values()) == pytest.approx(relay.cost, rel=1e-12)
    assert relay.costs["time"] == pytest.approx(relay.motion("second").end)
    assert relay.costs["gain"] == pytest.approx(0.1 * relay.parameters["gain"] ** 2)


def test_a_failed_solution_is_sealed() -> None:
    solution = integrator().solve(mesh=5, progress=lambda _: True)  # stopped at once
    assert not solution.success
    for ask in (
        lambda: solution.cost,
        lambda: solution["x"],
        lambda: solution.sample(),
        lambda: solution.costates(),
        lambda: solution.plot(),
        lambda: solution.parameters,
    ):
        with pytest.raises(SealedSolutionError, match="unseal"):
            ask()
    assert "cost" not in repr(solution)
    assert np.all(np.isfinite(solution.unseal()["x"]))


def test_a_pickled_solution_keeps_its_numbers(relay: Solution) -> None:
    copy = pickle.loads(pickle.dumps(relay))
    assert copy.problem is None
    assert copy.success
    assert copy.sample("nodes").equals(relay.sample("nodes"))
