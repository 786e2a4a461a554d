"""Where things are: the source checkout, the generated folders, the user's cache.

Standard library only (platformdirs aside), so that asking is cheap.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from bestiary.modeling.animals import BUILT_IN
from bestiary.modeling.animals.naming import canonical as canonical
from bestiary.modeling.animals.naming import folder_name as folder_name
from bestiary.modeling.animals.naming import normal_selection as normal_selection
from bestiary.modeling.animals.naming import selection_suffix as selection_suffix

CACHE_VARIABLE = "BESTIARY_CACHE_DIR"


@lru_cache(maxsize=1)
def source_root() -> Path:
    """The folder that holds ``modeling`` and ``build_tools`` (links resolved)."""
    return Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def in_checkout() -> bool:
    """Whether the package runs from a source checkout (an editable installation)."""
    root = source_root()
    return all((root / part).exists() for part in ("pyproject.toml", "app/cli", "generated"))


def packaged_models() -> Path:
    """The folder of the built-in robots: ``generated/``, in a checkout or installed."""
    return source_root() / "generated"


def cache_root() -> Path:
    """The user's cache folder, or what the environment variable BESTIARY_CACHE_DIR says."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("bestiary", appauthor=False))


def cached_models() -> Path:
    """Where robots land that are not built-in, or whose own folder cannot be written."""
    return cache_root() / "models"


def is_writable(folder: Path) -> bool:
    """Whether a folder can be written, or made if it is missing.

    Tried with a file that is removed at once, because permissions do not tell
    of read-only file systems; the folder itself is not made.
    """
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        handle, name = tempfile.mkstemp(prefix=".write-test-", dir=existing)
        os.close(handle)
        os.unlink(name)
    except OSError:
        return False
    return True


def robot_folders(
    label: str, options: Mapping[str, Any] | None = None, functions: Iterable[str] = ()
) -> list[Path]:
    """Where a robot may have landed, in the order of preference; none need exist.

    Parameters
    ----------
    label:
        Name of a built-in robot or of a user's model.
    options:
        Options that it was built with.
    functions:
        Functions and groups that it was built with; none for all.
    """
    name, remaining = canonical(label, options or {})
    only = selection_suffix(functions)
    folder = f"{folder_name(name, remaining)}{only}"
    plain = name in BUILT_IN and not remaining and not only
    own = [packaged_models() / folder] if plain else []
    return [*own, cached_models() / folder]
