"""Whether anything is to be done, decided in milliseconds and without SymPy.

After a build a *stamp* is kept in the user's cache folder: sizes, times and
hashes of all that the result depends on (the sources of ours that its model and
the build import, the user's model file and its neighbours, versions of Python
and of the packages that decide the text, the compiler) and of the files that
were written.  A file whose size or time differs is compared by content.
Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestiary.modeling.version import __version__

from .dependencies import definition
from .errors import CompilerMissingError
from .files import sha256, write_atomically
from .locations import cache_root, folder_name, in_checkout, packaged_models, source_root
from .targets import Target
from .toolchain import compiler_command, module_suffix

FORMAT = 1
NO_COMPILER = "none"
PACKAGES = ("cython", "jinja2", "numpy", "sympy")

FRESH, STALE, UNBUILT, MISSING = "fresh", "stale", "not compiled", "missing"


@dataclass(frozen=True)
class Freshness:
    """Whether a robot is up to date, and why not; what the last build left."""

    state: str
    reason: str = ""
    name: str = ""
    folder: Path | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing is to be done."""
        return self.state == FRESH


@dataclass(frozen=True)
class Stamp:
    """The record of a finished build."""

    name: str
    folder: Path
    environment: dict[str, Any]
    inputs: dict[str, list[Any]]
    outputs: dict[str, list[Any]]
    target: Target
    out: Path | None


def stamp_path(target: Target, out: Path | None) -> Path:
    """File of a target's stamp."""
    identity = [
        str(source_root()),
        target.label,
        str(target.path or ""),
        repr(target.options),
        str(out.resolve()) if out is not None else "",
        sys.implementation.cache_tag,
        *(["functions", *target.functions] if target.functions else []),
    ]
    return cache_root() / "stamps" / f"{target.label}-{sha256(json.dumps(identity))[:16]}.json"


def freshness(target: Target, out: Path | None = None) -> Freshness:
    """Whether a target is up to date; imports nothing heavy."""
    path = stamp_path(target, out)
    stamp = _read(path)
    if stamp is None:
        return _without_stamp(target, out)
    found = Freshness(FRESH, "", stamp.name, stamp.folder)
    now = environment(target)
    for key, value in stamp.environment.items():
        if now.get(key) == value or (key == "compiler" and now[key] == NO_COMPILER):
            continue  # what is compiled stays good when the compiler goes
        return _not(found, STALE, f"{key} changed from {value} to {now.get(key)}")
    touched = False
    for kind, entries in (("source", stamp.inputs), ("output", stamp.outputs)):
        for name, record in entries.items():
            verdict = _compare(name, record)
            if verdict == "same":
                continue
            if verdict == "touched":
                touched = True
                continue
            if kind == "output" and verdict == "gone":
                gone = MISSING if not stamp.folder.exists() else UNBUILT
                return _not(found, gone if name.endswith((".so", ".pyd")) else STALE, _gone(name))
            return _not(found, STALE, _gone(name) if verdict == "gone" else f"{name} changed")
    if touched:
        with contextlib.suppress(OSError):
            _write(path, stamp)
    return found


def write_stamp(
    target: Target,
    out: Path | None,
    name: str,
    folder: Path,
    outputs: Iterable[Path],
    local_files: Iterable[Path],
    sources: dict[str, list[Any]],
) -> bool:
    """Record a finished build; False where the cache folder cannot be written.

    ``sources`` is the :func:`source_state` of
    :func:`~.dependencies.source_files`, taken *before* the build read them, so
    that an edit during the build is noticed.
    """
    inputs = {**sources, **{str(p): _state(p) for p in local_files if str(p) not in sources}}
    written = {str(p): _state(p) for p in sorted(outputs)}
    stamp = Stamp(name, folder, environment(target), inputs, written, target, out)
    try:
        path = stamp_path(target, out)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, stamp)
    except OSError:
        return False
    return True


def other_owner(folder: Path, target: Target) -> Path | None:
    """Another model file, still there, whose build is in this folder of the cache."""
    for path in sorted((cache_root() / "stamps").glob("*.json")):
        stamp = _read(path)
        owner = stamp.target.path if stamp is not None else None
        if stamp is None or owner is None or owner == target.path or stamp.folder != folder:
            continue
        if owner.exists():
            return owner
    return None


