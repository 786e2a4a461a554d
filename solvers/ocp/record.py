"""What a solve found as plain data: quantities, motions, multipliers and rounds, no expressions.

A record is what is stored in a file and what pictures and datasets are made from, so a
solution that was loaded can do what a fresh one can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from .costates import costates, node_durations, node_rows, shooting_start
from .functions import PhaseFunctions
from .motion import evaluators
from .nlp import NonlinearProgram, RowGroup
from .numbering import PhaseIndices
from .problem import OptimalControlProblem
from .trajectory import PhaseTrajectory
from .transcription import Transcription
from .variables import Range, Variable

if TYPE_CHECKING:
    from .refinement import Refined, Round

Array: TypeAlias = np.ndarray
INSIDE = 1e-9
PathFunction: TypeAlias = Callable[[Array, Array, Array, Array], Array]


@dataclass(frozen=True)
class Quantity:
    """Name, unit and limits of anything that has a value."""

    name: str
    unit: str
    low: float
    high: float

    @classmethod
    def of(cls, variable: Variable) -> Quantity:
        """That of a variable."""
        return cls(variable.name, variable.unit, *variable.bounds)


@dataclass(frozen=True)
class PhaseRecord:
    """A phase as it was solved.

    Attributes
    ----------
    states, controls, algebraics, paths:
        In the order of the columns of the arrays.
    start, end:
        Ranges of states and controls at the ends, by name.
    motion:
        The motion at its nodes.
    path_values:
        (M, n) path constraints at the rows of :func:`~.costates.node_rows`.
    costates:
        (M, nx) at the same rows.
    state_multipliers, control_multipliers, path_multipliers, equation_multipliers:
        (S, nx), (R, nu), (R, n), (R, nz): of bounds, path constraints and algebraic
        equations, per second; positive at an upper limit, negative at a lower one.
    integrals:
        Named integrals: unit, value and multiplier.
    path_function:
        (states, controls, algebraics, times) -> (T, n); None for a loaded phase, whose
        paths are interpolated between the nodes.
    """

    name: str
    states: tuple[Quantity, ...]
    controls: tuple[Quantity, ...]
    algebraics: tuple[Quantity, ...]
    paths: tuple[Quantity, ...]
    start: Mapping[str, Range]
    end: Mapping[str, Range]
    motion: PhaseTrajectory
    path_values: Array
    costates: Array
    state_multipliers: Array
    control_multipliers: Array
    path_multipliers: Array
    equation_multipliers: Array
    integrals: Mapping[str, tuple[str, float, float]]
    path_function: PathFunction | None = None

    def groups(self) -> tuple[tuple[str, tuple[Quantity, ...]], ...]:
        """Quantities by kind."""
        return (
            ("state", self.states), ("control", self.controls),
            ("algebraic", self.algebraics), ("path", self.paths),
        )  # fmt: skip

    def names(self) -> list[str]:
        """Names of all quantities that change in time."""
        return [q.name for _, group in self.groups() for q in group]

    def paths_at(self, times: Array) -> Array:
        """(T, n) path constraints; those of a loaded phase are interpolated between nodes."""
        m = self.motion
        if self.path_function is None:
            at_rates = self.path_values[node_rows(m.layout)[1] >= 0]
            table = PhaseTrajectory(m.layout, m.boundaries, m.states, m.rates, m.controls, at_rates)
            return table.algebraics_at(times)
        return self.path_function(
            m.states_at(times), m.controls_at(times), m.algebraics_at(times), times
        )


@dataclass(frozen=True)
class RoundRecord:
    """One mesh of the refinement: its size, its solve, and the error of each interval by phase."""

    number: int
    intervals: int
    nodes: int
    knots: int
    status: str
    iterations: int
    cost: float
    error: float
    overshoot: float
    seconds: float
    edges: tuple[Array, ...] = ()
    errors: tuple[Array, ...] = ()

    @classmethod
    def of(cls, made: Round) -> RoundRecord:
        """That of a round of the refinement."""
        return cls(
            made.number, made.intervals, made.nodes, made.knots, made.outcome.status.name,
            made.outcome.iterations, made.outcome.cost, made.worst, made.overshoot, made.seconds,
            tuple(made.edges),
            tuple(np.maximum(np.max(e.dynamics, axis=1, initial=0.0), e.cost) for e in made.errors),
        )  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition on end values: what was asked, what it is, and its multiplier."""

    quantity: Quantity
    value: float
    multiplier: float


