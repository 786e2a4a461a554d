"""Problems with known optima, solved with default options from ten equal intervals."""

import itertools
import math

import pytest

from bestiary.solvers.ocp import OptimalControlProblem, Status
from bestiary.solvers.ocp.library import BENCHMARKS

SEGMENT, OPEN_LOOP = 1e-6, 1e-5

QUICK = [
    "double_integrator_energy",
    "double_integrator_time",
    "brake_harder_than_accelerate",
    "scalar_regulator",
    "bryson_denham",
    "breakwell",
    "moon_lander",
    "tail_righting_time",
    "tail_righting_energy",
    "jacobson_singular",
    "cart_pole",
    "hypersensitive",
    "hypersensitive_betts",
    "van_der_pol",
    "rayleigh",
    "brachistochrone",
    "brachistochrone_free_height",
    "linear_tangent_steering",
    "zermelo_uniform_stream",
    "zermelo_shear",
    "hanging_chain",
    "isoperimetric",
    "newton_nose",
    "catalyst_mixing",
    "batch_reactor",
    "orbit_raising",
    "goddard",
    "goddard_three_phases",
]
HEAVY = [
    "van_der_pol_limited_state",
    "rayleigh_mixed_constraint",
    "lotka_volterra_fishing",
    "two_phase_path_tracking",
    "obstacle_course",
    "container_crane",
    "robot_arm",
    "two_link_arm",
    "pendulum_in_coordinates",
    "pendulum_in_angle",
    "batch_reactor_temperature",
    "tuberculosis",
    "goddard_normalized",
    "delta_iii",
    "shuttle_reentry",
    "hang_glider",
    "dynamic_soaring",
]
LONG = ["free_flying_robot", "parallel_parking"]


def check(name, mesh=10, **options):
    known = BENCHMARKS[name]
    solution = known.build().solve(mesh=mesh, **options)
    assert solution.success, f"{solution.status}: {solution.verdict.reasons}"
    assert known.error(solution) <= known.tolerance
    assert solution.verdict.segment_error < SEGMENT
    assert solution.verdict.open_loop_error < OPEN_LOOP


@pytest.mark.parametrize("name", QUICK)
def test_known_optimum_is_reached_from_ten_equal_intervals(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY + LONG)
def test_known_optimum_of_a_heavy_problem_is_reached_from_ten_equal_intervals(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in QUICK if n not in ("newton_nose",)])
def test_known_optimum_is_reached_from_twenty_equal_intervals(name):
    check(name, mesh=20)


def test_every_problem_of_the_library_states_its_source():
    for known in BENCHMARKS.values():
        assert known.source
        assert known.build.__doc__
        assert math.isfinite(known.optimum)
        assert 0 < known.tolerance < 0.1


def test_switch_of_the_moon_lander_is_a_knot_at_its_analytic_time():
    solution = BENCHMARKS["moon_lander"].build().solve(mesh=10)
    boundaries = solution.motion().boundaries
    # coast until the braking parabola is met: t = (v0 + sqrt(v0^2 / 2 + g h)) / g with thrust 2 g
    switch = (-2 + math.sqrt(2 + 15)) / 1.5
    assert boundaries[1] == pytest.approx(switch, abs=1e-6)
    assert solution.duration() == pytest.approx(4.16414, abs=1e-5)


def test_singular_arc_of_goddards_rocket_does_not_chatter():
    solution = BENCHMARKS["goddard"].build().solve(mesh=10)
    motion = solution.motion()
    times = [motion.start + k * (motion.end - motion.start) / 400 for k in range(401)]
    thrust = motion.controls_at(times)[:, 0]
    assert abs(thrust.max() - 193.044) < 0.1
    assert thrust.min() > -0.1
    jumps = sum(abs(b - a) for a, b in itertools.pairwise(thrust))
    # full thrust, down to the arc, up along it, down to zero: a little more than twice
    assert jumps < 2.5 * 193.044


def test_pendulum_in_coordinates_agrees_with_the_pendulum_in_its_angle():
    costs = [
        BENCHMARKS[name].build().solve(mesh=10).cost
        for name in ("pendulum_in_coordinates", "pendulum_in_angle")
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-7)


