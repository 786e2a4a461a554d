"""Compiled node functions: the same numbers, kept by content, never half-made."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from functools import lru_cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from swimmer import swimmer_problem

from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.toolchain import compiler_command
from bestiary.solvers.ocp import OptimalControlError, Radau, compilation
from bestiary.solvers.ocp.c_source import UnsupportedOperationError, c_source
from bestiary.solvers.ocp.compilation import NodeCompiler
from bestiary.solvers.ocp.functions import PhaseFunctions
from bestiary.solvers.ocp.guess import initial_guess
from bestiary.solvers.ocp.mesh import make_mesh
from bestiary.solvers.ocp.node_forms import NodeForm
from bestiary.solvers.ocp.scaling import scale
from bestiary.solvers.ocp.transcription import Transcription

NODES = 75


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    """An empty cache of the user."""
    monkeypatch.setenv("BESTIARY_CACHE_DIR", str(tmp_path / "cache"))
    return ObjectCache.open(tmp_path / "cache" / "objects")


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The compiler behind a script; the file has a line for every run of it."""
    runs = tmp_path / "runs"
    runs.touch()
    _script(tmp_path, monkeypatch, f'echo run >> "{runs}"\nexec {compiler_command()[0]} "$@"')
    return runs


def _script(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let a shell script be the compiler; it answers --version by itself."""
    path = folder / "compiler"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo scripted && exit 0\n{text}\n')
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))


def _runs(path: Path) -> int:
    return len(path.read_text().splitlines())


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")


@lru_cache
def _long_function(statements: int = 3000) -> ca.Function:
    """More instructions than what is optimised at once; its name is a keyword of C."""
    x = ca.SX.sym("x", 6)
    values = [x[k] for k in range(6)]
    for k in range(statements):
        values.append(ca.sin(values[-1]) * values[-5] + (0.5 + 1e-3 * k) * values[-6])
    return ca.Function("long", [x, ca.SX.sym("c", 0)], [ca.vertcat(*values[-8:], values[100])])


def _every_operation() -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    made = [
        *(f(x) for f in (ca.exp, ca.sin, ca.cos, ca.tan, ca.atan, ca.floor, ca.ceil, ca.erf)),
        *(f(x) for f in (ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.fabs, ca.sign, ca.expm1)),
        *(f(ca.fabs(x)) for f in (ca.log, ca.sqrt, ca.log1p)),
        *(f(x / 10) for f in (ca.asin, ca.acos, ca.atanh)),
        *(ca.acosh(x + 10), ca.logic_not(x), -x, 2 * x, x**2, 1 / x, x**2.5, ca.fabs(x) ** y),
        *(f(x, y) for f in (ca.fmin, ca.fmax, ca.fmod, ca.remainder, ca.copysign, ca.atan2)),
        *(ca.hypot(x, y), ca.if_else(x < y, x * y, x - y), x <= y, ca.eq(x, y), x != y),
        *(ca.logic_and(x, y), ca.logic_or(x, y), ca.sign(x * y), (x + y) ** 2),
        *(ca.SX(3.25), ca.SX(-1e-300), ca.SX(0), ca.SX(np.inf), ca.SX(-np.inf), ca.SX(np.nan)),
        *(x, y, x, ca.constpow(ca.fabs(x), 1.5)),
    ]
    return ca.Function("every", [x, y], [ca.vertcat(*made), ca.vertcat(made[0], y)])


def _points(function: ca.Function, count: int = 20) -> list[list[ca.DM]]:
    rng = np.random.default_rng(3)
    sizes = [function.numel_in(k) for k in range(function.n_in())]
    return [[ca.DM(rng.normal(size=(n, 1))) for n in sizes] for _ in range(count)]


def _assert_same(a: ca.Function, b: ca.Function, points: list[list[ca.DM]]) -> None:
    for point in points:
        for first, second in zip(a.call(point), b.call(point), strict=True):
            np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


# -- the C text -------------------------------------------------------------------------
@pytest.mark.parametrize("piece", [1, 3, 250])
def test_every_operation_gives_the_bits_of_the_virtual_machine(
    piece: int, cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = _every_operation()
    whole = compilation.c_source
    monkeypatch.setattr(compilation, "c_source", lambda f: whole(f, piece))
    made = NodeCompiler("always", cache)(function, NODES)
    assert made.is_a("External")
    points = [*_points(function), [ca.DM(0.0), ca.DM(-0.0)], [ca.DM(np.nan), ca.DM(1)]]
    _assert_same(function, made, points)


def test_no_c_function_is_longer_than_a_piece() -> None:
    text = c_source(_long_function(), piece=100)
    bodies = re.findall(r"void piece_\d+\(.*?\n}", text, flags=re.S)
    assert len(bodies) > 20
    named = [len(re.findall(r"const double v\d+=(?!w\[)", body)) for body in bodies]
    assert max(named) == 100
    assert sum(named) >= 3000  # sines may join the sums that use them


def test_workspace_holds_only_what_later_pieces_need() -> None:
    text = c_source(_long_function(), piece=100)
    (size,) = re.findall(r"\*w = (\d+);", text)
    # six values go over each border, and are kept to the end of the next piece; nine outputs
    assert int(size) <= 2 * 6 + 9


def test_absent_outputs_and_inputs_are_as_casadi_defines_them(cache: ObjectCache) -> None:
    function = _every_operation()
    made = NodeCompiler("always", cache)(function, 1)
    x = ca.MX.sym("x")
    for which in (0, 1):  # the other output has no consumer
        a = ca.Function("a", [x], [function(x, 0)[which]])
        b = ca.Function("b", [x], [made(x, 0)[which]])
        _assert_same(a, b, [[ca.DM(0.3)]])
    buffers = [f.buffer() for f in (function, made)]
    results = [np.zeros(function.numel_out(0)) for _ in buffers]
    for (buffer, evaluate), result in zip(buffers, results, strict=True):
        buffer.set_arg(0, memoryview(np.array([0.3])))  # the second argument is left out: zero
        buffer.set_res(0, memoryview(result))
        evaluate()
    np.testing.assert_array_equal(*results)


def test_functions_without_a_c_form_stay_as_they_are(
    cache: ObjectCache, caplog: pytest.LogCaptureFixture
) -> None:
    x = ca.SX.sym("x")
    odd = ca.Function("odd_one", [x], [ca.erfinv(x)])
    with pytest.raises(UnsupportedOperationError, match="odd_one"):
        c_source(odd)
    y = ca.MX.sym("y", 2)
    matrix = ca.Function("matrix", [y], [ca.mtimes(ca.DM.eye(2), y)])
    compiler = NodeCompiler("always", cache)
    with caplog.at_level(logging.WARNING, "bestiary.ocp"):
        assert compiler(odd, NODES).is_a("SXFunction")
        assert compiler(matrix, NODES).is_a("MXFunction")
    assert "odd_one" in caplog.text
    assert compiler.runs == 0


# -- when to compile --------------------------------------------------------------------
def test_little_work_does_not_even_look_for_a_compiler(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("a compiler was looked for")

    monkeypatch.setattr(compilation, "_compiler", refuse)
    function = _every_operation()
    for mode, count in (("auto", 100), ("never", 10**9)):
        assert NodeCompiler(mode, cache)(function, count).is_a("SXFunction")


def test_much_work_is_plain_at_once_and_optimised_for_the_next_mesh(
    cache: ObjectCache, counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "_processors", lambda: 2)
    function, compiler = _long_function(), NodeCompiler("auto", cache)
    plain = compiler(function, NODES)
    compilation.finish_background()
    optimised = compiler(function, NODES)
    assert _runs(counted) == compiler.runs == 2
    assert plain.is_a("External")
    assert optimised.is_a("External")
    assert str(plain) == str(optimised)
    assert plain.__hash__() != optimised.__hash__()
    _assert_same(plain, optimised, _points(function))  # to the last bit
    _assert_same(function, optimised, _points(function))


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(OptimalControlError, match="'sometimes'"):
        NodeCompiler("sometimes")


# -- the cache --------------------------------------------------------------------------
def test_what_was_compiled_is_not_compiled_again(cache: ObjectCache, counted: Path) -> None:
    for _ in range(2):
        made = NodeCompiler("always", cache)(_every_operation(), NODES)
        assert made.is_a("External")
    assert _runs(counted) == 1


def test_other_constants_flags_and_names_are_other_libraries(
    cache: ObjectCache, counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ca.SX.sym("x")
    compiler = NodeCompiler("always", cache)
    for name, factor in (("f", 0.1), ("f", np.nextafter(0.1, 1)), ("g", 0.1)):
        made = compiler(ca.Function(name, [x], [factor * x]), 1)
        assert float(made(1.0)) == factor
    assert _runs(counted) == 3
    monkeypatch.setenv("CFLAGS", "-DOTHER")
    compiler(ca.Function("f", [x], [0.1 * x]), 1)
    assert _runs(counted) == 4


def test_functions_wanted_together_are_compiled_once_each(
    cache: ObjectCache, counted: Path
) -> None:
    f, g = _every_operation(), _long_function(100)
    forms = [(NodeForm.of(f), 1), (NodeForm.of(g), 2), (NodeForm.of(f), 3)]
    made = NodeCompiler("always", cache).prepare(forms)
    assert [m.name() for m in made] == ["node_every", "node_long", "node_every"]
    assert _runs(counted) == 2


def test_damaged_library_is_made_anew(cache: ObjectCache, counted: Path) -> None:
    NodeCompiler("always", cache)(_every_operation(), 1)
    (library,) = _files(cache.folder)
    library.unlink()  # it is in use: another file takes its place
    library.write_bytes(b"no library")
    made = NodeCompiler("always", cache)(_every_operation(), 1)
    assert made.is_a("External")
    assert _runs(counted) == 2


def test_cache_that_keeps_nothing_still_gives_compiled_functions(tmp_path: Path) -> None:
    closed = ObjectCache(tmp_path / "closed", writable=False)
    function = _every_operation()
    made = NodeCompiler("always", closed)(function, 1)
    assert made.is_a("External")
    _assert_same(function, made, _points(function))
    assert not closed.folder.exists()


# -- when it goes wrong -----------------------------------------------------------------
def test_without_a_compiler_one_message_and_the_virtual_machine(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with caplog.at_level(logging.WARNING, "bestiary.ocp"):
        for _ in range(2):
            for mode in ("auto", "always"):
                assert NodeCompiler(mode, cache)(_long_function(), NODES).is_a("SXFunction")
    (record,) = caplog.records
    assert "no-such-compiler" in record.getMessage()


def test_failing_compiler_is_quoted(
    cache: ObjectCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    _script(tmp_path, monkeypatch, "echo the dog ate it >&2; echo half > node.so; exit 3")
    with caplog.at_level(logging.WARNING, "bestiary.ocp"):
        assert NodeCompiler("always", cache)(_every_operation(), 1).is_a("SXFunction")
    assert "the dog ate it" in caplog.text
    assert "exit code 3" in caplog.text
    assert _files(cache.folder) == []


WORK = """
    import logging, sys
    import test_compilation as t
    from bestiary.solvers.ocp.compilation import NodeCompiler
    print("ready", flush=True)
    sys.stdin.readline()
    function = t._long_function()
    made = NodeCompiler(sys.argv[1])(function, 75)
    t._assert_same(function, made, t._points(function, 3))
    print(made.class_name())
"""


def _start(mode: str, temporary: Path) -> subprocess.Popen[str]:
    here = Path(__file__).resolve().parent
    paths = [str(here), str(here.parents[1]), *sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WORK), mode],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored
    )  # fmt: skip


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_at_once_compile_once(
    cache: ObjectCache, counted: Path, tmp_path: Path
) -> None:
    both = [_start("always", tmp_path) for _ in range(2)]
    for process in both:
        _go(process)
    for process in both:
        told, errors = process.communicate(timeout=120)
        assert told.strip() == "External", errors
    assert _runs(counted) == 1
    assert len(_files(cache.folder)) == 1


def test_interrupted_compilation_leaves_nothing(
    cache: ObjectCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, temporary = tmp_path / "begun", tmp_path / "temporary"
    temporary.mkdir()
    _script(tmp_path, monkeypatch, f'echo half > node.so; touch "{begun}"; exec sleep 60')
    process = _start("always", temporary)
    _go(process)
    _wait_for(begun)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - start < 20
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert _files(cache.folder) == []
    assert _files(temporary) == []


def test_process_ends_without_waiting_for_the_optimised_form(
    cache: ObjectCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    real = compiler_command()[0]
    _script(
        tmp_path, monkeypatch,
        f'[ "$1" = -O0 ] && exec {real} "$@"; echo half > node.so; exec sleep 60',
    )  # fmt: skip
    process = _start("auto", temporary)
    _go(process)
    start = time.monotonic()
    told, errors = process.communicate(timeout=60)
    assert told.strip() == "External", errors
    assert time.monotonic() - start < 30
    assert len(_files(cache.folder)) == 1
    assert _files(temporary) == []


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.02)


# -- a robot ----------------------------------------------------------------------------
@pytest.mark.parametrize("links", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_compiled_derivatives_of_the_swimmer_are_casadis_own(
    links: int, cache: ObjectCache
) -> None:
    problem = swimmer_problem(links)
    functions = [PhaseFunctions(problem, phase) for phase in problem.phases]
    scheme = Radau(3)
    transcription = Transcription(problem, functions, [make_mesh(25, scheme, "swim")], scheme)
    initial_guess(transcription)
    p = np.empty(0)
    scale(transcription, p)
    program = transcription.program
    program.compile = compiler = NodeCompiler("always", cache)
    own = program.functions()
    assert compiler.runs >= 5
    program.compile = NodeCompiler("never")
    plain = program.functions()["nlp"]

    x, lam_f = ca.MX.sym("x", program.size), ca.MX.sym("lam_f")
    lam_g = ca.MX.sym("lam_g", program.rows)
    f, g = plain(x, p)
    reference = ca.Function(
        "reference",
        [x, lam_f, lam_g],
        [
            f, g, ca.gradient(f, x), ca.jacobian(g, x),
            ca.triu(ca.hessian(lam_f * f + ca.dot(lam_g, g), x)[0]),
        ],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    at = 0.3 * rng.normal(size=program.size)
    multipliers = rng.normal(size=program.rows)
    expected = reference(at, 0.7, multipliers)
    found = [
        *own["nlp"](at, p), own["grad_f"](at, p)[1], own["jac_g"](at, p)[1],
        own["hess_lag"](at, p, 0.7, multipliers),
    ]  # fmt: skip
    for a, b in zip(expected, found, strict=True):
        size = max(1.0, float(ca.norm_inf(ca.vec(a))))
        assert float(ca.norm_inf(ca.vec(ca.DM(a - b)))) <= 1e-10 * size
