"""Batches and rollouts: rows, threads, failures, and the GIL."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from robot_harness import robot

from bestiary.generated import ModelInputError, SingularityError, StepLimitError, batch, rollouts

FORMS = ("compiled", "numpy")


def states(r, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    pairs = [r.random_state(seed + k) for k in range(count)]
    return np.array([q for q, _ in pairs]), np.array([p for _, p in pairs])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", [2, 3, None])
def test_threads_give_the_same_bits_as_one(form, threads):
    r = robot("sea_lion", form)
    q, p = states(r, 101)
    for name, arguments in (("mass_matrix", (q,)), ("equations_of_motion", (q, p))):
        batch = getattr(r, f"{name}_batch")
        serial, parallel = batch(*arguments), batch(*arguments, threads=threads)
        for a, b in zip(
            serial if isinstance(serial, tuple) else (serial,),
            parallel if isinstance(parallel, tuple) else (parallel,),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("form", FORMS)
def test_one_state_serves_all_rows(form):
    r = robot("crane", form)
    q, p = states(r, 6)
    u = np.array([1.0, 2.0, 3.0])
    result = r.forward_dynamics_batch(q, p[0], u)
    for k in range(6):
        np.testing.assert_allclose(result[k], r.forward_dynamics(q[k], p[0], u), rtol=1e-13)
    np.testing.assert_allclose(
        r.forward_dynamics_batch(q, p), r.forward_dynamics_batch(q, p, np.zeros(3)), rtol=1e-15
    )


@pytest.mark.parametrize("form", FORMS)
def test_batch_results_go_to_out(form):
    r = robot("crane", form)
    q, _ = states(r, 40)
    out = np.full((40, 4, 4), np.nan)
    assert r.mass_matrix_batch(q, out=out, threads=2) is out
    np.testing.assert_array_equal(out, r.mass_matrix_batch(q))
    with pytest.raises(ModelInputError, match=r"out must have shape \(40, 4, 4\), got \(4, 4\)"):
        r.mass_matrix_batch(q, out=np.empty((4, 4)))
    with pytest.raises(ModelInputError, match="out must not share memory with q"):
        r.force_vector_batch(q, out=q)


@pytest.mark.parametrize("form", FORMS)
def test_node_batches_equal_single_calls_in_both_frames(form):
    r = robot("crane", form)
    q, p = states(r, 20)
    for frame in ("body", "world"):
        twists = r.node_velocity_batch("tip", q, p, frame)
        jacobians = r.node_jacobian_batch("tip", q, frame=frame)
        for k in range(20):
            np.testing.assert_allclose(
                twists[k], r.node_velocity("tip", q[k], p[k], frame), atol=1e-13
            )
            np.testing.assert_allclose(
                jacobians[k], r.node_jacobian("tip", q[k], frame), atol=1e-13
            )
    assert r.node_pose_batch("tip", q).shape == (20, 4, 4)
    shared = r.node_velocity_batch("tip", q[0], p, "world")
    np.testing.assert_allclose(shared[3], r.node_velocity("tip", q[0], p[3], "world"), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_batches_of_no_rows_are_empty(form):
    r = robot("crane", form)
    assert r.mass_matrix_batch(np.zeros((0, 4))).shape == (0, 4, 4)
    assert r.kinetic_energy_batch(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)


@pytest.mark.parametrize("form", FORMS)
def test_wrong_batches_are_refused(form):
    r = robot("crane", form)
    q, p = states(r, 3)
    for call, part in (
        (
            lambda: r.mass_matrix_batch(q[:, :3]),
            r"must have shape \(N, 4\) or \(4,\), got \(3, 3\)",
        ),
        (
            lambda: r.bias_forces_batch(q, p[:2]),
            r"p must have shape \(3, 4\) or \(4,\), got \(2, 4\)",
        ),
        (lambda: r.mass_matrix_batch(q[0]), "for a single state call mass_matrix"),
        (lambda: r.mass_matrix_batch(q, threads=0), "threads must be a whole number >= 1, got 0"),
        (lambda: r.mass_matrix_batch(np.zeros((2, 2, 4))), r"got \(2, 2, 4\)"),
    ):
        with pytest.raises(ModelInputError, match=part):
            call()
    p[1, 2] = np.nan
    with pytest.raises(ModelInputError, match=r"p\[1, 2\] \(nod_rate \[rad/s\]\) is nan"):
        r.bias_forces_batch(q, p)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_failing_row_is_named(form, threads):
    r = robot("sea_lion", form)
    q, p = states(r, 60)
    q[:, 1] = 0.1
    q[[41, 50], 1] = np.pi / 2
    with pytest.raises(SingularityError, match=r"coordinate_rates \(row 41 of 60\): .*singular"):
        r.coordinate_rates_batch(q, p, threads=threads)


def test_other_threads_run_while_a_rollout_computes():
    r = robot("sea_lion")
    done = threading.Event()
    ticks: list[float] = []

    def integrate() -> None:
        r.rollout(r.neutral, np.zeros(20), None, 1e-3, 60_000)
        done.set()

    worker = threading.Thread(target=integrate)
    start = time.perf_counter()
    worker.start()
    while not done.is_set():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    worker.join()
    busy = time.perf_counter() - start
    # With the GIL held the loop would have come around once or twice only.
    assert len(ticks) > 10, f"{len(ticks)} turns in {busy:.3f} s"


# -- rollouts --------------------------------------------------------------------
@pytest.mark.parametrize("form", FORMS)
def test_rollouts_keep_the_energy_of_a_free_motion(form):
    r = robot("kite", form)
    q0 = r.neutral
    p0 = 0.3 * np.random.default_rng(3).normal(size=9)
    q, p = r.rollout_adaptive(np.linspace(0, 0.5, 6), q0, p0, rtol=1e-10, atol=1e-12)
    total = [r.kinetic_energy(a, b) + r.potential_energy(a) for a, b in zip(q, p, strict=True)]
    np.testing.assert_allclose(total, total[0], rtol=1e-9)
    norms = np.linalg.norm(q[:, :4], axis=1)
    np.testing.assert_allclose(norms, 1.0, atol=1e-15)


@pytest.mark.parametrize("form", FORMS)
def test_rk4_converges_with_the_fourth_order(form):
    r = robot("crane", form)
    q0, p0 = np.array([0.1, 0.4, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    exact = r.rollout_adaptive([0, 0.4], q0, p0, rtol=1e-12, atol=1e-13).q[-1]
    errors = [np.abs(r.rollout(q0, p0, None, 0.4 / n, n).q[-1] - exact).max() for n in (20, 40)]
    assert 11 < errors[0] / errors[1] < 22


@pytest.mark.parametrize("form", FORMS)
def test_long_runs_in_several_stretches_give_the_same_bits(form, monkeypatch):
    r = robot("kite", form)
    q0, p0 = r.neutral, 0.3 * np.random.default_rng(3).normal(size=9)
    q, p = states(r, 50)
    whole, rows = r.rollout(q0, p0, None, 0.01, 23), r.bias_forces_batch(q, p)
    monkeypatch.setattr(rollouts, "UNINTERRUPTED_STEPS", 5)
    monkeypatch.setattr(batch, "UNINTERRUPTED_ROWS", 7)
    parts = r.rollout(q0, p0, None, 0.01, 23)
    np.testing.assert_array_equal(parts.q, whole.q)
    np.testing.assert_array_equal(parts.p, whole.p)
    np.testing.assert_array_equal(r.bias_forces_batch(q, p, threads=2), rows)
    assert r.rollout(q0, p0, None, 0.01, 0).q.shape == (1, 10)


@pytest.mark.parametrize("form", FORMS)
def test_inputs_are_held_over_steps(form):
    r = robot("crane", form)
    q0, p0, u = np.zeros(4), np.zeros(4), np.array([[1.0, 0, 0], [0, 0.5, 0], [0, 0, 2.0]])
    whole = r.rollout(q0, p0, u, 0.01, 3)
    q, p = q0, p0
    for k in range(3):
        q, p = (x[-1] for x in r.rollout(q, p, u[k], 0.01, 1))
        np.testing.assert_allclose(whole.q[k + 1], q, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(whole.p[k + 1], p, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(whole.times, 0.01 * np.arange(4))
    constant = r.rollout_adaptive([0, 0.01, 0.03], q0, p0, u[0]).q
    rows = r.rollout_adaptive([0, 0.01, 0.03], q0, p0, np.array([u[0], u[0]])).q
    np.testing.assert_array_equal(constant, rows)


@pytest.mark.parametrize("form", FORMS)
def test_motion_can_be_run_backwards(form):
    r = robot("crane", form)
    q0, p0 = np.array([0.1, 0.4, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    there = r.rollout_adaptive([0, 0.2], q0, p0)
    back = r.rollout_adaptive([0.2, 0], there.q[-1], there.p[-1])
    np.testing.assert_allclose(back.q[-1], q0, atol=1e-6)
    forth = r.rollout(q0, p0, None, 0.002, 100)
    again = r.rollout(forth.q[-1], forth.p[-1], None, -0.002, 100)
    np.testing.assert_allclose(again.q[-1], q0, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_rollouts_write_to_out(form):
    r = robot("crane", form)
    q, p = np.zeros((6, 4)), np.zeros((6, 4))
    result = r.rollout(np.zeros(4), np.ones(4), None, 0.01, 5, out=(q, p))
    assert result.q is q
    assert result.p is p
    np.testing.assert_array_equal(p[0], 1.0)
    np.testing.assert_array_equal(q, r.rollout(np.zeros(4), np.ones(4), None, 0.01, 5).q)
    with pytest.raises(ModelInputError, match=r"out\[0\] \(q\) must have shape \(6, 4\)"):
        r.rollout(np.zeros(4), np.ones(4), None, 0.01, 5, out=(q[:3], p))


@pytest.mark.parametrize("form", FORMS)
def test_wrong_arguments_of_rollouts_are_named(form):
    r = robot("crane", form)
    z = np.zeros(4)
    for call, part in (
        (
            lambda: r.rollout(z[:2], z, None, 0.1, 5),
            r"rollout: q0 must have shape \(4,\), got \(2,\)",
        ),
        (lambda: r.rollout(z, z * np.nan, None, 0.1, 5), r"p0\[0\] \(travel_rate \[m/s\]\) is nan"),
        (
            lambda: r.rollout(z, z, np.zeros((4, 3)), 0.1, 5),
            r"u must have shape \(5, 3\) or \(3,\)",
        ),
        (lambda: r.rollout(z, z, None, 0.0, 5), "dt must be a finite number other than 0, got 0.0"),
        (lambda: r.rollout(z, z, None, 0.1, 2.5), "steps must be a whole number >= 0, got 2.5"),
        (lambda: r.rollout_adaptive([0, 1, 1], z, z), "times must be finite and either rise or"),
        (lambda: r.rollout_adaptive([], z, z), r"times must have shape \(K,\), K >= 1"),
        (lambda: r.rollout_adaptive([0, 1], z, z, rtol=-1), "rtol must be a finite number above 0"),
        (lambda: r.rollout_adaptive([0, 1], z, z, max_steps=0), "max_steps must be a whole number"),
    ):
        with pytest.raises(ModelInputError, match=part):
            call()


@pytest.mark.parametrize("form", FORMS)
def test_too_few_steps_say_how_far_the_rollout_came(form):
    r = robot("crane", form)
    with pytest.raises(StepLimitError, match=r"stopped after t = 0\.1 s \(row 1\): max_steps = "):
        r.rollout_adaptive([0, 0.1, 50], np.zeros(4), np.ones(4), max_steps=20)


@pytest.mark.parametrize("form", FORMS)
def test_an_unstable_step_is_reported_with_its_time(form):
    r = robot("crane", form).with_parameters(travel_stiffness=1e6)
    with pytest.raises(SingularityError, match=r"rollout: stopped after t = \d.* not? .*finite"):
        r.rollout(np.array([0.3, 0, 0, 0]), np.zeros(4), None, 0.1, 4000)


def test_a_rollout_prints_its_span():
    result = robot("crane").rollout_adaptive([0, 0.5], np.zeros(4), np.ones(4))
    assert repr(result).startswith("Trajectory(2 states, 0 to 0.5 s, ")
    assert "accepted" in repr(result)
    q, p = result
    assert q is result.q
    assert p is result.p
