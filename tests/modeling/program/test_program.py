"""Finished programs: dead code, declared inputs, serialisation, hash."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from expressions import INPUTS, SMOOTH, program_of, recipes, written
from hypothesis import given
from hypothesis import strategies as st

from bestiary.modeling import EquationsOfMotion, poincare
from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.program import (
    Builder,
    Function,
    InputGroup,
    Output,
    Program,
    ProgramError,
    ProgramSymbol,
    evaluate,
)
from bestiary.modeling.program.functions import cos, sin, sqrt
from bestiary.modeling.program.program import output

X = InputGroup("x", tuple(ProgramSymbol(n) for n in INPUTS))
floats = st.lists(st.floats(-2, 2), min_size=len(INPUTS), max_size=len(INPUTS))


@cache
def sea_lion() -> EquationsOfMotion:
    return poincare(BUILT_IN["sea_lion"].model())


@given(recipes((*SMOOTH, "select", "pow")), st.data())
def test_only_statements_that_outputs_need_are_kept(recipe, data):
    builder, values = written(recipe)
    chosen = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    program = program_of(builder, chosen)
    needed = program.needed([r for o in program.functions["f"].outputs for r in o.refs])
    assert needed == list(range(len(program.nodes)))
    assert len(program.nodes) <= len(builder.nodes)
    for k, node in enumerate(program.nodes):  # arguments come first
        if node[0] not in ("const", "sym"):
            assert all(1 <= abs(r) <= k for r in node[1:])
    assert len(set(program.nodes)) == len(program.nodes)


@given(recipes((*SMOOTH, "select", "pow", "abs", "min")), floats)
def test_json_round_trip_keeps_everything(recipe, x):
    builder, values = written(recipe)
    program = program_of(builder, values)
    again = Program.from_json(program.to_json())
    assert again == program
    assert again.to_json() == program.to_json()
    assert again.content_hash == program.content_hash
    assert evaluate(again, "f", {"x": x}) == evaluate(program, "f", {"x": x})


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(-22, 7), 0.1, 1e-300, 2.5e17, 10**30, math.pi]
)
def test_constants_of_every_kind_survive_json_exactly(value):
    builder = Builder()
    program = program_of(builder, [builder.symbol("x", "x0") * value])
    again = Program.from_json(program.to_json())
    assert again.nodes == program.nodes
    assert [type(n[1]) for n in again.nodes] == [type(n[1]) for n in program.nodes]


def test_the_sea_lion_survives_json():
    program = sea_lion().program
    again = Program.from_json(program.to_json())
    assert again == program
    assert again.content_hash == program.content_hash
    assert json.loads(program.to_json())["format"] == 1


def test_another_format_is_refused_with_what_to_do():
    data = {**program_of(*small()).to_dict(), "format": 99}
    with pytest.raises(ProgramError, match=r"99.*expected 1.*rebuild"):
        Program.from_dict(data)


def small() -> tuple[Builder, list]:
    builder = Builder()
    x = [builder.symbol("x", n) for n in INPUTS]
    return builder, [x[0] * x[1] + 1]


def test_hash_depends_on_statements_names_and_order_alone():
    first = program_of(*small())
    assert program_of(*small()).content_hash == first.content_hash
    builder, (value,) = small()
    assert program_of(builder, [value + 1]).content_hash != first.content_hash
    builder, (value,) = small()
    builder.name(value, "power")
    assert program_of(builder, [value]).content_hash != first.content_hash
    builder, (value,) = small()
    sin(value)  # dead code leaves no trace
    assert program_of(builder, [value]).content_hash == first.content_hash


HASH = """
from bestiary.modeling import poincare
from bestiary.modeling.animals import BUILT_IN
for name in ("sea_lion", "sea_lion_quaternion"):
    print(poincare(BUILT_IN[name].model()).program.content_hash)
