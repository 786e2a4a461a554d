"""Starting from an earlier solution: its motion by names, and its multipliers.

The earlier solution may be of another mesh, another scheme, or of a problem that differs
a little.  Phases and quantities find each other by name; what has no counterpart starts
from the problem's own guess.  Costates are functions of time like states, so multipliers
of any mesh can be put on any other; on the very same mesh they are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .costates import node_durations, node_rows, row_multipliers
from .functions import PhaseFunctions
from .guess import initial_guess, resampled_guess
from .mesh import Mesh, Section
from .numbering import PhaseIndices
from .trajectory import PhaseTrajectory
from .transcription import Transcription
from .variables import Variable

if TYPE_CHECKING:
    from .record import PhaseRecord, Quantity, SolutionRecord
    from .solution import Solution

Array: TypeAlias = np.ndarray


@dataclass(frozen=True)
class Start:
    """Where a solve begins: an earlier solution, and whether its multipliers serve too."""

    record: SolutionRecord
    duals: bool = False

    def matches(self, transcription: Transcription) -> bool:
        """Whether a program is the earlier one: same scheme, meshes, names and size."""
        program, record = transcription.program, self.record
        if (len(record.x), len(record.row_multipliers)) != (program.size, program.rows):
            return False
        if len(record.phases) != len(transcription.phases):
            return False
        return all(
            old.motion.layout.scheme == new.layout.scheme
            and _same_shape(old.motion.layout.mesh, new.layout.mesh)
            and all(
                [q.name for q in quantities] == [v.name for v in variables]
                for quantities, variables in _counterparts(old, new.functions)
            )
            for old, new in zip(record.phases, transcription.phases, strict=True)
        )

    def fill(self, transcription: Transcription) -> None:
        """Fill the program's guess."""
        program = transcription.program
        if self.matches(transcription):
            program.guess[:] = self.record.x
            return
        initial_guess(transcription)  # for what has no counterpart
        guess = program.guess.copy()
        motions, boundaries = [], []
        for indices in transcription.phases:
            old = self.phase(indices.phase.name, len(transcription.phases))
            own = indices.boundaries(guess)
            motion = _guessed(indices, guess, own)
            if old is not None:
                motion = carried_over(old, motion, indices.functions)
            motions.append(motion)
            length = motion.end - motion.start
            boundaries.append(motion.start + length * indices.layout.mesh.boundaries)
        known = {q.name: value for q, value in self.record.parameters}
        parameters = np.array(
            [
                known.get(v.name, guess[place])
                for v, place in zip(
                    transcription.problem.parameters, transcription.parameters, strict=True
                )
            ]
        )
        resampled_guess(transcription, motions, parameters, boundaries)
        for indices in transcription.phases:
            old = self.phase(indices.phase.name, len(transcription.phases))
            for term, entry in zip(indices.phase.integrals, indices.integrals, strict=True):
                if old is not None and term.name in old.integrals:
                    program.guess[entry] = old.integrals[term.name][1]

    def phase(self, name: str, count: int) -> PhaseRecord | None:
        """The earlier phase of that name, or the only one if there is one on both sides."""
        found = next((p for p in self.record.phases if p.name == name), None)
        if found is None and count == len(self.record.phases) == 1:
            return self.record.phases[0]
        return found

    def multipliers(self, transcription: Transcription) -> tuple[Array, Array] | None:
        """Multipliers of rows and of bounds; None if they should be estimated."""
        if not self.duals:
            return None
        if self.matches(transcription):
            return self.record.row_multipliers, self.record.bound_multipliers
        program = transcription.program
        rows, bounds = np.zeros(program.rows), np.zeros(program.size)
        for indices in transcription.phases:
            old = self.phase(indices.phase.name, len(transcription.phases))
            if old is None or not _same_names(old, indices.functions):
                return None
            _phase_multipliers(old, indices, transcription, rows, bounds)
        conditions = {c.quantity.name: c.multiplier for c in self.record.conditions}
        for group in program.groups:
            if group.kind == "boundary":
                for k, name in enumerate(group.names):
                    rows[group.first + k] = conditions.get(name, 0.0)
        return rows, bounds


def meshes_of(solution: Solution, names: Sequence[str]) -> dict[str, Mesh]:
    """Last meshes of an earlier solution by the names of phases, knots where they were found."""
    found = {}
    start = Start(solution.record)
    for name in names:
        old = start.phase(name, len(names))
        if old is not None:
            m = old.motion
            knots = (m.boundaries[1:-1] - m.start) / (m.end - m.start)
            found[name] = Mesh(m.layout.mesh.sections, tuple(float(k) for k in knots))
    return found


def without_knots(mesh: Mesh) -> Mesh:
    """The same intervals in one section, nothing held."""
    edges = mesh.fractions()
    edges[0], edges[-1] = 0.0, 1.0
    degrees = tuple(d for s in mesh.sections for d in s.degrees)
    return Mesh((Section(tuple(float(e) for e in edges), degrees),))


