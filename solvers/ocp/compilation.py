"""Node functions compiled to machine code, kept by content in the user's cache.

CasADi's virtual machine takes some 8 ns an instruction, compiled code about 1 ns
without optimisation and half of that with it; a compiler takes about 60 μs an
instruction without optimisation and 200 μs with it.  So in mode ``"auto"``

- a function that is little work at all nodes together stays in the virtual machine;
- a larger one is compiled without optimisation at once, and with it in the
  background if it is much work: the next mesh or solve finds that;
- a short one is compiled with optimisation at once.

The name of a library is a hash of the function (for a derivative, of the function it
derives from and of what derives it, see :mod:`.node_forms`), of the text of what prints
its C, of the compiler, its flags and CasADi's version: nothing is ever out of date.  All
levels give the same numbers to the last bit (unless CFLAGS say otherwise), since no flag allows
the compiler to reorder or to fuse floating-point operations.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca

from .c_source import UnsupportedOperationError, c_source, symbol
from .errors import OptimalControlError
from .node_forms import NodeForm

if TYPE_CHECKING:
    from bestiary.build_tools.cache import ObjectCache
    from bestiary.build_tools.compiler import Runner
    from bestiary.build_tools.toolchain import Compiler

MODES = ("auto", "always", "never")

PLAIN, OPTIMISED = "-O0", "-O1"
"""``-O2`` takes twice the time of ``-O1`` to compile and the code is no faster."""
SHORT = 2_000
"""Instructions of a function that is optimised at once."""
WORTH_COMPILING = 50_000
"""Instructions at all nodes together; in the virtual machine 0.4 ms an evaluation."""
WORTH_OPTIMISING = 300_000
"""Instructions at all nodes together; 0.3 ms an evaluation without optimisation."""
REMEMBERED = 64
"""Functions whose compiled form is remembered."""

FLAGS = ("-std=c99", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden")
SUFFIX = ".so"

_LOG = logging.getLogger("bestiary.ocp")
_said: set[str] = set()


@dataclass(frozen=True)
class _Job:
    """A function to be compiled at a level, and the name of the result in the cache."""

    form: NodeForm
    level: str
    key: str


class NodeCompiler:
    """Turns node functions into compiled ones where that pays; the hook of a program.

    Parameters
    ----------
    mode:
        ``"auto"``; ``"always"``: every function, optimised, at once; ``"never"``.
    cache:
        Where libraries are kept; the user's cache by default.
    jobs:
        How many compilers may run at once; as many as processors by default.

    Raises
    ------
    OptimalControlError
        If there is no such mode.

    Attributes
    ----------
    runs:
        How often a compiler was run and has succeeded.

    Without a compiler, or if it fails, functions stay as they are and one message says so.
    """

    def __init__(
        self, mode: str = "auto", cache: ObjectCache | None = None, jobs: int | None = None
    ) -> None:
        if mode not in MODES:
            raise OptimalControlError(f"compile: expected one of {', '.join(MODES)}, got {mode!r}")
        self.mode = mode
        self.jobs = jobs
        self.runs = 0
        self._cache = cache
        self._loaded: OrderedDict[str, ca.Function] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, function: ca.Function, count: int) -> ca.Function:
        """The function to use at so many nodes: compiled, or itself."""
        return self.prepare([(NodeForm.of(function), count)])[0]

    def prepare(self, forms: Sequence[tuple[NodeForm, int]]) -> list[ca.Function]:
        """As a call for each (form, number of nodes), with compilers side by side.

        A form whose compiled function is there is not even derived.
        """
        if self.mode == "never":
            return [form.function for form, _ in forms]
        found: dict[int, ca.Function] = {}
        jobs: dict[int, _Job] = {}
        later: list[_Job] = []
        for place, (form, count) in enumerate(forms):
            plan = self._plan(form, count)
            if plan is None:
                continue
            best, now, much = plan
            optimised = self._load(best)
            known = optimised or self._load(now)
            if known is not None:
                found[place] = known
            else:
                jobs[place] = now
            if much and optimised is None and now is not best:
                later.append(best)
        if jobs:
            self._compile(list({j.key: j for j in jobs.values()}.values()))
            for place, job in jobs.items():
                loaded = self._load(job)
                if loaded is not None:
                    found[place] = loaded
        if later and _processors() > 1:
            _BACKGROUND.add(self, later)
        for place, (form, _) in enumerate(forms):
            if place not in found:
                found[place] = form.function
        return [found[place] for place in range(len(forms))]

    def _plan(self, form: NodeForm, count: int) -> tuple[_Job, _Job, bool] | None:
        """The best form of a function, the one to make at once, and if the best pays too."""
        instructions = form.instructions
        work = instructions * count
        if not instructions or (work < WORTH_COMPILING and self.mode != "always"):
            return None
        compiler = _compiler()
        if compiler is None:
            return None
        best = self._job(form, OPTIMISED, compiler)
        if self.mode == "always" or instructions <= SHORT:
            return best, best, True
        return best, self._job(form, PLAIN, compiler), work >= WORTH_OPTIMISING

    # -- names -------------------------------------------------------------
    def _job(self, form: NodeForm, level: str, compiler: Compiler) -> _Job:
        from bestiary.build_tools.cache import content_key

        flags = [level, *FLAGS, *compiler.extra_flags, *compiler.extra_link_flags]
        key = content_key(
            "node function",
            form.content,
            _printer(),
            compiler.identity,
            flags,
            f"casadi {ca.CasadiMeta.version()}",
        )
        return _Job(form, level, key)

    def _objects(self) -> ObjectCache:
        from bestiary.build_tools.cache import ObjectCache

        with self._lock:
            if self._cache is None:
                self._cache = ObjectCache.open()
            return self._cache

    # -- loading -----------------------------------------------------------
    def _load(self, job: _Job) -> ca.Function | None:
        """The compiled function, if there is one."""
        with self._lock:
            if job.key in self._loaded:
                return self._loaded[job.key]
        path = self._objects().path(job.key, SUFFIX)
        if not path.exists():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it is in use: not to be pruned
        try:
            function = ca.external(symbol(job.form.name), str(path))
        except RuntimeError as error:
            _say_once(f"{path} cannot be loaded and is dropped: {error}")
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return self._remember(job, function)

    def _remember(self, job: _Job, function: ca.Function) -> ca.Function:
        with self._lock:
            self._loaded[job.key] = function
            if len(self._loaded) > REMEMBERED:
                self._loaded.popitem(last=False)
        return function

    # -- compiling ---------------------------------------------------------
    def _compile(self, jobs: Sequence[_Job]) -> None:
        """Compile side by side; Ctrl-C ends the compilers and leaves nothing behind."""
        from bestiary.build_tools.compiler import Runner

        runner = Runner()
        with ThreadPoolExecutor(max_workers=self.jobs or _processors()) as pool:
            futures = [pool.submit(self.compile_one, job, runner) for job in jobs]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                runner.stop()
                for future in futures:
                    future.cancel()
                raise

    def compile_one(self, job: _Job, runner: Runner) -> None:
        """Compile one function into the cache, unless another process just did."""
        from bestiary.build_tools.compiler import LINK_FLAGS
        from bestiary.build_tools.errors import CompilationError

        compiler, cache, name = _compiler(), self._objects(), job.form.name
        assert compiler is not None
        kept, library = cache.path(job.key, SUFFIX), f"node{SUFFIX}"
        with (
            _held(kept.parent),
            tempfile.TemporaryDirectory(prefix="bestiary-", ignore_cleanup_errors=True) as place,
        ):
            if kept.exists():
                return
            folder = Path(place)
            command = (
                *compiler.command,
                job.level,
                *FLAGS,
                *compiler.extra_flags,
                *LINK_FLAGS,
                "node.c",
                *compiler.extra_link_flags,
                "-lm",
                "-o",
                library,
            )
            try:
                (folder / "node.c").write_text(c_source(job.form.function), encoding="utf-8")
                start = time.perf_counter()
                runner.run(f"compiling {name}", command, folder)
            except UnsupportedOperationError as error:
                _say_once(f"{error}; it stays in CasADi's virtual machine")
                return
            except CompilationError as error:
                if not runner.stopped:
                    _say_once(f"{name} stays in CasADi's virtual machine: {error}")
                return
            _LOG.debug(
                "compiled %s with %s in %.2f s", name, job.level, time.perf_counter() - start
            )
            with self._lock:
                self.runs += 1
            cache.store(job.key, SUFFIX, folder / library)
            if not kept.exists():  # a cache that keeps nothing: loaded from here, for this process
                self._remember(job, ca.external(symbol(job.form.name), str(folder / library)))


class _Background:
    """One thread that compiles what later solves will use; it ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[NodeCompiler, _Job]] = []
        self._seen: set[str] = set()
        self._thread: threading.Thread | None = None
        self._runner: Runner | None = None

    def add(self, owner: NodeCompiler, jobs: Sequence[_Job]) -> None:
        """Compile these too, each once in this process."""
        from bestiary.build_tools.compiler import Runner

        with self._lock:
            for job in jobs:
                if job.key not in self._seen:
                    self._seen.add(job.key)
                    self._waiting.append((owner, job))
            if self._waiting and self._thread is None:
                if self._runner is None:
                    self._runner = Runner()
                    atexit.register(self.stop)
                self._thread = threading.Thread(
                    target=self._work, name="bestiary node compiler", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        assert self._runner is not None
        while True:
            with self._lock:
                if not self._waiting or self._runner.stopped:
                    self._thread = None
                    return
                owner, job = self._waiting.pop(0)
            try:
                owner.compile_one(job, self._runner)
            except Exception as error:  # the solve at hand does not need it
                _say_once(f"{job.form.name} is not optimised: {error}")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until all is compiled."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def stop(self) -> None:
        """End the compiler that still runs, and let its folder be removed."""
        if self._runner is not None:
            self._runner.stop()
        self.wait(2.0)


_BACKGROUND = _Background()


def finish_background() -> None:
    """Wait until what is compiled in the background is done."""
    _BACKGROUND.wait()


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of the cache; without a place for locks, go on without."""
    from bestiary.build_tools.errors import FolderError
    from bestiary.build_tools.locks import folder_lock

    lock = folder_lock(folder)
    try:
        lock.__enter__()
    except FolderError:
        yield
        return
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _processors() -> int:
    from bestiary.build_tools.toolchain import default_jobs

    return default_jobs()


def _compiler() -> Compiler | None:
    """The C compiler, asked once for each setting of the environment; None with one message."""
    names = ("CC", "CFLAGS", "LDFLAGS", "PATH")
    return _asked(tuple(os.environ.get(name, "") for name in names))


@lru_cache(maxsize=8)
def _asked(_environment: tuple[str, ...]) -> Compiler | None:
    from bestiary.build_tools.errors import CompilerMissingError
    from bestiary.build_tools.toolchain import find_compiler

    try:
        return find_compiler()
    except CompilerMissingError as error:
        _say_once(f"node functions run in CasADi's virtual machine: {error}")
        return None


@lru_cache(maxsize=1)
def _printer() -> str:
    """Hash of the module that prints the C: other text, other libraries."""
    from bestiary.build_tools.files import sha256

    from . import c_source

    return sha256(Path(c_source.__file__).read_bytes())


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        _LOG.warning("%s", text)
