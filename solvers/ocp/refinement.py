"""Solve, estimate, refine, and again: from a coarse mesh to a motion that obeys its equations.

Each round solves on the mesh, measures every interval (:mod:`.estimate`), and

1. cuts the phase at new events of the motion's structure (:mod:`.structure`),
   whose times become decision variables;
2. raises the degree of an interval whose polynomials converge fast, up to a limit;
3. splits the others.

Rounds, nodes and time are capped, and the last mesh's errors are reported either way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from .attempts import solve_mesh
from .backend import Outcome
from .blocks import Block
from .cost_error import control_losses, prices
from .estimate import IntervalErrors, interval_errors
from .guess import initial_guess, resampled_guess
from .held_limits import find_mistakes
from .interruption import Stop
from .mesh import Mesh
from .motion import evaluators, trajectories
from .progress import Iterate, Watch
from .remesh import OVERSHOOT_TOLERANCE as OVERSHOOT_TOLERANCE
from .remesh import (
    bad_intervals,
    corrected_mesh,
    doubled_mesh,
    fenced_mesh,
    measure,
    mesh_with_knots,
    overshoot_limit,
    refined_mesh,
)
from .scaling import scale
from .schemes import Scheme
from .smoothing import smoothing_blocks, smoothing_cost, smoothing_weight
from .status import Status
from .structure import Structure, find_structure
from .trajectory import PhaseTrajectory
from .transcription import Transcription
from .warm_start import Start

Array: TypeAlias = np.ndarray
_LOG = logging.getLogger("bestiary.ocp")

LOW_ORDER = 2
"""Schemes of this order or less have no knots, and their cost is looked at from the beginning."""
MOST_KNOTS = 12
MOST_CORRECTIONS = 4
"""Times that a structure is corrected before its knots are given up."""
MOST_TRIES = 2
"""Times that knots are tried."""
MOST_DOUBLINGS = 1
"""Times that a first mesh on which nothing converged is doubled."""
WORSE = 30.0
"""A mesh whose errors have grown by this factor is given up."""
TRUSTED = 10.0
"""Multipliers are believed on meshes with errors below this many tolerances."""
NEAR, CLOSING = 5.0, 10.0
"""No knots are placed where the mesh is within 5 times its tolerances, or where the last
round brought it closer by a factor of 10: what is smooth enough needs none, but a control
that jumps from one limit to the other is not smooth."""
LEAST_COST = 1e-2
"""A cost near zero is measured by this part of its scale, the largest slope at the first guess."""
SPLIT_ALL = 4.0
"""Excess of every interval where errors of the cost are known for the whole only."""
SETTLED = 3.0
"""The cost has settled if the last mesh moved it by no more than this many tolerances."""
LOSING = 4
"""Rounds with knots that may be worse than the best mesh without."""
PATIENCE = 2
"""Rounds with knots before other events are looked for."""


@dataclass(frozen=True)
class RefinementOptions:
    """When to stop, and how far to go.

    Attributes
    ----------
    tolerance:
        Largest relative error of an interval.
    rounds:
        Most meshes.
    nodes:
        Most rate nodes of all phases together.
    knots:
        Whether knots may be placed at events.
    """

    tolerance: float = 1e-6
    rounds: int = 12
    nodes: int = 6000
    knots: bool = True


@dataclass
class Round:
    """One mesh and what it gave.

    Attributes
    ----------
    losses:
        What the controls' polynomials cost too much on each interval; see :mod:`.cost_error`.
    cost_error:
        By how much the cost is above the best one (negative: below), relative to
        ``cost_size``; NaN if that is not known.
    fixed:
        Whether the mesh was to be solved as it is.
    """

    number: int
    intervals: int
    nodes: int
    knots: int
    outcome: Outcome
    errors: list[IntervalErrors]
    seconds: float
    edges: list[Array] = field(default_factory=list)
    losses: list[Array] = field(default_factory=list)
    cost_error: float = float("nan")
    cost_size: float = 1.0
    fixed: bool = False

    @property
    def worst(self) -> float:
        """Largest relative error of dynamics or cost."""
        return max(float(np.max(measure(e), initial=0.0)) for e in self.errors)

    @property
    def overshoot(self) -> float:
        """Largest relative violation of limits between nodes."""
        return max(float(np.max(e.overshoot, initial=0.0)) for e in self.errors)

    @property
    def suboptimality(self) -> float:
        """What the cost may lose by the controls' polynomials; see :mod:`.estimate`."""
        return max(float(np.sum(e.suboptimality)) for e in self.errors)


