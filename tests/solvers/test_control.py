"""Tracking: the compiled step and its twins agree, errors die as set, limits are safe."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import xarray as xr
from control_harness import COMPILED, KINDS, MODELS, RATS, SMALL, robot

from bestiary.generated import SingularityError
from bestiary.solvers.control import SETTLING_FACTOR, JointTracker
from bestiary.solvers.references import conical_motion, hold, sampled_references, smooth_cycle
from bestiary.solvers.simulation import energy_error, simulate
from bestiary.solvers.tracking import fit_decay_rate, tracking_report

BENDING, FREQUENCY = np.pi / 3, 5.0
SETTLING = 0.1
STANDING = 0.0445
"""Height of the torso at which the rat's feet carry it [m]."""


def start(r, where: str) -> np.ndarray:
    """Neutral pose in the air (weight lets it fall freely), or standing on the ground."""
    q = r.neutral
    q[r.coordinates.index("z")] = 1.0 if where == "air" else STANDING
    return q


@cache
def cone(name: str, where: str) -> tuple[xr.Dataset, JointTracker]:
    """Straight tail at rest, from where it has to catch up with a cone that turns already."""
    r = robot(name)
    if where == "air":
        r = r.with_parameters(contact_stiffness=1e-9, contact_damping=0.0)
    tracker = JointTracker(r, conical_motion(r, BENDING, FREQUENCY), SETTLING)
    motion = simulate(
        r, 0.3, q=start(r, where), control=tracker, rtol=1e-9, atol=1e-11, samples=301
    )
    return motion, tracker


