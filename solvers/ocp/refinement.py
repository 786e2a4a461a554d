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
from numpy.polynomial import legendre

from .backend import Outcome, ipopt
from .estimate import IntervalErrors, interval_errors
from .guess import initial_guess, resampled_guess
from .interruption import Stop
from .mesh import Mesh, Section
from .motion import evaluators, trajectories
from .progress import Iterate, Watch
from .scaling import scale
from .schemes import Scheme
from .structure import Structure, find_structure, wrong_side
from .trajectory import PhaseTrajectory
from .transcription import SHORTEST_SECTION, Transcription

Array: TypeAlias = np.ndarray
_LOG = logging.getLogger("bestiary.ocp")

HIGHEST_DEGREE = 12
MOST_KNOTS = 12
MOST_PIECES = 6
SLOWEST_DECAY = 0.4
"""Decades that a coefficient must lose per degree for higher degrees to be worth it."""
OVERSHOOT_TOLERANCE = 0.1
"""Bounds may be exceeded between nodes by this times the square root of the tolerance."""


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
    """One mesh and what it gave."""

    number: int
    intervals: int
    nodes: int
    knots: int
    outcome: Outcome
    errors: list[IntervalErrors]
    seconds: float
    edges: list[Array] = field(default_factory=list)

    @property
    def worst(self) -> float:
        """Largest relative error of dynamics or cost."""
        return max(
            float(max(np.max(e.dynamics, initial=0.0), np.max(e.cost, initial=0.0)))
            for e in self.errors
        )

    @property
    def overshoot(self) -> float:
        """Largest relative violation of limits between nodes."""
        return max(float(np.max(e.overshoot, initial=0.0)) for e in self.errors)


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
    start: Any = None,
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
        Earlier solution to start from: (motions, parameters).
    inspect:
        Called before the first solve with the transcription, whose guess is within its
        bounds, and the guess as it was given.
    """
    best: Refined | None = None
    rounds: list[Round] = []
    knots_allowed = options.knots and not scheme.shoots
    smooth_best: Refined | None = None
    seen: list[Structure] | None = None
    cost_size: float | None = None
    note = ""
    current = list(meshes)
    warm = False
    for number in range(1, options.rounds + 1):
        begun = time.perf_counter()
        transcription = build(current)
        program = transcription.program
        if best is not None:
            b = [
                m.start + (m.end - m.start) * mesh.boundaries
                for m, mesh in zip(best.motions, current, strict=True)
            ]
            s = best.outcome.x[best.transcription.parameters]
            resampled_guess(transcription, best.motions, s, b)
            warm = True
        elif start is not None:
            motions, s = start
            b = [
                m.start + (m.end - m.start) * mesh.boundaries
                for m, mesh in zip(motions, current, strict=True)
            ]
            resampled_guess(transcription, motions, s, b)
        else:
            initial_guess(transcription)
        given = program.guess
        program.guess = np.clip(given, program.lower, program.upper)
        scale(transcription, p, cost_size)
        if inspect is not None and number == 1:
            inspect(transcription, given)
        intervals = sum(m.intervals for m in current)

        def watch(iterate: Iterate, number: int = number, intervals: int = intervals) -> Any:
            told = replace(iterate, round=number, intervals=intervals)
            return progress(told) if progress is not None else False

        outcome = ipopt(program, p, warm=warm, watch=watch, stop=stop, **solver)
        if not outcome.status.converged and warm and not stop.is_set():
            # a refined mesh failed from a warm start: once more from a cold one
            outcome = ipopt(program, p, warm=False, watch=watch, stop=stop, **solver)
        motions = trajectories(transcription, outcome.x, p)
        cost = abs(outcome.cost)
        errors = [
            interval_errors(e, m, program.variable_scale[i.states[0]], max(cost, 1e-8))
            for e, m, i in zip(
                evaluators(transcription, outcome.x, p), motions, transcription.phases, strict=True
            )
        ]
        rounds.append(
            Round(
                number,
                sum(m.intervals for m in current),
                sum(len(m.layout.rate_state) for m in motions),
                sum(len(m.knots) for m in current),
                outcome,
                errors,
                time.perf_counter() - begun,
                [m.edges for m in motions],
            )
        )
        _LOG.info(
            "mesh %d: %d intervals, %d knots, %d iterations, cost %.10g, error %.2g, overshoot %.2g",
            number,
            rounds[-1].intervals,
            rounds[-1].knots,
            outcome.iterations,
            outcome.cost,
            rounds[-1].worst,
            rounds[-1].overshoot,
        )
        has_knots = rounds[-1].knots > 0
        valid = outcome.status.converged and not (
            has_knots and _structure_is_wrong(transcription, outcome, p)
        )
        if not valid and best is None:
            return Refined(transcription, outcome, motions, rounds, False, "")
        if not valid and has_knots and smooth_best is not None and not stop.is_set():
            note = "knots at the events of the motion were tried and given up"
            _LOG.info("mesh %d: its knots are given up", number)
            knots_allowed, best = False, smooth_best
            current, _ = _refined(best, rounds, options, None)
            continue
        if not valid:
            assert best is not None
            best.rounds, best.note = rounds, f"mesh {number} could not be solved: {outcome.message}"
            return best
        best = Refined(transcription, outcome, motions, rounds, False, note)
        if not has_knots:
            smooth_best = best
        cost_size = cost if cost > 1e-6 else None
        if _within(rounds[-1], options.tolerance):
            best.reached = True
            return best
        if stop.is_set() or number == options.rounds:
            break
        found: list[Structure] | None = None
        if knots_allowed and not has_knots:
            now = [
                find_structure(e, m)
                for e, m in zip(evaluators(transcription, outcome.x, p), motions, strict=True)
            ]
            # knots are placed once two meshes agree on what happens between them
            if seen is not None and all(
                a.signature == b.signature and len(b.times) <= MOST_KNOTS
                for a, b in zip(seen, now, strict=True)
            ):
                found = now
            seen = now
        current, changed = _refined(best, rounds, options, found)
        if not changed:
            break
    assert best is not None
    return best


def _within(last: Round, tolerance: float) -> bool:
    limit = OVERSHOOT_TOLERANCE * np.sqrt(tolerance)
    return last.worst <= tolerance and last.overshoot <= limit


def _structure_is_wrong(transcription: Transcription, outcome: Outcome, p: Array) -> bool:
    """Whether a section has collapsed, or the cost would gain by leaving a held limit."""
    program = transcription.program
    x = outcome.x
    jacobian = program.jacobian_entries(x, p)
    slopes = program.gradient(x, p) + jacobian.transposed_times(outcome.row_multipliers)
    for indices in transcription.phases:
        boundaries = indices.boundaries(x)
        mesh = indices.layout.mesh
        shortest = SHORTEST_SECTION * np.diff(mesh.boundaries) * (boundaries[-1] - boundaries[0])
        if len(mesh.knots) and np.any(np.diff(boundaries) < 1.01 * shortest):
            return True
        for s, section in enumerate(mesh.sections):
            rates = np.flatnonzero(indices.layout.rate_section == s)
            for held in section.held:
                if held.kind != "control":
                    continue
                every = np.abs(slopes[indices.controls[:, held.number]])
                own = slopes[indices.controls[rates, held.number]]
                if wrong_side(held, own, float(np.max(every, initial=0.0))):
                    return True
    return False


def _refined(
    best: Refined,
    rounds: Sequence[Round],
    options: RefinementOptions,
    found: Sequence[Structure] | None,
) -> tuple[list[Mesh], bool]:
    """Next meshes, and whether they differ."""
    errors = next(r for r in reversed(rounds) if r.outcome is best.outcome).errors
    meshes: list[Mesh] = []
    changed = False
    for k, (motion, error) in enumerate(zip(best.motions, errors, strict=True)):
        mesh = motion.layout.mesh
        if found is not None and found[k].times and np.any(_bad(error, options.tolerance)):
            next_mesh = _with_knots(motion, found[k])
        else:
            next_mesh = _rebuilt(motion, _pieces(motion, error, options))
        changed |= next_mesh != mesh
        meshes.append(next_mesh)
    total = sum(sum(d + 1 for s in m.sections for d in s.degrees) for m in meshes)
    if total > options.nodes:
        _LOG.warning("refinement stops: the next mesh would have about %d nodes", total)
        return [m.layout.mesh for m in best.motions], False
    return meshes, changed


def _bad(error: IntervalErrors, tolerance: float) -> Array:
    limit = OVERSHOOT_TOLERANCE * np.sqrt(tolerance)
    return np.asarray(_measure(error) > tolerance) | (error.overshoot > limit)


def _measure(error: IntervalErrors) -> Array:
    return np.maximum(np.max(error.dynamics, axis=1, initial=0.0), error.cost)


def _pieces(
    motion: PhaseTrajectory, error: IntervalErrors, options: RefinementOptions
) -> list[tuple[int, int]]:
    """(pieces, degree) that each interval becomes."""
    scheme = motion.layout.scheme
    limit = OVERSHOOT_TOLERANCE * np.sqrt(options.tolerance)
    measure, bad = _measure(error), _bad(error, options.tolerance)
    result = []
    for k, interval in enumerate(motion.layout.intervals):
        d = interval.degree
        if not bad[k]:
            result.append((1, d))
            continue
        excess = measure[k] / options.tolerance
        if error.overshoot[k] > limit:
            excess = max(excess, (error.overshoot[k] / limit) ** 2)
        excess = min(excess, 1e12) if np.isfinite(excess) else 1e12
        decay = _decay(motion, k) if scheme.variable_degree else 0.0
        if scheme.variable_degree and decay > SLOWEST_DECAY:
            wanted = d + int(np.ceil(np.log10(excess) / decay))
            if wanted <= HIGHEST_DEGREE:
                result.append((1, max(wanted, d + 1)))
                continue
        order = max(2, scheme.order(d) // 2 + 1) if scheme.variable_degree else scheme.order(d)
        pieces = int(np.clip(np.ceil(excess ** (1 / (order + 1))), 2, MOST_PIECES))
        result.append((pieces, min(max(d, scheme.degree), HIGHEST_DEGREE)))
    return result


def _decay(motion: PhaseTrajectory, k: int) -> float:
    """Decades per degree that the Legendre coefficients of rates and controls lose."""
    interval = motion.layout.intervals[k]
    nodes = motion.layout.scheme.basis(interval.degree).rates
    if len(nodes) < 3:
        return 0.0
    values = np.hstack([motion.rates[interval.rates], motion.controls[interval.rates]])
    coefficients = np.abs(
        np.linalg.solve(legendre.legvander(2 * nodes - 1, len(nodes) - 1), values)
    )
    whole = np.hstack([motion.rates, motion.controls])
    size = np.maximum(np.max(np.abs(whole), axis=0), 1e-300)
    relative = np.max(coefficients / size, axis=1)
    degrees = np.arange(len(nodes))
    used = relative > 1e-13
    if np.count_nonzero(used) < 3:
        return 2.0
    slope = np.polyfit(degrees[used][1:], np.log10(relative[used][1:]), 1)[0]
    return float(-slope)


def _rebuilt(motion: PhaseTrajectory, pieces: Sequence[tuple[int, int]]) -> Mesh:
    """The mesh with intervals replaced by pieces, its knots where they were found."""
    mesh = motion.layout.mesh
    length = motion.end - motion.start
    knots = tuple(float(v) for v in (motion.boundaries[1:-1] - motion.start) / length)
    sections: list[Section] = []
    first = 0
    for section in mesh.sections:
        edges = [section.edges[0]]
        degrees: list[int] = []
        for k, (left, right) in enumerate(zip(section.edges[:-1], section.edges[1:], strict=True)):
            count, degree = pieces[first + k]
            edges += [float(e) for e in np.linspace(left, right, count + 1)[1:]]
            degrees += [degree] * count
        first += len(section.degrees)
        sections.append(Section(tuple(edges), tuple(degrees), section.held))
    return Mesh(tuple(sections), knots)


def _with_knots(motion: PhaseTrajectory, structure: Structure) -> Mesh:
    """The mesh cut at the events of a structure; edges close to a cut go."""
    length = motion.end - motion.start
    knots = [(t - motion.start) / length for t in structure.times]
    edges = (motion.edges - motion.start) / length
    degrees = [i.degree for i in motion.layout.intervals]
    sections = []
    for left, right, held in zip([0.0, *knots], [*knots, 1.0], structure.held, strict=True):
        width = right - left
        inner = edges[(edges > left + 0.1 * width) & (edges < right - 0.1 * width)]
        own = np.concatenate([[left], inner, [right]])
        middles = (own[:-1] + own[1:]) / 2
        old = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(degrees) - 1)
        scaled = (own - left) / width
        scaled[0], scaled[-1] = 0.0, 1.0
        sections.append(
            Section(tuple(float(e) for e in scaled), tuple(int(degrees[k]) for k in old), held)
        )
    return Mesh(tuple(sections), tuple(float(k) for k in knots))
