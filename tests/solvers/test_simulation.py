"""Simulated motions: conservation, agreement of integrators, balances, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from robot_harness import robot

from bestiary.solvers.simulation import SimulationError, energy_error, simulate


def _tumbling_kite() -> tuple[object, np.ndarray, np.ndarray]:
    kite = robot("kite").with_parameters(gravity=0.0)
    q, p = kite.random_state(np.random.default_rng(4))
    return kite, q, p


def test_free_motion_conserves_momentum_and_energy_to_1e_9() -> None:
    kite, q, p = _tumbling_kite()
    result = simulate(kite, 5.0, q=q, p=p, rtol=1e-12, atol=1e-13, samples=51)
    momentum = result.momentum.values
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum[0]).max()
    assert np.abs(energy_error(result)).max() < 1e-9 * float(result.kinetic_energy[0])


@pytest.mark.parametrize("method", ["dopri5", "rk4", "RK45", "LSODA"])
def test_all_integrators_agree_with_dop853_under_held_inputs(method: str) -> None:
    crane = robot("crane")
    held = np.random.default_rng(0).normal(size=(20, 3))
    start = {"q": [0.1, 0.4, -0.2, 0.3], "p": [0.2, -0.5, 0.3, 0.1]}
    truth = simulate(crane, 1.0, control=held, samples=21, rtol=1e-12, atol=1e-13, **start)
    how = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-11}
    other = simulate(crane, 1.0, control=held, samples=21, method=method, **how, **start)
    assert np.abs(other.q.values - truth.q.values).max() < 2e-6
    assert np.array_equal(other.u.values[:-1], held)


def test_work_of_inputs_and_damping_balances_the_energy() -> None:
    def push(t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.array([np.sin(3 * t), -p[2], 0.2])

    result = simulate(robot("crane"), 2.0, q=[0, 0.8, 0.1, 0], control=push, rtol=1e-11)
    assert float(result.kinetic_energy.max()) > 0.5
    assert abs(float(result.work[-1])) > 0.01
    assert np.abs(energy_error(result)).max() < 1e-8


def test_an_energy_balance_without_work_is_refused() -> None:
    result = simulate(robot("crane"), 0.5, control=np.ones((200, 3)), method="dopri5")
    with pytest.raises(ValueError, match="its energy balance is not known; simulate with"):
        energy_error(result)


def test_a_result_says_how_it_was_controlled() -> None:
    sampled = simulate(
        robot("crane"), 0.1, control=lambda t, q, p: [0, 0, 0], method="rk4", period=0.01, samples=3
    )
    options = json.loads(sampled.attrs["options"])
    assert (options["control"], options["period"]) == ("function", 0.01)


def test_a_motion_starts_in_the_neutral_pose_at_rest_by_default() -> None:
    kite = robot("kite")
    result = simulate(kite, 0.1, samples=2)
    assert np.array_equal(result.q.values[0], kite.neutral)
    assert not result.p.values[0].any()


def test_progress_ends_at_one_and_never_leaves_the_unit_interval() -> None:
    seen: list[float] = []
    simulate(robot("crane"), 0.5, q=[0, 1, 0, 0], progress=seen.append)
    assert seen[-1] == 1.0
    assert 0 <= min(seen) <= max(seen) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": -1.0}, "duration must be a positive number of seconds, got -1.0"),
        ({"duration": float("nan")}, "duration must be"),
        ({"samples": 1}, "samples must be at least 2"),
        ({"method": "euler"}, "unknown method 'euler'; choose one of RK23"),
        ({"q": [0.0]}, r"q must have shape \(4,\) in the order travel, swing, nod, turn"),
        ({"p": [0, 0, float("inf"), 0]}, r"p\[nod_rate\] is not finite"),
        ({"control": np.zeros((3, 3))}, r"held inputs must have shape \(200, 3\)"),
        ({"control": np.full((200, 3), np.nan)}, "held inputs must be finite"),
        ({"method": "rk4", "step": 0.0}, "step must be a positive number"),
        ({"method": "rk4", "control": lambda t, q, p: 0}, "give a sampling period"),
        ({"step": 0.1}, "step is for method 'rk4'"),
        ({"period": 0.1, "control": lambda t, q, p: 0}, "period samples a control function"),
        ({"period": 0.1, "method": "rk4"}, "here it would not be used"),
        ({"method": "rk4", "control": lambda t, q, p: 0, "period": -1.0}, "period must be"),
    ],
)
def test_senseless_arguments_are_refused_by_name(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(robot("crane"), **{"duration": 1.0, **arguments})


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_a_sampled_control_tends_to_the_continuous_one(method: str) -> None:
    def law(t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.array([np.sin(5 * t) - p[0], -0.1 * p[2], 0.2 * q[0]])

    def end(**how: object) -> np.ndarray:
        return simulate(robot("crane"), 1.0, q=[0, 0.3, 0, 0], control=law, **how).q.values[-1]

    truth = end(method="DOP853", rtol=1e-11)
    errors = [
        np.abs(end(method=method, period=h, samples=11) - truth).max() for h in (0.02, 0.01, 0.005)
    ]
    assert errors[2] < 1e-3
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2


def test_an_integrator_that_gives_up_says_when() -> None:
    def explosive(t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.array([1e3 * p[0] ** 3 + 1.0, 0.0, 0.0])

    with pytest.raises(SimulationError, match=r"stopped at t = 0\.\d+ s of 10 s"):
        simulate(robot("crane"), 10.0, control=explosive, method="RK45", rtol=1e-6)


@pytest.mark.parametrize("how", [{"method": "DOP853"}, {"method": "rk4", "period": 0.01}])
def test_a_control_that_writes_to_its_state_changes_nothing_else(how: dict) -> None:
    def careless(t: float, q: np.ndarray, p: np.ndarray) -> list[float]:
        q[:] = 0
        p[:] = 0
        return [0.0, 0.0, 0.0]

    def end(control: object) -> np.ndarray:
        return simulate(robot("crane"), 0.2, q=[0, 0.5, 0, 0], control=control, **how).q.values[-1]

    assert np.array_equal(end(careless), end(lambda t, q, p: [0.0, 0.0, 0.0]))


def test_an_integrator_that_fails_at_once_says_so_too() -> None:
    with pytest.raises(SimulationError, match=r"stopped at t = 0 s"):
        simulate(robot("crane"), 0.1, rtol=1e-300, atol=1e-300, q=[0, 0.5, 0, 0], p=[1e80] * 4)