@dataclass(frozen=True)
class SolutionRecord:
    """A solution as plain data.

    Attributes
    ----------
    parameters, constants:
        What they are, and their values.
    costs:
        Value of each term of the cost by name.
    conditions:
        Boundary constraints.
    x, row_multipliers, bound_multipliers:
        Of the last program, for warm starts.
    model:
        Name, options and program hash of the robot, if the problem was stated for one.
    """

    name: str
    phases: tuple[PhaseRecord, ...]
    parameters: tuple[tuple[Quantity, float], ...]
    constants: tuple[tuple[Quantity, float], ...]
    cost: float
    costs: Mapping[str, float]
    conditions: tuple[Condition, ...]
    rounds: tuple[RoundRecord, ...]
    x: Array
    row_multipliers: Array
    bound_multipliers: Array
    note: str = ""
    reached: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)


def make_record(
    problem: OptimalControlProblem, refined: Refined, constants: Mapping[str, float]
) -> SolutionRecord:
    """The record of a refined solution."""
    transcription, outcome = refined.transcription, refined.outcome
    program = transcription.program
    # the statement may have got constants since: the solution has those it was solved with
    own = [v for v in problem.constants if v.name in constants]
    p = np.array([constants[v.name] for v in own], dtype=float)
    x, rows = outcome.x, outcome.row_multipliers
    # fixed variables have no multiplier of the solver's: all of them follow from the slopes
    slopes = program.gradient(x, p) + program.jacobian_entries(x, p).transposed_times(rows)
    phases = tuple(
        _phase(transcription, indices, motion, evaluator, x, p, rows, -slopes)
        for indices, motion, evaluator in zip(
            transcription.phases, refined.motions, evaluators(transcription, x, p), strict=True
        )
    )
    return SolutionRecord(
        problem.name,
        phases,
        tuple(
            (Quantity.of(v), float(value))
            for v, value in zip(
                problem.parameters, x[transcription.parameters], strict=True
            )
        ),
        tuple((Quantity.of(v), float(constants[v.name])) for v in own),
        outcome.cost,
        cost_terms(problem, transcription, refined.motions, outcome.cost, x, p),
        _conditions(problem, transcription, x, p, rows),
        tuple(RoundRecord.of(r) for r in refined.rounds),
        x, rows, -slopes, refined.note, refined.reached, _model(problem.robot),
    )  # fmt: skip


def with_ends(record: SolutionRecord, ends: Mapping[tuple[str, str, str], Range]) -> SolutionRecord:
    """The record with other ranges at (phase, "start" or "end", name)."""
    phases = []
    for phase in record.phases:
        own = {"start": dict(phase.start), "end": dict(phase.end)}
        for (name, where, quantity), wanted in ends.items():
            if name == phase.name:
                own[where][quantity] = wanted
        phases.append(replace(phase, start=own["start"], end=own["end"]))
    return replace(record, phases=tuple(phases))


def node_values(motion: PhaseTrajectory) -> tuple[Array, Array, Array, Array]:
    """States, controls, algebraic variables and times at the rows of a table of nodes.

    A row without rate has the values of the polynomial of the interval that ends there
    (at the start of the phase: of the first interval).
    """
    layout = motion.layout
    at, rates = node_rows(layout)
    times = layout.state_times(motion.boundaries)[at]
    controls, algebraics = motion.controls[rates], motion.algebraics[rates]
    none = np.flatnonzero(rates < 0)
    if len(none):
        ends = np.searchsorted(motion.edges, times[none], side="left")
        before = np.clip(ends - 1, 0, len(motion.edges) - 2)
        width = np.diff(motion.edges)[before]
        inside = np.where(ends > 0, times[none] - INSIDE * width, times[none])
        controls[none] = motion.controls_at(inside)
        algebraics[none] = motion.algebraics_at(inside)
    return motion.states[at], controls, algebraics, times


