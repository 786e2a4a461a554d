"""The ladder of :mod:`.supporting`: from soft ground with rounded corners to the robot's own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fixed_program import FixedProgram
from ..problem import OptimalControlProblem
from ..progress import Watch, watcher
from ..schemes import Scheme
from ..solving import solve
from ..status import Status
from .supporting import LADDER, Softness, set_softness

if TYPE_CHECKING:
    from ..solution import Solution

SHORTEST, GROWTH, LONGEST = 5e-4, 1.6, 0.04
"""Intervals at the ends of a phase [s], how they grow, and those in the middle."""
GIVEN_UP = (Status.INTERRUPTED, Status.TIME_LIMIT)
TOLERANCE = 1e-3
"""Of a re-simulated interval, relative; a limit of 2 degrees is then known to 0.01 degrees."""
FIRST_BARRIER = 1e-4
"""Guesses are close and few limits matter: a large barrier would only drive them apart."""


@dataclass(frozen=True)
class SupportRung:
    """One step of the ladder and how it ended.

    ``asked`` is false for a step in between; ``cost`` means nothing if it has failed.
    """

    softness: Softness
    asked: bool
    status: Status
    cost: float
    iterations: int
    seconds: float

    def __str__(self) -> str:
        mark = "" if self.asked else " (in between)"
        end = f"cost {self.cost:.6g}" if self.status.converged else self.status.value
        return f"{self.softness}{mark}: {end}, {self.iterations} iterations, {self.seconds:.1f} s"


@dataclass(frozen=True)
class SupportLadder:
    """What :func:`support_ladder` gave.

    Attributes
    ----------
    solution:
        Of the stiff ground, re-simulated and judged; of the last rung that was solved, and
        sealed, if the top was not reached.
    rungs:
        Every step in order.
    reached:
        Whether the program of the last rung that was asked for is solved.
    """

    solution: Solution
    rungs: tuple[SupportRung, ...]
    reached: bool

    def __str__(self) -> str:
        lines = [f"{k:3d}. {rung}" for k, rung in enumerate(self.rungs, 1)]
        lines.append("the stiff ground is reached" if self.reached else "NOT reached")
        return "\n".join(lines)


def support_ladder(
    problem: OptimalControlProblem,
    ladder: Sequence[Softness] = LADDER,
    *,
    mesh: Any = None,
    scheme: Scheme | None = None,
    tolerance: float = TOLERANCE,
    verify: bool = True,
    halvings: int = 6,
    iterations: int = 40,
    seconds: float | None = None,
    progress: Any = None,
    **options: Any,
) -> SupportLadder:
    """Solve on softer ground first, then on ever stiffer one, each from the motion before.

    A rung that fails is approached in steps of half the way, geometrically.

    Parameters
    ----------
    problem:
        From :func:`.supporting`; it is left with the ground of the last rung.
    ladder:
        From soft to stiff.
    mesh, scheme:
        As of :func:`~bestiary.solvers.ocp.solve`; the same for all rungs.  The mesh is
        :func:`graded` by default: the ground answers the first and the last torques within
        milliseconds, and hardly feels those in between.
    tolerance, verify:
        Of the re-simulation of the top; without it the solution stays sealed.
    halvings:
        How often the way to a rung may be halved.
    iterations, seconds:
        Most iterations of a step, and seconds of all steps.
    progress:
        As of :func:`~bestiary.solvers.ocp.solve`.
    options:
        Of the last :func:`~bestiary.solvers.ocp.solve`.
    """
    if mesh is None:
        mesh = graded(problem.phases[0].duration_range[0])
    set_softness(problem, ladder[0])
    program = FixedProgram(problem, mesh, scheme)
    watch, close = watcher(progress, problem.name)
    try:
        rungs, reached = _climb(problem, program, ladder, halvings, iterations, seconds, watch)
    finally:
        close()
    solution = program.solution()
    if verify and reached:
        solution = solve(
            problem,
            mesh=mesh,
            scheme=scheme,
            guess=solution,
            duals=True,
            tolerance=tolerance,
            **{"refine_mesh": False, "knots": False, "progress": progress, **options},
        )
    return SupportLadder(solution, tuple(rungs), reached)


def _climb(
    problem: OptimalControlProblem,
    program: FixedProgram,
    ladder: Sequence[Softness],
    halvings: int,
    iterations: int,
    seconds: float | None,
    watch: Watch | None,
) -> tuple[list[SupportRung], bool]:
    """Every step, and whether the last rung that was asked for is solved."""
    rungs: list[SupportRung] = []
    at: Softness | None = None
    begun = time.perf_counter()
    for target in ladder:
        step, halved = 1.0, 0
        while at != target:
            wanted = target if at is None or step == 1.0 else at.towards(target, step)
            set_softness(problem, wanted)
            left = None if seconds is None else seconds - (time.perf_counter() - begun)
            made = program.solve(
                iterations=iterations,
                seconds=None if left is None else max(left, 0.1),
                options={"mu_init": FIRST_BARRIER},
                watch=watch,
            )
            rungs.append(
                SupportRung(
                    wanted, wanted == target, made.status, made.cost, made.iterations, made.seconds
                )
            )
            if made.status.converged:
                at, step = wanted, 1.0 if halved == 0 else min(1.0, 2 * step)
                continue
            halved, step = halved + 1, step / 2
            if at is None or halved > halvings or made.status in GIVEN_UP:
                return rungs, False
    return rungs, True


def by_ladder(problem: OptimalControlProblem, **options: Any) -> Solution:
    """The strategy of the problem: :func:`support_ladder` with options of a solve.

    The mesh is not refined: it is graded, and what estimates an interval's error takes
    the ground's fastest modes for errors where they only decay.
    """
    known = {
        k: v for k, v in options.items() if k not in ("refine_mesh", "rounds", "knots", "guess")
    }
    return support_ladder(problem, **known).solution


def graded(duration: float) -> list[float]:
    """Ends of intervals, as fractions: short at both ends of a phase, long in the middle.

    Parameters
    ----------
    duration:
        Of the phase [s].
    """
    widths = [SHORTEST]
    while sum(widths) < duration / 2:
        widths.append(min(widths[-1] * GROWTH, LONGEST))
    half = np.concatenate([[0.0], np.cumsum(widths)]) / (2 * sum(widths))
    return [*half.tolist(), *(1.0 - half[-2::-1]).tolist()]
