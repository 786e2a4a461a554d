"""How a solve ended, in one enumeration for all solvers."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended; only ``SOLVED`` is a success."""

    SOLVED = "solved"
    REPLAY_DISAGREES = "the solver converged, but simulating the motion gives another one"
    TOLERANCE_NOT_REACHED = "the solver converged, but the mesh is too coarse for the tolerance"
    ACCEPTABLE = "the solver stopped near a solution, short of its tolerance"
    INFEASIBLE = "the constraints cannot be met, or not from this guess"
    RESTORATION_FAILED = "no point could be found that violates the constraints less"
    UNBOUNDED = "the cost or the variables grow without bound"
    ITERATION_LIMIT = "the iterations ran out"
    TIME_LIMIT = "the time ran out"
    NO_PROGRESS = "steps became too small to make progress"
    NOT_A_NUMBER = "a function of the problem gave NaN or infinity"
    INTERRUPTED = "interrupted; the best motion so far was kept"
    TOO_FEW_FREEDOMS = "there are more equations than variables"
    FAILED = "the solver failed"

    @property
    def success(self) -> bool:
        """Whether the motion may be used as the solution."""
        return self is Status.SOLVED

    @property
    def converged(self) -> bool:
        """Whether the nonlinear program itself was solved."""
        return self in (Status.SOLVED, Status.REPLAY_DISAGREES, Status.TOLERANCE_NOT_REACHED)
