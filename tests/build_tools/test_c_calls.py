"""C functions that call others: the same numbers, little computed twice, errors passed on."""

from __future__ import annotations

import numpy as np
import pytest
from c_harness import CLibrary, functions, random_inputs, worst_error

from bestiary.build_tools.backends import c_calls
from bestiary.build_tools.backends.c import COptions
from bestiary.build_tools.backends.c_project import CProject
from bestiary.modeling import EquationsOfMotion, poincare
from bestiary.modeling.animals.kangaroo_rat import kangaroo_rat_articulated
from bestiary.modeling.animals.sea_lion import sea_lion

EAGER = COptions(call_from=1, part_size=80)


@pytest.fixture(scope="module")
def rat() -> EquationsOfMotion:
    return poincare(kangaroo_rat_articulated(1, 3))


@pytest.fixture(scope="module")
def library(rat: EquationsOfMotion, tmp_path_factory: pytest.TempPathFactory) -> CLibrary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_calls, "LONG", 0)  # the most calls that there can be
        patch.setattr(c_calls, "LONG_TOLERANCE", 0.5)
        return CLibrary.build(rat, tmp_path_factory.mktemp("calls"), EAGER)


def plans(equations: EquationsOfMotion, options: COptions = EAGER) -> dict[str, list[str]]:
    """Names of the functions that each function calls."""
    found = CProject(equations, options).plans
    return {p.function.name: [c.function.name for c in p.called] for p in found}


@pytest.mark.parametrize("tag", ["f64", "f32"])
def test_functions_that_call_others_equal_the_interpreter(
    rat: EquationsOfMotion, library: CLibrary, tag: str
) -> None:
    bound = 1e-12 if tag == "f64" else 1e-5
    for seed in range(3):
        inputs = random_inputs(rat, np.random.default_rng(seed))
        for function in functions(rat):
            status, found = library.call(function.name, inputs, tag)
            assert status == 0, function.name
            for name, expected in library.expected(function.name, inputs, tag).items():
                assert worst_error(found[name], expected) < bound, (function.name, name)


def test_an_output_that_is_not_wanted_is_skipped_in_called_functions_too(
    rat: EquationsOfMotion, library: CLibrary
) -> None:
    inputs = random_inputs(rat, np.random.default_rng(5))
    for function in functions(rat):
        expected = library.expected(function.name, inputs)
        for skipped in function.outputs:
            status, found = library.call(function.name, inputs, skip=[skipped.name])
            assert status == 0
            for name, values in found.items():
                np.testing.assert_allclose(values, expected[name], rtol=1e-12, atol=1e-12)


def test_what_fails_in_a_called_function_fails_in_the_caller(
    rat: EquationsOfMotion, library: CLibrary
) -> None:
    inputs = random_inputs(rat, np.random.default_rng(1))
    inputs["q"][:] = [0.0] * len(inputs["q"])  # a quaternion of length zero
    for name in ("forward_dynamics", "state_rates", "equations_of_motion"):
        assert library.call(name, inputs)[0] == 1, name
    assert library.call("coriolis_matrix", inputs)[0] == 0  # has no guard, whatever it calls


def test_long_functions_call_shorter_ones_and_repeat_next_to_nothing() -> None:
    rat = poincare(kangaroo_rat_articulated(3, 4))
    found = CProject(rat, COptions()).plans
    calls = {p.function.name: {c.function.name for c in p.called} for p in found}
    assert calls["state_rates"] == {"forward_dynamics"}
    assert calls["forward_dynamics"] == {"mass_matrix", "drift_forces"}
    assert calls["tail_controller_step"] == {"mass_matrix", "drift_forces"}
    for plan in found:
        alone = sum(rat.program.operation_counts(plan.function.name).values())
        assert alone <= plan.size <= (1 + 2 * c_calls.TOLERANCE) * alone, plan.function.name
        assert plan.own_size <= 0.2 * alone or not plan.called


def test_short_functions_call_nothing_by_default() -> None:
    assert not any(plans(poincare(sea_lion()), COptions()).values())
