"""What can be built: a built-in robot, one with other options, or a user's model file."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestiary.modeling.animals import BUILT_IN

from .errors import TargetError
from .locations import (
    cached_models,
    canonical,
    folder_name,
    in_checkout,
    normal_selection,
    packaged_models,
    selection_suffix,
)
from .user_file import check_options, closest, run_user_file

if TYPE_CHECKING:
    from bestiary.modeling import EquationsOfMotion


@dataclass(frozen=True)
class Target:
    """One robot to build.

    ``path`` is the model file of a user's robot and None for a built-in one;
    ``options`` are those that differ from the built-in robot of that label;
    ``functions`` names functions and groups of them (see
    :func:`~bestiary.modeling.selection.select_functions`), none for all.  A robot
    with some functions has a folder of its own and the same names in C.
    """

    label: str
    path: Path | None = None
    options: tuple[tuple[str, Any], ...] = ()
    functions: tuple[str, ...] = ()

    @property
    def is_packaged(self) -> bool:
        """Whether this robot belongs in ``generated/``."""
        return self.path is None and not self.options and not self.functions

    def folder(self, name: str, out: Path | None) -> Path:
        """Where the robot lands: ``out``/name, ``generated/`` of a checkout, or the user's cache.

        Parameters
        ----------
        name:
            Name of the model (of a user's file it is known after it ran).
        out:
            What the user asked for, if anything.
        """
        only = selection_suffix(self.functions)
        if out is not None:
            return out / f"{name}{only}"
        if self.is_packaged and in_checkout():
            return packaged_models() / self.label
        label = name if self.path is not None else self.label
        return cached_models() / f"{folder_name(label, dict(self.options))}{only}"


@dataclass(frozen=True)
class Derived:
    """Derived equations, the local files they depend on, and warnings on the way."""

    equations: EquationsOfMotion
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def parse_options(pairs: Iterable[str]) -> dict[str, Any]:
    """Options from ``key=value`` texts; values are Python literals, or else text.

    Raises
    ------
    TargetError
        If a text has no ``=`` or no identifier before it.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip().isidentifier():
            raise TargetError(f"--set expects key=value, got {pair!r}")
        try:
            options[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            options[key.strip()] = value.strip()
    return options


def parse_target(
    text: str, options: Mapping[str, Any] | None = None, functions: Iterable[str] = ()
) -> Target:
    """The robot that a name or a path means, with all its functions or the named ones.

    Raises
    ------
    TargetError
        If it is neither a built-in robot nor a Python file; names the closest.
    """
    given = dict(options or {})
    wanted = normal_selection(functions)
    if text in BUILT_IN:
        label, remaining = canonical(text, given)
        return Target(label, None, tuple(sorted(remaining.items())), wanted)
    path = Path(text).expanduser()
    if path.suffix == ".py" or path.is_file():
        if not path.is_file():
            raise TargetError(f"there is no model file {text}")
        return Target(path.stem, path.resolve(), tuple(sorted(given.items())), wanted)
    raise TargetError(
        f"{text!r} is neither a built-in robot{closest(text, list(BUILT_IN))} nor a Python file; "
        f"built-in are {', '.join(BUILT_IN)}"
    )


def derive(target: Target) -> Derived:
    """Run the model's description and derive its equations.

    Raises
    ------
    TargetError
        With a sentence on what is wrong in the model, and where.
    """
    from bestiary.modeling import EquationsOfMotion, Model, ModelError, select_functions

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = dict(target.options)
        files: tuple[Path, ...] = ()
        if target.path is None:
            entry = BUILT_IN[target.label]
            options = {**dict(entry.options), **options}
            made, formalism = _built_in(target.label, options), entry.formalism
            where = target.label
        else:
            made, files = run_user_file(target.path, options)
            formalism, where = "poincare", str(target.path)
        if isinstance(made, EquationsOfMotion):
            equations = made
        elif isinstance(made, Model):
            equations = _equations(where, made, formalism)
        else:
            raise TargetError(
                f"{where}: robot() must return a bestiary.modeling.Model "
                f"(or its EquationsOfMotion), got {_kind(made)}"
            )
    if target.path is not None and equations.name in BUILT_IN:
        raise TargetError(
            f"{where}: the name {equations.name!r} is that of a built-in robot; "
            "give the model another name"
        )
    texts = tuple(dict.fromkeys(str(w.message) for w in caught if _is_about_models(w)))
    # Built-in robots of two sizes must link together, so the name says the options.
    own = dict(target.options)
    name = equations.name if target.path is not None else folder_name(target.label, own)
    named = replace(equations, name=name, options=options)
    try:
        named = select_functions(named, target.functions)
    except ModelError as error:
        raise TargetError(f"--functions: {error}") from error
    return Derived(named, tuple(files), texts)


def _built_in(label: str, options: Mapping[str, Any]) -> Any:
    factory = BUILT_IN[label].factory()
    check_options(label, factory, options)
    try:
        return factory(**options)
    except (ValueError, TypeError) as error:
        raise TargetError(f"{label} ({_listed(options)}): {error}") from error


def _equations(where: str, model: Any, formalism: str) -> EquationsOfMotion:
    from bestiary import modeling

    try:
        equations: EquationsOfMotion = getattr(modeling, formalism)(model)
    except ValueError as error:  # ModelError, DimensionError, ProgramError
        raise TargetError(f"{where}: {error}") from error
    return equations


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in options.items())


def _kind(value: object) -> str:
    return "None (is a `return` missing?)" if value is None else type(value).__name__


def _is_about_models(caught: warnings.WarningMessage) -> bool:
    from bestiary.modeling import ModelWarning

    return issubclass(caught.category, (ModelWarning, UserWarning))
