"""Ladders: from a problem that is easy to the one that is meant, constant by constant.

Each rung is solved from the motion of the rung before.  A rung that fails is approached in
smaller steps, halved until it is reached or the steps become too small; the report says
what each step took, and the result is that of the last rung only if it was really solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import OptimalControlError
from .problem import OptimalControlProblem
from .solving import check_option_names, solve
from .user_calls import numbers
from .variables import mapping

if TYPE_CHECKING:
    from .solution import Solution

MOST_HALVINGS = 6


@dataclass(frozen=True)
class Rung:
    """One step of a ladder.

    Attributes
    ----------
    values:
        Constants of this step.
    asked:
        Whether the ladder was asked for it; else it is a step in between.
    status, cost, iterations, seconds:
        How it ended; the cost is NaN if it failed.
    change:
        How far the motion moved from the rung before: largest difference of a state at
        equal fractions of the phase, relative to its size; NaN for the first.
    """

    values: Mapping[str, float]
    asked: bool
    status: str
    success: bool
    cost: float
    iterations: int
    seconds: float
    change: float

    def __str__(self) -> str:
        values = ", ".join(f"{k} = {v:.6g}" for k, v in self.values.items())
        mark = "" if self.asked else " (in between)"
        if not self.success:
            return f"{values}{mark}: {self.status}, {self.iterations} iterations"
        moved = "" if np.isnan(self.change) else f", moved {self.change:.2g}"
        return f"{values}{mark}: cost {self.cost:.8g}, {self.iterations} iterations{moved}"


@dataclass(frozen=True)
class Ladder:
    """What climbing gave.

    Attributes
    ----------
    solution:
        Of the last rung that was tried: sealed if that one failed.
    rungs:
        Every step in order.
    reached:
        Whether the last rung that was asked for is solved.
    last_solved:
        The solution of the last rung that succeeded, and None if none did.
    solutions:
        Of the rungs that were asked for and solved, in order.
    """

    solution: Solution
    rungs: tuple[Rung, ...]
    reached: bool
    last_solved: Solution | None
    solutions: tuple[Solution, ...] = ()

    def __str__(self) -> str:
        lines = [f"ladder of {self.solution.name}"]
        lines += [f"  {number}. {rung}" for number, rung in enumerate(self.rungs, 1)]
        lines.append("  the top is reached" if self.reached else f"  {self._failure()}")
        return "\n".join(lines)

    def _failure(self) -> str:
        solved = [r for r in self.rungs if r.success]
        if not solved:
            return "not even the first rung could be solved: begin with an easier problem"
        at = ", ".join(f"{k} = {v:.6g}" for k, v in solved[-1].values.items())
        return f"the top is NOT reached; the last rung that was solved has {at}"


def solve_ladder(
    problem: OptimalControlProblem,
    ladder: Mapping[str, Sequence[float]],
    *,
    guess: Solution | None = None,
    halvings: int = MOST_HALVINGS,
    **options: Any,
) -> Ladder:
    """Solve a problem for values of its constants, one after another.

    Parameters
    ----------
    problem:
        The statement; its constants end with the values of the last rung that was tried.
    ladder:
        Constant -> its values in order; several constants climb together.
    guess:
        Where the first rung starts.
    halvings:
        How often a step may be halved where a rung fails.
    options:
        Of :func:`.solve`; ``tolerance`` and the like hold on every rung.

    Raises
    ------
    OptimalControlError
        For constants that the problem does not have, or ladders of unequal length.

    Examples
    --------
    >>> from bestiary.solvers.ocp import OptimalControlProblem, solve_ladder
    >>> problem = OptimalControlProblem(name="smoothed least time")
    >>> weight = problem.constant("weight", 1.0)
    >>> move = problem.phase("move", duration=(0.1, 10.0))
    >>> x, v = move.states("x v")
    >>> (u,) = move.controls("u")
    >>> move.dynamics({x: v, v: u}); move.bound(u=(-1, 1))
    >>> move.start(x=0, v=0); move.end(x=1, v=0)
    >>> move.minimize(integral=1 + weight * u**2)
    >>> climbed = solve_ladder(problem, {"weight": [1, 0.1, 0.01, 0]})
    >>> climbed.reached, round(climbed.solution.cost, 6)
    (True, 2.0)
    """
    check_option_names(options, "solve_ladder")
    if isinstance(halvings, bool) or not isinstance(halvings, int | np.integer) or halvings < 0:
        raise OptimalControlError(
            f"solve_ladder: halvings: expected a whole number, 0 or more, got {halvings!r}"
        )
    rows = _rows(problem, ladder)
    rungs: list[Rung] = []
    solutions: list[Solution] = []
    last: Solution | None = None
    at: dict[str, float] | None = None
    found: Solution | None = None
    for target in rows:
        step = 1.0  # part of the way from the last rung that was solved to the target
        origin, done, halved = at, 0.0, 0
        while done < 1.0:
            share = min(1.0, done + step)
            values = target if origin is None or share == 1.0 else _between(origin, target, share)
            problem.set(**values)
            start = guess if last is None else last
            found = solve(problem, guess=start, **options)
            rungs.append(_rung(values, share == 1.0, found, last))
            if found.success:
                last, at, done = found, dict(values), share
                if share == 1.0:
                    solutions.append(found)
                step = min(2 * step, 1.0)
                continue
            interrupted = found.status.name in ("INTERRUPTED", "TIME_LIMIT")
            if origin is None or halved >= halvings or interrupted:
                return Ladder(found, tuple(rungs), False, last, tuple(solutions))
            halved += 1
            step = min(step, 1.0 - done) / 2
    assert found is not None
    return Ladder(found, tuple(rungs), True, last, tuple(solutions))


def _rows(
    problem: OptimalControlProblem, ladder: Mapping[str, Sequence[float]]
) -> list[dict[str, float]]:
    if not isinstance(problem, OptimalControlProblem):
        raise OptimalControlError(
            f"solve_ladder: problem: expected an OptimalControlProblem, got {problem!r}"
        )
    if not ladder:
        raise OptimalControlError("solve_ladder: give constants and their values")
    known = [v.name for v in problem.constants]
    lengths = set()
    columns: dict[str, list[float]] = {}
    for name, values in mapping(ladder, "solve_ladder", "{'weight': [1, 0.1]}").items():
        if name not in known:
            raise OptimalControlError(
                f"solve_ladder: {name!r} is no constant of {problem.name}; "
                f"have {', '.join(known) or 'none'} (declare one with problem.constant)"
            )
        label = f"solve_ladder: {name}"
        column = np.atleast_1d(numbers(values, label, "finite numbers"))
        if column.ndim != 1 or not len(column):
            raise OptimalControlError(
                f"{label}: expected finite numbers one after another, got {values!r}"
            )
        columns[name] = [float(v) for v in column]
        lengths.add(len(column))
    if len(lengths) != 1:
        raise OptimalControlError(
            "solve_ladder: all constants need as many values: "
            + ", ".join(f"{k} has {len(v)}" for k, v in columns.items())
        )
    return [{k: v[n] for k, v in columns.items()} for n in range(lengths.pop())]


def _between(
    origin: Mapping[str, float], target: Mapping[str, float], share: float
) -> dict[str, float]:
    """Part of the way: geometric where both ends have the same sign, else straight."""
    found = {}
    for name, end in target.items():
        begin = origin[name]
        if begin * end > 0 and max(begin / end, end / begin) > 2:
            found[name] = float(begin * (end / begin) ** share)
        else:
            found[name] = float(begin + (end - begin) * share)
    return found


def _rung(
    values: Mapping[str, float], asked: bool, found: Solution, before: Solution | None
) -> Rung:
    refined = found.refined
    assert refined is not None
    return Rung(
        dict(values), asked, found.status.value, found.success,
        found.cost if found.success else float("nan"),
        sum(r.outcome.iterations for r in refined.rounds), found.seconds,
        _change(before, found) if before is not None and found.success else float("nan"),
    )  # fmt: skip


def _change(before: Solution, after: Solution) -> float:
    """Largest relative difference of a state at equal fractions of the phases."""
    worst = 0.0
    shares = np.linspace(0.0, 1.0, 101)
    for phase in after.phase_names:
        a, b = before.motion(phase), after.motion(phase)
        old = a.states_at(a.start + shares * (a.end - a.start))
        new = b.states_at(b.start + shares * (b.end - b.start))
        size = np.maximum(np.max(np.abs(new), axis=0), 1e-12)
        worst = max(worst, float(np.max(np.abs(new - old) / size)))
    return worst
