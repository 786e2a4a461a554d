"""The platform's C compiler, run as subprocesses, in parallel, nothing it says swallowed.

A robot becomes one extension module: its f64 kernels are compiled object by
object, its Cython class is translated and compiled beside them, and all are
linked.  Objects and modules come from the cache when they were compiled before.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from .cache import ObjectCache, content_key
from .errors import CompilationError
from .toolchain import (
    Compiler,
    cython_version,
    default_jobs,
    find_compiler,
    module_suffix,
    numpy_include,
    python_include,
)

# Short straight-line parts run as fast with -O1 as with -O2, which takes 1.7 times as long.
C_FLAGS = ("-O1", "-std=c99", "-fPIC", "-fvisibility=hidden")
MODULE_FLAGS = ("-O2", "-fPIC", "-fwrapv", "-fvisibility=hidden")
LINK_FLAGS = (
    ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
)
MODULE = "_kernel"


@dataclass(frozen=True)
class ObjectReport:
    """What compiling one object cost.

    ``peak_bytes`` and ``processor`` (seconds of processor time, which other work on
    the machine does not lengthen) are None where they are not measured.
    """

    name: str
    seconds: float
    peak_bytes: int | None
    reused: bool
    processor: float | None = None


@dataclass(frozen=True)
class _Cost:
    """Elapsed and processor time [s] and peak memory [bytes] of a command."""

    seconds: float
    peak: int | None
    processor: float | None

    def report(self, name: str) -> ObjectReport:
        return ObjectReport(name, self.seconds, self.peak, False, self.processor)

    def __add__(self, other: _Cost) -> _Cost:
        peaks = [p for p in (self.peak, other.peak) if p is not None]
        times = [t for t in (self.processor, other.processor) if t is not None]
        seconds = self.seconds + other.seconds
        return _Cost(seconds, max(peaks, default=None), sum(times) if times else None)


@dataclass(frozen=True)
class CompiledModule:
    """A compiled extension module and what its parts cost."""

    path: Path
    reports: tuple[ObjectReport, ...]
    compiler: str
    flags: str

    @property
    def reused(self) -> bool:
        """Whether no compiler ran."""
        return all(r.reused for r in self.reports)


Notify = Callable[[str, int, int], None]
"""Called with what is being done ("compile", "link"), parts done, and parts in all."""


@dataclass
class Runner:
    """Runs commands of one build; ``stop`` ends those that still run."""

    running: set[int] = field(default_factory=set)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, what: str, command: Sequence[str], folder: Path) -> _Cost:
        """Run a command to its end and say what it cost.

        Raises
        ------
        CompilationError
            If it fails, with everything it said.
        """
        start = time.perf_counter()
        with tempfile.TemporaryFile() as told:
            with self.lock:
                if self.stopped:
                    raise CompilationError(f"{what}: stopped")
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=told,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches us alone; ``stop`` ends the rest
                )
                self.running.add(process.pid)
            try:
                code, peak, processor = _wait(process)
            finally:
                with self.lock:
                    self.running.discard(process.pid)
            if code != 0 and self.stopped:
                raise CompilationError(f"{what}: stopped")
            if code != 0:
                told.seek(0)
                raise CompilationError(
                    _failure(what, command, code, told.read().decode(errors="replace"))
                )
        return _Cost(time.perf_counter() - start, peak, processor)

    def stop(self) -> None:
        """End what still runs, and start nothing more."""
        with self.lock:
            self.stopped = True
            for pid in self.running:
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGTERM)


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int | None, float | None]:
    """Exit code, peak memory in bytes and processor time (where the platform tells)."""
    if not hasattr(os, "wait4"):
        return process.wait(), None, None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return process.returncode, peak, usage.ru_utime + usage.ru_stime


def _failure(what: str, command: Sequence[str], code: int, told: str) -> str:
    reason = f"exit code {code}" if code > 0 else f"signal {-code}"
    hint = ""
    if code in (-9, -11):
        hint = "\nThe compiler was killed; the machine may be short of memory (try --jobs 1)."
    for header, package in (("math.h", "libc6-dev"), ("Python.h", "python3-dev")):
        if f"{header}: No such file" in told:
            hint = f"\nA header is missing; on Debian or Ubuntu: apt-get install {package}"
    return f"{what} failed ({reason}):\n  {shlex.join(command)}\n{told.rstrip()}{hint}"


def object_key(compiler: Compiler, flags: Iterable[str], source: str, headers: str) -> str:
    """Cache key of an object: all that decides its bytes."""
    return content_key(
        "object", compiler.identity, list(flags), list(compiler.extra_flags), source, headers
    )


def compile_module(
    files: Mapping[str, str],
    kernels: Sequence[str],
    headers: Sequence[str],
    folder: Path,
    cache: ObjectCache,
    jobs: int | None = None,
    notify: Notify | None = None,
) -> CompiledModule:
    """Compile a robot's extension module in a folder of its own.

    Parameters
    ----------
    files:
        Text of the emitted files by name; the Cython source is ``_kernel.pyx``.
    kernels, headers:
        Names of the C sources to compile, and of the headers that they include.
    folder:
        An empty working folder; the module is left in it.
    cache:
        Where objects and modules are looked up and kept.
    jobs:
        How many compilers may run at once; as many as processors by default.

    Raises
    ------
    CompilerMissingError, CompilationError
        What is missing, or all that the compiler said.
    """
    compiler = find_compiler()
    include = python_include()
    numpy_headers, numpy_version = numpy_include()
    tell: Notify = notify or (lambda *_: None)
    headers_text = "".join(f"{name}\n{files[name]}" for name in sorted(headers))
    keys = {k: object_key(compiler, C_FLAGS, files[k], headers_text) for k in kernels}
    module_key = content_key(
        "module",
        compiler.identity,
        [*MODULE_FLAGS, *LINK_FLAGS, *compiler.extra_flags, *compiler.extra_link_flags],
        cython_version(),
        f"numpy {numpy_version}",
        f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')} {include}",
        files[f"{MODULE}.pyx"],
        headers_text,
        sorted(keys.values()),
    )
    module = folder / f"{MODULE}{module_suffix()}"
    flags = " ".join((*C_FLAGS, *compiler.extra_flags))
    if cache.fetch(module_key, ".so", module):
        names = [*kernels, f"{MODULE}.pyx"]
        reused = tuple(ObjectReport(n, 0.0, None, True) for n in names)
        return CompiledModule(module, reused, compiler.identity, flags)
    for name in (*kernels, *headers, f"{MODULE}.pyx"):
        (folder / name).write_text(files[name], encoding="utf-8")

    runner = Runner()

    def kernel(name: str) -> ObjectReport:
        target = folder / f"{name}.o"
        if cache.fetch(keys[name], ".o", target):
            return ObjectReport(name, 0.0, None, True)
        command = (*compiler.command, *C_FLAGS, *compiler.extra_flags, "-c", name, "-o")
        cost = runner.run(f"compiling {name}", (*command, target.name), folder)
        cache.store(keys[name], ".o", target)
        return cost.report(name)

    includes = dict.fromkeys((str(include), sysconfig.get_path("platinclude"), str(numpy_headers)))

    def binding() -> ObjectReport:
        translate = (sys.executable, "-m", "cython", "-3", f"{MODULE}.pyx", "-o", f"{MODULE}.c")
        translating = runner.run(f"translating {MODULE}.pyx", translate, folder)
        command = (
            *compiler.command,
            *MODULE_FLAGS,
            *compiler.extra_flags,
            *(f"-I{folder}" for folder in includes),
            *("-c", f"{MODULE}.c", "-o", f"{MODULE}.c.o"),
        )
        compiling = runner.run(f"compiling {MODULE}.c", command, folder)
        return (translating + compiling).report(f"{MODULE}.pyx")

    # the Cython class takes longest, so it starts first
    work = [binding, *((lambda name=name: kernel(name)) for name in kernels)]
    tell("compile", 0, len(work))
    reports = _in_parallel(work, jobs or default_jobs(), runner, tell)
    tell("link", 0, 1)
    linked = f"linked{module_suffix()}"
    command = (
        *compiler.command,
        *LINK_FLAGS,
        f"{MODULE}.c.o",
        *(f"{name}.o" for name in kernels),
        *compiler.extra_link_flags,
        *("-lm", "-o", linked),
    )
    linking = runner.run("linking", command, folder)
    os.replace(folder / linked, module)
    cache.store(module_key, ".so", module)
    tell("link", 1, 1)
    reports.append(linking.report("link"))
    return CompiledModule(module, tuple(reports), compiler.identity, flags)


def _in_parallel(
    work: Sequence[Callable[[], ObjectReport]], jobs: int, runner: Runner, tell: Notify
) -> list[ObjectReport]:
    """Results of all calls; the first failure, or Ctrl-C, stops the others."""
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures: list[Future[ObjectReport]] = [pool.submit(call) for call in work]
        try:
            pending, done = set(futures), 0
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += 1
                    tell("compile", done, len(work))
        except BaseException:
            runner.stop()
            for future in futures:
                future.cancel()
            raise
    return [f.result() for f in futures]