# -- one law, three forms -----------------------------------------------------------
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_step_numpy_form_and_numpy_algebra_agree(name):
    compiled, slow = robot(name), robot(name, "numpy")
    rng = np.random.default_rng(3)
    for controller in compiled.controllers:
        laws = {
            c: sampled_references([0, 1, 2], rng.normal(size=(3, 1)), [c])[c]
            for c in compiled.controllers[controller]["tracked"]
        }
        trackers = [
            JointTracker(compiled, laws, 0.3, limits=4.0, compiled=controller),
            JointTracker(slow, laws, 0.3, limits=4.0, compiled=controller),
            JointTracker(compiled, laws, 0.3, limits=4.0, compiled=False, tracked=tuple(laws)),
        ]
        assert [t.step for t in trackers] == [f"{controller}_step"] * 2 + [None]
        assert {(t.kind, t.inputs) for t in trackers} == {(trackers[0].kind, trackers[0].inputs)}
        for seed in range(5):
            q, p = compiled.random_state(seed)
            q[-4:] *= 0.3
            for law in ("unlimited", "__call__"):
                u, *others = (getattr(t, law)(0.4, q, p) for t in trackers)
                for other in others:
                    scale = np.abs(trackers[0].unlimited(0.4, q, p)).max()
                    np.testing.assert_allclose(other, u, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", MODELS)
def test_a_tracker_takes_the_robots_own_step_where_there_is_one(name):
    r = robot(name)
    controller = list(r.controllers.values())[-1]
    tracker = JointTracker(r, {}, tracked=controller["tracked"][::-1])
    assert tracker.step == controller["function"]
    assert tracker.kind == controller["kind"] == KINDS[name]
    assert tracker.tracked == tuple(controller["tracked"])
    # Another split has no step of its own.
    assert JointTracker(robot("arm"), {}, tracked=["turn"]).step is None


def test_one_step_serves_a_whole_batch():
    r = robot("rat_continuum")
    states = [r.random_state(k) for k in range(40)]
    q, p = (np.array(x) for x in zip(*states, strict=True))
    q[:, -4:] *= 0.3
    reference, gains, limits = np.zeros(12), np.full(4, 30.0), np.full(4, 0.01)
    u, free = r.tail_controller_step_batch(q, p, reference, gains, limits, threads=2)
    for k in (0, 17, 39):
        one = r.tail_controller_step(q[k], p[k], reference, gains, limits)
        np.testing.assert_array_equal(u[k], one[0])
        np.testing.assert_array_equal(free[k], one[1])


@pytest.mark.parametrize("form", ["compiled", "numpy"])
def test_step_arguments_are_checked_by_name(form):
    r = robot("rat_articulated", form)
    q, p = r.neutral, np.zeros(10)
    good = [np.zeros(12), np.ones(4), np.ones(4)]
    r.tail_controller_step(q, p, list(good[0]), tuple(good[1]), good[2])
    with pytest.raises(ValueError, match=r"tail_gains must have shape \(4,\), got \(1,\)"):
        r.tail_controller_step(q, p, good[0], [1.0], good[2])
    with pytest.raises(ValueError, match=r"tail_reference\[5\] \(beta_1_rate \[rad/s\]\) is nan"):
        r.tail_controller_step(q, p, np.where(np.arange(12) == 5, np.nan, 0), *good[1:])
    for bad in (0.0, -2.0):
        gains, limits = np.array([1, bad, 1, 1]), np.array([1, 1, bad, 1])
        message = rf"tail_gains\[1\] \(beta_1 \[1/s\]\) is {bad:g}; it must be above 0"
        with pytest.raises(ValueError, match=message):
            r.tail_controller_step(q, p, good[0], gains, good[2])
        message = rf"tail_limits\[2\] \(alpha_2_torque \[N m\]\) is {bad:g}; it must be above 0"
        with pytest.raises(ValueError, match=message):
            r.tail_controller_step(q, p, *good[:2], limits)
        with pytest.raises(ValueError, match=r"tail_gains\[2, 1\].*it must be above 0"):
            r.tail_controller_step_batch(q, p, good[0], [good[1], good[1], gains], good[2])


# -- tracking ---------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["air", "ground"])
@pytest.mark.parametrize("name", RATS)
def test_the_tail_follows_a_fast_cone_and_its_error_decays_as_set(name, where):
    motion, tracker = cone(name, where)
    report = tracking_report(motion, tracker)
    assert tracker.step == "tail_controller_step"
    for coordinate, rate in report.decay_rate.items():
        assert rate == pytest.approx(SETTLING_FACTOR / SETTLING, rel=0.05), coordinate
    late = motion.time.values > 0.25
    assert np.abs(report.error.values[late]).max() < 1e-3 * BENDING
    assert np.abs(report.error.values).max() > 0.1 * BENDING
    links = 2 if name == "rat_articulated" else 1
    bends = motion.q.values[late][:, -4:].reshape(-1, 2, 2) * links
    np.testing.assert_allclose(np.linalg.norm(bends, axis=2), BENDING, rtol=2e-3)


@pytest.mark.parametrize("name", RATS)
def test_the_tail_strikes_the_ground_in_the_ground_case_only(name):
    r = robot(name)
    motion, _ = cone(name, "ground")
    forces = np.array(
        [r.contact_forces(q, p)[0] for q, p in zip(motion.q.values, motion.p.values, strict=True)]
    )
    assert forces[:, :4, 2].max() > 0.5  # feet
    assert forces[:, 4:, 2].max() > 5.0  # tail
    motion, tracker = cone(name, "air")
    q, p = motion.q.values[100], motion.p.values[100]
    assert np.abs(tracker.robot.contact_forces(q, p)[0]).max() < 1e-9


def test_without_compensation_of_contact_the_error_would_not_decay_as_set():
    motion, tracker = cone("rat_articulated", "ground")
    blind = robot("rat_articulated").with_parameters(contact_stiffness=1e-9, contact_damping=0.0)
    law = JointTracker(blind, conical_motion(blind, BENDING, FREQUENCY), SETTLING)
    slow = simulate(
        tracker.robot, 0.3, q=start(tracker.robot, "ground"), control=law, samples=301, rtol=1e-7
    )
    known, unknown = (tracking_report(m, tracker).largest_error for m in (motion, slow))
    assert max(unknown.values()) > 100 * max(known.values())


@pytest.mark.parametrize("settling", [0.05, 0.4])
def test_a_fully_actuated_arm_settles_at_each_set_rate(settling):
    r = robot("arm")
    each = {"turn": settling, "shoulder": 2 * settling, "elbow": settling, "reach": 3 * settling}
    references = {
        "turn": smooth_cycle(0.5, 0.7, ramp=0),
        "shoulder": hold(1.2),
        "elbow": smooth_cycle(1.0, 0.5, ramp=0.3),
        "reach": hold(0.1),
    }
    tracker = JointTracker(r, references, each)
    motion = simulate(r, 4 * settling, q=np.full(4, -0.2), control=tracker, samples=201)
    report = tracking_report(motion, tracker)
    for name, time in each.items():
        assert report.decay_rate[name] == pytest.approx(SETTLING_FACTOR / time, rel=0.01)
        assert report.set_rate[name] == pytest.approx(SETTLING_FACTOR / time)
    assert np.abs(energy_error(motion)).max() < 1e-6


@pytest.mark.parametrize(
    ("name", "tracked", "law"),
    [
        ("acrobot", "hang", smooth_cycle(0.2, 1.5, ramp=0)),
        ("cart_pole", "swing", hold(0.15)),
        ("triple", "hang", smooth_cycle(0.2, 2.0, ramp=0)),
        ("gantry", "swing", smooth_cycle(0.2, 2.0, ramp=0)),
    ],
)
def test_a_joint_without_motor_follows_through_the_coupling(name, tracked, law):
    r = robot(name)
    tracker = JointTracker(
        r, {tracked: law}, 0.3, tracked=next(iter(r.controllers.values()))["tracked"]
    )
    assert tracker.kind == "non-collocated"
    assert tracked not in [i.removesuffix("_torque") for i in tracker.inputs]
    q = r.neutral
    q[r.coordinates.index(tracked)] = -0.1
    motion = simulate(r, 0.6, q=q, control=tracker, samples=121)
    report = tracking_report(motion, tracker)
    assert report.decay_rate[tracked] == pytest.approx(SETTLING_FACTOR / 0.3, rel=0.05)
    assert np.abs(report.error.sel(coordinate=tracked).values[-5:]).max() < 1e-3


def test_losing_the_coupling_raises_and_names_the_velocity():
    r = robot("cart_pole")
    q = np.array([0.0, np.pi / 2 - np.arctan2(-0.02, 0.2)])
    q[1] -= 2 * np.arctan2(0.02, 0.2) if abs(r.mass_matrix(q)[0, 1]) > 1e-6 else 0.0
    assert abs(r.mass_matrix(q)[0, 1]) < 1e-12
    for compiled in (None, False):
        tracker = JointTracker(r, {}, tracked=["swing"], compiled=compiled)
        with pytest.raises(SingularityError, match="lost their coupling to velocity 'swing_rate'"):
            tracker(0.0, q, np.zeros(2))


# -- limits ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", RATS)
def test_saturated_torques_degrade_tracking_and_never_explode(name):
    r = in_flight(robot(name))
    references = conical_motion(r, BENDING, FREQUENCY, ramp=0.1)
    exact = JointTracker(r, references, SETTLING)
    options = {"samples": 201, "rtol": 1e-7, "atol": 1e-9}
    good = simulate(r, 0.4, control=exact, **options)
    needed = np.abs(good.u.values[50:]).max(axis=0)
    for share in (0.9, 0.7, 0.3, 0.1):
        tracker = JointTracker(r, references, SETTLING, limits=share * needed)
        motion = simulate(r, 1.0, control=tracker, **options)
        report = tracking_report(motion, tracker)
        assert (np.abs(motion.u.values) <= share * needed).all()
        assert max(report.saturation.values()) > 0.02
        assert max(report.rms_error.values()) > 100 * max(
            tracking_report(good, exact).rms_error.values()
        )
        # The tail stays within the cone that it cannot follow, slower than on the cone.
        links = 2 if name == "rat_articulated" else 1
        bends = np.linalg.norm(motion.q.values[:, -4:].reshape(-1, 2, 2), axis=2) * links
        assert bends.max() < 1.1 * BENDING
        assert motion.kinetic_energy.max() < good.kinetic_energy.max()


@pytest.mark.parametrize("name", RATS)
def test_from_any_state_saturated_torques_cannot_create_more_energy_than_they_work(name):
    r = in_flight(robot(name))
    references = conical_motion(r, BENDING, FREQUENCY)
    q, p = r.random_state(2)
    q[-4:] = 0.5, -0.4, 0.3, 0.6
    tracker = JointTracker(r, references, SETTLING, limits=1e-3)
    motion = simulate(r, 1.0, q=q, p=p, control=tracker, samples=201, rtol=1e-8)
    assert np.abs(energy_error(motion)).max() < 1e-6 * motion.kinetic_energy.max()
    assert motion.kinetic_energy.max() < 2 * motion.kinetic_energy[0]


def in_flight(r):
    """Neither weight nor ground."""
    return r.with_parameters(gravity=0.0, contact_stiffness=1e-9, contact_damping=0.0)


def test_a_saturated_arm_reaches_its_pose_all_the_same():
    r = robot("arm")
    tracker = JointTracker(r, {"shoulder": hold(0.8), "turn": hold(1.5)}, 0.15, limits=6.0)
    motion = simulate(r, 3.0, q=np.zeros(4), control=tracker, samples=301, rtol=1e-7)
    report = tracking_report(motion, tracker)
    assert max(report.saturation.values()) > 0.01
    assert max(map(abs, report.error.values[-1])) < 1e-6


def test_limits_by_name_leave_others_unlimited():
    r = robot("arm")
    q, p = np.array([0.1, 0.5, -0.4, 0.2]), np.zeros(4)
    some = JointTracker(r, {}, 0.05, limits={"elbow_torque": 0.5})
    np.testing.assert_array_equal(some.limits, [1e30, 1e30, 0.5, 1e30])
    assert abs(some(0.0, q, p)[2]) == 0.5 < abs(some.unlimited(0.0, q, p)[2])
    every = JointTracker(r, {}, 0.05, limits=[np.inf, np.inf, 0.5, np.inf])
    np.testing.assert_array_equal(every(0.0, q, p), some(0.0, q, p))


# -- bad input ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("arm", {"settling_time": 0.0}, r"settling_time of turn must be positive, got 0.0 \[s\]"),
        ("arm", {"settling_time": {"turn": 0.1}}, "settling_time: none for shoulder, elbow, reach"),
        ("arm", {"settling_time": [0.1, 0.1, -1, 0.1]}, "settling_time of elbow must be positive"),
        ("arm", {"settling_time": [0.1]}, r"must be one number or 4 \(turn, shoulder, elbow"),
        ("arm", {"settling_time": np.inf}, "settling_time of turn must be positive, got inf"),
        ("arm", {"limits": 0.0}, "limits of turn_torque must be positive, got 0.0"),
        ("arm", {"limits": -1.0}, "limits of turn_torque must be positive, got -1.0"),
        ("arm", {"limits": np.nan}, "limits of turn_torque must be positive, got nan"),
        ("arm", {"limits": {"reach_force": -2}}, "limits of reach_force must be positive"),
        ("arm", {"limits": {"reach": 2}}, "limits: no reach; names are turn_torque"),
        ("arm", {"references": {"wrist": hold(0)}}, "no actuated joint wrist; have turn"),
        ("arm", {"tracked": ["wrist"]}, "no coordinate wrist; have turn, shoulder"),
        ("arm", {"tracked": ["turn", "turn"]}, "'turn' is named twice"),
        ("arm", {"compiled": "wrist"}, "arm has no controller 'wrist'; have controller"),
        ("arm", {"compiled": True, "tracked": ["turn"]}, "arm has no controller of turn"),
        ("acrobot", {"references": {"hang": hold(0)}}, "no actuated joint hang; have elbow"),
        ("acrobot", {"tracked": ["hang", "elbow"]}, r"1 tracked .* no input \(hang\), but only 0"),
        ("rat_articulated", {"tracked": ["qw"]}, "'qw' cannot be tracked: its rate is not"),
    ],
)
def test_bad_settings_are_refused_by_name(name, options, message):
    with pytest.raises(ValueError, match=message):
        JointTracker(robot(name), **{"references": {}, **options})


