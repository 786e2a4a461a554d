"""CasADi functions: names, places, sparsity, parameters fixed or symbolic."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from bestiary.build_tools.backends.casadi import casadi_function
from bestiary.modeling.program import Builder, Function, InputGroup, Program, ProgramSymbol, Scalar
from bestiary.modeling.program.evaluate import evaluate
from bestiary.modeling.program.operations import ARITHMETIC, ARITY
from bestiary.modeling.program.program import output


def rectangle() -> Program:
    """A 2 x 3 output with two zeros and six different meanings."""
    b = Builder()
    x, y = b.symbol("q", "x"), b.symbol("q", "y")
    k, m = b.symbol("parameters", "k"), b.symbol("parameters", "m")
    zero = b.constant(0)
    values = [k * x, zero, b.constant(7), -y, x * y * m, zero]
    groups = [
        InputGroup("parameters", (ProgramSymbol("k"), ProgramSymbol("m")), is_struct=True),
        InputGroup("q", (ProgramSymbol("x"), ProgramSymbol("y"))),
    ]
    function = Function(
        "f",
        ("parameters", "q"),
        (output("matrix", (2, 3), values, ""), output("vector", (2,), [y, x], "")),
    )
    return Program.freeze(b, groups, [function])


WANTED = np.array([[6.0, 0, 7], [-5, 2 * 5 * 11, 0]])  # x = 2, y = 5, k = 3, m = 11


def test_entries_land_row_by_row_although_casadi_stores_columns():
    f = casadi_function(rectangle(), "f", {"k": 3, "m": 11})
    assert f.name_in() == ["q"]
    assert f.name_out() == ["matrix", "vector"]
    result = f(q=[2, 5])
    np.testing.assert_array_equal(result["matrix"].full(), WANTED)
    np.testing.assert_array_equal(result["vector"].full(), [[5], [2]])


def test_structural_zeros_are_not_stored():
    f = casadi_function(rectangle(), "f")
    sparsity = f.sparsity_out("matrix")
    assert sparsity.shape == (2, 3)
    assert sparsity.nnz() == 4
    assert not sparsity.has_nz(0, 1)
    assert not sparsity.has_nz(1, 2)


def test_symbolic_parameters_are_the_last_input():
    f = casadi_function(rectangle(), "f")
    assert f.name_in() == ["q", "parameters"]
    np.testing.assert_array_equal(f([2, 5], [3, 11])[0].full(), WANTED)


def test_parameters_may_be_fixed_in_part():
    f = casadi_function(rectangle(), "f", {"m": 11}, name="g")
    assert f.name() == "g"
    assert f.size_in("parameters") == (1, 1)
    np.testing.assert_array_equal(f([2, 5], 3)[0].full(), WANTED)


def test_unknown_functions_and_parameters_are_refused():
    with pytest.raises(KeyError, match="no function 'g'; have f"):
        casadi_function(rectangle(), "g")
    with pytest.raises(KeyError, match="not parameters of this program: z"):
        casadi_function(rectangle(), "f", {"z": 1})


@pytest.mark.parametrize("operation", sorted(set(ARITY) - ARITHMETIC))
def test_every_operation_equals_the_interpreter_at_kinks_too(operation):
    b = Builder()
    q = [b.symbol("q", f"q{k}") for k in range(3)]
    value = Scalar(b, b.call(operation, *(x.ref for x in q[: ARITY[operation]])))
    program = Program.freeze(
        b,
        [InputGroup("q", tuple(ProgramSymbol(f"q{k}") for k in range(3)))],
        [Function("f", ("q",), (output("y", (), [value], ""),))],
    )
    f = casadi_function(program, "f")
    states = [[0.3, 0.7, 0.2], [0.9, 0.1, 0.4]]
    if operation in ("abs", "sign", "min", "max", "select", "atan2"):
        states += [[-0.3, 0.7, 0.2], [0.0, 0.5, -0.5], [0.5, 0.5, 0.1], [-0.2, -0.4, 0.6]]
    for state in states:
        wanted = evaluate(program, "f", {"q": state})["y"][0]
        assert float(f(state)) == pytest.approx(wanted, rel=1e-15, abs=1e-300)


def test_derivatives_of_a_selection_do_not_leak_the_other_branch():
    b = Builder()
    x = b.symbol("q", "x")
    root = Scalar(b, b.call("sqrt", x.ref))
    value = Scalar(b, b.call("select", x.ref, root.ref, b.constant(0).ref))
    program = Program.freeze(
        b,
        [InputGroup("q", (ProgramSymbol("x"),))],
        [Function("f", ("q",), (output("y", (), [value], ""),))],
    )
    symbol = casadi.SX.sym("x")
    f = casadi_function(program, "f")
    slope = casadi.Function("slope", [symbol], [casadi.jacobian(f(symbol), symbol)])
    assert float(slope(4.0)) == pytest.approx(0.25)
    assert float(f(-1.0)) == 0.0