def _phase(
    transcription: Transcription, indices: PhaseIndices, motion: PhaseTrajectory, evaluator: Any,
    x: Array, p: Array, rows: Array, reduced: Array,
) -> PhaseRecord:  # fmt: skip
    phase, layout = indices.phase, indices.layout
    program, nx = transcription.program, len(indices.functions.states)
    first = next(g.first for g in _groups(program, phase.name) if g.kind == "dynamics")
    dynamics = rows[first : first + (len(layout.state_place) - 1) * nx].reshape(-1, nx)
    durations = node_durations(layout, motion.boundaries)
    durations = np.where(durations > 0, durations, np.inf)
    state_durations = np.full(len(layout.state_place), np.inf)
    at, which = node_rows(layout)
    state_durations[at[which >= 0]] = durations[which[which >= 0]]

    def paths_at(states: Array, controls: Array, algebraics: Array, times: Array) -> Array:
        return np.asarray(evaluator.all(states, controls, algebraics, times)["paths"])

    path_values = np.empty((len(at), len(phase.paths)))
    if phase.paths:
        path_values = paths_at(*node_values(motion))
    own_rows = {g.kind: rows[g.first : g.first + g.count] for g in _groups(program, phase.name)}
    by_kind = {
        kind: own_rows[kind].reshape(-1, count) / durations[:, None]
        if kind in own_rows
        else np.empty((len(layout.rate_state), count))
        for kind, count in (("path", len(phase.paths)), ("equation", len(phase.equations)))
    }
    integral_rows = own_rows.get("integral", np.empty(0))
    return PhaseRecord(
        phase.name,
        tuple(Quantity.of(v) for v in indices.functions.states),
        tuple(Quantity.of(v) for v in indices.functions.controls),
        tuple(Quantity.of(v) for v in indices.functions.algebraics),
        tuple(Quantity(c.name, c.unit, *c.bounds) for c in phase.paths),
        dict(phase.start_bounds),
        dict(phase.end_bounds),
        motion,
        path_values,
        costates(layout, dynamics, _start(transcription, indices, x, p, rows, dynamics)),
        reduced[indices.states] / state_durations[:, None],
        reduced[indices.controls] / durations[:, None],
        by_kind["path"],
        by_kind["equation"],
        {
            t.name: (t.unit, float(x[entry]), float(multiplier))
            for t, entry, multiplier in zip(
                phase.integrals, indices.integrals, integral_rows, strict=True
            )
        },
        paths_at if phase.paths else None,
    )


def _groups(program: NonlinearProgram, phase: str) -> list[RowGroup]:
    return [g for g in program.groups if g.phase == phase]


def _start(
    transcription: Transcription, indices: PhaseIndices, x: Array, p: Array, rows: Array,
    dynamics: Array,
) -> Array | None:  # fmt: skip
    """Costate at the first node of a shooting scheme."""
    scheme = transcription.scheme
    if not scheme.shoots:
        return None
    program = transcription.program
    shot = indices.functions.shot(indices.free_times, scheme)
    block = next(b for b in program.blocks if b.function is shot)
    weights = np.zeros(shot.size_y)
    weights[: dynamics.shape[1]] = -dynamics[0]
    for group in program.groups:
        if group.kind == "integral" and group.phase == indices.phase.name:
            own = rows[group.first : group.first + group.count]
            weights[dynamics.shape[1] : dynamics.shape[1] + len(own)] = -own
    if indices.phase.cost_integrals:
        weights[-1] = 1.0
    return shooting_start(indices, block, x, p, weights)