def rescaled_double_integrator(length, time):
    """The least-time double integrator in other units: 2 s for 1 m with 1 m/s^2."""
    problem = OptimalControlProblem(name="double integrator in odd units")
    phase = problem.phase("move")
    x, v = phase.states("x v")
    (u,) = phase.controls("u")
    phase.dynamics({x: v, v: u})
    phase.start(x=0, v=0)
    phase.end(x=length, v=0)
    limit = length / time**2
    phase.bound(u=(-limit, limit))
    phase.guess(times=3 * time)
    problem.minimize(phase.duration)
    return problem


@pytest.mark.parametrize(("length", "time"), [(1e6, 1.0), (1e-6, 1.0), (1.0, 1e4), (1e7, 1e-3)])
def test_units_do_not_matter(length, time):
    solution = rescaled_double_integrator(length, time).solve(mesh=10)
    assert solution.success
    assert solution.duration() == pytest.approx(2 * time, rel=1e-6)


def test_sympy_statement_gives_the_same_optimum():
    sympy = pytest.importorskip("sympy")
    problem = OptimalControlProblem(name="Van der Pol in SymPy")
    phase = problem.phase("regulate", duration=5.0)
    phase.states("x1 x2")
    phase.controls("u")
    x1, x2, u = sympy.symbols("x1 x2 u")
    phase.dynamics({"x1": (1 - x2**2) * x1 - x2 + u, "x2": x1})
    phase.start(x1=0, x2=1)
    phase.bound(u=(-0.3, 1))
    phase.minimize(integral=x1**2 + x2**2 + u**2)
    assert BENCHMARKS["van_der_pol"].error(problem.solve(mesh=10)) < 1e-7


def test_free_start_time_is_found():
    """Wait until the wind is right: int (u - sin t)^2 over one second is least around pi/2."""
    import casadi as ca

    problem = OptimalControlProblem(name="free start")
    phase = problem.phase("go", start=(0, 6), duration=1.0)
    (x,) = phase.states("x")
    (u,) = phase.controls("u")
    phase.dynamics({x: u})
    phase.start(x=0)
    phase.end(x=1)
    phase.minimize(integral=(u - ca.sin(phase.time)) ** 2)
    solution = problem.solve(mesh=10)
    assert solution.success
    motion = solution.motion()
    # u - sin t is constant at the optimum, and it is least where the mean of sin is largest
    assert (motion.start + motion.end) / 2 == pytest.approx(math.pi / 2, abs=1e-4)
    assert solution.cost == pytest.approx((1 - 2 * math.sin(0.5)) ** 2, rel=1e-6)


def test_mass_that_is_dropped_between_phases_is_a_jump():
    """Two stages at full thrust: Tsiolkovsky's speeds add up."""
    problem = OptimalControlProblem(name="two stages")
    phases = []
    for name in ("first", "second"):
        phase = problem.phase(name, duration=(0.1, 100))
        v, m = phase.states("v m", units="m/s kg")
        (flow,) = phase.controls("flow", units="kg/s")
        phase.dynamics({v: 3000 * flow / m, m: -flow})
        phase.bound(flow=2)
        phases.append(phase)
    first, second = phases
    first.start(v=0, m=100)
    first.end(m=40)
    second.end(m=10)
    first.guess(times=30, m=[100, 40])
    second.guess(times=15, m=[30, 10])
    problem.link(first, second, jumps={"m": -10})
    second.maximize(final=second["v"])
    solution = problem.solve(mesh=10)
    assert solution.success
    speed = float(solution.motion("second").states[-1, 0])
    assert speed == pytest.approx(3000 * (math.log(100 / 40) + math.log(30 / 10)), rel=1e-7)


def test_parameter_and_motion_are_found_together():
    """A spring whose stiffness is free: half a period must last one second."""
    problem = OptimalControlProblem(name="spring")
    stiffness = problem.parameter("stiffness", (1, 100), guess=5)
    phase = problem.phase("swing", duration=1.0)
    x, v = phase.states("x v")
    phase.dynamics({x: v, v: -stiffness * x})
    phase.start(x=1, v=0)
    phase.end(v=0, x=(None, 0))
    problem.minimize(stiffness)
    solution = problem.solve(mesh=10)
    assert solution.parameters["stiffness"] == pytest.approx(math.pi**2, rel=1e-6)


def test_problem_without_a_solution_is_not_a_success():
    problem = BENCHMARKS["double_integrator_time"].build()
    problem.phases[0].path("stands", problem.phases[0]["v"], None, 0.0)
    solution = problem.solve(mesh=10)
    assert not solution.success
    assert solution.status is not Status.SOLVED
