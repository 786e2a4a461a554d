"""``bestiary.load``: a robot, found or else built."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build_tools.pipeline import BuildResult
    from .build_tools.targets import Target
    from .generated import Robot

_LOG = logging.getLogger("bestiary.build")


def load(
    name: str | os.PathLike[str],
    variant: str | None = None,
    *,
    functions: Iterable[str] = (),
    **options: Any,
) -> Robot:
    """Load a robot, building it first if it is missing or out of date.

    Parameters
    ----------
    name:
        A built-in robot (``"sea_lion"``), the name of one that was built from a
        model file, a model file (``"my_robot.py"``), or a generated folder.
    variant:
        A named set of parameter values.
    functions:
        Build only these functions and groups of functions, such as ``["dynamics"]``;
        by default all.
    options:
        Options of the model, such as ``base="quaternion"``.

    Returns
    -------
    bestiary.generated.Robot
        In compiled form, or in NumPy form with a warning where there is no compiler.

    Raises
    ------
    bestiary.build_tools.errors.BuildError
        If it cannot be built.
    bestiary.generated.BestiaryError
        If there is no such robot or variant.

    Notes
    -----
    A build is told through the logger ``bestiary.build``, and on standard error where
    no logging is set up.
    """
    from . import generated
    from .modeling.animals.naming import normal_selection

    text = os.fspath(name)
    given = {k: v for k, v in options.items() if v is not None}
    target = _target(text, given, normal_selection(functions))
    if target is None:
        return generated.load(name, variant, functions=functions, **options)
    return generated.load(_folder(target), variant)


def _target(text: str, options: Mapping[str, Any], functions: tuple[str, ...]) -> Target | None:
    """What would have to be built: a built-in robot, a model file, or one built before."""
    from .build_tools.freshness import known_builds
    from .build_tools.targets import parse_target
    from .modeling.animals import BUILT_IN

    if text in BUILT_IN or text.endswith(".py"):
        return parse_target(text, options, functions)
    for name, target, out in known_builds():
        same = dict(target.options) == dict(options) and target.functions == functions
        if name == text and same and out is None:
            return target if target.path is None or target.path.exists() else None
    return None


def _folder(target: Target) -> Path:
    """Folder of a target, built if need be."""
    from .build_tools.freshness import freshness

    state = freshness(target)
    if state.is_fresh and state.folder is not None:
        return state.folder
    return _build(target, f"{state.state}{f': {state.reason}' if state.reason else ''}").folder


def _build(target: Target, reason: str) -> BuildResult:
    from .build_tools.pipeline import build

    _say(f"building {target.label} ({reason})")
    result = build(target)
    for text in result.warnings:
        warnings.warn(text, stacklevel=4)
    for note in (*result.notes, *([result.problem] if result.problem else ())):
        _say(note)
    _say(f"built {result.name} in {result.seconds:.1f} s")
    return result


def _say(text: str) -> None:
    """Log, and make sure that somebody hears it: of builds, nothing else of ours."""
    if not _LOG.hasHandlers():
        _LOG.addHandler(logging.StreamHandler())
        _LOG.setLevel(logging.INFO)
    _LOG.info(text)