"""


def test_the_hash_of_the_sea_lion_is_the_same_under_every_hash_seed():
    import bestiary.modeling

    home = Path(bestiary.modeling.__file__).parents[2]
    seen = set()
    for seed in ("0", "1", "2"):
        path = os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])
        run = subprocess.run(
            [sys.executable, "-c", HASH],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        )
        seen.add(run.stdout)
    assert len(seen) == 1
    assert seen.pop().split()[0] == sea_lion().program.content_hash


def test_a_function_may_use_declared_inputs_only():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("y", "y0")
    function = Function("f", ("x",), (output("z", (), [x * y], ""),))
    with pytest.raises(ProgramError, match=r"'f' uses y\.y0.*inputs are x"):
        Program.freeze(builder, [X, InputGroup("y", (ProgramSymbol("y0"),))], [function])
    stranger = Function("f", ("x",), (output("z", (), [builder.symbol("x", "x9")], ""),))
    with pytest.raises(ProgramError, match=r"x\.x9"):
        Program.freeze(builder, [X], [stranger])


def test_names_must_be_unique():
    builder, values = small()
    f = Function("f", ("x",), (output("z", (1,), values, ""),))
    with pytest.raises(ProgramError, match="function name given twice: f"):
        Program.freeze(builder, [X], [f, f])
    with pytest.raises(ProgramError, match="group name given twice: x"):
        Program.freeze(builder, [X, X], [f])
    twice = InputGroup("x", (*X.symbols, ProgramSymbol("x0")))
    with pytest.raises(ProgramError, match="symbol of x name given twice: x0"):
        Program.freeze(builder, [twice], [f])


def test_an_output_must_fill_its_shape():
    _, (value,) = small()
    with pytest.raises(ProgramError, match=r"z: 1 values do not fill shape \(2, 3\)"):
        output("z", (2, 3), [value], "")


def test_guards_follow_the_statements_they_belong_to():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    guarded = builder.guard(1 / x, x, "x must be positive")
    uses = Function("uses", ("x",), (output("a", (), [sin(guarded) * y], ""),))
    free = Function("free", ("x",), (output("b", (), [cos(y)], ""),))
    program = Program.freeze(builder, [X], [uses, free])
    assert [g.message for g in program.functions["uses"].guards] == ["x must be positive"]
    assert program.functions["free"].guards == ()
    (guard,) = program.functions["uses"].guards
    assert program.nodes[guard.ref - 1] == ("sym", "x", "x0")


def test_operation_counts_and_expanded_sizes_count_statements_and_occurrences():
    builder = Builder()
    x, y = builder.symbol("x", "x0"), builder.symbol("x", "x1")
    shared = sin(x) + y
    program = program_of(builder, [shared * shared, sqrt(shared)])
    assert program.operation_counts("f") == {"add": 1, "mul": 1, "sin": 1, "sqrt": 1}
    first, second = program.functions["f"].outputs[0].refs
    assert program.expanded_sizes[first - 1] == 5
    assert program.expanded_sizes[second - 1] == 3


def test_groups_and_outputs_are_found_by_name():
    program = program_of(*small())
    assert program.group("x") == X
    assert program.output("f").name == program.output("f", "y").name == "y"
    with pytest.raises(KeyError, match="no input group 'z'; have x"):
        program.group("z")
    with pytest.raises(KeyError, match="f has no output 'w'"):
        program.output("f", "w")


def test_evaluation_takes_mappings_and_sequences_and_refuses_wrong_lengths():
    program = program_of(*small())
    by_order = evaluate(program, "f", {"x": [2.0, 3.0, 0.0, 0.0]})
    by_name = evaluate(program, "f", {"x": {"x0": 2.0, "x1": 3.0}})
    assert by_order == by_name == {"y": [7.0]}
    with pytest.raises(ValueError, match="shorter"):
        evaluate(program, "f", {"x": [2.0]})


def test_evaluation_runs_in_any_algebra():
    import numpy as np

    program = program_of(*small())
    x = np.arange(8.0).reshape(4, 2)
    assert np.array_equal(evaluate(program, "f", {"x": x})["y"][0], x[0] * x[1] + 1)


def test_every_function_of_the_sea_lion_declares_what_it_reads():
    program = sea_lion().program
    for f in program.functions.values():
        used = {program.nodes[i][1] for i in program.needed(f.refs) if program.nodes[i][0] == "sym"}
        assert used <= set(f.inputs), f.name
        assert f.description
        for o in f.outputs:
            assert isinstance(o, Output)
            assert o.description
