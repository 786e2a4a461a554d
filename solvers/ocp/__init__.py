"""Optimal control: direct collocation that refines, verifies and explains itself.

A problem is stated in words and symbols (:class:`OptimalControlProblem`), solved
on one mesh after another (:func:`solve`), re-simulated, and judged; what comes
back is a :class:`Solution` with its :class:`Verdict`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    OptimalControlError,
    SealedSolutionError,
    SolutionFileError,
    SolverUnavailableError,
)
from .mesh import Mesh, Section
from .phase import Phase
from .problem import OptimalControlProblem
from .schemes import Gauss, HermiteSimpson, MultipleShooting, Radau, Scheme, Trapezoid
from .solution import Solution
from .solving import solve
from .status import Status
from .verdict import NotFinite, Verdict, Violation

if TYPE_CHECKING:
    from .homotopy import Ladder, Rung, solve_ladder
    from .many_starts import MultiStart, multistart
    from .storage import load_solution

__all__ = [
    "Gauss",
    "HermiteSimpson",
    "Ladder",
    "Mesh",
    "MultiStart",
    "MultipleShooting",
    "NotFinite",
    "OptimalControlError",
    "OptimalControlProblem",
    "Phase",
    "Radau",
    "Rung",
    "Scheme",
    "SealedSolutionError",
    "Section",
    "Solution",
    "SolutionFileError",
    "SolverUnavailableError",
    "Status",
    "Trapezoid",
    "Verdict",
    "Violation",
    "load_solution",
    "multistart",
    "solve",
    "solve_ladder",
]

_LATER = {
    "Ladder": "homotopy",
    "MultiStart": "many_starts",
    "Rung": "homotopy",
    "load_solution": "storage",
    "multistart": "many_starts",
    "solve_ladder": "homotopy",
}
"""What is imported when it is first asked for: most programs need none of it."""


if not TYPE_CHECKING:  # type checkers have read the imports above

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found
