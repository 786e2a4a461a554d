"""From the numbers of a solve to a verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from .advice import Causes, find_causes, grown, rough_expressions, suggest
from .attempts import may_be_no_minimum
from .conditioning import Conditioning, conditioning, lowest_curvature
from .cut_off import largest_cut
from .escape import Escape, find_escape
from .guess_check import GuessCheck
from .interruption import Stop
from .labels import Labels, at, listed, with_unit
from .nan_search import find_not_finite
from .refinement import Refined
from .relaxation import Conflict, find_conflict
from .replay import PhaseReplay
from .runaway import Runaway, find_runaway
from .status import Status
from .verdict import NotFinite, Verdict
from .violations import active_limits, misses, violations

Array: TypeAlias = np.ndarray

REPLAY_FACTOR = 10.0
"""A solution whose segments miss by more than this many tolerances is refused."""
COST_FACTOR = 10.0
"""So is one whose cost is off by more than this many, unless its mesh was to be kept."""
OVERSHOOT = 1.0
"""Limits may be exceeded between nodes by this times the root of the tolerance."""
ALWAYS = 1e-5
"""A control that is within this part of its range at a limit at every node stays there."""
CONCAVE = 1e-6
"""A negative curvature beyond this part of the largest one makes a minimum doubtful."""
UNSTABLE = 1e-3
"""Open-loop errors above this, though the segments agree, are explained."""
FALLEN = 1e8
"""A cost that fell by this many times its first size falls without bound."""
COLLAPSED = 1e-6
"""Phases shorter than this part of the guessed duration (or of 1 s) have collapsed."""
LOOKED_AT = 20_000
"""Programs with more variables are looked into on request only."""
LEAST_SECONDS = 5.0
"""Time for the search of a conflict; longer if the solve itself took longer."""

INFEASIBLE = (Status.INFEASIBLE, Status.RESTORATION_FAILED, Status.TOO_FEW_FREEDOMS)
STUCK = (Status.ITERATION_LIMIT, Status.NO_PROGRESS, Status.ACCEPTABLE, Status.FAILED)


@dataclass
class _Case:
    """A solve under judgement."""

    refined: Refined
    replays: Sequence[PhaseReplay] | None
    p: Array
    tolerance: float
    guess: GuessCheck | None
    stop: Stop
    linear_solver: str
    reasons: list[str] = field(default_factory=list)
    runaway: Runaway | None = None

    @property
    def x(self) -> Array:
        return self.refined.outcome.x

    @property
    def fixed(self) -> bool:
        """Whether the mesh was solved as it was given."""
        return bool(self.refined.rounds) and self.refined.rounds[0].fixed

    @property
    def finite(self) -> bool:
        return bool(np.all(np.isfinite(self.x)))


def judge(
    refined: Refined,
    replays: Sequence[PhaseReplay] | None,
    p: Array,
    tolerance: float,
    *,
    guess: GuessCheck | None = None,
    stop: Stop | None = None,
    linear_solver: str = "mumps",
) -> Verdict:
    """The verdict on a refined solution and its replay.

    Parameters
    ----------
    refined, replays:
        The last mesh with its outcome, and its re-simulation.
    p:
        Values of the problem's constants.
    tolerance:
        That was asked for.
    guess:
        What the bounds did to the first guess.
    stop:
        Set if the solve was interrupted or late.
    linear_solver:
        For the search of conflicting conditions.
    """
    case = _Case(refined, replays, p, tolerance, guess, stop or Stop(), linear_solver)
    with np.errstate(all="ignore"):
        return _judge(case)


def _judge(case: _Case) -> Verdict:
    refined, outcome = case.refined, case.refined.outcome
    transcription = refined.transcription
    found = violations(transcription, case.x, case.p) if case.finite else []
    last = next((r for r in reversed(refined.rounds) if r.outcome is outcome), None)
    segment = open_loop = float("nan")
    if case.replays is not None:
        segment = max(r.worst_segment for r in case.replays)
        open_loop = max(r.worst_open_loop for r in case.replays)
    verdict = Verdict(
        outcome.status,
        violations=tuple(found),
        segment_error=segment,
        open_loop_error=open_loop,
        mesh_error=last.worst if last else float("nan"),
        overshoot=last.overshoot if last else float("nan"),
        cost_error=last.cost_error if last and np.isfinite(last.cost_error) else None,
        active=active_limits(transcription, case.x, case.p) if case.finite else {},
    )
    status = _status(case, verdict)
    suggestion = ""
    not_finite: tuple[NotFinite, ...] = ()
    if status.success:
        case.reasons += _remarks(case, verdict)
    else:
        suggestion, not_finite, status = _explained(case, verdict, status)
    return replace(
        verdict,
        status=status,
        reasons=tuple(case.reasons),
        suggestion=suggestion,
        not_finite=not_finite,
    )


# -- status ------------------------------------------------------------------
def _status(case: _Case, verdict: Verdict) -> Status:
    """What the solve is worth, with the reasons for doubting the solver."""
    refined, status, reasons = case.refined, verdict.status, case.reasons
    if refined.note and status.converged:
        reasons.append(refined.note)
    stopped = refined.rounds[-1].outcome.status if refined.rounds else status
    if status is Status.SOLVED and not refined.reached:
        if stopped in (Status.INTERRUPTED, Status.TIME_LIMIT):
            reasons.append("a coarser mesh was solved before; its motion was kept")
            return stopped
        if case.stop.is_set():
            return Status.INTERRUPTED if case.stop.asked else Status.TIME_LIMIT
    if status in (*STUCK, *INFEASIBLE) and _cost_has_fallen(case):
        return Status.UNBOUNDED
    if status in INFEASIBLE and _excess(case) > 0:
        return Status.TOO_FEW_FREEDOMS
    if not status.converged:
        return status
    if verdict.violations:
        reasons.append(f"constraints are not met: {verdict.violations[0]}")
        return Status.FAILED
    limit = OVERSHOOT * np.sqrt(case.tolerance)
    if verdict.overshoot > limit:
        reasons.append(_overshoot(case, verdict.overshoot))
        return Status.TOLERANCE_NOT_REACHED
    if case.replays is None:
        reasons.append("the motion was not re-simulated, so it is not confirmed")
        return Status.TOLERANCE_NOT_REACHED
    if not verdict.segment_error <= REPLAY_FACTOR * case.tolerance:
        reasons.append(_disagreement(case, verdict.segment_error))
        reasons += _cut_off(case)
        return Status.REPLAY_DISAGREES if refined.reached else Status.TOLERANCE_NOT_REACHED
    off = verdict.cost_error or 0.0
    if not case.fixed and abs(off) > COST_FACTOR * case.tolerance:
        reasons.append(_cost_off(off))
        return Status.TOLERANCE_NOT_REACHED
    case.runaway = _runaway(case)
    if case.runaway is not None and case.runaway.falls:
        return Status.UNBOUNDED
    # the replay is the judge: an estimate that is not within the tolerance was stricter
    return Status.SOLVED


def _cost_has_fallen(case: _Case) -> bool:
    costs = case.refined.outcome.history.get("obj")
    if costs is None or len(costs) < 2 or not np.isfinite(costs[0]):
        return False
    return bool(costs[-1] < -FALLEN * max(1.0, abs(float(costs[0]))))


def _excess(case: _Case) -> int:
    """By how many the equations outnumber the unknowns that are free."""
    program = case.refined.transcription.program
    equations = int(np.count_nonzero(program.row_lower == program.row_upper))
    return equations - int(np.count_nonzero(program.lower < program.upper))


def _overshoot(case: _Case, amount: float) -> str:
    refined = case.refined
    last = next(r for r in refined.rounds if r.outcome is refined.outcome)
    for motion, errors in zip(refined.motions, last.errors, strict=True):
        k = int(np.argmax(errors.overshoot))
        if errors.overshoot[k] >= amount:
            return (
                f"{errors.worst_overshoot[k]} leaves its limits by {amount:.2g} of its size "
                f"between nodes, from {motion.edges[k]:.6g} to {motion.edges[k + 1]:.6g} s"
            )
    return f"limits are exceeded between nodes by {amount:.2g} (relative)"


def _runaway(case: _Case) -> Runaway | None:
    """A value that went far beyond its guess and has no best one."""
    guess = case.guess
    if guess is None or guess.sizes is None or case.stop.is_set():
        return None
    refined = case.refined
    return find_runaway(
        refined.transcription,
        guess.sizes,
        case.x,
        case.p,
        refined.outcome.cost,
        refined.motions,
        case.linear_solver,
        case.stop,
    )


def _cost_off(error: float) -> str:
    side = "above" if error > 0 else "below"
    return f"on this mesh the cost is about {100 * abs(error):.2g} % {side} the best one"


def _disagreement(case: _Case, amount: float) -> str:
    assert case.replays is not None
    for indices, replay in zip(case.refined.transcription.phases, case.replays, strict=True):
        if not np.max(replay.segments, initial=0.0) >= amount:
            continue
        k, state = np.unravel_index(int(np.argmax(replay.segments)), replay.segments.shape)
        name = indices.functions.states[int(state)].name
        edges = case.refined.motions[case.refined.transcription.phases.index(indices)].edges
        return (
            f"simulating from {edges[k]:.6g} to {edges[k + 1]:.6g} s with the found controls, "
            f"{name} misses the solution by {amount:.2g} of its size"
        )
    return f"re-simulated segments miss by {amount:.2g} (relative)"


# -- reasons -----------------------------------------------------------------
def _remarks(case: _Case, verdict: Verdict) -> list[str]:
    """What is worth knowing of a success."""
    told = []
    for motion, indices in zip(
        case.refined.motions, case.refined.transcription.phases, strict=True
    ):
        length = motion.end - motion.start
        if length <= COLLAPSED:
            told.append(
                f"phase {indices.phase.name!r} has shrunk to {length:.2g} s: its end conditions "
                "are met by its start; give a lower limit for the duration if that is not meant"
            )
    off = verdict.cost_error or 0.0
    if case.fixed and abs(off) > case.tolerance:
        told.append(f"{_cost_off(off)}: the mesh was to be kept as it is")
    told += _cut_off(case)
    told += _pinned(case)
    jumps, _ = rough_expressions(case.refined.transcription, branches=False)
    if jumps:  # slopes do not show a step: beside it there may be a lower cost
        told.append(
            f"these jump: {listed(jumps)}; no search by derivatives sees a step, so that the "
            "cost may be lower on another side of it"
        )
    if case.runaway is not None:
        told.append(str(case.runaway))
    told += _doubts(case)
    told += _stability(case, verdict)
    if case.guess is not None:
        told += case.guess.sentences()
    return told


def _cut_off(case: _Case) -> list[str]:
    """Controls whose polynomials leave their bounds, as where they jump or chatter."""
    told = []
    for indices, motion in zip(
        case.refined.transcription.phases, case.refined.motions, strict=True
    ):
        found = largest_cut(motion)
        if found is not None:
            variable = indices.functions.controls[found[0]]
            told.append(
                f"{variable.name} is cut off at its bounds between nodes, where it would exceed "
                f"them by up to {with_unit(found[1], variable.unit)}: it jumps or chatters"
            )
    return told


def _pinned(case: _Case) -> list[str]:
    """Controls that had no choice, or made none."""
    told = []
    many = len(case.refined.transcription.phases) > 1
    for indices, motion in zip(
        case.refined.transcription.phases, case.refined.motions, strict=True
    ):
        where = f" in phase {indices.phase.name!r}" if many else ""
        for k, variable in enumerate(indices.functions.controls):
            low, high = variable.bounds
            values = motion.controls[:, k]
            if low == high:
                value = with_unit(low, variable.unit)
                told.append(f"{variable.name} is fixed at {value} by its bounds{where}")
                continue
            for side, limit in (("lower", low), ("upper", high)):
                size = high - low if np.isfinite(high - low) else max(abs(limit), 1e-3)
                if np.isfinite(limit) and np.all(np.abs(values - limit) <= ALWAYS * size):
                    told.append(
                        f"{variable.name} stays at its {side} limit "
                        f"{with_unit(limit, variable.unit)} all the time{where}: only another "
                        "limit would change the motion"
                    )
    return told


def _doubts(case: _Case) -> list[str]:
    """Whether the solver had to bend the curvature of the cost in its last step, and why."""
    outcome, transcription = case.refined.outcome, case.refined.transcription
    if not outcome.iterations or not may_be_no_minimum(transcription.program, outcome):
        return []
    lowest = lowest_curvature(transcription, outcome, case.p)
    if lowest is not None and lowest > -CONCAVE:
        return []  # a valley that is flat, but no ridge
    return [
        "a stationary point, not shown to be a minimum: along the constraints the cost is not "
        "curved upwards everywhere; multistart() tells whether there is a better one"
    ]


def _stability(case: _Case, verdict: Verdict) -> list[str]:
    if case.replays is None or not verdict.open_loop_error > UNSTABLE:
        return []
    if not verdict.segment_error <= REPLAY_FACTOR * case.tolerance:
        return []
    worst = max(case.replays, key=lambda r: r.worst_open_loop)
    errors = np.max(worst.open_loop, axis=1, initial=0.0)
    first = int(np.argmax(errors > UNSTABLE))
    how = (
        "leaves all numbers"
        if not np.isfinite(verdict.open_loop_error)
        else f"is off by {verdict.open_loop_error:.2g} in the end"
    )
    return [
        f"unstable open loop: every segment agrees with its re-simulation to "
        f"{verdict.segment_error:.1g}, but a simulation of the whole grows apart from "
        f"{worst.times[first]:.4g} s on and {how}; the solution is right, following it needs "
        "feedback"
    ]


def _explained(
    case: _Case, verdict: Verdict, status: Status
) -> tuple[str, tuple[NotFinite, ...], Status]:
    """Reasons of a failure (added to the case), what to try next, and what is not a number."""
    outcome, transcription = case.refined.outcome, case.refined.transcription
    reasons = case.reasons
    guess = case.guess or GuessCheck((), np.nan, np.nan, ())
    not_finite = _not_finite(case, everywhere=status is Status.NOT_A_NUMBER)
    if not_finite:
        reasons.insert(0, str(not_finite[0]))
        guess = replace(guess, not_finite=())
    not_finite = not_finite or guess.not_finite
    reasons += guess.sentences()
    causes = find_causes(transcription, outcome, case.p)
    conflict = _conflict(case, verdict, status, causes)
    headline = ""
    if conflict is not None:
        reasons[:0] = _conflict_sentences(conflict, status)
        headline = _first_to_relax(conflict)
    if status is Status.TOO_FEW_FREEDOMS:
        reasons.insert(0, f"there are {_excess(case)} more equations than unknowns that are free")
    if status is Status.UNBOUNDED:
        reasons[:0] = [str(case.runaway)] if case.runaway else _unbounded(case)
    escape = _escape(case, status)
    if escape is not None:
        reasons.insert(0, str(escape))
    if status in STUCK:
        if causes.stalled:
            reasons.append(
                f"over the last {causes.stalled} iterations the cost hardly changed: a flat valley"
            )
        reasons += _rank_sentences(case, causes)
    if causes.unit_norms and status in (*STUCK, Status.TIME_LIMIT):
        reasons.append(
            f"nonlinear equality in controls alone, which is slow to solve: "
            f"{listed(causes.unit_norms)}"
        )
    if status not in (Status.NOT_A_NUMBER, Status.INTERRUPTED, Status.TIME_LIMIT):
        reasons += causes.steep[:2]
        if status is not Status.UNBOUNDED:
            reasons += causes.grown[:3]
        if causes.jumps:
            reasons.append(f"these are not continuous: {listed(causes.jumps)}")
    reasons += _stability(case, verdict)
    if not reasons and verdict.violations:
        reasons.append(
            f"after {outcome.iterations} iterations the worst violation was {verdict.violations[0]}"
        )
    if conflict is not None and conflict.feasible and not conflict.against:
        headline = ""
    suggestion = suggest(status, causes, headline)
    if escape is not None and not headline:
        suggestion = (
            f"bound {escape.name}, shorten the phase, give its controls more authority, or guess a "
            "motion that keeps it small"
        )
    if case.runaway is not None:
        suggestion = f"give an upper limit for {case.runaway.name}, or a cost that grows with it"
    return suggestion, not_finite, status


def _escape(case: _Case, status: Status) -> Escape | None:
    """A motion that leaves everything by itself."""
    other = status in (Status.NOT_A_NUMBER, Status.INTERRUPTED, Status.TIME_LIMIT)
    if other or case.runaway is not None or not case.finite or case.stop.is_set():
        return None
    return find_escape(case.refined.transcription, case.x, case.p)


def _not_finite(case: _Case, *, everywhere: bool) -> tuple[NotFinite, ...]:
    """What is not a number at the last iterate or, ``everywhere``, where the solve began."""
    transcription = case.refined.transcription
    guess = transcription.program.guess
    for x in (case.x, _pushed(case), guess) if everywhere else (case.x,):
        if np.all(np.isfinite(x)):
            found = find_not_finite(transcription, x, case.p)
            if found:
                return tuple(found)
    return ()


def _pushed(case: _Case) -> Array:
    """The guess as IPOPT moves it off its bounds (its bound_push and bound_frac of 0.01)."""
    program = case.refined.transcription.program
    s = program.variable_scale
    low, high, x = program.lower / s, program.upper / s, program.guess / s
    width = high - low
    up = np.minimum(0.01 * np.maximum(1.0, np.abs(low)), 0.01 * width)
    down = np.minimum(0.01 * np.maximum(1.0, np.abs(high)), 0.01 * width)
    x = np.where(np.isfinite(low), np.maximum(x, low + up), x)
    x = np.where(np.isfinite(high), np.minimum(x, high - down), x)
    return np.asarray(x * s)


def _conflict(case: _Case, verdict: Verdict, status: Status, causes: Causes) -> Conflict | None:
    """The nearest solvable problem, where conditions seem to be in each other's way."""
    program = case.refined.transcription.program
    worst = verdict.violations[0].relative if verdict.violations else 0.0
    wanted = status in INFEASIBLE or (status in STUCK and worst > 1e-3)
    if not wanted or program.size > LOOKED_AT or not case.finite or case.stop.is_set():
        return None
    if causes.steep or np.max(np.abs(case.x) / program.variable_scale) > 1e9:
        return None  # at such scales the search would end anywhere
    seconds = max(LEAST_SECONDS, 2 * case.refined.outcome.seconds)
    left = case.stop.remaining
    return find_conflict(
        case.refined.transcription,
        case.x,
        case.p,
        case.linear_solver,
        seconds if left is None else min(seconds, left),
        case.stop,
    )


