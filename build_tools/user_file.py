"""Reading a model from a user's own Python file, with every mishap told in a sentence."""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .errors import TargetError

ENTRY = "robot"
MODEL = "model"


Entry: TypeAlias = Callable[[Path, types.ModuleType], Callable[[Mapping[str, Any]], Any]]


def run_user_file(
    path: Path, options: Mapping[str, Any], entry: Entry | None = None
) -> tuple[Any, tuple[Path, ...]]:
    """What a user's file gives, and the local files that it was made of.

    A model file defines a function ``robot(**options)``, or a module-level
    ``model``.  Its folder is on the import path while it runs, so that it can
    import its neighbours.

    Parameters
    ----------
    path:
        The file.
    options:
        Of what it makes.
    entry:
        Finds in the file's module what to call with the options; a model by default.

    Raises
    ------
    TargetError
        If the file is missing, does not run, or gives nothing; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        kind = "model file" if entry is None else "file"
        raise TargetError(f"cannot read the {kind} {path}: {_reason(error)}") from error
    try:
        code = compile(text, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise TargetError(_syntax_message(path, error)) from error
    linecache.checkcache(str(path))
    importlib.invalidate_caches()
    folder = str(path.parent)
    before = set(sys.modules)
    module = types.ModuleType(f"bestiary_model_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    # compiled neighbours are told apart by whole seconds: an edit within one would go unnoticed
    opened = _watch_opened_files()
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        try:
            exec(code, module.__dict__)
            made = (entry or _entry)(path, module)(options)
        except TargetError:
            raise
        except (Exception, SystemExit) as error:
            raise TargetError(_run_message(path, error)) from error
        return made, _local_files(path, before, opened)
    finally:
        _stop_watching(opened)
        sys.dont_write_bytecode = writes_bytecode
        sys.path.remove(folder)
        for name in set(sys.modules) - before:  # so that an edited neighbour is read anew
            if name == module.__name__ or _is_local(sys.modules[name], path.parent):
                del sys.modules[name]


def _entry(path: Path, module: types.ModuleType) -> Callable[[Mapping[str, Any]], Any]:
    factory, model = getattr(module, ENTRY, None), getattr(module, MODEL, None)
    if callable(factory):

        def call(options: Mapping[str, Any]) -> Any:
            check_options(f"{ENTRY}() of {path.name}", factory, options)
            return factory(**options)

        return call
    if model is not None:

        def constant(options: Mapping[str, Any]) -> Any:
            if options:
                raise TargetError(
                    f"{path.name} defines a module-level `model`, which takes no options "
                    f"(got {', '.join(options)}); define a function robot() with such arguments"
                )
            return model

        return constant
    hint = "" if factory is None else f" (`{ENTRY}` is there, but it is not a function)"
    raise TargetError(
        f"{path} defines no model{hint}: it needs a function robot() that returns a "
        "bestiary.modeling.Model, or a module-level variable `model`"
    )


def check_options(what: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a model's function does not have.

    Raises
    ------
    TargetError
        Names the option, the closest that exists, and all that exist.
    """
    parameters = inspect.signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in options:
        if name not in known:
            raise TargetError(
                f"{what} has no option {name!r}{closest(name, known)}; "
                f"it has {', '.join(known) or 'none'}"
            )


def closest(name: str, known: list[str]) -> str:
    """A remark on the most similar known name, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _syntax_message(path: Path, error: SyntaxError | ValueError) -> str:
    if not isinstance(error, SyntaxError):
        return f"{path} is not Python: {error}"
    line = (error.text or "").strip()
    shown = f"\n    {line}" if line else ""
    return f"{path}, line {error.lineno}: syntax error: {error.msg}{shown}"


def _run_message(path: Path, error: BaseException) -> str:
    """The error, and the deepest line of the user's own files that it came from."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if Path(f.filename).parent == path.parent
    ]
    if isinstance(error, SyntaxError) and error.filename:
        return _syntax_message(Path(error.filename), error)
    where = f"{path}" if not frames else f"{frames[-1].filename}, line {frames[-1].lineno}"
    shown = f"\n    {frames[-1].line}" if frames and frames[-1].line else ""
    return f"{where}: {_reason(error)}{shown}"


def _reason(error: BaseException) -> str:
    from bestiary.modeling.errors import ModelError

    text = str(error).strip("'") if isinstance(error, KeyError) else str(error)
    if isinstance(error, OSError):
        return error.strerror or text
    plain = isinstance(error, ModelError) or type(error).__module__.startswith("bestiary.")
    return text if plain and text else f"{type(error).__name__}: {text}"


def _is_local(module: types.ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    if not file:
        return False
    where = Path(file)
    outside = "site-packages" not in where.parts and not where.is_relative_to(sys.base_prefix)
    return outside and where.is_relative_to(folder)


def _local_files(path: Path, before: set[str], opened: Iterable[str]) -> tuple[Path, ...]:
    """The model file, its neighbours that it imported, and data beside it that it read."""
    found = {path}
    for name in opened:
        file = Path(name).absolute()
        if file.is_relative_to(path.parent) and file.suffix != ".pyc" and file.is_file():
            found.add(file)
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        if _is_local(module, path.parent) and getattr(module, "__file__", None):
            found.add(Path(str(module.__file__)))
    return tuple(sorted(found))


_watching: list[set[str]] = []
_hooks: list[bool] = []


def _watch_opened_files() -> set[str]:
    """A set that from now on gets the names of all files opened for reading."""
    if not _hooks:  # an audit hook stays for good, so there is one only
        sys.addaudithook(_note_opened)
        _hooks.append(True)
    opened: set[str] = set()
    _watching.append(opened)
    return opened


def _stop_watching(opened: set[str]) -> None:
    _watching[:] = [o for o in _watching if o is not opened]


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event != "open":
        return
    name, mode = arguments[0], arguments[1]
    if isinstance(name, (str, os.PathLike)) and not (mode and set(str(mode)) & set("wax+")):
        for opened in _watching:
            opened.add(os.fspath(name))
