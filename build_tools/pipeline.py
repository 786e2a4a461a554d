"""From a target to a compiled robot: derive, emit, compile, write; or only compare."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cache import ObjectCache
from .compiler import MODULE, CompiledModule, ObjectReport, compile_module
from .dependencies import source_files
from .errors import CompilerMissingError, FolderError, TargetError
from .files import sha256, uninterrupted, write_atomically
from .freshness import drop_stamp, freshness, other_owner, source_state, write_stamp
from .locations import cached_models, is_writable, packaged_models
from .locks import folder_lock
from .targets import Target, derive
from .toolchain import module_suffix

if TYPE_CHECKING:
    from bestiary.modeling import EquationsOfMotion

MANIFEST, PROGRAM = "manifest.json", "program.json"
MODULE_STAMP = f"{MODULE}.stamp.json"  # the loader compares it with the sources it finds
STEPS = ("derive", "emit", "compile", "link", "write")

FRESH, BUILT, NOT_COMPILED = "fresh", "built", "not compiled"


@dataclass(frozen=True)
class Event:
    """Progress of a build: a step that runs (``done`` of ``total``), ended, or waits."""

    robot: str
    step: str
    done: int = 0
    total: int = 1
    seconds: float | None = None


Progress = Callable[[Event], None]


@dataclass
class BuildResult:
    """What a build did.

    ``status`` is "fresh" (nothing was to do), "built", or "not compiled" (all
    files are written, but there is no compiler; ``problem`` says what to install).
    """

    name: str
    folder: Path
    status: str
    steps: dict[str, float] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    objects: tuple[ObjectReport, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of all steps."""
        return sum(self.steps.values())

    @property
    def compiled(self) -> int:
        """How many objects the compiler made (others were reused)."""
        return sum(not o.reused for o in self.objects)

    @property
    def peak_bytes(self) -> int | None:
        """Largest memory of one compiler process, where it was measured."""
        return max((o.peak_bytes for o in self.objects if o.peak_bytes), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "steps": {k: round(v, 3) for k, v in self.steps.items()},
            "written": self.written,
            "removed": self.removed,
            "compiled": self.compiled,
            "objects": [
                {
                    "name": o.name,
                    "seconds": round(o.seconds, 3),
                    "processor": None if o.processor is None else round(o.processor, 3),
                    "peak_bytes": o.peak_bytes,
                    "reused": o.reused,
                }
                for o in self.objects
            ],
            "peak_bytes": self.peak_bytes,
            "warnings": list(self.warnings),
            "notes": self.notes,
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Emission:
    """All files of a generated folder by name, and which of them are compiled."""

    files: dict[str, str]
    kernels: tuple[str, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """A file of a generated folder that is not what the model gives."""

    file: str
    kind: str  # "changed", "missing" or "left over"
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """How a generated folder compares with what the model gives."""

    name: str
    folder: Path
    differences: tuple[Difference, ...]

    @property
    def ok(self) -> bool:
        """Whether they are the same, byte by byte."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "ok": self.ok,
            "differences": [
                {"file": d.file, "kind": d.kind, "diff": list(d.lines)} for d in self.differences
            ],
        }


def emit(equations: EquationsOfMotion) -> Emission:
    """All files of a robot's generated folder, as text.

    The same equations give the same bytes on every machine.
    """
    from .backends.c import emit_c
    from .backends.cython import emit_cython
    from .manifest import make_manifest, manifest_text

    c = emit_c(equations)
    files = {
        **c.files,
        **emit_cython(equations),
        PROGRAM: equations.program.to_json(),
        MANIFEST: manifest_text(make_manifest(equations, c)),
    }
    return Emission(files, tuple(c.sources["f64"]), (c.header,))


def build(
    target: Target,
    *,
    out: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> BuildResult:
    """Build a robot, doing only what is to be done.

    Parameters
    ----------
    target:
        What to build.
    out:
        Folder in which the robot's folder is made; by default ``generated/`` of
        a source checkout for built-in robots, and the user's cache for others.
    jobs:
        How many compilers may run at once.
    progress:
        Called as the build goes on.
    force:
        Derive and emit even if nothing seems to have changed.

    Raises
    ------
    BuildError
        If the model is bad, a folder cannot be written, or the compiler fails.
        Nothing is changed then.
    """
    now = freshness(target, out)
    if now.is_fresh and not force and now.folder is not None:
        return BuildResult(now.name, now.folder, FRESH)
    tell = progress or (lambda _: None)
    clock = _Clock(target.label, tell)
    ours = source_files(target)
    sources = source_state([*ours, target.path] if target.path else ours)
    with clock.step("derive"):
        derived = derive(target)
    name = derived.equations.name
    with clock.step("emit"):
        emission = _emit(target, derived.equations)
    folder, notes = _landing_folder(target, name, out)
    with folder_lock(folder, lambda: tell(Event(target.label, "wait"))):
        result = BuildResult(name, folder, BUILT, clock.seconds, notes=notes)
        result.warnings = derived.warnings
        cache = ObjectCache.open()
        if not cache.writable:
            notes.append(
                f"the cache folder {cache.folder} cannot be written, so nothing is kept for later "
                "builds; set BESTIARY_CACHE_DIR to another folder"
            )
        with tempfile.TemporaryDirectory(prefix="bestiary-") as work:
            module = _compile(emission, Path(work), cache, jobs, clock, result)
            with clock.step("write"):
                drop_stamp(target, out)
                _publish(emission, module, folder, result)
        cache.prune()
        if module is not None:
            names = (*emission.files, module.path.name, MODULE_STAMP)
            outputs = [folder / n for n in names]
            write_stamp(target, out, name, folder, outputs, derived.files, sources)
    return result


def check(target: Target, *, out: Path | None = None) -> CheckResult:
    """Compare a generated folder, byte by byte, with what its model gives; write nothing."""
    equations = derive(target).equations
    emission = _emit(target, equations)
    folder = target.folder(equations.name, out)
    if target.is_packaged and out is None:
        folder = packaged_models() / target.label
    differences = []
    for name, text in emission.files.items():
        try:
            found = (folder / name).read_bytes()
        except OSError:
            differences.append(Difference(name, "missing"))
            continue
        if found != text.encode():
            lines = _diff(name, found.decode(errors="replace"), text)
            differences.append(Difference(name, "changed", lines))
    differences += [Difference(n, "left over") for n in _left_over(folder, emission)]
    return CheckResult(equations.name, folder, tuple(differences))


def _emit(target: Target, equations: EquationsOfMotion) -> Emission:
    try:
        return emit(equations)
    except ValueError as error:  # a program that cannot be written, such as one too large
        raise TargetError(f"{target.path or target.label}: {error}") from error


class _Clock:
    """Times of the steps, told as they begin and end."""

    def __init__(self, robot: str, tell: Progress) -> None:
        self.robot, self.tell = robot, tell
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.tell(Event(self.robot, name))
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.tell(Event(self.robot, name, 1, 1, self.seconds[name]))


def _landing_folder(target: Target, name: str, out: Path | None) -> tuple[Path, list[str]]:
    """Where the robot lands; the cache where ``generated/`` cannot be written.

    Raises
    ------
    FolderError
        If the folder that the user asked for, or the cache, cannot be written.
    """
    folder = target.folder(name, out)
    owner = other_owner(folder, target) if target.path is not None and out is None else None
    if owner is not None:  # two model files with one model name: each keeps its own
        folder = folder.with_name(f"{folder.name}_{sha256(str(target.path))[:8]}")
    if is_writable(folder):
        return folder, [
            f"{owner} holds a model {name!r} too; this one is in {folder}, and loaded by "
            f"the name {folder.name!r} or by its model file"
        ] if owner is not None else []
    if target.is_packaged and out is None:
        fallback = cached_models() / target.label
        if is_writable(fallback):
            return fallback, [f"{folder} cannot be written; the robot is built in {fallback}"]
    advice = "choose another with --out" if out is None else "choose another"
    raise FolderError(
        f"the folder {folder} cannot be written; make it writable, {advice}, or set "
        "BESTIARY_CACHE_DIR to a folder of your own"
    )


def _compile(
    emission: Emission,
    work: Path,
    cache: ObjectCache,
    jobs: int | None,
    clock: _Clock,
    result: BuildResult,
) -> CompiledModule | None:
    """The compiled module in the working folder, or None where there is no compiler."""
    start = time.perf_counter()

    def notify(step: str, done: int, total: int) -> None:
        clock.tell(Event(clock.robot, step, done, total))

    try:
        compiled = compile_module(
            emission.files, emission.kernels, emission.headers, work, cache, jobs, notify
        )
    except CompilerMissingError as error:
        result.status, result.problem = NOT_COMPILED, str(error)
        return None
    result.objects = compiled.reports
    seconds = time.perf_counter() - start
    link = next((r.seconds for r in compiled.reports if r.name == "link"), 0.0)
    clock.seconds["compile"], clock.seconds["link"] = seconds - link, link
    clock.tell(Event(clock.robot, "compile", 1, 1, seconds - link))
    clock.tell(Event(clock.robot, "link", 1, 1, link))
    return compiled


def _publish(
    emission: Emission, module: CompiledModule | None, folder: Path, result: BuildResult
) -> None:
    """Bring a folder up to date, Ctrl-C held back; the manifest comes last.

    Raises
    ------
    FolderError
        If a file cannot be written.
    """
    contents: dict[str, bytes] = {n: t.encode() for n, t in emission.files.items()}
    if module is not None:
        contents[module.path.name] = module.path.read_bytes()
        contents[MODULE_STAMP] = _module_stamp(emission, module).encode()
    contents[MANIFEST] = contents.pop(MANIFEST)
    changed = {n: data for n, data in contents.items() if _differs(folder / n, data)}
    left = _left_over(folder, emission)
    modules = [p.name for p in folder.glob(f"{MODULE}.*") if _is_module(p.name)]
    current = module.path.name if module is not None else None
    if any(n in changed for n in (*emission.kernels, *emission.headers, f"{MODULE}.pyx")):
        left += [n for n in modules if n != current]
        left += [MODULE_STAMP] if module is None and (folder / MODULE_STAMP).exists() else []
    elif module is None and f"{MODULE}{module_suffix()}" in modules:
        result.status, result.problem = BUILT, ""  # what was compiled before still fits
    with uninterrupted():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in left:
                (folder / name).unlink(missing_ok=True)
            for name, data in changed.items():
                write_atomically(folder / name, data)
        except OSError as error:
            raise FolderError(
                f"cannot write {error.filename or folder}: {error.strerror}; build again when "
                "this is put right"
            ) from error
    result.written, result.removed = sorted(changed), sorted(left)


def _module_stamp(emission: Emission, module: CompiledModule) -> str:
    """What a compiled module was made of and how, for the loader and ``robot.meta``."""
    sources = (*emission.kernels, *emission.headers, f"{MODULE}.pyx")
    data = {
        "module": module.path.name,
        "module_sha256": hashlib.sha256(module.path.read_bytes()).hexdigest(),
        "compiler": module.compiler,
        "flags": module.flags,
        "sources": {n: sha256(emission.files[n]) for n in sources},
    }
    return json.dumps(data, indent=1) + "\n"


def _differs(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() != data
    except OSError:
        return True


def _is_module(name: str) -> bool:
    return name.startswith(f"{MODULE}.") and name.endswith((".so", ".pyd"))


def _left_over(folder: Path, emission: Emission) -> list[str]:
    """Files of an earlier emission that this one does not have.

    Only names that an emission gives its files are touched, whatever else the
    user keeps in the folder.
    """
    prefix = re.escape(emission.headers[0].removesuffix(".h"))
    ours = re.compile(rf"({prefix}(_\w+)?\.[ch]|{MODULE}\.(pyx|pyi|c))")
    try:
        names = sorted(p.name for p in folder.iterdir())
    except OSError:
        return []
    return [n for n in names if ours.fullmatch(n) and n not in emission.files]


def _diff(name: str, found: str, expected: str, limit: int = 12) -> tuple[str, ...]:
    """The first lines that differ."""
    lines = difflib.unified_diff(
        found.split("\n"), expected.split("\n"), f"{name} (here)", f"{name} (model)", n=0,
        lineterm="",
    )  # fmt: skip
    shown: list[str] = []
    for line in lines:
        if len(shown) == limit:
            shown.append("…")
            break
        shown.append(line if len(line) <= 160 else f"{line[:157]}…")
    return tuple(shown)
