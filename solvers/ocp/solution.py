"""A solved problem: named motions on any grid, with its verdict; sealed if it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .errors import OptimalControlError, SealedSolutionError
from .problem import OptimalControlProblem
from .refinement import Refined
from .replay import PhaseReplay
from .status import Status
from .trajectory import PhaseTrajectory
from .verdict import Verdict

Array: TypeAlias = np.ndarray


class Solution:
    """What a solve found.

    Attributes
    ----------
    problem, verdict:
        The statement, and what the solve is worth.
    refined:
        The last mesh with its program and outcome, and all rounds before it.
    seconds:
        Wall time from statement to verdict.
    """

    def __init__(
        self,
        problem: OptimalControlProblem,
        refined: Refined,
        verdict: Verdict,
        replays: Sequence[PhaseReplay] | None,
        options: Mapping[str, Any],
        seconds: float,
        constants: Mapping[str, float],
    ) -> None:
        self.problem, self.refined, self.verdict = problem, refined, verdict
        self.options, self.seconds = dict(options), seconds
        self.constants = dict(constants)
        self._replays = replays
        self._sealed = not verdict.success

    # -- state -------------------------------------------------------------
    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.verdict.status

    @property
    def success(self) -> bool:
        """Whether the motion may be used."""
        return self.verdict.success

    @property
    def sealed(self) -> bool:
        """Whether values are withheld because the solve failed."""
        return self._sealed

    def unseal(self) -> Solution:
        """Open a failed solution: its values may be looked at, not trusted."""
        self._sealed = False
        return self

    def _open(self) -> None:
        if self._sealed:
            why = "; ".join(self.verdict.reasons) or self.status.value
            raise SealedSolutionError(
                f"{self.problem.name}: not solved ({why}); see solution.report(), or "
                "solution.unseal() to look at the last iterate all the same"
            )

    # -- values ------------------------------------------------------------
    @property
    def cost(self) -> float:
        """The cost."""
        self._open()
        return self.refined.outcome.cost

    @property
    def parameters(self) -> dict[str, float]:
        """Values found for the problem's parameters."""
        self._open()
        x = self.refined.outcome.x[self.refined.transcription.parameters]
        return {v.name: float(value) for v, value in zip(self.problem.parameters(), x, strict=True)}

    def motion(self, phase: str | None = None) -> PhaseTrajectory:
        """The motion of a phase (of the only one by default)."""
        self._open()
        return self.refined.motions[self._phase(phase)]

    def _phase(self, phase: str | None) -> int:
        names = [p.name for p in self.problem.phases]
        if phase is None and len(names) == 1:
            return 0
        if phase not in names:
            raise OptimalControlError(
                f"{self.problem.name}: name one of its phases: {', '.join(names)}"
            )
        return names.index(phase)

    def duration(self, phase: str | None = None) -> float:
        """Length of a phase [s]."""
        motion = self.motion(phase)
        return motion.end - motion.start

    def value(self, name: str, times: Any = None, phase: str | None = None) -> Array:
        """(T,) values of a state, control or algebraic variable at times (at the nodes by default)."""
        motion = self.motion(phase)
        functions = self.refined.transcription.phases[self._phase(phase)].functions
        t = motion.layout.state_times(motion.boundaries) if times is None else np.atleast_1d(times)
        for variables, evaluate in (
            (functions.states, motion.states_at),
            (functions.controls, motion.controls_at),
            (functions.algebraics, motion.algebraics_at),
        ):
            names = [v.name for v in variables]
            if name in names:
                return evaluate(t)[:, names.index(name)]
        self.problem.phases[self._phase(phase)][name]  # raises with a suggestion
        raise AssertionError(name)

    def replay(self) -> Sequence[PhaseReplay]:
        """Errors of the re-simulation, by phase."""
        if self._replays is None:
            raise SealedSolutionError(f"{self.problem.name}: there is no motion to replay")
        return self._replays