def cost_terms(
    problem: OptimalControlProblem, transcription: Transcription,
    motions: list[PhaseTrajectory], cost: float, x: Array, p: Array,
) -> dict[str, float]:  # fmt: skip
    """Value of each term of the cost, by its name."""
    integrals = [(k, t) for k, ph in enumerate(problem.phases) for t in ph.cost_integrals]
    if len(integrals) + len(problem.costs) == 1:
        name = integrals[0][1].name if integrals else problem.costs[0].name
        return {name: cost}
    found: dict[str, float] = {}

    def add(name: str, value: float) -> None:
        found[name] = found.get(name, 0.0) + value

    s = x[transcription.parameters]
    for k, motion in enumerate(motions):
        indices = transcription.phases[k]
        terms = indices.phase.cost_integrals
        if terms:
            for term, value in zip(
                terms, _integrated(indices.functions, motion, s, p), strict=True
            ):
                add(term.name, float(value))
    if problem.costs:
        symbols, places, fixed, values = transcription._boundary_symbols()
        function = ca.Function(
            "cost_terms",
            [ca.vertcat(ca.SX(0, 1), *symbols), ca.vertcat(ca.SX(0, 1), *fixed),
             ca.vertcat(ca.SX(0, 1), *(v.symbol for v in problem.constants))],
            [ca.densify(ca.vertcat(*(c.expression for c in problem.costs)))],
        )  # fmt: skip
        got = np.asarray(function(x[np.array(places, dtype=int)], values, p)).ravel()
        for cost_term, value in zip(problem.costs, got, strict=True):
            add(cost_term.name, float(value))
    return found


def _integrated(functions: PhaseFunctions, motion: PhaseTrajectory, s: Array, p: Array) -> Array:
    """(n,) integrals of the cost's integrands, by the scheme's own quadrature.

    (Shooting integrates with its Runge-Kutta steps; here by Gauss points on every interval.)
    """
    phase, layout = functions.phase, motion.layout
    function = ca.Function(
        "integrands",
        [
            *(functions.x, functions.u, functions.z, functions.s, functions.p),
            *(phase.time, phase.start_time, phase.end_time),
        ],
        [ca.densify(functions.cost_integrands)],
    )
    if layout.scheme.shoots:
        points, weights = np.polynomial.legendre.leggauss(layout.scheme.degree + 3)
        points, weights = (points + 1) / 2, weights / 2
        x, u, z = (
            np.concatenate(motion.on_intervals(points, k))
            for k in ("states", "controls", "algebraics")
        )
        widths = np.diff(motion.edges)
        t = (motion.edges[:-1, None] + widths[:, None] * points).ravel()
        durations = (widths[:, None] * weights).ravel()
    else:
        x, u, z = motion.states[layout.rate_state], motion.controls, motion.algebraics
        t = layout.rate_times(motion.boundaries)
        durations = node_durations(layout, motion.boundaries)
    n = len(t)
    many = function.map(n) if n > 1 else function
    fixed = (np.tile(v[:, None], n) for v in (s, p, np.array([motion.start, motion.end])))
    s_columns, p_columns, ends = fixed
    values = many(x.T, u.T, z.T, s_columns, p_columns, t[None, :], ends[:1], ends[1:])
    return np.asarray(np.asarray(values) @ durations)


def _conditions(
    problem: OptimalControlProblem, transcription: Transcription, x: Array, p: Array, rows: Array
) -> tuple[Condition, ...]:
    program = transcription.program
    group = next((g for g in program.groups if g.kind == "boundary"), None)
    if group is None:
        return ()
    own = slice(group.first, group.first + group.count)
    values = program.residuals(x, p)[own]
    return tuple(
        Condition(Quantity(b.name, b.unit, *b.bounds), float(value), float(multiplier))
        for b, value, multiplier in zip(problem.boundaries, values, rows[own], strict=True)
    )


def _model(robot: Any) -> dict[str, Any]:
    if robot is None:
        return {}
    meta = robot.meta
    return {
        "name": meta["name"],
        "variant": str(meta.get("variant") or ""),
        "program_sha256": meta["program_sha256"],
        "parameters": {name: float(robot.parameters[name]) for name in robot.parameters},
    }
