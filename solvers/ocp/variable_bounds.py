"""Bounds of the decision vector: of variables, at ends, of times, and what a structure holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .numbering import PhaseIndices, joined_interval
from .variables import Range, Variable

if TYPE_CHECKING:
    from .transcription import Transcription

Array: TypeAlias = np.ndarray


def bound_variables(transcription: Transcription) -> None:
    """Set the lower and upper bounds of a transcription's program."""
    program = transcription.program
    lower, upper = program.lower, program.upper

    def put(entries: Array, bounds: Range) -> None:
        lower[entries], upper[entries] = bounds

    for indices in transcription.phases:
        phase, functions = indices.phase, indices.functions
        groups: tuple[tuple[Array, Sequence[Variable]], ...] = (
            (indices.states, functions.states),
            (indices.controls, functions.controls),
            (indices.algebraics, functions.algebraics),
        )
        for entries, variables in groups:
            for k, variable in enumerate(variables):
                put(entries[:, k], variable.bounds)
        names = [v.name for v in functions.states]
        for where, ranges, node in (
            ("start", phase.start_bounds, 0),
            ("end", phase.end_bounds, -1),
        ):
            for name, (low, high) in ranges.items():
                entry = (
                    indices.endpoints[where, name]
                    if (where, name) in indices.endpoints
                    else indices.states[node, names.index(name)]
                )
                lower[entry] = max(lower[entry], low)
                upper[entry] = min(upper[entry], high)
        _hold(transcription, indices)
        for k, ends in ((0, phase.start_range), (-1, phase.end_range)):
            if indices.times[k] >= 0:
                put(indices.times[k : k + 1] if k == 0 else indices.times[-1:], ends)
    for place, variable in zip(
        transcription.parameters, transcription.problem.parameters, strict=True
    ):
        put(np.array([place]), variable.bounds)


def _hold(transcription: Transcription, indices: PhaseIndices) -> None:
    """Quantities that the structure keeps at a limit within a section."""
    program, layout = transcription.program, indices.layout
    for s, section in enumerate(layout.mesh.sections):
        rates = np.flatnonzero(layout.rate_section == s)
        for held in section.held:
            if held.kind == "control":
                entries = indices.controls[rates, held.number]
            elif held.kind == "state":
                entries = indices.states[layout.rate_state[rates], held.number]
            else:
                rows = indices.path_rows[rates, held.number]
                limit = (program.row_lower if held.side < 0 else program.row_upper)[rows]
                program.row_lower[rows] = program.row_upper[rows] = limit
                continue
            limit = (program.lower if held.side < 0 else program.upper)[entries]
            program.lower[entries] = program.upper[entries] = limit
        for joined in section.joined:
            node, _, _ = joined_interval(indices.layout, s, joined.end)
            if node is not None:
                entry = indices.controls[node, joined.number]
                limit = (program.lower if joined.side < 0 else program.upper)[entry]
                program.lower[entry] = program.upper[entry] = limit
