"""What can be wrong with an optimal-control problem before, and after, it is solved."""

from __future__ import annotations


class OptimalControlError(ValueError):
    """A problem that cannot be stated, transcribed or read as it was asked."""


class SolverUnavailableError(OptimalControlError):
    """A solver or linear solver that is not there on this machine."""


class SealedSolutionError(OptimalControlError):
    """Values of a failed solve were asked for before ``unseal()``."""


class SolutionFileError(OptimalControlError):
    """A file that is no solution, is damaged, or comes from another version."""
