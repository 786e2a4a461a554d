"""Generated robots and their loader.

    from bestiary import generated
    robot = generated.load("sea_lion")
    robot.mass_matrix(robot.neutral)

The folders beside this file are written by ``bestiary build``; each can be
copied into firmware as it is.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.animals.naming import (
    canonical,
    folder_name,
    normal_selection,
    selection_suffix,
)

from .batch import batch_methods
from .checks import Checker
from .errors import (
    BestiaryError,
    GeneratedFolderError,
    LimitError,
    MissingFunctionError,
    ModelInputError,
    ModelNotFoundError,
    NotCompiledWarning,
    SingularityError,
    StepLimitError,
    listed,
    suggestion,
)
from .folder import (
    MANIFEST,
    ModelFolder,
    cache_folder,
    find_folders,
    search_path,
)
from .numpy_kernel import numpy_kernel
from .quantities import Parameters, Quantities, Quantity, Trajectory
from .robot import Robot, known_variant

__all__ = [
    "BestiaryError",
    "Entry",
    "GeneratedFolderError",
    "LimitError",
    "MissingFunctionError",
    "ModelInputError",
    "ModelNotFoundError",
    "NotCompiledWarning",
    "Parameters",
    "Quantities",
    "Quantity",
    "Robot",
    "SingularityError",
    "StepLimitError",
    "Trajectory",
    "available",
    "cache_folder",
    "folder_name",
    "load",
]


@dataclass(frozen=True)
class Entry:
    """A model that can be loaded."""

    name: str
    folder: Path
    compiled: bool


def load(
    name: str | os.PathLike[str],
    variant: str | None = None,
    base: str | None = None,
    *,
    compiled: bool | None = None,
    functions: Iterable[str] = (),
    **options: Any,
) -> Robot:
    """Load a generated robot.

    Parameters
    ----------
    name:
        Name of the model, or the path of a generated folder (a ``Path``, or
        text with a separator in it).
    variant:
        A named set of parameter values (``robot.variants``); defaults for None.
    base:
        Orientation of a floating base, such as ``"quaternion"``.
    compiled:
        True insists on the compiled form, False asks for the NumPy form; by
        default the compiled form is used where it is, else NumPy with a warning.
    functions:
        Functions and groups that it was built with (``bestiary build --functions``);
        without such a build the whole robot serves.  By default the whole robot.
    options:
        Further options that the model was built with (``segments=3``).

    Returns
    -------
    Robot
        See :class:`bestiary.generated.robot.Robot`.

    Raises
    ------
    ModelNotFoundError
        If no such model is built (the message says how to build it), or
        ``compiled=True`` and it is not compiled.
    ModelInputError
        If the model has no such variant, option, or value of an option.
    GeneratedFolderError
        If the folder cannot be read.

    Warns
    -----
    NotCompiledWarning
        If the NumPy form has to serve.
    """
    folder = _find(name, {"base": base, **options}, functions)
    known_variant(folder.model, variant)
    return _robot_class(folder, compiled)(None, variant)


def available() -> list[Entry]:
    """The models that can be loaded, built-in ones first, sorted by name."""
    entries = []
    for name, path in find_folders().items():
        try:
            folder = ModelFolder(path, name)
        except GeneratedFolderError:
            continue
        entries.append(Entry(name, path, folder.why_not_compiled() is None))
    return entries


def restore(
    reference: str,
    variant: str | None,
    values: Mapping[str, float],
    program_sha256: str,
    compiled: bool,
) -> Robot:
    """Load a pickled robot: the same model, in the same form, with the same parameter values.

    Raises
    ------
    ModelNotFoundError
        If the model is not there any more.
    GeneratedFolderError
        If it has been built anew with other equations.
    """
    folder = _find(Path(reference) if os.sep in reference else reference, {})
    if folder.model.program_sha256 != program_sha256:
        raise GeneratedFolderError(
            f"{folder.model.name} was pickled with other equations than those in {folder.path}"
        )
    robot = _robot_class(folder, None if compiled else False)(None, variant)
    return robot.with_parameters(**values) if values else robot


_folders: dict[tuple[str, int, int], ModelFolder] = {}
_classes: dict[tuple[Any, ...], type[Robot]] = {}


def _find(
    name: str | os.PathLike[str], options: Mapping[str, Any], functions: Iterable[str] = ()
) -> ModelFolder:
    if not isinstance(name, str) or os.sep in name:
        path = Path(name).expanduser().resolve()
        if not (path / MANIFEST).exists():
            raise ModelNotFoundError(
                f"{path} is not a generated folder: there is no {MANIFEST} in it"
            )
        return _open(path, str(path))
    given = {key: value for key, value in options.items() if value is not None}
    selection = normal_selection(functions)
    only = selection_suffix(selection)
    wanted = folder_name(*canonical(name, given))
    found = find_folders()
    for candidate in dict.fromkeys((f"{wanted}{only}", f"{name}{only}", wanted, name)):
        if candidate in found:
            folder = _open(found[candidate], candidate)
            if _has_options(folder, given, candidate.removesuffix(only) == name):
                return folder
    _check_options(name, given)
    places = ", ".join(map(str, search_path()))
    ours = name in BUILT_IN
    command = _build_command(name if ours else "FILE.py", given, selection)
    closest = suggestion(wanted, found if ours else {**BUILT_IN, **found})
    advice = f"Build it with: {command}"
    if not ours:
        advice += f" (its model file; built-in robots are {', '.join(BUILT_IN)})"
    raise ModelNotFoundError(
        f"no generated model {wanted!r}{closest}\n"
        f"{advice}\n"
        f"Built models: {listed(found)} (looked in {places})"
    )


def _check_options(name: str, given: Mapping[str, Any]) -> None:
    """Refuse options that a built-in robot does not have, instead of advising to build it.

    The model is described for that, but nothing is derived.

    Raises
    ------
    ModelInputError
        Naming the option, or what is wrong with its value.
    """
    entry = BUILT_IN.get(name)
    if entry is None:
        return
    known = [p for p in signature(entry.factory()).parameters]
    for option in given:
        if option not in known:
            raise ModelInputError(
                f"{name} has no option {option!r}{suggestion(option, known)}; "
                f"it has {', '.join(known)}"
            )
    try:
        entry.model(**given)
    except (ValueError, TypeError) as error:
        settings = ", ".join(f"{k}={v!r}" for k, v in given.items())
        raise ModelInputError(f"{name} ({settings}): {error}") from error


def _has_options(folder: ModelFolder, given: Mapping[str, Any], plain: bool) -> bool:
    """Whether a folder was built with the given options.

    The name of a folder says its options, but a plain name stands for the
    model's own: those are looked up in the manifest.
    """
    built: Mapping[str, Any] = folder.model.manifest["options"]
    return all(built.get(key, None if plain else value) == value for key, value in given.items())


def _open(path: Path, reference: str) -> ModelFolder:
    status = (path / MANIFEST).stat()
    key = (str(path), status.st_ino, status.st_mtime_ns)
    if key not in _folders:
        _folders[key] = ModelFolder(path, reference)
    return _folders[key]


def _build_command(name: str, options: Mapping[str, Any], selection: tuple[str, ...]) -> str:
    settings = [f"--set {k}={v}" for k, v in options.items()]
    only = ["--functions", *selection] if selection else []
    return " ".join(["bestiary build", name, *settings, *only])


def _robot_class(folder: ModelFolder, compiled: bool | None) -> type[Robot]:
    module = "" if compiled is False else folder.compiled_module()
    if isinstance(module, str) and compiled is not False:
        command = f"bestiary build {folder.path.name}"
        message = f"{folder.model.name} in {folder.path}: {module}. Compile it with: {command}"
        if compiled:
            raise ModelNotFoundError(message)
        warnings.warn(
            f"{message}. Until then its slower NumPy form serves.", NotCompiledWarning, stacklevel=3
        )
    key = (id(folder), None if isinstance(module, str) else module)
    if key not in _classes:
        _classes[key] = make_robot_class(folder, None if isinstance(module, str) else module)
    return _classes[key]


def make_robot_class(folder: ModelFolder, module: Any = None) -> type[Robot]:
    """The class of a model's robots, over a compiled module or in NumPy form (None)."""
    model = folder.model
    kernel = numpy_kernel(folder) if module is None else module.Kernel
    order = tuple(model.functions) if module is None else tuple(module.FUNCTIONS)
    title = "".join(part.capitalize() for part in model.name.split("_"))
    return type(
        title,
        (Robot, kernel),
        {
            "__doc__": f"{model.manifest['title'] or title}.  See :class:`Robot`.",
            "__module__": __name__,
            "_model": model,
            "_folder": folder,
            "_checker": Checker(model),
            "_order": order,
            "_compiled": module is not None,
            **batch_methods(model),
        },
    )
