"""Integrators inside C against SciPy."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest
from c_harness import CLibrary, random_inputs, robot_library, run, write
from scipy.integrate import solve_ivp

STEP_LIMIT, NOT_FINITE, SINGULAR = 3, 2, 1


@pytest.fixture
def pendulum() -> CLibrary:
    return robot_library("pendulum")


@pytest.fixture
def floater() -> CLibrary:
    return robot_library("floater")


def start(library: CLibrary, seed: int = 2) -> dict[str, list[float]]:
    return random_inputs(library.equations, np.random.default_rng(seed))


def reference(
    library: CLibrary, inputs: dict[str, list[float]], times: np.ndarray, u: np.ndarray | None
) -> np.ndarray:
    """States (q, p) at the times, u held over each interval, by SciPy's DOP853."""
    nq = len(inputs["q"])
    has_u = "u" in inputs

    def rates(held: np.ndarray):
        def function(_: float, state: np.ndarray) -> np.ndarray:
            now = {**inputs, "q": state[:nq], "p": state[nq:]}
            if has_u:
                now["u"] = held
            status, found = library.call("state_rates", now)
            assert status == 0
            return np.concatenate(list(found.values()))

        return function

    state = np.array([*inputs["q"], *inputs["p"]])
    rows = [state]
    for k in range(len(times) - 1):
        held = np.zeros(len(inputs.get("u", ()))) if u is None else u[k]
        solved = solve_ivp(
            rates(held), (times[k], times[k + 1]), state, "DOP853", rtol=1e-12, atol=1e-12
        )
        state = solved.y[:, -1]
        rows.append(state)
    return np.array(rows)


