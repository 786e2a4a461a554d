"""Every back end gives the numbers of the interpreter, at random states."""

from __future__ import annotations

import numpy as np
import pytest
from robot_harness import ROBOTS, equations, robot

from bestiary.modeling.program import evaluate

STATES = 3
TOLERANCE = 1e-12


def inputs_of(name: str, seed: int) -> dict[str, np.ndarray]:
    r = robot(name)
    q, p = r.random_state(seed)
    generator = np.random.default_rng(1000 + seed)
    return {
        "q": q,
        "p": p,
        "u": generator.normal(size=len(r.inputs)),
        "p_dot": generator.normal(size=len(r.velocities)),
    }


def expected(name: str, function: str, state: dict[str, np.ndarray]) -> list[np.ndarray]:
    program = equations(name).program
    flat = evaluate(program, function, {**state, "parameters": dict(robot(name).parameters)})
    return [np.array(flat[o.name]).reshape(o.shape) for o in program.functions[function].outputs]


def assert_close(actual: object, wanted: np.ndarray, label: str) -> None:
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(
        np.asarray(actual), wanted, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=label
    )


def call(r, function: str, state: dict[str, np.ndarray]):
    """Call a method, or the node method that reaches the function."""
    entry = equations(r.name).program.functions[function]
    arguments = [state[g] for g in entry.inputs if g != "parameters"]
    stem, _, kind = function.rpartition("_")
    if stem in r.nodes and kind in ("pose", "velocity", "jacobian"):
        return getattr(r, f"node_{kind}")(stem, *arguments)
    return getattr(r, function)(*arguments)


@pytest.mark.parametrize("form", ["compiled", "numpy"])
@pytest.mark.parametrize("name", ROBOTS)
def test_every_function_equals_the_interpreter(name, form):
    for seed in range(STATES):
        state = inputs_of(name, seed)
        for function in equations(name).program.functions:
            wanted = expected(name, function, state)
            result = call(robot(name, form), function, state)
            results = result if isinstance(result, tuple) else (result,)
            assert len(results) == len(wanted)
            for actual, reference in zip(results, wanted, strict=True):
                assert np.shape(actual) == reference.shape
                assert_close(actual, reference, f"{form} {function}, state {seed}")


@pytest.mark.parametrize("name", ROBOTS)
def test_casadi_functions_equal_the_compiled_ones_entry_by_entry(name):
    r = robot(name)
    state = inputs_of(name, 7)
    for function, entry in equations(name).program.functions.items():
        f = r.casadi(function)
        arguments = {g: state[g] for g in entry.inputs if g != "parameters"}
        assert f.name_in() == list(arguments)
        assert f.name_out() == [o.name for o in entry.outputs]
        results = f(**arguments)
        wanted = expected(name, function, state)
        for output, reference in zip(entry.outputs, wanted, strict=True):
            dense = np.array(results[output.name].full()).reshape(-1)
            shape = (*output.shape, 1, 1)[:2]
            assert results[output.name].shape == shape
            assert_close(dense, reference.reshape(-1), f"casadi {function}.{output.name}")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("form", ["compiled", "numpy"])
def test_batches_equal_single_calls(name, form):
    r = robot(name, form)
    states = [inputs_of(name, seed) for seed in range(5)]
    stacked = {g: np.array([s[g] for s in states]) for g in states[0]}
    for function in r.functions:
        entry = equations(name).program.functions[function]
        groups = [g for g in entry.inputs if g != "parameters"]
        batch = getattr(r, f"{function}_batch")(*(stacked[g] for g in groups))
        batches = batch if isinstance(batch, tuple) else (batch,)
        for k, state in enumerate(states):
            for actual, reference in zip(batches, expected(name, function, state), strict=True):
                assert_close(actual[k], reference, f"{form} {function}_batch row {k}")


def test_parameters_reach_every_back_end():
    values = {"hook_mass": 2.5, "arm_com_z": -0.3}
    state = inputs_of("crane", 3)
    full = {**robot("crane").parameters, **values}
    wanted = np.array(
        evaluate(equations("crane").program, "mass_matrix", {**state, "parameters": full})[
            "mass_matrix"
        ]
    ).reshape(4, 4)
    for form in ("compiled", "numpy"):
        changed = robot("crane", form).with_parameters(**values)
        assert_close(changed.mass_matrix(state["q"]), wanted, form)
        assert_close(changed.casadi("mass_matrix")(state["q"]).full(), wanted, "fixed")
        symbolic = changed.casadi("mass_matrix", parameters="symbolic")
        assert symbolic.name_in() == ["q", "parameters"]
        result = symbolic(q=state["q"], parameters=list(changed.parameters.values()))
        assert_close(result["mass_matrix"].full(), wanted, "symbolic")
    assert not np.allclose(robot("crane").mass_matrix(state["q"]), wanted)


@pytest.mark.parametrize("name", ["crane", "kite", "sea_lion"])
def test_rollouts_of_both_forms_agree(name):
    r, twin = robot(name), robot(name, "numpy")
    generator = np.random.default_rng(5)
    q0, p0 = r.neutral, 0.3 * generator.normal(size=len(r.velocities))
    u = 0.001 * generator.normal(size=(12, len(r.inputs))) if len(r.inputs) else None
    first, second = (x.rollout(q0, p0, u, 0.01, 12) for x in (r, twin))
    np.testing.assert_allclose(first.q, second.q, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(first.p, second.p, rtol=1e-10, atol=1e-11)
    times = np.linspace(0, 0.12, 13)
    one, two = (x.rollout_adaptive(times, q0, p0, u, rtol=1e-7, atol=1e-9) for x in (r, twin))
    np.testing.assert_allclose(one.q, two.q, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(one.p, two.p, rtol=1e-9, atol=1e-10)
    assert abs(one.statistics["accepted"] - two.statistics["accepted"]) <= 1
    np.testing.assert_allclose(one.q[-1], first.q[-1], rtol=1e-5, atol=1e-6)
