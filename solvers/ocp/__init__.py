"""Optimal control: direct collocation that refines, verifies and explains itself.

A problem is stated in words and symbols (:class:`OptimalControlProblem`), solved
on one mesh after another (:func:`solve`), re-simulated, and judged; what comes
back is a :class:`Solution` with its :class:`Verdict`.
"""

from .errors import (
    OptimalControlError,
    SealedSolutionError,
    SolutionFileError,
    SolverUnavailableError,
)
from .homotopy import Ladder, Rung, solve_ladder
from .mesh import Mesh, Section
from .multistart import MultiStart, multistart
from .phase import Phase
from .problem import OptimalControlProblem
from .schemes import Gauss, HermiteSimpson, MultipleShooting, Radau, Scheme, Trapezoid
from .solution import Solution
from .solving import solve
from .status import Status
from .storage import load_solution
from .verdict import NotFinite, Verdict, Violation

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