def known_builds() -> list[tuple[str, Target, Path | None]]:
    """Every build on record of this installation: name, target, and the folder asked for."""
    found = []
    for path in sorted((cache_root() / "stamps").glob("*.json")):
        stamp = _read(path)
        if stamp is not None and stamp_path(stamp.target, stamp.out) == path:
            found.append((stamp.name, stamp.target, stamp.out))
    return found


def drop_stamp(target: Target, out: Path | None) -> None:
    """Forget a build, because its files are about to change."""
    with contextlib.suppress(OSError):
        stamp_path(target, out).unlink()


def source_state(paths: Iterable[Path]) -> dict[str, list[Any]]:
    """Size, time and hash of files as they are now."""
    return {str(p): _state(p) for p in paths}


def environment(target: Target) -> dict[str, Any]:
    """Versions and settings that decide what a build gives."""
    return {
        "definition": definition(target),
        "bestiary": __version__,
        "python": f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}",
        "compiler": _compiler_state(),
        "flags": " ".join(f"{k}={os.environ.get(k, '')}" for k in ("CFLAGS", "LDFLAGS")),
        **package_versions(PACKAGES),
    }


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of installed distributions, read off folder names (metadata is slow to read)."""
    wanted = {n.lower().replace("-", "_") for n in names}
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            if not entry.endswith((".dist-info", ".egg-info")):
                continue
            stem = entry.rsplit(".", 1)[0]
            name, _, version = stem.partition("-")
            key = name.lower().replace("-", "_")
            if key in wanted and key not in found:
                found[key] = version.partition("-py")[0]
    return dict(sorted(found.items()))


def _compiler_state() -> str:
    """The compiler without asking it: command, file, size and time of change."""
    try:
        command = compiler_command()
    except CompilerMissingError:
        return NO_COMPILER
    parts = [" ".join(command)]
    for word in command[:2]:
        path = shutil.which(word)
        if path is not None:
            info = os.stat(path)
            parts.append(f"{os.path.realpath(path)} {info.st_size} {info.st_mtime_ns}")
    return "; ".join(parts)


def _without_stamp(target: Target, out: Path | None) -> Freshness:
    if target.path is not None:
        return Freshness(MISSING, "was not built before")
    module = f"_kernel{module_suffix()}"
    installed = packaged_models() / target.label
    if not in_checkout() and target.is_packaged and out is None and (installed / module).exists():
        return Freshness(FRESH, "", target.label, installed)  # a wheel's sources do not change
    folder = target.folder(folder_name(target.label, dict(target.options)), out)
    if not (folder / "manifest.json").exists():
        return Freshness(MISSING, "was not built before", target.label)
    if not (folder / module).exists():
        return Freshness(UNBUILT, "has no compiled module", target.label, folder)
    return Freshness(STALE, "no record of the last build", target.label, folder)


def _not(found: Freshness, state: str, reason: str) -> Freshness:
    return Freshness(state, reason, found.name, found.folder)


def _gone(name: str) -> str:
    return f"{name} is gone"


def _state(path: Path) -> list[Any]:
    info = path.stat()
    return [info.st_size, info.st_mtime_ns, sha256(path.read_bytes())]


def _compare(name: str, record: list[Any]) -> str:
    """Say "same", "touched" (time only; the record is renewed), "changed" or "gone"."""
    try:
        info = os.stat(name)
        if [info.st_size, info.st_mtime_ns] == record[:2]:
            return "same"
        if info.st_size != record[0] or sha256(Path(name).read_bytes()) != record[2]:
            return "changed"
    except OSError:
        return "gone"
    record[1] = info.st_mtime_ns
    return "touched"


def _read(path: Path) -> Stamp | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            return None
        return Stamp(
            data["name"],
            Path(data["folder"]),
            data["environment"],
            data["inputs"],
            data["outputs"],
            Target(
                data["label"],
                Path(data["path"]) if data["path"] else None,
                tuple((k, v) for k, v in data["options"]),
                tuple(data.get("functions", ())),
            ),
            Path(data["out"]) if data["out"] else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, stamp: Stamp) -> None:
    write_atomically(
        path,
        json.dumps(
            {
                "format": FORMAT,
                "name": stamp.name,
                "folder": str(stamp.folder),
                "environment": stamp.environment,
                "inputs": stamp.inputs,
                "outputs": stamp.outputs,
                "label": stamp.target.label,
                "path": str(stamp.target.path or ""),
                "options": stamp.target.options,
                "functions": stamp.target.functions,
                "out": str(stamp.out or ""),
            }
        ),
    )
