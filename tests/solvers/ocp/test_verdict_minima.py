"""What a solver calls converged may be no minimum: saddles, maxima, values that run away.

And what it cannot solve may have no motion at all: states that escape.
"""

import casadi as ca
import pytest

from bestiary.solvers.ocp import OptimalControlProblem, Status
from bestiary.solvers.ocp.library import BENCHMARKS


def integrator(limit=1.0):
    problem = OptimalControlProblem(name="integrator")
    phase = problem.phase("go", duration=1.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: u})
    phase.start(x=0)
    if limit is not None:
        phase.bound(u=(-limit, limit))
    return problem, phase, x, u


def cart(duration=None):
    problem = OptimalControlProblem(name="cart")
    phase = problem.phase("move", duration=duration)
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=1, v=0)
    return problem, phase, u


def test_square_is_maximized_from_its_stationary_guess():
    problem, phase, x, _ = integrator()
    phase.maximize(final=x**2)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert solution.cost == pytest.approx(-1, abs=1e-6)
    assert "beside a stationary point that is no minimum" in " ".join(solution.verdict.reasons)


def test_integral_of_a_square_is_maximized_from_its_stationary_guess():
    problem, phase, x, _ = integrator()
    phase.maximize(integral=x**2)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert solution.cost == pytest.approx(-1 / 3, abs=1e-6)


def test_top_of_a_hill_is_left():
    problem, phase, x, u = integrator(limit=10)
    phase.minimize(integral=ca.cos(3 * x) + 1e-2 * u**2)
    assert problem.solve(mesh=10).cost < 0  # resting on the top costs 1


def test_concave_cost_without_limits_is_unbounded_though_the_guess_is_stationary():
    problem, phase, x, u = integrator(limit=None)
    phase.minimize(integral=x**2 - u**2)
    solution = problem.solve(mesh=10)
    assert solution.status is Status.UNBOUNDED


def test_minimum_at_the_guess_stays_a_success_without_remarks():
    problem, phase, x, u = integrator()
    phase.minimize(integral=x**2 + u**2)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert not solution.verdict.reasons
    assert solution.cost == pytest.approx(0, abs=1e-9)


def test_problem_without_a_cost_has_no_doubtful_minimum():
    problem, _, _ = cart(1.0)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert not solution.verdict.reasons


@pytest.mark.parametrize("name", ["jacobson_singular", "isoperimetric"])
def test_singular_arcs_and_flat_valleys_are_minima(name):
    solution = BENCHMARKS[name].build().solve(mesh=10)
    assert solution.success
    assert not any("not shown to be a minimum" in r for r in solution.verdict.reasons)


def test_duration_that_runs_away_is_named():
    problem, phase, u = cart()
    phase.minimize(integral=u**2)
    solution = problem.solve()
    assert solution.status is Status.UNBOUNDED
    assert solution.verdict.reasons[0].startswith("the duration has no best value: it went to ")
    assert solution.verdict.suggestion.startswith("give an upper limit for the duration")


def test_duration_of_a_real_minimum_far_from_its_guess_is_a_success():
    problem, phase, u = cart()
    phase.minimize(integral=u**2 + 1e-9)  # 12 / T^3 + 1e-9 T: best at T = (36e9)^(1/4)
    solution = problem.solve()
    assert solution.success
    assert solution.duration() == pytest.approx(36e9**0.25, rel=1e-3)


def test_duration_that_costs_nothing_is_told():
    problem, phase, u = cart()
    phase.minimize(integral=u**2)
    problem.minimize(1.0 + 0 * phase.final(phase["x"]))
    solution = problem.solve()
    assert any("it is not determined" in reason for reason in solution.verdict.reasons)


def test_parameter_that_runs_away_is_named():
    problem, phase, u = cart(1.0)
    gain = problem.parameter("gain", bounds=(0, None), guess=1)
    phase.minimize(integral=u**2)
    problem.minimize(1 / (1 + gain))
    solution = problem.solve(mesh=10)
    assert solution.status is Status.UNBOUNDED
    assert solution.verdict.reasons[0].startswith("gain has no best value: it went to ")


def growing(rate, duration, limit=0.5):
    problem = OptimalControlProblem(name="growing")
    phase = problem.phase("go", duration=duration)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: rate(x) + u})
    phase.start(x=1)
    phase.bound(u=(-limit, limit))
    phase.minimize(integral=u**2)
    return problem, phase


def test_finite_escape_is_named_with_its_time():
    problem, _ = growing(lambda x: x**2, 2.0)
    solution = problem.solve(mesh=10, iterations=200)
    assert not solution.success
    told = solution.verdict.reasons[0]
    assert told.startswith("x escapes to infinity by itself")
    # 1 / x' = x^2 - 1/2 from 1: at the lower limit it takes sqrt(2) artanh(1 / sqrt(2)) s
    assert "left everything by 1.246 s, before the end at 2 s" in told


def test_exponential_growth_is_no_escape_but_named():
    problem, _ = growing(lambda x: 10 * x, 10.0)
    solution = problem.solve(mesh=10)
    assert not solution.success
    assert solution.verdict.reasons[0].startswith("x grows without bound by itself")


def test_growth_that_can_be_held_is_no_escape():
    problem, phase = growing(lambda x: x**2, 2.0, limit=5)
    phase.bound(x=(-3, 3))
    solution = problem.solve(mesh=10)
    assert solution.success


def test_an_end_that_is_out_of_reach_since_the_motion_escapes_is_told_with_both():
    problem, phase = growing(lambda x: x**2, 2.0)
    phase.end(x=0)
    solution = problem.solve(mesh=10)
    assert solution.status is Status.INFEASIBLE
    assert solution.verdict.reasons[0].startswith("x escapes to infinity by itself")
    assert "x at the end = 0" in solution.verdict.suggestion


def test_control_without_a_choice_is_told():
    problem, phase, _, u = integrator()
    phase.bound(u=(0.5, 0.5))
    phase.minimize(integral=u**2)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert "u is fixed at 0.5 by its bounds" in solution.verdict.reasons


def test_control_at_one_limit_all_the_time_is_told():
    problem, phase, x, _ = integrator()
    phase.maximize(final=x)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert any(
        reason.startswith("u stays at its upper limit 1 all the time")
        for reason in solution.verdict.reasons
    )


def test_state_that_runs_away_is_named():
    problem, phase, _, u = integrator(limit=None)
    phase.minimize(integral=1 / (1 + (u - 1) ** 2))
    solution = problem.solve(mesh=10)
    assert solution.status is Status.UNBOUNDED
    assert "has no best value: it went to" in solution.verdict.reasons[0]


def test_large_states_of_a_real_minimum_are_a_success():
    problem, phase, x, u = integrator(limit=None)
    phase.minimize(integral=1e-6 * u**2)
    phase.maximize(final=x)
    solution = problem.solve(mesh=10)
    assert solution.success
    assert solution.cost == pytest.approx(-2.5e5, rel=1e-9)
    assert not solution.verdict.reasons
