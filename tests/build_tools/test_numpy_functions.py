"""NumPy functions from programs: every operation, batches, guards, constants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestiary.build_tools.backends import numpy as backend
from bestiary.build_tools.backends.numpy import numpy_function
from bestiary.modeling.program import Builder, Function, InputGroup, Program, ProgramSymbol, Scalar
from bestiary.modeling.program.evaluate import evaluate
from bestiary.modeling.program.operations import ARITHMETIC, ARITY
from bestiary.modeling.program.program import output


def program_of(build, count: int = 2, shape: tuple[int, ...] = (), guards=()) -> Program:
    """A program of one function f(q) with the outputs that ``build`` writes."""
    b = Builder()
    q = [b.symbol("q", f"q{k}") for k in range(count)]
    values = build(b, q)
    group = InputGroup("q", tuple(ProgramSymbol(f"q{k}") for k in range(count)))
    return Program.freeze(
        b, [group], [Function("f", ("q",), (output("y", shape, values, "result"),), "f of q")]
    )


OPERATIONS = sorted(set(ARITY) - ARITHMETIC)
UNIT = {"asin", "acos"}
POSITIVE = {"sqrt", "log", "pow"}


@pytest.mark.parametrize("operation", OPERATIONS)
@given(data=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3), sign=st.sampled_from([1, -1]))
def test_every_operation_equals_the_interpreter(operation, data, sign):
    arity = ARITY[operation]

    def build(b, q):
        return [Scalar(b, b.call(operation, *(x.ref for x in q[:arity])))]

    program = program_of(build, 3)
    q = np.array(data) * (1 if operation in POSITIVE else sign)
    f = numpy_function(program, "f")
    wanted = evaluate(program, "f", {"q": q.tolist()})["y"][0]
    assert f(q=q)["y"] == pytest.approx(wanted, rel=1e-15)
    np.testing.assert_allclose(f(q=np.array([q, q]))["y"], [wanted] * 2, rtol=4e-16)


def test_constants_zeros_signs_and_repeated_entries_land_where_they_belong():
    def build(b, q):
        x = q[0] * q[1]
        return [b.constant(0), -x, x, b.constant(-2.5), q[1], -q[0]]

    f = numpy_function(program_of(build, shape=(2, 3)), "f")
    np.testing.assert_array_equal(f(q=[2, 3])["y"], [[0, -6, 6], [-2.5, 3, -2]])
    batch = f(q=[[2, 3], [4, 5]])["y"]
    np.testing.assert_array_equal(batch[1], [[0, -20, 20], [-2.5, 5, -4]])


def test_batches_longer_than_a_chunk_are_whole(monkeypatch):
    monkeypatch.setattr(backend, "CHUNK", 7)
    f = numpy_function(program_of(lambda b, q: [q[0] + 2 * q[1]]), "f")
    q = np.arange(46.0).reshape(23, 2)
    np.testing.assert_array_equal(f(q=q)["y"], q[:, 0] + 2 * q[:, 1])


def test_temporaries_are_reused_when_they_are_dead():
    def build(b, q):
        x = q[0]
        for k in range(50):
            x = x * q[1] + (k + 2)
        return [x]

    source = numpy_function(program_of(build), "f").source
    names = {line.split(" = ")[0].strip() for line in source.splitlines() if " = " in line}
    assert names == {"t0"}


def test_values_outside_a_domain_give_what_numpy_gives_and_not_an_exception():
    f = numpy_function(program_of(lambda b, q: [q[0] / q[1]]), "f")
    assert f(q=[1.0, 0.0])["y"] == math.inf
    assert np.isnan(f(q=[0.0, 0.0])["y"])
    root = numpy_function(program_of(lambda b, q: [Scalar(b, b.call("sqrt", q[0].ref))]), "f")
    assert np.isnan(root(q=[-1.0, 0.0])["y"])


def guarded() -> Program:
    def build(b, q):
        return [b.guard(1 / q[0], q[0], "q0 must be positive"), q[1] * q[1] * q[1]]

    return program_of(build, shape=(2,))


def test_status_tells_a_violated_guard_from_an_overflow():
    f = numpy_function(guarded(), "f")
    y = np.empty(2)
    assert f.run([np.array([2.0, 1.0])], [y]) == 0
    assert f.run([np.array([-1.0, 1.0])], [y]) == 1
    assert f.run([np.array([0.0, 1.0])], [y]) == 1
    assert f.run([np.array([2.0, 1e150])], [y]) == 2
    assert f.guard_values([np.array([-3.0, 0.0])]) == [-3.0]


def test_first_failing_row_of_a_batch_is_found():
    f = numpy_function(guarded(), "f")
    q = np.ones((9, 2))
    assert f.run_batch([q], [np.empty((9, 2))]) == (-1, 0)
    q[6, 1], q[7, 0] = 1e200, -1
    assert f.run_batch([q], [np.empty((9, 2))]) == (6, 2)
    assert f.run_batch([q], [np.empty((9, 2))], 7, 9) == (7, 1)


def test_wrong_calls_are_refused():
    f = numpy_function(program_of(lambda b, q: [q[0]]), "f")
    with pytest.raises(KeyError, match="no function 'g'; have f"):
        numpy_function(f.program, "g")
    with pytest.raises(ValueError, match="f takes q; got p"):
        f(p=[1, 2])
    with pytest.raises(ValueError, match=r"q must have shape \(2,\) or \(N, 2\), got \(3,\)"):
        f(q=[1, 2, 3])
