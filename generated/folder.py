"""A generated folder on disk: manifest, program, compiled module, and where folders are.

Nothing here needs a compiler or SymPy.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .description import ModelDescription
from .errors import GeneratedFolderError

if TYPE_CHECKING:
    from bestiary.build_tools.backends.numpy import NumpyFunction
    from bestiary.modeling.program import Program

CACHE_VARIABLE = "BESTIARY_CACHE_DIR"
MANIFEST = "manifest.json"
PROGRAM = "program.json"
STAMP = "_kernel.stamp.json"
MODULE = "_kernel"


class ModelFolder:
    """The generated folder of one model.

    Parameters
    ----------
    path:
        The folder.
    reference:
        How to find it again: a model's folder name, or the path itself.

    Raises
    ------
    GeneratedFolderError
        If the manifest is missing or cannot be read.
    """

    def __init__(self, path: Path, reference: str) -> None:
        self.path = path
        self.reference = reference
        self.model = ModelDescription(self._json(MANIFEST), str(path / MANIFEST))
        self._numpy_functions: dict[str, NumpyFunction] = {}

    def _json(self, name: str) -> Mapping[str, Any]:
        try:
            data = json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise GeneratedFolderError(
                f"{self.path}: there is no {name}; build the model again"
            ) from None
        except (OSError, ValueError) as error:
            raise GeneratedFolderError(f"{self.path / name} cannot be read: {error}") from error
        if not isinstance(data, dict):
            raise GeneratedFolderError(f"{self.path / name} is not a JSON object")
        return data

    @cached_property
    def program(self) -> Program:
        """The straight-line program of the model.

        Raises
        ------
        GeneratedFolderError
            If it is missing, unreadable or not the one of the manifest.
        """
        from bestiary.modeling.program import Program, ProgramError

        try:
            program = Program.from_dict(self._json(PROGRAM))
        except (ProgramError, KeyError, TypeError, IndexError) as error:
            raise GeneratedFolderError(f"{self.path / PROGRAM} cannot be read: {error}") from error
        if program.content_hash != self.model.program_sha256:
            raise GeneratedFolderError(
                f"{self.path}: {PROGRAM} and {MANIFEST} are of different builds; "
                "build the model again"
            )
        return program

    def numpy_function(self, name: str) -> NumpyFunction:
        """The NumPy form of a function, made on first use."""
        if name not in self._numpy_functions:
            from bestiary.build_tools.backends.numpy import numpy_function

            self._numpy_functions[name] = numpy_function(self.program, name)
        return self._numpy_functions[name]

    # -- the compiled module ------------------------------------------------
    @property
    def module_path(self) -> Path | None:
        """The compiled module for this interpreter, if there is one."""
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        path = self.path / f"{MODULE}{suffix}"
        return path if path.exists() else None

    @property
    def stamp(self) -> Mapping[str, Any]:
        """What the build noted beside the module (compiler, flags, sources); {} if nothing."""
        try:
            return self._json(STAMP)
        except GeneratedFolderError:
            return {}

    def why_not_compiled(self) -> str | None:
        """Why the compiled module cannot serve, or None if it can (without importing it)."""
        path = self.module_path
        if path is None:
            others = sorted(p.name for p in self.path.glob(f"{MODULE}.*") if _is_module(p))
            if others:
                return (
                    f"the compiled module {others[0]} is not for this interpreter "
                    f"({sysconfig.get_config_var('EXT_SUFFIX')})"
                )
            return "it has not been compiled"
        stamp = self.stamp
        module, sources = stamp.get("module"), stamp.get("sources", {})
        if module not in (None, path.name) or not isinstance(sources, Mapping):
            return f"{STAMP} is of another module"
        digest = stamp.get("module_sha256")
        if digest is not None and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return f"its compiled module {path.name} is damaged"  # loading it could crash Python
        for name, digest in sources.items():
            try:
                content = (self.path / name).read_bytes()
            except OSError:
                return f"its source {name} is gone"
            if hashlib.sha256(content).hexdigest() != digest:
                return f"it was compiled from another {name}"
        return None

    def compiled_module(self) -> ModuleType | str:
        """The compiled module, or why there is none."""
        reason = self.why_not_compiled()
        if reason is not None:
            return reason
        path = self.module_path
        assert path is not None
        try:
            module = _import_extension(path)
        except ImportError as error:
            return f"its compiled module cannot be loaded: {error}"
        if getattr(module, "PROGRAM_SHA256", None) != self.model.program_sha256:
            return "it was compiled from another version of the model"
        return module


_imported: dict[tuple[str, int, int], ModuleType] = {}


def _import_extension(path: Path) -> ModuleType:
    """Import an extension by its path; the same file only once a process."""
    status = path.stat()
    key = (str(path), status.st_ino, status.st_mtime_ns)
    if key in _imported:
        return _imported[key]
    if any(known[0] == key[0] for known in _imported):
        # The platform's loader knows libraries by their path: a module that was built anew
        # in the meantime must come under another one.
        with tempfile.TemporaryDirectory(prefix="bestiary-", ignore_cleanup_errors=True) as folder:
            copy = shutil.copyfile(path, Path(folder) / path.name)
            _imported[key] = _load_extension(copy, path.parent.name)
    else:
        _imported[key] = _load_extension(path, path.parent.name)
    return _imported[key]


def _load_extension(path: Path, model: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bestiary.generated.{model}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not an extension module")
    spec.name = f"{spec.name}.{MODULE}"
    spec.loader.name = spec.name  # type: ignore[attr-defined]
    before = sys.modules.get(MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if before is None:  # Cython registers the bare name of the file as well
        sys.modules.pop(MODULE, None)
    return module


def _is_module(path: Path) -> bool:
    return path.suffix in (".so", ".pyd", ".dll")


# -- places ---------------------------------------------------------
def packaged_models() -> Path:
    """The folder of the built-in models: this package, links resolved."""
    return Path(__file__).resolve().parent


def cache_folder() -> Path:
    """The user's cache folder, or what the environment variable BESTIARY_CACHE_DIR says."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("bestiary", appauthor=False))


def search_path() -> tuple[Path, ...]:
    """Where models are looked for, first to last."""
    return packaged_models(), cache_folder() / "models"


def find_folders() -> dict[str, Path]:
    """All generated models by folder name; the first of a name on the search path counts.

    A later folder takes its place if it holds the same model compiled, and the
    first does not: a build lands there where the first cannot be written.
    """
    found: dict[str, Path] = {}
    for place in search_path():
        if not place.is_dir():
            continue
        for manifest in sorted(place.glob(f"*/{MANIFEST}")):
            folder = manifest.parent
            first = found.setdefault(folder.name, folder)
            if first != folder and _is_compiled_twin(folder, first):
                found[folder.name] = folder
    return found


def _is_compiled_twin(folder: Path, first: Path) -> bool:
    module = f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if (first / module).exists() or not (folder / module).exists():
        return False
    return (folder / MANIFEST).read_bytes() == (first / MANIFEST).read_bytes()
