"""The emitted Cython class: small, self-contained, true to its stub."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
from robot_harness import ROBOTS, equations, robot

from bestiary import generated
from bestiary.build_tools.backends.cython import emit_cython
from bestiary.modeling import Model, Revolute, poincare
from bestiary.modeling.program import Builder, Function, InputGroup, Program, ProgramSymbol
from bestiary.modeling.program.program import output


@pytest.mark.parametrize("name", ROBOTS)
def test_the_module_needs_no_other_generated_module(name):
    text = emit_cython(equations(name))["_kernel.pyx"]
    assert f'cdef extern from "{name}.h"' in text
    assert re.findall(r"^\s*(?:from (\S+) )?cimport", text, re.M) == ["libc.string"]
    assert not re.search(r"^\s*(import|from \S+ import)\b", text, re.M)


def test_text_grows_by_little_with_each_function():
    small, large = (emit_cython(equations(n))["_kernel.pyx"] for n in ("crane", "sea_lion"))
    functions = [len(equations(n).program.functions) for n in ("crane", "sea_lion")]
    per_function = (len(large) - len(small)) / (functions[1] - functions[0])
    assert per_function < 700
    assert large.count("with nogil:") == 4  # one call path, one batch loop, two rollouts


@pytest.mark.parametrize("name", ROBOTS)
def test_the_stub_lists_the_methods_with_their_arguments(name):
    tree = ast.parse(emit_cython(equations(name))["_kernel.pyi"])
    (stub,) = (n for n in tree.body if isinstance(n, ast.ClassDef))
    kernel = type(robot(name)).__mro__[-2]
    assert kernel.__name__ == "Kernel"
    methods = {n.name: n.args for n in stub.body if isinstance(n, ast.FunctionDef)}
    public = {n for n in vars(kernel) if not n.startswith("_")}
    assert set(methods) == public
    for method, arguments in methods.items():
        written = [a.arg for a in (*arguments.args, *arguments.kwonlyargs)]
        compiled = inspect.signature(getattr(kernel, method)).parameters
        assert written == list(compiled), method


def test_quotes_and_backslashes_of_titles_cannot_end_a_docstring():
    model = Model("quoted", title='a """ and a \\')
    model.body("a", joint=Revolute("r", "x"), mass=1, inertia=(1, 1, 1))
    for text in emit_cython(poincare(model)).values():
        assert text.count('"""') % 2 == 0
        assert "\\" not in text.partition("cdef extern")[0]


def test_functions_of_many_arguments_pass_those_after_the_third_as_a_tuple():
    b = Builder()
    groups = [InputGroup(g, (ProgramSymbol(f"{g}0"),)) for g in "abcde"]
    total = b.symbol("a", "a0")
    for g in "bcde":
        total = total * 2 + b.symbol(g, f"{g}0")
    program = Program.freeze(
        b, groups, [Function("f", tuple("abcde"), (output("y", (), [total], ""),))]
    )
    text = emit_cython(replace(equations("crane"), program=program, nodes=()))["_kernel.pyx"]
    assert "def f(self, a, b, c, d, e, *, out=None):" in text
    assert "return self.call(0, a, b, c, (d, e,), out)" in text


def test_instances_have_parameters_of_their_own():
    r = robot("crane")
    others = [r.with_parameters(hook_mass=m) for m in np.linspace(0.1, 1.0, 10)]
    masses = [o.mass_matrix(np.zeros(4))[0, 0] for o in others]
    np.testing.assert_allclose(masses, 2.5 + np.linspace(0.1, 1.0, 10))
    assert r.mass_matrix(np.zeros(4))[0, 0] == pytest.approx(2.8)


def test_calls_leak_no_memory():
    import tracemalloc

    r = robot("crane")
    q, p = r.random_state(1)

    def work() -> None:
        for _ in range(300):
            r.mass_matrix(q)
            r.mass_matrix(list(q))
            r.equations_of_motion(q, p)
            with contextlib.suppress(generated.ModelInputError):
                r.mass_matrix(q[:2])

    work()
    tracemalloc.start()
    work()
    first = tracemalloc.get_traced_memory()[0]
    work()
    second = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert second - first < 20_000