def _conflict_sentences(conflict: Conflict, status: Status) -> list[str]:
    if conflict.feasible:
        found = "the conditions do not contradict each other: a motion that meets them all exists"
        elsewhere = "; the guess led the solver elsewhere"
        return [found + (elsewhere if status in INFEASIBLE else "")]
    told = list(conflict.missed[:3])
    if conflict.against:
        told.append(f"in the way: {listed(list(conflict.against), 6)}")
    return told


def _first_to_relax(conflict: Conflict) -> str:
    if conflict.feasible:
        return ""
    return conflict.missed[0].split(" cannot ")[0] + (
        f" (or {listed(list(conflict.against), 3)})" if conflict.against else ""
    )


def _unbounded(case: _Case) -> list[str]:
    outcome, told = case.refined.outcome, []
    costs = outcome.history.get("obj")
    if costs is not None and len(costs) and np.isfinite(costs[-1]):
        scale = case.refined.transcription.program.cost_scale
        told.append(
            f"the cost went from {costs[0] * scale:.3g} to {costs[-1] * scale:.3g} "
            f"in {len(costs) - 1} iterations"
        )
    if case.finite:
        labels = Labels(case.refined.transcription, case.x)
        names = grown(case.refined.transcription, case.x, labels)
        if not names:
            relative = np.abs(case.x) / case.refined.transcription.program.variable_scale
            k = int(np.argmax(relative))
            unit = labels.of_variable(k).unit
            names = [
                f"{labels.of_variable(k)} reaches {with_unit(float(case.x[k]), unit)}"
                f"{at(labels.variable_time[k])}"
            ]
        told += names[:3]
    return told


