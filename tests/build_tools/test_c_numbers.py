"""The compiled C against the interpreter of programs."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_harness import (
    ROBOTS,
    CLibrary,
    double_pendulum,
    floating_arm,
    functions,
    random_inputs,
    robot_library,
    worst_error,
)

from bestiary.build_tools.backends.c import COptions
from bestiary.modeling import EquationsOfMotion, Model, Revolute, poincare
from bestiary.modeling.program import Builder, Function, InputGroup, Program, ProgramSymbol, Scalar
from bestiary.modeling.program.operations import ARITY
from bestiary.modeling.program.program import output
from bestiary.modeling.program.transform import substitute


@pytest.fixture(params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> CLibrary:
    return robot_library(request.param)


@pytest.fixture
def euler() -> CLibrary:
    return robot_library("euler")


@pytest.mark.parametrize("seed", range(3))
def test_every_function_equals_the_interpreter_in_double(robot: CLibrary, seed: int) -> None:
    inputs = random_inputs(robot.equations, np.random.default_rng(seed))
    for function in functions(robot.equations):
        status, found = robot.call(function.name, inputs)
        assert status == 0, function.name
        for name, expected in robot.expected(function.name, inputs).items():
            assert worst_error(found[name], expected) < 1e-12, (function.name, name)


@pytest.mark.parametrize("seed", range(3))
def test_every_function_equals_the_interpreter_in_single(robot: CLibrary, seed: int) -> None:
    inputs = random_inputs(robot.equations, np.random.default_rng(seed))
    for function in functions(robot.equations):
        status, found = robot.call(function.name, inputs, "f32")
        assert status == 0, function.name
        for name, expected in robot.expected(function.name, inputs, "f32").items():
            assert worst_error(found[name], expected) < 1e-5, (function.name, name)


def test_a_null_output_is_skipped_and_the_others_are_written(robot: CLibrary) -> None:
    inputs = random_inputs(robot.equations, np.random.default_rng(5))
    function = robot.program.functions["equations_of_motion"]
    expected = robot.expected(function.name, inputs)
    for skipped in function.outputs:
        status, found = robot.call(function.name, inputs, skip=[skipped.name])
        assert status == 0
        assert set(found) == set(expected) - {skipped.name}
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name], rtol=1e-12, atol=1e-12)
    for other in functions(robot.equations):
        assert robot.call(other.name, inputs, skip=[o.name for o in other.outputs])[0] == 0


def test_a_guard_that_fails_gives_singular(euler: CLibrary) -> None:
    inputs = random_inputs(euler.equations, np.random.default_rng(0))
    pitch = [c.name for c in euler.equations.coordinates].index("pitch")
    for angle, status in ((math.pi / 2, 1), (0.3, 0)):
        inputs["q"][pitch] = angle
        for tag in ("f64", "f32"):
            assert euler.call("coordinate_rates", inputs, tag)[0] == status
            assert euler.call("mass_matrix", inputs, tag)[0] == 0


def test_a_robot_without_mass_is_singular_in_forward_dynamics(euler: CLibrary) -> None:
    inputs = random_inputs(euler.equations, np.random.default_rng(0))
    inputs["parameters"] = [0.0] * len(inputs["parameters"])
    assert euler.call("forward_dynamics", inputs)[0] == 1


def test_an_output_that_is_not_finite_gives_not_finite(euler: CLibrary) -> None:
    inputs = random_inputs(euler.equations, np.random.default_rng(0))
    for bad in (math.inf, math.nan):
        inputs["p"][0] = bad
        assert euler.call("coordinate_rates", inputs)[0] == 2
        assert euler.call("coordinate_rates", inputs, skip=["coordinate_rates"])[0] == 0


@pytest.mark.parametrize("part_size", [7, 60])
def test_split_and_unsplit_functions_agree_to_the_last_bit(part_size: int, tmp_path: Path) -> None:
    equations = floating_arm() if part_size > 50 else double_pendulum()
    tags = ("f64",) if part_size > 50 else ("f64", "f32")
    whole = CLibrary.build(equations, tmp_path / "whole", COptions(part_size=10**9), tags)
    split = CLibrary.build(equations, tmp_path / "split", COptions(part_size, 300), tags)
    assert len(split.sources.sources["f64"]) > 2
    assert "_part3_f64" in "".join(split.sources.files.values())
    assert "_part1" not in "".join(whole.sources.files.values())
    inputs = random_inputs(equations, np.random.default_rng(1))
    for function in functions(equations):
        for tag in tags:
            one, other = (lib.call(function.name, inputs, tag) for lib in (whole, split))
            assert one[0] == other[0] == 0
            for name in one[1]:
                np.testing.assert_array_equal(one[1][name], other[1][name])


def test_a_robot_with_all_parameters_frozen_takes_no_parameters(tmp_path: Path) -> None:
    equations = double_pendulum()
    values = {("parameters", k): v for k, v in equations.values().items()}
    frozen = replace(equations, program=substitute(equations.program, values))
    library = CLibrary.build(frozen, tmp_path)
    assert library.sources.defaults == ()
    assert "parameters" not in library.sources.files["pendulum.h"]
    inputs = random_inputs(frozen, np.random.default_rng(1))
    reference = CLibrary(equations, library.sources, tmp_path)
    full = {**inputs, "parameters": list(equations.values().values())}
    _, found = library.call("forward_dynamics", inputs)
    expected = reference.expected("forward_dynamics", full)
    np.testing.assert_allclose(found["forward_dynamics"], expected["forward_dynamics"], rtol=1e-12)
    assert library.rollout_rk4(inputs, None, 3, 0.01)[0] == 0


# -- random programs over all operations -----------------------------------------
UGLY_NAMES = ("class", "y1", "z12", "status", "work", "sin", "q", "sign_of", "linux", "gamma")
POSITIVE = {"sqrt", "log"}
BOUNDED = {"asin", "acos", "exp", "sinh", "cosh", "tan"}


def random_program(seed: int, size: int) -> Program:
    """Functions of random statements that use every operation, with awkward input names."""
    rng = random.Random(seed)
    builder = Builder(check_dimensions=False)
    groups = [
        InputGroup("parameters", tuple(ProgramSymbol(n) for n in UGLY_NAMES), "", True),
        InputGroup("q", tuple(ProgramSymbol(n) for n in UGLY_NAMES[:6])),
    ]
    pool = [builder.symbol(g.name, s.name) for g in groups for s in g.symbols]
    pool += [builder.constant(v) for v in (2, 0.1, -3.75, 1e-9)]

    def squash(x: Scalar) -> Scalar:
        return Scalar(builder, builder.call("tanh", x.ref)) * 0.9

    def call(name: str) -> Scalar:
        arguments = [rng.choice(pool) * rng.choice((1, -1)) for _ in range(ARITY[name])]
        if name in POSITIVE:
            arguments = [arguments[0] * arguments[0] + 0.5]
        elif name in BOUNDED:
            arguments = [squash(a) for a in arguments]
        elif name == "div":
            arguments[1] = arguments[1] * arguments[1] + 0.25
        elif name == "pow":
            arguments = [arguments[0] * arguments[0] + 0.5, squash(arguments[1])]
        arithmetic = {"add": builder.add, "sub": lambda a, b: builder.add(a, builder.negate(b)),
                      "mul": builder.mul, "div": builder.div}  # fmt: skip
        refs = [a.ref for a in arguments]
        ref = arithmetic[name](*refs) if name in arithmetic else builder.call(name, *refs)
        return Scalar(builder, ref)

    for name in [*ARITY, *(rng.choice(list(ARITY)) for _ in range(size))]:
        value = call(name)
        pool.append(squash(value) if name in ("mul", "div", "add", "sub") else value)
        if rng.random() < 0.2:
            builder.name(value, rng.choice(UGLY_NAMES))
    made = []
    for k in range(6):
        values = [rng.choice(pool[-size:]) * rng.choice((1, -1)) for _ in range(5)]
        values += [builder.constant(0), builder.constant(-0.5), pool[0], -pool[-1], pool[-2]]
        made.append(Function(f"f{k}", ("parameters", "q"), (output("q", (2, 5), values, "clash"),)))
    return Program.freeze(builder, groups, made)


def without_robot(program: Program, name: str) -> EquationsOfMotion:
    return EquationsOfMotion(name, "none", program, (), (), (), (), {}, {}, ())


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_over_all_operations_equal_the_interpreter(
    seed: int, tmp_path: Path
) -> None:
    program = random_program(seed, 300)
    used = {n[0] for n in program.nodes}
    assert {"min", "max", "sign", "select", "abs", "pow", "atan2"} <= used
    rng = np.random.default_rng(seed)
    equations = without_robot(program, "random")
    library = CLibrary.build(equations, tmp_path, COptions(part_size=40 if seed % 2 else 10**6))
    for _ in range(5):
        inputs = {g.name: list(rng.uniform(-2, 2, len(g.symbols))) for g in program.groups}
        for name in program.functions:
            _, found = library.call(name, inputs)
            expected = library.expected(name, inputs)["q"]
            np.testing.assert_allclose(found["q"], expected, rtol=1e-12, atol=1e-12)


def test_minimum_maximum_sign_and_select_follow_the_interpreter_at_ties(tmp_path: Path) -> None:
    builder = Builder()
    a, b = builder.symbol("q", "a"), builder.symbol("q", "b")
    calls = [
        Scalar(builder, builder.call(name, *refs))
        for name, refs in (
            ("min", (a.ref, b.ref)),
            ("max", (a.ref, b.ref)),
            ("sign", (a.ref,)),
            ("abs", (a.ref,)),
            ("select", (a.ref, b.ref, -b.ref)),
        )
    ]
    group = InputGroup("q", (ProgramSymbol("a"), ProgramSymbol("b")))
    program = Program.freeze(
        builder, [group], [Function("f", ("q",), (output("r", (5,), calls, ""),))]
    )
    library = CLibrary.build(without_robot(program, "ties"), tmp_path)
    for x in (-1.0, 0.0, 2.0):
        for y in (-1.0, 0.0, 2.0):
            for tag in ("f64", "f32"):
                _, found = library.call("f", {"q": [x, y]}, tag)
                assert list(found["r"]) == list(library.expected("f", {"q": [x, y]})["r"])


def test_coordinates_named_like_arguments_do_not_clash_in_split_functions(tmp_path: Path) -> None:
    model = Model("clash")
    parent = None
    for name in ("q", "p", "u", "p_dot"):
        parent = model.body(
            f"body_{name}",
            parent=parent,
            joint=Revolute(name, "x"),
            at=(0.1, 0, 0),
            mass=1.0,
            com=(0, 0.1, 0.1),
            inertia=(0.1, 0.1, 0.1),
        )
    model.parameter("parameters", 1.0, "kg")
    equations = poincare(model)
    library = CLibrary.build(equations, tmp_path, COptions(part_size=40), ("f64",))
    inputs = random_inputs(equations, np.random.default_rng(3))
    for function in functions(equations):
        assert library.call(function.name, inputs)[0] == 0
        for name, expected in library.expected(function.name, inputs).items():
            found = library.call(function.name, inputs)[1][name]
            assert worst_error(found, expected) < 1e-12, function.name
