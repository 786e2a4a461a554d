"""Compiling: what is shown, what is named, what is measured, what runs at once."""

from __future__ import annotations

import importlib.util
import stat
import sysconfig
from pathlib import Path

import pytest
from build_project import Compiler

from bestiary.build_tools import toolchain
from bestiary.build_tools.cache import ObjectCache
from bestiary.build_tools.compiler import CompiledModule, compile_module
from bestiary.build_tools.errors import CompilationError, CompilerMissingError

FILES = {
    "twice.h": "double twice(double x);\ndouble thrice(double x);\n",
    "twice.c": '#include "twice.h"\ndouble twice(double x) { return 2.0 * x; }\n',
    "thrice.c": '#include "twice.h"\ndouble thrice(double x) { return 3.0 * x; }\n',
    "_kernel.pyx": (
        'cdef extern from "twice.h":\n'
        "    double twice(double x)\n"
        "    double thrice(double x)\n"
        "def five_times(double x):\n"
        "    return twice(x) + thrice(x)\n"
    ),
}


def compiled(
    folder: Path, cache: ObjectCache, jobs: int | None = None, **changes: str
) -> CompiledModule:
    """The small module, with some files changed (``twice_c="…"``)."""
    folder.mkdir()
    renamed = {k.replace("_c", ".c"): v for k, v in changes.items()}
    return compile_module(
        {**FILES, **renamed}, ("twice.c", "thrice.c"), ("twice.h",), folder, cache, jobs
    )


def test_compiled_module_can_be_imported(tmp_path: Path, cold_cache: ObjectCache) -> None:
    module = compiled(tmp_path / "work", cold_cache)
    spec = importlib.util.spec_from_file_location("_kernel", module.path)
    assert spec is not None
    assert spec.loader is not None
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    assert kernel.five_times(1.5) == 7.5


def test_each_object_is_timed_and_its_memory_measured(
    tmp_path: Path, cold_cache: ObjectCache
) -> None:
    module = compiled(tmp_path / "work", cold_cache)
    assert {r.name for r in module.reports} == {"_kernel.pyx", "twice.c", "thrice.c", "link"}
    for report in module.reports:
        assert not report.reused
        assert report.seconds > 0
        assert report.peak_bytes is not None
        assert 1e6 < report.peak_bytes < 2e9


def test_what_was_compiled_is_not_compiled_again(
    tmp_path: Path, cold_cache: ObjectCache, compiler: Compiler
) -> None:
    first = compiled(tmp_path / "one", cold_cache)
    calls = len(compiler.compilations)
    again = compiled(tmp_path / "two", cold_cache)
    assert calls == 4  # two kernels, the Cython class, the link
    assert len(compiler.compilations) == calls
    assert again.reused
    assert again.path.read_bytes() == first.path.read_bytes()


def test_only_the_changed_source_is_compiled(
    tmp_path: Path, cold_cache: ObjectCache, compiler: Compiler
) -> None:
    compiled(tmp_path / "one", cold_cache)
    before = len(compiler.compilations)
    changed = FILES["twice.c"].replace("2.0", "2.5")
    module = compiled(tmp_path / "two", cold_cache, twice_c=changed)
    sources = [line for line in compiler.compilations[before:] if " -c " in f" {line} "]
    assert [r.name for r in module.reports if r.reused] == ["thrice.c"]
    assert any("twice.c" in line for line in sources)
    assert not any("thrice.c" in line for line in sources)


def test_other_flags_are_another_object(
    tmp_path: Path, cold_cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path / "one", cold_cache)
    monkeypatch.setenv("CFLAGS", "-O1")
    module = compiled(tmp_path / "two", cold_cache)
    assert not any(r.reused for r in module.reports)
    assert "-O1" in module.flags


def test_compiler_errors_are_shown_in_full(tmp_path: Path, cold_cache: ObjectCache) -> None:
    broken = "double twice(double x) { return 2.0 * y; }\nint also_wrong(void) { return }\n"
    with pytest.raises(CompilationError) as caught:
        compiled(tmp_path / "work", cold_cache, twice_c=broken)
    text = str(caught.value)
    assert "compiling twice.c failed (exit code 1)" in text
    assert "twice.c:1" in text
    assert "twice.c:2" in text
    assert "-c twice.c" in text  # the command, to run it by hand


def test_cython_errors_are_shown_in_full(tmp_path: Path, cold_cache: ObjectCache) -> None:
    (tmp_path / "work").mkdir()
    with pytest.raises(CompilationError) as caught:
        compile_module(
            {**FILES, "_kernel.pyx": "def broken(:\n"}, (), (), tmp_path / "work", cold_cache
        )
    assert "_kernel.pyx:1" in str(caught.value)


def test_killed_compiler_is_told_as_such(
    tmp_path: Path, cold_cache: ObjectCache, compiler: Compiler
) -> None:
    compiler.write('case "$*" in *--version*) echo fake 1.0;; *) kill -9 $$;; esac')
    with pytest.raises(CompilationError, match=r"signal 9(.|\n)*short of memory"):
        compiled(tmp_path / "work", cold_cache)


def test_missing_compiler_is_named_with_its_package(
    tmp_path: Path, cold_cache: ObjectCache, no_compiler: None
) -> None:
    with pytest.raises(CompilerMissingError, match=r"no C compiler on PATH.*apt-get install gcc"):
        compiled(tmp_path / "work", cold_cache)


def test_compiler_of_the_environment_must_exist(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(CompilerMissingError, match="CC, 'no-such-compiler', is not on PATH"):
        toolchain.find_compiler()


def test_compiler_that_does_not_run_is_named(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(CompilerMissingError, match=f"{script} does not run"):
        toolchain.find_compiler()


def test_missing_python_headers_are_named_with_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    with pytest.raises(CompilerMissingError, match=r"Python\.h.*apt-get install python3\..*-dev"):
        toolchain.python_include()


def test_missing_cython_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain.cython_version.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CompilerMissingError, match="pip install cython"):
        toolchain.cython_version()


@pytest.mark.parametrize(("jobs", "at_once"), [(1, 1), (4, 3)])
def test_jobs_limit_how_many_compilers_run(
    tmp_path: Path, cold_cache: ObjectCache, compiler: Compiler, jobs: int, at_once: int
) -> None:
    trace = tmp_path / "trace"
    compiler.write(
        'case "$*" in *--version*) echo fake 1.0; exit;; esac\n'
        f'echo + >> {trace}; sleep 0.3; echo - >> {trace}; exec gcc "$@"'
    )
    files = {f"k{i}.c": f"double f{i}(double x) {{ return x + {i}; }}\n" for i in range(3)}
    folder = tmp_path / "work"
    folder.mkdir()
    module = compile_module(
        {"_kernel.pyx": "\n", **files}, tuple(files), (), folder, cold_cache, jobs
    )
    running = most = 0
    for mark in trace.read_text().split():
        running += 1 if mark == "+" else -1
        most = max(most, running)
    assert len(module.reports) == 5
    assert most >= at_once
    assert most <= jobs