# -- references and fits ------------------------------------------------------------------------
def jets() -> dict[str, object]:
    table = np.column_stack([np.sin(np.linspace(0, 3, 9)), np.linspace(0, 1, 9) ** 2])
    return {
        "cycle": smooth_cycle(0.7, 0.9, 0.3, ramp=0.4, stop=3.0),
        "from the start": smooth_cycle(0.7, 0.9, 0.3, ramp=0),
        **conical_motion(robot("rat_continuum"), 0.9, -1.3, phase=0.4, lag=0.5, ramp=0.2),
        **sampled_references(np.linspace(0, 2, 9), table, ["a", "b"]),
    }


@pytest.mark.parametrize("name", jets())
def test_rates_and_accelerations_are_derivatives_of_positions(name):
    law = jets()[name]
    h = 1e-5
    for t in (0.15, 0.43, 1.02, 1.71):
        (before, now, after) = (law(t + k * h) for k in (-1, 0, 1))
        assert now[1] == pytest.approx((after[0] - before[0]) / (2 * h), rel=1e-7, abs=1e-7)
        assert now[2] == pytest.approx((after[1] - before[1]) / (2 * h), rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("frequency", [5.0, -2.0])
@pytest.mark.parametrize(("name", "links"), [("rat_articulated", 2), ("rat_continuum", 1)])
def test_a_cone_bends_every_segment_by_its_angle_and_turns_steadily(name, links, frequency):
    references = conical_motion(robot(name), BENDING, frequency, phase=0.3, lag=0.4)
    pair = ("alpha", "beta") if links == 2 else ("u", "w")
    for segment in (1, 2):
        for t in (0.0, 0.013, 0.4):
            x, z = (references[f"{c}_{segment}"](t)[0] * links for c in pair)
            angle = 2 * np.pi * frequency * t + 0.3 - 0.4 * (segment - 1)
            np.testing.assert_allclose([x, z], BENDING * np.array([np.cos(angle), np.sin(angle)]))


def test_sampled_references_meet_the_samples_and_hold_the_ends():
    times = [0.0, 0.5, 1.0, 2.0]
    values = np.array([[0.0], [1.0], [-1.0], [0.5]])
    law = sampled_references(times, values, ["a"])["a"]
    np.testing.assert_allclose([law(t)[0] for t in times], values[:, 0], atol=1e-14)
    assert law(-1.0) == (0.0, 0.0, 0.0)
    assert law(9.0) == (0.5, 0.0, 0.0)
    assert law(0.0)[1] == pytest.approx(0, abs=1e-12)
    assert law(2.0)[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sampled_references([0, 1], np.zeros((3, 1)), "a"), r"shape \(T, 1\) for a"),
        (lambda: sampled_references([0, 0], np.zeros((2, 1)), "a"), "times must increase"),
        (lambda: sampled_references([0, 1], [[0], [np.nan]], "a"), "must be finite"),
        (lambda: conical_motion(robot("arm"), 1.0, 1.0), "arm has no bending segments"),
        (lambda: conical_motion(robot("rat_continuum"), 1.0, 0.0), "other than 0, got 0.0"),
        (lambda: smooth_cycle(1.0, 0.0), "period must be a positive number of seconds, got 0.0"),
        (lambda: smooth_cycle(1.0, 1.0, ramp=-1), "ramp must not be negative"),
    ],
)
def test_bad_references_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("rate", [3.0, 40.0])
@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, -9.0), (-2.0, 30.0)]
)
def test_the_fit_finds_the_rate_of_any_double_pole(rate, a, b):
    t = np.linspace(0, 8 / rate, 161)
    error = (a + b * rate * t) * np.exp(-rate * t)
    assert fit_decay_rate(t, error) == pytest.approx(rate, rel=1e-6)
    noisy = error * (1 + 0.02 * np.random.default_rng(0).normal(size=t.size))
    assert fit_decay_rate(t + 5, noisy) == pytest.approx(rate, rel=0.05)


def test_the_fit_does_not_depend_on_what_is_set():
    """A wrong law is seen: a single pole, or twice the damping, has another rate."""
    t = np.linspace(0, 1, 101)
    slow, fast = (np.exp(-10 * r * t) for r in (2 - np.sqrt(3), 2 + np.sqrt(3)))
    over = ((2 + np.sqrt(3)) * slow - (2 - np.sqrt(3)) * fast) / (2 * np.sqrt(3))
    assert abs(fit_decay_rate(t, over) / 10 - 1) > 0.3
    assert np.isnan(fit_decay_rate(t, np.zeros(101)))
    assert np.isnan(fit_decay_rate(t[:4], slow[:4]))


def test_the_report_prints_a_row_for_each_coordinate_and_input():
    motion, tracker = cone("rat_continuum", "air")
    text = str(tracking_report(motion, tracker))
    assert len(text.splitlines()) == 11
    for word in ("u_1", "w_2", "w_2_torque", "58.34", "0.0%"):
        assert word in text


def test_small_robots_have_a_step_of_every_kind():
    assert {KINDS[n] for n in SMALL} == {"computed torque", "collocated", "non-collocated"}