def carried_over(
    old: PhaseRecord, guess: PhaseTrajectory, functions: PhaseFunctions
) -> PhaseTrajectory:
    """The earlier motion with the columns of a new phase, in its order.

    Parameters
    ----------
    old:
        The earlier phase.
    guess:
        The new problem's own guess, for quantities that the earlier phase does not have.
    functions:
        Of the new phase.
    """
    m = old.motion
    if _same_names(old, functions):
        return m
    stretch = (guess.end - guess.start) / (m.end - m.start)
    at_states = guess.states_at(
        guess.start + stretch * (m.layout.state_times(m.boundaries) - m.start)
    )
    inner = guess.start + stretch * (m.layout.rate_times(m.boundaries) - m.start)
    own = {"controls": guess.controls_at(inner), "algebraics": guess.algebraics_at(inner)}
    states, rates = [], []
    names = [q.name for q in old.states]
    for k, variable in enumerate(functions.states):
        if variable.name in names:
            number = names.index(variable.name)
            states.append(m.states[:, number])
            rates.append(m.rates[..., number])
        else:
            states.append(at_states[:, k])
            rates.append(_chords(m, at_states[:, [k]])[..., 0])
    columns = []
    for kind, quantities, values, variables in (
        ("controls", old.controls, m.controls, functions.controls),
        ("algebraics", old.algebraics, m.algebraics, functions.algebraics),
    ):
        known = [q.name for q in quantities]
        found = own[kind]
        for k, variable in enumerate(variables):
            if variable.name in known:
                found[:, k] = values[:, known.index(variable.name)]
        columns.append(found)
    return PhaseTrajectory(
        m.layout, m.boundaries, np.stack(states, 1), np.stack(rates, -1), *columns
    )


def _guessed(indices: PhaseIndices, guess: Array, boundaries: Array) -> PhaseTrajectory:
    """The motion of a guess, its states joined by straight lines."""
    none = np.empty(0)
    states = guess[indices.states]
    plain = PhaseTrajectory(indices.layout, boundaries, states, none, none, none)
    return PhaseTrajectory(
        indices.layout, boundaries, states, _chords(plain, states),
        guess[indices.controls], guess[indices.algebraics],
    )  # fmt: skip


def _chords(m: PhaseTrajectory, states: Array) -> Array:
    """Rates that join states at the ends of intervals by straight lines."""
    widths = np.diff(m.edges)
    slopes = np.diff(states[m.layout.interval_starts], axis=0)
    slopes = slopes / np.where(widths > 0, widths, 1.0)[:, None]
    if m.layout.scheme.shoots:
        return np.repeat(slopes[:, None], 2, axis=1)
    rates = np.zeros((len(m.layout.rate_state), states.shape[1]))
    for slope, interval in zip(slopes, m.layout.intervals, strict=True):
        rates[interval.rates] = slope
    return rates


def _phase_multipliers(
    old: PhaseRecord, indices: PhaseIndices, transcription: Transcription, rows: Array,
    bounds: Array,
) -> None:  # fmt: skip
    """Multipliers of a phase's rows and bounds, from functions of time."""
    m, layout, program = old.motion, indices.layout, transcription.program
    b = m.start + (m.end - m.start) * layout.mesh.boundaries
    rate_times, state_times = layout.rate_times(b), layout.state_times(b)
    durations = node_durations(layout, b)
    at_rows = m.layout.state_times(m.boundaries)[node_rows(m.layout)[0]]
    at_rates = m.layout.rate_times(m.boundaries)

    def between(at: Array, values: Array, wanted: Array) -> Array:
        columns = [np.interp(wanted, at, column) for column in values.T]
        return np.stack(columns, 1) if columns else np.empty((len(wanted), 0))

    p_rates = between(at_rows, old.costates, rate_times)
    p_ends = between(at_rows, old.costates, layout.interval_times(b)[1:])
    for group in program.groups:
        if group.phase != indices.phase.name:
            continue
        own = slice(group.first, group.first + group.count)
        if group.kind == "dynamics":
            rows[own] = row_multipliers(layout, p_rates, p_ends).ravel()
        elif group.kind in ("path", "equation"):
            values = old.path_multipliers if group.kind == "path" else old.equation_multipliers
            if values.shape[1] == len(group.names):
                rows[own] = (between(at_rates, values, rate_times) * durations[:, None]).ravel()
        elif group.kind == "integral":
            for k, name in enumerate(group.names):
                rows[group.first + k] = old.integrals.get(name, ("", 0.0, 0.0))[2]
    state_durations = np.zeros(len(layout.state_place))
    np.add.at(state_durations, layout.rate_state, durations)
    at_states = m.layout.state_times(m.boundaries)
    bounds[indices.states] = (
        between(at_states, old.state_multipliers, state_times) * state_durations[:, None]
    )
    bounds[indices.controls] = (
        between(at_rates, old.control_multipliers, rate_times) * durations[:, None]
    )


def _same_shape(old: Mesh, new: Mesh) -> bool:
    """Whether meshes have the same sections; their knots may be elsewhere."""
    return len(old.sections) == len(new.sections) and all(
        a.degrees == b.degrees and a.held == b.held and np.allclose(a.edges, b.edges, atol=1e-12)
        for a, b in zip(old.sections, new.sections, strict=True)
    )


def _counterparts(
    old: PhaseRecord, new: PhaseFunctions
) -> tuple[tuple[Sequence[Quantity], Sequence[Variable]], ...]:
    return (
        (old.states, new.states),
        (old.controls, new.controls),
        (old.algebraics, new.algebraics),
    )


def _same_names(old: PhaseRecord, new: PhaseFunctions) -> bool:
    return all(
        [q.name for q in quantities] == [v.name for v in variables]
        for quantities, variables in _counterparts(old, new)
    )
