"""Symbols only: programs, bodies, joints, loads, formalisms and the animals.

Names are loaded on first use, so that reading a finished program (which needs
no SymPy) stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .control import add_tracking_controller as add_tracking_controller
    from .equations import EquationsOfMotion as EquationsOfMotion
    from .errors import ModelError as ModelError
    from .errors import ModelWarning as ModelWarning
    from .formalisms.inertia_matrix import inertia_matrix as inertia_matrix
    from .formalisms.poincare import poincare as poincare
    from .joints import Compound as Compound
    from .joints import Cylindrical as Cylindrical
    from .joints import Fixed as Fixed
    from .joints import Floating as Floating
    from .joints import Follower as Follower
    from .joints import Planar as Planar
    from .joints import Prismatic as Prismatic
    from .joints import Revolute as Revolute
    from .joints import Spherical as Spherical
    from .joints import Universal as Universal
    from .model import Model as Model
    from .selection import select_functions as select_functions

JOINTS = (
    *("Compound", "Cylindrical", "Fixed", "Floating", "Follower", "Planar"),
    *("Prismatic", "Revolute", "Spherical", "Universal"),
)
HOME = {
    "add_tracking_controller": "control",
    "EquationsOfMotion": "equations",
    "ModelError": "errors",
    "ModelWarning": "errors",
    "inertia_matrix": "formalisms.inertia_matrix",
    "poincare": "formalisms.poincare",
    "Model": "model",
    "select_functions": "selection",
    **dict.fromkeys(JOINTS, "joints"),
}

__all__ = sorted(HOME)


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
