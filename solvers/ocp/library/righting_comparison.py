"""The paper's comparison: rigid links or arcs, how many segments, how many links.

Every combination answers the same questions, each by a solved and replayed problem:

    effort, smoothness   least cost of 180 degrees of roll in 0.4 s
    time                 least time of 180 degrees of roll
    pitch                largest pitch in one swing of 0.1 s, from the straight tail to rest

Moments and bendings are those of segments (:mod:`.righting`), and limits of the angle
between two links are left out, so links and arcs compare.

Each tail starts from the motion of the one with more links, carried over by
:func:`carry_over`, so that a row of the table is one family of motions; where that fails it
starts from the problem's own guess.  The first of a row is solved from its own guess and
from the first of the row before, and the better one is kept.  What is not solved is told as
such and has no figures.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import OptimalControlError
from ..interruption import Stop, interruptible
from ..problem import OptimalControlProblem
from ..status import Status
from .righting import Shape, load_rat, righting
from .righting_reach import farthest_turn

if TYPE_CHECKING:
    import xarray as xr

    from ..phase import Phase
    from ..solution import Solution

Array: TypeAlias = np.ndarray
Load: TypeAlias = Callable[[str, int, int], Any]
"""(tail, segments, links) -> robot."""

_LOG = logging.getLogger("bestiary.ocp")

ONE_SWING = 0.1
"""Time of the farthest pitch [s]."""
ARCS = math.inf
"""Number of links of a continuum tail."""
SECONDS = 300.0
"""Most seconds of a solve."""


@dataclass(frozen=True)
class Question:
    """What is asked of every tail.

    Attributes
    ----------
    state:
        Robot -> problem.
    figure:
        The variable of the table that answers it.
    tolerance:
        Of the solve; torques that jump need not be found to the last digit.
    """

    state: Callable[[Any], OptimalControlProblem]
    figure: str = "cost"
    tolerance: float = 1e-4


QUESTIONS = {
    "effort": Question(lambda r: righting(r, link_limits=False)),
    "smoothness": Question(lambda r: righting(r, cost="smoothness", link_limits=False)),
    "time": Question(
        lambda r: righting(r, cost="time", duration=None, link_limits=False), "duration", 1e-3
    ),
    "pitch": Question(
        lambda r: farthest_turn(
            r,
            turn="pitch",
            duration=ONE_SWING,
            end_tail="free",
            smoothness_weight=0.01,
            link_limits=False,
        ),
        "turn",
        1e-3,
    ),
}
UNITS = {
    "cost": "1", "effort": "s", "smoothness": "s", "duration": "s", "turn": "deg",
    "peak_moment": "N m", "peak_torque": "N m", "bending": "deg", "iterations": "1",
    "seconds": "s",
}  # fmt: skip
"""Figures of the table, and their units; torques are those of an input, of all its links."""


@dataclass
class Answer:
    """One solve: which tail, which question, how it ended, what came out."""

    question: str
    segments: int
    links: float
    status: str = "not tried"
    solved: bool = False
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def tail(self) -> str:
        """In words."""
        return f"{self.segments} x {tail_label(self.links)}"

    def __str__(self) -> str:
        if not self.solved:
            return f"{self.question}, {self.tail}: not solved: {self.status}"
        name = QUESTIONS[self.question].figure
        value, unit = self.figures[name], UNITS[name]
        shown = f"{name} {value:.6g}" + ("" if unit == "1" else f" {unit}")
        return f"{self.question}, {self.tail}: {shown}, {self.figures['seconds']:.1f} s"


def tail_label(links: float) -> str:
    """Of a number of links for each segment."""
    return "arc" if math.isinf(links) else f"{links:.0f} links"


def compare(
    segments: Sequence[int] = (1, 2, 3),
    links: Sequence[float] = (2, 4, 8, 16, ARCS),
    questions: Sequence[str] = tuple(QUESTIONS),
    *,
    load: Load = load_rat,
    tell: Callable[[Answer], Any] | None = None,
    seconds: float | None = None,
    mesh: int = 16,
) -> xr.Dataset:
    """Answer questions for many tails.

    Parameters
    ----------
    segments, links:
        Numbers of segments, and of links of each; ``math.inf`` is the continuum tail.
    questions:
        Names of :data:`QUESTIONS`.
    load:
        Gives the robot of (tail, segments, links); by default one that was built before.
    tell:
        Called with each :class:`Answer`; a true result ends the comparison.
    seconds:
        Most seconds in all.
    mesh:
        Intervals to begin with.

    Returns
    -------
    xarray.Dataset
        :data:`UNITS`, ``solved`` and ``status`` over question, segments and links.  Ctrl-C
        ends it too; what was not tried then says so.

    Raises
    ------
    OptimalControlError
        For unknown questions or numbers that mean nothing.
    """
    unknown = [q for q in questions if q not in QUESTIONS]
    if unknown:
        raise OptimalControlError(
            f"compare: no question {', '.join(map(repr, unknown))}; have {', '.join(QUESTIONS)}"
        )
    counts = [*segments, *(n for n in links if not math.isinf(n))]
    if not segments or not links or any(n != int(n) or n < 1 for n in counts):
        raise OptimalControlError(
            f"compare: segments and links must be whole numbers from 1, got {list(segments)} "
            f"and {list(links)}"
        )
    answers = {
        (q, m, n): Answer(q, m, n) for q in questions for m in segments for n in sorted(links)
    }
    with interruptible(seconds) as stop:
        heads: dict[str, Solution] = {}
        for m in segments:
            robots = {
                n: load(
                    "continuum" if math.isinf(n) else "articulated", m, 1 if n == ARCS else int(n)
                )
                for n in links
                if not stop.is_set()
            }
            for answer in _in_turn(answers, questions, m, robots, heads, mesh, stop):
                _LOG.info("comparison: %s", answer)
                wanted = tell is not None and tell(answer)
                if wanted or answer.status == Status.INTERRUPTED.value:
                    stop.set()
    return _dataset(answers, questions, segments, sorted(links))


def _in_turn(
    answers: dict[tuple[str, int, float], Answer],
    questions: Sequence[str],
    m: int,
    robots: dict[float, Any],
    heads: dict[str, Solution],
    mesh: int,
    stop: Stop,
) -> Iterator[Answer]:
    """Answers of the tails of m segments, from the arcs to the fewest links."""
    for question in questions:
        before: Solution | None = None
        for n in sorted(robots, reverse=True):
            if stop.is_set():
                return
            answer = answers[question, m, n]
            if before is not None:
                starts, enough = [before, None], True
            else:  # the first of this row
                starts, enough = [None, heads[question]] if question in heads else [None], False
            found = _solve(answer, robots[n], starts, enough, mesh, stop)
            if found is not None:
                heads[question] = heads[question] if enough else found
                before = found
            yield answer


def _solve(
    answer: Answer,
    robot: Any,
    starts: Sequence[Solution | None],
    enough: bool,
    mesh: int,
    stop: Stop,
) -> Solution | None:
    """The best solution from some starts, or the first one if that is ``enough``."""
    asked = QUESTIONS[answer.question]
    spent, iterations = 0.0, 0
    best: Solution | None = None
    for start in starts:
        problem = asked.state(robot)
        if start is not None:
            carry_over(problem, start)
        left = SECONDS if stop.remaining is None else min(SECONDS, stop.remaining)
        found: Solution = problem.solve(
            mesh=mesh, tolerance=asked.tolerance, progress=False, seconds=max(0.1, left)
        )
        spent += found.seconds
        assert found.refined is not None
        iterations += sum(r.outcome.iterations for r in found.refined.rounds)
        if found.success and (best is None or found.cost < best.cost):
            best = found
        if best is None:
            answer.status = found.status.value
        if found.status is Status.INTERRUPTED or stop.is_set() or (best is not None and enough):
            break
    if best is not None:
        answer.status, answer.solved = best.status.value, True
        answer.figures = {**figures(robot, best), "iterations": iterations, "seconds": spent}
    return best


def figures(robot: Any, solution: Solution) -> dict[str, float]:
    """What a righting or a farthest turn took: the entries of :data:`UNITS`."""
    shape = Shape(_flight(solution), robot)
    torques = np.stack([solution.value(n) for n in shape.torques])
    angles = shape.links * np.stack([solution.value(n) for n in shape.coordinates])
    bent = np.linalg.norm(angles.reshape(shape.segments, 2, -1), axis=1)
    costs = solution.costs
    weights = {k: solution.constants[f"{k}_weight"] for k in ("effort", "smoothness")}
    plain = {k: costs[k] / w if w else math.nan for k, w in weights.items()}
    turn = solution.parameters.get("turn", math.pi)
    return {
        "cost": solution.cost,
        **plain,
        "duration": solution.duration(),
        "turn": math.degrees(turn),
        "peak_moment": float(np.abs(torques).max()) / shape.links,
        "peak_torque": float(np.abs(torques).max()),
        "bending": math.degrees(bent.max()),
    }


def carry_over(problem: OptimalControlProblem, solution: Solution, samples: int = 201) -> None:
    """Let the search of a problem start from the motion of another tail.

    Parameters
    ----------
    problem:
        Of :func:`.righting.righting` or :func:`.righting_reach.farthest_turn`, reduced.
    solution:
        Of the same question with another tail: any number of segments and links, or arcs.
        Bendings are averaged over the length that each new segment covers; moments are those
        of the segment in its middle.
    samples:
        Times of the guess.
    """
    (phase,) = problem.phases
    before = _flight(solution)
    old = Shape(before, before.robot)
    new = Shape(phase, phase.robot)
    times = np.linspace(0.0, solution.duration(), samples)
    share = overlap(old.segments, new.segments)
    phase.guess(times=times)
    for ending in ("", "_rate", "_rate_rate"):
        values = np.stack([solution.value(f"{n}{ending}", times) for n in old.coordinates])
        bent = old.links * values.reshape(old.segments, 2, samples)
        after = np.einsum("ij,jkt->ikt", share, bent).reshape(-1, samples) / new.links
        phase.guess(**{f"{n}{ending}": x for n, x in zip(new.coordinates, after, strict=True)})
    for k in range(new.segments):
        place = int((k + 0.5) * old.segments / new.segments)
        for axis in range(2):
            moment = solution.value(old.torques[2 * place + axis], times) / old.links
            phase.guess(**{new.torques[2 * k + axis]: moment * new.links})
    known = set(new.coordinates) | {v.name for v in phase.control_variables}
    known |= {f"{n}{e}" for n in new.coordinates for e in ("_rate", "_rate_rate")}
    for variable in (*phase.state_variables, *phase.algebraic_variables):
        if variable.name not in known:
            phase.guess(**{variable.name: solution.value(variable.name, times)})
    for name, value in solution.parameters.items():
        if name in problem.parameter_guesses:
            problem.parameter_guesses[name] = value


def _flight(solution: Solution) -> Phase:
    """The only phase of a solution.

    Raises
    ------
    OptimalControlError
        If the solution was loaded without its problem.
    """
    if solution.problem is None:
        raise OptimalControlError("the solution comes without its problem; solve it again")
    return solution.problem.phases[0]


def overlap(old: int, new: int) -> Array:
    """(new, old) matrix: bendings of equal segments from those of other equal segments.

    A segment bends by its curvature times its length; entry (i, j) is the part of old
    segment j that lies in new segment i.
    """
    edges = np.arange(new + 1)[:, None] / new, np.arange(old + 1) / old
    low = np.maximum(edges[0][:-1], edges[1][:-1])
    high = np.minimum(edges[0][1:], edges[1][1:])
    return np.asarray(np.maximum(high - low, 0.0) * old)


def _dataset(
    answers: dict[tuple[str, int, float], Answer],
    questions: Sequence[str],
    segments: Sequence[int],
    links: Sequence[float],
) -> xr.Dataset:
    import xarray as xr

    dims = ("question", "segments", "links")
    shape = (len(questions), len(segments), len(links))
    rows = [answers[q, m, n] for q in questions for m in segments for n in links]

    def variable(values: Sequence[Any], unit: str = "") -> Any:
        return dims, np.array(values).reshape(shape), {"units": unit} if unit else {}

    table = {
        name: variable([a.figures.get(name, math.nan) for a in rows], unit)
        for name, unit in UNITS.items()
    }
    table["solved"] = variable([a.solved for a in rows])
    table["status"] = variable([a.status for a in rows])
    return xr.Dataset(
        table,
        {
            "question": list(questions),
            "segments": list(segments),
            "links": ("links", np.array(links, dtype=float), {"long_name": "inf: arcs"}),
        },
    )


__all__ = ["ARCS", "QUESTIONS", "UNITS", "Answer", "carry_over", "compare", "figures", "overlap"]