def _rank_sentences(case: _Case, causes: Causes) -> list[str]:
    """Dependent constraints; flat directions only where the iterates have settled."""
    if causes.steep or case.refined.transcription.program.size > LOOKED_AT:
        return []
    found = _conditioning(case.refined, case.p)
    if found is None:
        return []
    return (replace(found, flat_count=0) if not causes.stalled else found).sentences()[1:]


def _conditioning(refined: Refined, p: Array) -> Conditioning | None:
    try:
        with np.errstate(all="ignore"):
            return conditioning(refined.transcription, refined.outcome, p)
    except (RuntimeError, np.linalg.LinAlgError):  # a factorization that broke down
        return None


@dataclass(frozen=True)
class Diagnosis:
    """Checks that take longer than a verdict.

    Attributes
    ----------
    conditioning:
        Rank, condition number, dependent constraints and flat directions.
    worst_rows:
        Constraints by how far they are from being met, whether or not that is too far.
    not_finite:
        What is NaN or infinite, also among second derivatives.
    causes:
        What may make the problem hard.
    """

    conditioning: Conditioning | None
    worst_rows: tuple[str, ...]
    not_finite: tuple[NotFinite, ...]
    causes: tuple[str, ...]

    def __str__(self) -> str:
        lines = ["diagnosis"]
        if self.conditioning is None:
            lines.append("  rank: not found (too large, or not a number)")
        else:
            lines += [f"  {s}" for s in self.conditioning.sentences()]
        lines += [f"  largest violation: {w}" for w in self.worst_rows]
        lines += [f"  not finite: {n}" for n in self.not_finite]
        lines += [f"  {c}" for c in self.causes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def diagnose(refined: Refined, p: Array) -> Diagnosis:
    """Look deeper into the end of a solve: rank, flat directions, NaN, scales."""
    x, transcription = refined.outcome.x, refined.transcription
    found = _conditioning(refined, p)
    causes = find_causes(transcription, refined.outcome, p)
    told = [
        *causes.steep,
        *causes.grown,
        *(f"not continuous: {name}" for name in causes.jumps),
        *(f"has a kink: {name}" for name in causes.kinks),
        *(f"nonlinear equality in controls alone: {name}" for name in causes.unit_norms),
    ]
    rows: tuple[str, ...] = ()
    if np.all(np.isfinite(x)):
        rows = tuple(str(v) for v in misses(transcription, x, p)[:5])
    return Diagnosis(found, rows, tuple(find_not_finite(transcription, x, p)), tuple(told))