@dataclass
class Refined:
    """The last transcription of a refinement and its outcome."""

    transcription: Transcription
    outcome: Outcome
    motions: list[PhaseTrajectory]
    rounds: list[Round] = field(default_factory=list)
    reached: bool = False
    note: str = ""


def refine(
    build: Any,
    meshes: Sequence[Mesh],
    scheme: Scheme,
    p: Array,
    options: RefinementOptions,
    solver: Mapping[str, Any],
    stop: Stop,
    progress: Watch | None = None,
    start: Start | None = None,
    inspect: Callable[[Transcription, Array], None] | None = None,
) -> Refined:
    """Solve on meshes that become finer until every interval is within the tolerance.

    Parameters
    ----------
    build:
        meshes -> :class:`Transcription`.
    meshes:
        One a phase, to begin with.
    p:
        Values of the problem's constants.
    solver:
        Options of :func:`.backend.ipopt`.
    stop:
        Set from outside to stop at the next iteration.
    progress:
        Called at each iteration; a true result stops.
    start:
        Earlier solution to start from.
    inspect:
        Called before the first solve with the transcription, whose guess is within its
        bounds, and the guess as it was given.
    """
    best: Refined | None = None
    rounds: list[Round] = []
    # errors of low order are not those of kinks, and a free knot is moved to profit by them
    knots_allowed = options.knots and not scheme.shoots and scheme.order() > LOW_ORDER
    smooth_best: Refined | None = None
    before: Refined | None = None
    seen: list[Structure] | None = None
    cost_size: float | None = None
    least_cost = 0.0
    mesh_error = np.inf
    weight = least_weight = weight_before = 0.0
    closest: Refined | None = None
    accepted: Refined | None = None
    distance = now_before = np.inf
    closing = False
    note = ""
    current = list(meshes)
    source: tuple[Sequence[PhaseTrajectory], Array] | None = None
    corrections = doublings = usual = knotted_rounds = restructured = 0
    given_up = 0
    for number in range(1, options.rounds + 1):
        begun = time.perf_counter()
        transcription = build(current)
        program = transcription.program
        _fill_guess(transcription, current, source, start)
        given = program.guess
        program.guess = np.clip(given, program.lower, program.upper)
        smoothing: list[Block] = []
        if best is not None and cost_size is not None:
            weight = max(smoothing_weight(mesh_error), least_weight)
            smoothing = smoothing_blocks(transcription, cost_size * weight)
            program.blocks = (*program.blocks, *smoothing)
        scale(transcription, p, cost_size)
        if inspect is not None and number == 1:
            inspect(transcription, given)
        intervals = sum(m.intervals for m in current)

        def watch(iterate: Iterate, number: int = number, intervals: int = intervals) -> Any:
            told = replace(iterate, round=number, intervals=intervals)
            return progress(told) if progress is not None else False

        def fresh(transcription: Transcription = transcription) -> Array:
            program = transcription.program
            kept = program.guess
            program.guess = kept.copy()
            _fill_guess(transcription, transcription.meshes, None, start)
            found, program.guess = program.guess, kept
            return np.clip(found, program.lower, program.upper)

        outcome, how = solve_mesh(
            program,
            p,
            solver,
            warm=best is not None,
            usual=usual,
            fresh=None if source is None else fresh,
            watch=watch,
            stop=stop,
            duals=start.multipliers(transcription) if start and source is None else None,
            brief=smooth_best is not None and any(m.knots for m in current),
        )
        usual = outcome.iterations
        outcome.cost -= smoothing_cost(smoothing, outcome.x, p)
        motions = trajectories(transcription, outcome.x, p)
        cost = abs(outcome.cost)
        errors = measured_errors(transcription, outcome, p, motions)
        rounds.append(
            Round(
                number,
                intervals,
                sum(len(m.layout.rate_state) for m in motions),
                sum(len(m.knots) for m in current),
                outcome,
                errors,
                time.perf_counter() - begun,
                [m.edges for m in motions],
                fixed=options.rounds == 1,
            )
        )
        last = rounds[-1]
        least_cost = least_cost or LEAST_COST * program.cost_scale
        if outcome.status.converged:
            size = max(cost, least_cost)
            measure_cost(last, transcription, motions, p, size, best)
        _LOG.info(
            "mesh %d: %d intervals, %d knots, %d iterations, cost %.10g, error %.2g, "
            "overshoot %.2g, suboptimality %.2g, cost error %.2g",
            number,
            last.intervals,
            last.knots,
            outcome.iterations,
            outcome.cost,
            last.worst,
            last.overshoot,
            last.suboptimality,
            last.cost_error,
        )
        if how:
            note = f"mesh {number} was solved by {how}"
            _LOG.info("%s", note)
        has_knots = last.knots > 0
        if not outcome.status.converged and best is None:
            if doublings < MOST_DOUBLINGS and _worth_doubling(outcome, stop):
                doublings += 1
                note = f"it took a first mesh of {2 * intervals} intervals"
                solver = {**solver, "iterations": max(1, int(solver.get("iterations", 1000)) // 2)}
                current = [doubled_mesh(m) for m in current]
                continue
            return Refined(transcription, outcome, motions, rounds, False, note)
        valid = outcome.status.converged
        if valid and has_knots:
            mistakes = find_mistakes(
                transcription, outcome.x, p, outcome.row_multipliers, last.worst
            )
            if last.worst > TRUSTED * options.tolerance:
                # multipliers of so coarse a mesh say little
                mistakes = [replace(m, released=()) for m in mistakes]
            if any(mistakes):
                valid = False
                if corrections < MOST_CORRECTIONS and not stop.is_set():
                    corrections += 1
                    _LOG.info("mesh %d: its structure is corrected: %s", number, mistakes)
                    current = [
                        corrected_mesh(m, e.released, e.collapsed, e.parted)
                        for m, e in zip(motions, mistakes, strict=True)
                    ]
                    source = motions, outcome.x[transcription.parameters]
                    continue
        if not valid and accepted is not None:
            accepted.rounds = rounds
            return accepted
        if not valid and has_knots and smooth_best is not None and not stop.is_set():
            note = "knots at the events of the motion were tried and given up"
            _LOG.info("mesh %d: its knots are given up", number)
            given_up += 1
            knots_allowed, best, seen = given_up < MOST_TRIES, smooth_best, None
            corrections = knotted_rounds = 0
            before = None
        elif not valid and best is None:  # knots of an earlier solution that do not suit
            return Refined(transcription, outcome, motions, rounds, False, note)
        elif not valid:
            assert best is not None
            best = closest or best
            best.rounds, best.note = rounds, f"mesh {number} could not be solved: {outcome.message}"
            return best
        elif (
            closest is not None
            and last.knots == rounds[-2].knots
            and weight < weight_before
            and last.worst > WORSE * max(mesh_error, options.tolerance)
        ):
            # with less preference for smooth controls they chatter: back to where it was enough
            _LOG.info("mesh %d: worse than the one before", number)
            least_weight, best, before = weight_before, closest, None
        elif (
            accepted is None
            and has_knots
            and knotted_rounds >= LOSING
            and _distance(last, options) > distance
        ):
            _LOG.info("mesh %d: its knots bring nothing", number)
            note = "knots at the events of the motion were tried and given up"
            given_up += 1
            best = smooth_best or best
            assert best is not None
            knots_allowed, before, seen = given_up < MOST_TRIES, None, None
            corrections = knotted_rounds = 0
        else:
            weight_before = weight
            before, best = best, Refined(transcription, outcome, motions, rounds, False, note)
            if not has_knots:
                smooth_best = best
            mesh_error = last.worst
            now_at = _distance(last, options)
            closing = now_at < NEAR or now_at * CLOSING < now_before
            now_before = now_at
            if now_at <= distance:
                closest, distance = best, now_at
            cost_size = cost if cost > 1e-6 else None
            moved = np.inf if before is None else abs(outcome.cost - before.outcome.cost)
            settled = moved <= SETTLED * options.tolerance * max(cost, 1e-8)
            if (
                _within(last, options.tolerance)
                and _cost_is_right(last, transcription, options)
                and (settled or (before is None and last.suboptimality <= options.tolerance))
            ):
                best.reached = True
                arcs = _arcs(best, p) if knots_allowed and not has_knots else None
                if arcs is None or accepted is not None or number == options.rounds:
                    return best
                # a limit that all nodes of an interval touch may be left within it
                accepted = best
                source = motions, outcome.x[transcription.parameters]
                current, changed = _refined(best, rounds, options, arcs, always=True)
                if not changed:
                    return best
                continue
        source = best.motions, best.outcome.x[best.transcription.parameters]
        if stop.is_set() or number == options.rounds:
            break
        found: list[Structure] | None = None
        knotted_rounds = knotted_rounds + 1 if has_knots else 0
        if knots_allowed and valid and (not has_knots or knotted_rounds > PATIENCE):
            now = [
                find_structure(e, m)
                for e, m in zip(evaluators(transcription, outcome.x, p), motions, strict=True)
            ]
            # knots are placed once two meshes agree on what happens between them
            if seen is not None and all(
                a.signature == b.signature and len(b.times) <= MOST_KNOTS
                for a, b in zip(seen, now, strict=True)
            ):
                known = all(
                    s.signature == tuple((c.singular, c.held) for c in m.sections)
                    for s, m in zip(now, current, strict=True)
                )
                waits = closing and not any(s.jumps for s in now)
                if not known and not waits and restructured < MOST_TRIES:
                    found = now
                    restructured += has_knots
                    knotted_rounds = 0
            seen = now
        current, changed = _refined(best, rounds, options, found)
        if not changed:
            break
    if best is None:
        return Refined(transcription, outcome, motions, rounds, False, note)
    return accepted or closest or best


def _arcs(best: Refined, p: Array) -> list[Structure] | None:
    """The structure of a motion if a limit of a state or path is active for some time."""
    found = [
        find_structure(e, m)
        for e, m in zip(
            evaluators(best.transcription, best.outcome.x, p), best.motions, strict=True
        )
    ]
    limits = [h for s in found for held in s.held for h in held if h.kind != "control"]
    few = all(len(s.times) <= MOST_KNOTS for s in found)
    return found if limits and few and any(s.times for s in found) else None


def _distance(last: Round, options: RefinementOptions) -> float:
    """How many times its tolerances a mesh is off."""
    off = max(last.worst / options.tolerance, last.overshoot / overshoot_limit(options.tolerance))
    return off if np.isnan(last.cost_error) else max(off, abs(last.cost_error) / options.tolerance)


def measured_errors(
    transcription: Transcription, outcome: Outcome, p: Array, motions: Sequence[PhaseTrajectory]
) -> list[IntervalErrors]:
    """Errors of all intervals, phase by phase."""
    program = transcription.program
    price = prices(transcription, outcome.row_multipliers)
    return [
        interval_errors(
            evaluator,
            motion,
            program.variable_scale[indices.states[0]],
            max(abs(outcome.cost), 1e-8),
            program.row_scale[indices.path_rows[0]] if len(indices.path_rows) else None,
            None if price is None else price[k],
        )
        for k, (evaluator, motion, indices) in enumerate(
            zip(evaluators(transcription, outcome.x, p), motions, transcription.phases, strict=True)
        )
    ]


def measure_cost(
    last: Round,
    transcription: Transcription,
    motions: Sequence[PhaseTrajectory],
    p: Array,
    size: float,
    before: Refined | None = None,
) -> None:
    """How far the cost is from the best one: by costates, else by the mesh before."""
    outcome = last.outcome
    if transcription.scheme.shoots:
        finer = before is not None and last.intervals > sum(
            len(m.layout.intervals) for m in before.motions
        )
        if before is not None and finer:
            last.cost_error = (before.outcome.cost - outcome.cost) / size
        return
    last.losses = control_losses(transcription, outcome.x, p, outcome.row_multipliers, motions)
    gaps = (e.cost_gap / size for e in last.errors)
    last.losses = [s / size for s in last.losses]
    last.cost_error = float(sum(np.sum(s) for s in last.losses) - sum(np.sum(g) for g in gaps))
    last.cost_size = size


def _cost_is_right(last: Round, transcription: Transcription, options: RefinementOptions) -> bool:
    """Whether the cost is known to be within the tolerance; on a mesh that is given, always."""
    if options.rounds == 1:
        return True
    if np.isnan(last.cost_error):
        return not transcription.scheme.shoots
    return abs(last.cost_error) <= options.tolerance


def _fill_guess(
    transcription: Transcription,
    meshes: Sequence[Mesh],
    source: tuple[Sequence[PhaseTrajectory], Array] | None,
    start: Start | None,
) -> None:
    """The guess from the mesh before, from an earlier solution, or as it was stated."""
    if source is None and start is not None:
        start.fill(transcription)
        return
    if source is None:
        initial_guess(transcription)
        return
    motions, parameters = source
    boundaries = [
        m.start + (m.end - m.start) * mesh.boundaries
        for m, mesh in zip(motions, meshes, strict=True)
    ]
    resampled_guess(transcription, motions, parameters, boundaries)


def _worth_doubling(outcome: Outcome, stop: Stop) -> bool:
    return not stop.is_set() and outcome.status in (
        Status.INFEASIBLE,
        Status.RESTORATION_FAILED,
        Status.ITERATION_LIMIT,
        Status.NO_PROGRESS,
    )


def _within(last: Round, tolerance: float) -> bool:
    return last.worst <= tolerance and last.overshoot <= overshoot_limit(tolerance)


def _cost_shares(last: Round, phase: int, intervals: int, options: RefinementOptions) -> Array:
    """(N,) error of the cost by each interval, in equal shares of what is allowed."""
    if not last.losses:  # shooting: all alike
        return np.full(len(last.edges[phase]) - 1, SPLIT_ALL)
    own = last.losses[phase] + np.abs(last.errors[phase].cost_gap) / last.cost_size
    return np.asarray(own * intervals / options.tolerance)


def _refined(
    best: Refined,
    rounds: Sequence[Round],
    options: RefinementOptions,
    found: Sequence[Structure] | None,
    always: bool = False,
) -> tuple[list[Mesh], bool]:
    """Next meshes, and whether they differ."""
    last = next(r for r in reversed(rounds) if r.outcome is best.outcome)
    errors = last.errors
    # controls and the cost are looked at once the motion itself is right
    optimality = _within(last, options.tolerance)
    early = optimality or best.transcription.scheme.order() <= LOW_ORDER
    wrong_cost = early and not _cost_is_right(last, best.transcription, options)
    total = sum(len(m.layout.intervals) for m in best.motions)
    meshes: list[Mesh] = []
    changed = False
    for k, (motion, error) in enumerate(zip(best.motions, errors, strict=True)):
        mesh = motion.layout.mesh
        shares = _cost_shares(last, k, total, options) if wrong_cost else None
        bad = bad_intervals(error, options.tolerance, optimality, shares)
        controls = best.transcription.phases[k].functions.controls
        bounds = np.array([v.bounds for v in controls]).reshape(-1, 2)
        if found is not None and found[k].times and (always or np.any(bad)):
            next_mesh = mesh_with_knots(motion, found[k])
            next_mesh = fenced_mesh(next_mesh, motion, bounds)
        else:
            next_mesh = refined_mesh(motion, error, options.tolerance, optimality, bounds, shares)
        changed |= next_mesh != mesh
        meshes.append(next_mesh)
    nodes = sum(sum(d + 1 for s in m.sections for d in s.degrees) for m in meshes)
    if nodes > options.nodes:
        _LOG.warning("refinement stops: the next mesh would have about %d nodes", nodes)
        return [m.layout.mesh for m in best.motions], False
    return meshes, changed
