"""One program on one mesh, solved again and again with other numbers: the steps of a ladder.

What costs time at a small step is set-up, not the solver.  Here the program is built and
its functions are compiled once; constants and fixed start values change between solves.
Nothing is refined or re-simulated: only where a ladder ends deserves that, and
:meth:`FixedProgram.solution` is what ``solve(guess=...)`` starts from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from .backend import Outcome, ipopt
from .compilation import NodeCompiler
from .estimate import interval_errors
from .functions import PhaseFunctions
from .guess import initial_guess
from .interruption import interruptible
from .mesh import make_mesh
from .motion import evaluators, trajectories
from .problem import OptimalControlProblem
from .progress import Watch
from .refinement import Refined, Round
from .scaling import scale
from .schemes import Radau, Scheme
from .solution import Solution
from .status import Status
from .transcription import Transcription
from .verdict import Verdict

Array: TypeAlias = np.ndarray

TOLERANCE = 1e-8
"""Of the program."""


class FixedProgram:
    """A problem's program on a fixed mesh; its numbers come from the problem at each solve.

    Parameters
    ----------
    problem:
        Its constants, and the values that its states are fixed to at the start, may change
        between solves; nothing else may.
    mesh, scheme, compile:
        As of :func:`~bestiary.solvers.ocp.solve`.

    Attributes
    ----------
    outcome:
        Of the last solve that converged, from which the next one starts; None before.
    """

    def __init__(
        self,
        problem: OptimalControlProblem,
        mesh: Any = 20,
        scheme: Scheme | None = None,
        compile: str = "auto",
    ) -> None:
        problem.check()
        self.problem = problem
        self.scheme = Radau(3) if scheme is None else scheme
        chosen = (
            mesh
            if isinstance(mesh, Mapping)
            else dict.fromkeys([p.name for p in problem.phases], mesh)
        )
        self._functions = [PhaseFunctions(problem, phase) for phase in problem.phases]
        meshes = [
            make_mesh(chosen[p.name], self.scheme, f"phase {p.name!r}") for p in problem.phases
        ]
        self._transcription = Transcription(problem, self._functions, meshes, self.scheme)
        program = self._transcription.program
        program.compile = NodeCompiler(compile)
        initial_guess(self._transcription)
        program.guess = np.clip(program.guess, program.lower, program.upper)
        scale(self._transcription, self._constants())
        self.outcome: Outcome | None = None
        self._last: Outcome | None = None

    def _constants(self) -> Array:
        values = self.problem.constant_values
        return np.array([values[v.name] for v in self.problem.constants])

    def solve(
        self,
        *,
        iterations: int = 300,
        seconds: float | None = None,
        options: Mapping[str, Any] | None = None,
        watch: Watch | None = None,
    ) -> Outcome:
        """Solve with the problem's present numbers, from the last motion that was found.

        Parameters
        ----------
        iterations, seconds:
            Limits.
        options:
            Of IPOPT.
        watch:
            Called at each iteration; a true result stops.
        """
        program = self._transcription.program
        for indices in self._transcription.phases:
            names = [v.name for v in indices.functions.states]
            for name, (low, high) in indices.phase.start_bounds.items():
                if name in names:
                    entry = indices.states[0, names.index(name)]
                    program.lower[entry], program.upper[entry] = low, high
        before = self.outcome
        if before is not None:
            program.guess = np.clip(before.x, program.lower, program.upper)
        with np.errstate(all="ignore"), interruptible(seconds) as stop:
            outcome = ipopt(
                program,
                self._constants(),
                tolerance=TOLERANCE,
                iterations=iterations,
                seconds=seconds,
                warm=True,
                row_multipliers=None if before is None else before.row_multipliers,
                bound_multipliers=None if before is None else before.bound_multipliers,
                options=options,
                watch=watch,
                stop=stop,
            )
        self._last = outcome
        if outcome.status.converged:
            self.outcome = outcome
        return outcome

    def solution(self) -> Solution:
        """The last solve as a solution, sealed, since nobody has verified it: to start from."""
        made = self._last
        if made is None:
            raise ValueError("nothing has been solved yet")
        p = self._constants()
        transcription = self._transcription
        motions = trajectories(transcription, made.x, p)
        with np.errstate(all="ignore"):
            errors = [
                interval_errors(
                    e,
                    m,
                    transcription.program.variable_scale[i.states[0]],
                    max(abs(made.cost), 1e-8),
                )
                for e, m, i in zip(
                    evaluators(transcription, made.x, p), motions, transcription.phases, strict=True
                )
            ]
        one = Round(
            1,
            sum(len(m.layout.intervals) for m in motions),
            sum(len(m.layout.rate_state) for m in motions),
            0,
            made,
            errors,
            made.seconds,
            [m.edges for m in motions],
        )
        refined = Refined(transcription, made, motions, [one])
        verdict = Verdict(
            Status.TOLERANCE_NOT_REACHED if made.status.converged else made.status,
            reasons=("the motion was neither refined nor re-simulated",),
            mesh_error=one.worst,
            overshoot=one.overshoot,
        )
        options = {"scheme": str(self.scheme), "tolerance": TOLERANCE, "linear_solver": "mumps"}
        return Solution(
            self.problem,
            refined,
            verdict,
            None,
            options,
            made.seconds,
            self.problem.constant_values,
        )