def stacked(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.hstack([q, p])


@pytest.mark.parametrize("name", ["pendulum", "passive", "euler", "floater"])
def test_dopri5_reaches_its_tolerance(name: str) -> None:
    library = robot_library(name)
    inputs = start(library)
    times = np.array([0.0, 0.05, 0.3, 0.31, 0.8])
    u = np.random.default_rng(0).normal(size=(4, len(inputs.get("u", ()))))
    expected = reference(library, inputs, times, u)
    for tolerance in (1e-6, 1e-10):
        status, q, p, (accepted, rejected, evaluations) = library.rollout_dopri5(
            inputs, times, u, rtol=tolerance, atol=tolerance
        )
        assert status == 0
        assert np.max(np.abs(stacked(q, p) - expected)) < 100 * tolerance
        assert evaluations >= 6 * (accepted + rejected)
        assert evaluations <= 6 * (accepted + rejected) + 4 + 1


def test_dopri5_without_input_integrates_with_zeros(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    times = np.linspace(0, 1, 6)
    status, q, p, _ = pendulum.rollout_dopri5(inputs, times, None)
    _, q_zero, p_zero, _ = pendulum.rollout_dopri5(inputs, times, np.zeros((5, 2)))
    assert status == 0
    np.testing.assert_allclose(
        stacked(q, p), reference(pendulum, inputs, times, None), rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(stacked(q, p), stacked(q_zero, p_zero), rtol=1e-7, atol=1e-7)


def test_dopri5_uses_fewer_steps_for_a_looser_tolerance(floater: CLibrary) -> None:
    inputs = start(floater)
    taken = [
        int(floater.rollout_dopri5(inputs, [0, 2.0], None, rtol=t, atol=t)[3][0])
        for t in (1e-4, 1e-7, 1e-10)
    ]
    assert taken == sorted(taken)
    assert taken[0] < taken[1] < taken[2]
    assert taken[2] / taken[1] == pytest.approx(1000 ** (1 / 5), rel=0.3)  # order five


def test_dopri5_needs_about_as_many_evaluations_as_scipy(floater: CLibrary) -> None:
    inputs = start(floater)
    nq = len(inputs["q"])

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        now = {**inputs, "q": state[:nq], "p": state[nq:], "u": [0.0, 0.0]}
        return np.concatenate(list(floater.call("state_rates", now)[1].values()))

    state = [*inputs["q"], *inputs["p"]]
    peer = solve_ivp(rates, (0, 2.0), state, "RK45", rtol=1e-8, atol=1e-8)
    statistics = floater.rollout_dopri5(inputs, [0, 2.0], None, rtol=1e-8, atol=1e-8)[3]
    assert statistics[2] < 1.2 * peer.nfev


def test_dopri5_runs_backwards_to_where_it_came_from(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    _, q, p, _ = pendulum.rollout_dopri5(inputs, [0.0, 0.7], None, rtol=1e-11, atol=1e-11)
    turned = {**inputs, "q": list(q[-1]), "p": list(p[-1])}
    status, q_back, p_back, _ = pendulum.rollout_dopri5(
        turned, [0.7, 0.0], None, rtol=1e-11, atol=1e-11
    )
    assert status == 0
    np.testing.assert_allclose(q_back[-1], inputs["q"], atol=1e-8)
    np.testing.assert_allclose(p_back[-1], inputs["p"], atol=1e-8)


def test_dopri5_repeats_a_state_at_a_repeated_time(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    status, q, _, _ = pendulum.rollout_dopri5(inputs, [0.0, 0.0, 0.2, 0.2], None)
    assert status == 0
    np.testing.assert_array_equal(q[0], q[1])
    np.testing.assert_array_equal(q[2], q[3])
    assert not np.array_equal(q[1], q[2])


def test_dopri5_in_single_precision_follows_double(floater: CLibrary) -> None:
    inputs = start(floater)
    times = np.linspace(0, 0.5, 4)
    _, q, p, _ = floater.rollout_dopri5(inputs, times, None)
    status, q32, p32, _ = floater.rollout_dopri5(
        inputs, times, None, rtol=1e-5, atol=1e-5, tag="f32"
    )
    assert status == 0
    np.testing.assert_allclose(stacked(q32, p32), stacked(q, p), atol=2e-3)


def test_dopri5_stops_at_the_step_limit_and_fills_with_nan(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    status, q, p, statistics = pendulum.rollout_dopri5(
        inputs, [0.0, 0.01, 50.0], None, max_steps=20
    )
    assert status == STEP_LIMIT
    assert np.isfinite(stacked(q, p)[:2]).all()
    assert np.isnan(stacked(q, p)[2]).all()
    assert statistics[0] + statistics[1] == 20


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rollouts_report_states_that_are_not_finite(pendulum: CLibrary, bad: float) -> None:
    inputs = start(pendulum)
    inputs["p"][0] = bad
    status, q, _, _ = pendulum.rollout_dopri5(inputs, [0.0, 0.1, 0.2], None)
    assert status == NOT_FINITE
    assert np.isnan(q[1:]).all()
    status, q, _ = pendulum.rollout_rk4(inputs, None, 3, 0.1)
    assert status == NOT_FINITE
    assert np.isnan(q[1:]).all()
    assert np.isfinite(q[0]).all()


def test_rollouts_report_times_that_are_not_finite(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    assert pendulum.rollout_dopri5(inputs, [0.0, math.nan], None)[0] == NOT_FINITE
    assert pendulum.rollout_rk4(inputs, None, 1, math.nan)[0] == NOT_FINITE


def test_dopri5_reports_a_singularity_it_cannot_pass() -> None:
    euler = robot_library("euler")
    inputs = start(euler)
    inputs["q"][[c.name for c in euler.equations.coordinates].index("pitch")] = math.pi / 2
    status, q, _, _ = euler.rollout_dopri5(inputs, [0.0, 0.1], None)
    assert status == SINGULAR
    assert np.isnan(q[1]).all()


@pytest.mark.parametrize("name", ["pendulum", "passive", "floater"])
def test_rk4_has_order_four(name: str) -> None:
    library = robot_library(name)
    inputs = start(library)
    intervals, span = 4, 0.4
    times = np.linspace(0, span, intervals + 1)
    u = np.random.default_rng(1).normal(size=(intervals, len(inputs.get("u", ()))))
    expected = reference(library, inputs, times, u)[-1]
    errors = []
    for finer in (16, 32):
        steps = intervals * finer
        status, q, p = library.rollout_rk4(inputs, np.repeat(u, finer, axis=0), steps, span / steps)
        assert status == 0
        errors.append(np.max(np.abs(stacked(q, p)[-1] - expected)))
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.25)


def test_rk4_rows_begin_with_the_start_and_are_all_written(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    status, q, p = pendulum.rollout_rk4(inputs, None, 5, 0.01)
    assert status == 0
    np.testing.assert_array_equal(q[0], inputs["q"])
    np.testing.assert_array_equal(p[0], inputs["p"])
    assert (stacked(q, p) != -77.0).all()
    _, q, p = pendulum.rollout_rk4(inputs, None, 0, 0.01)
    np.testing.assert_array_equal(q[0], inputs["q"])


def test_rk4_holds_row_k_of_the_input_over_step_k(pendulum: CLibrary) -> None:
    inputs = start(pendulum)
    u = np.zeros((4, 2))
    u[2] = 3.0
    _, q, _ = pendulum.rollout_rk4(inputs, u, 4, 0.01)
    _, free, _ = pendulum.rollout_rk4(inputs, None, 4, 0.01)
    np.testing.assert_array_equal(q[:3], free[:3])
    assert np.max(np.abs(q[3] - free[3])) > 1e-5


def test_rk4_in_single_precision_follows_double(floater: CLibrary) -> None:
    inputs = start(floater)
    _, q, p = floater.rollout_rk4(inputs, None, 50, 0.005)
    status, q32, p32 = floater.rollout_rk4(inputs, None, 50, 0.005, "f32")
    assert status == 0
    np.testing.assert_allclose(stacked(q32, p32), stacked(q, p), atol=1e-3)


def test_quaternions_stay_at_unit_length(floater: CLibrary) -> None:
    inputs = start(floater)
    first = next(k for k, c in enumerate(floater.equations.coordinates) if c.kind == "quaternion")
    _, q, _ = floater.rollout_rk4(inputs, None, 200, 0.02)
    np.testing.assert_allclose(np.linalg.norm(q[:, first : first + 4], axis=1), 1, atol=1e-15)
    _, q, _, _ = floater.rollout_dopri5(inputs, np.linspace(0, 2, 5), None, 1e-4, 1e-4)
    np.testing.assert_allclose(np.linalg.norm(q[:, first : first + 4], axis=1), 1, atol=1e-15)


def test_dopri5_keeps_the_energy_of_a_passive_robot() -> None:
    library = robot_library("passive")
    inputs = start(library)
    damping = [p.name for p in library.equations.parameters].index("shoulder_rate_damping")
    inputs["parameters"][damping] = 0.0
    _, q, p, _ = library.rollout_dopri5(inputs, np.linspace(0, 5, 4), None, 1e-11, 1e-11)
    energies = [
        sum(
            float(next(iter(library.call(f, {**inputs, "q": a, "p": b})[1].values()))[0])
            for f in ("kinetic_energy", "potential_energy")
        )
        for a, b in zip(q, p, strict=True)
    ]
    assert np.ptp(energies) < 1e-8


@pytest.mark.parametrize("name", ["passive", pytest.param("floater", marks=pytest.mark.slow)])
def test_rollouts_stay_inside_their_arrays(name: str, tmp_path: Path) -> None:
    library = robot_library(name)
    write(library.sources, tmp_path)
    macro, has_u = name.upper(), "u" in {g.name for g in library.program.groups}
    tests = []
    for tag, real, tiny in (("f64", "double", "1e-8"), ("f32", "float", "1e-5F")):
        one, zero = ("1.0", "0.0") if tag == "f64" else ("1.0F", "0.0F")
        u = f", u_{tag}" if has_u else ""
        tests.append(
            f"    {name}_parameters_{tag} k_{tag};\n"
            f"    {real} q0_{tag}[{macro}_NQ] = {{{one}}};\n"
            f"    {real} p0_{tag}[{macro}_NP] = {{{one}}};\n"
            f"    {real} q_{tag}[4 * {macro}_NQ];\n    {real} p_{tag}[4 * {macro}_NP];\n"
            f"    {real} t_{tag}[4] = {{{zero}, {one}, {one}, {zero}}};\n"
            + (f"    {real} u_{tag}[3 * {macro}_NU] = {{{one}}};\n" if has_u else "")
            + f"    {name}_default_parameters_{tag}(&k_{tag});\n"
            f"    bad += {name}_rollout_rk4_{tag}(\n"
            f"        &k_{tag}, q0_{tag}, p0_{tag}{u}, 3, {tiny}, q_{tag}, p_{tag});\n"
            f"    bad += {name}_rollout_dopri5_{tag}(&k_{tag}, q0_{tag}, p0_{tag}, t_{tag}{u}, 4,\n"
            f"        {tiny}, {tiny}, 9999, q_{tag}, p_{tag}, statistics);\n"
        )
    body = "    int bad = 0;\n    int statistics[3];\n" + "".join(tests) + "    return bad;\n"
    (tmp_path / "main.c").write_text(
        f'#include "{name}.h"\n#include "{name}_defaults.h"\nint main(void)\n{{\n{body}}}\n'
    )
    sources = [*library.sources.sources["f64"], *library.sources.sources["f32"]]
    sanitise = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O0"]
    run(["gcc", "-std=c99", *sanitise, "main.c", *sources, f"{name}_defaults.c", "-lm"], tmp_path)
    run(["./a.out"], tmp_path)


def test_outputs_of_rollouts_may_be_null() -> None:
    library = robot_library("passive")
    inputs = start(library)
    arrays = [np.array(inputs[k]) for k in ("parameters", "q", "p")]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    end = (ctypes.c_int(5), ctypes.c_double(0.01), None, None)
    assert library.symbol("rollout_rk4", "f64")(*pointers, *end) == 0
    times = np.array([0.0, 0.1])
    status = library.symbol("rollout_dopri5", "f64")(
        *pointers,
        times.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int(2),
        ctypes.c_double(1e-6),
        ctypes.c_double(1e-6),
        ctypes.c_int(100),
        None,
        None,
        None,
    )
    assert status == 0
