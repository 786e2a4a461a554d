"""Bestiary: an animal-like robot, from bodies and joints to equations, code and motion.

``bestiary.load(name)`` gives a robot, building it first where that is needed.
Everything is imported on first use, so that ``import bestiary`` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loading import load as load
    from .modeling.version import __version__ as __version__

_HOME = {"load": ".loading", "__version__": ".modeling.version"}
_FOLDERS = ("build_tools", "generated", "modeling", "solvers")

__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    if name in _FOLDERS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_FOLDERS})
