"""Scales of variables, rows and cost: from nominal sizes, then bounds, then the guess.

Only the solver sees scaled numbers; tolerances and reports are in physical units.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .nlp import NonlinearProgram
from .numbering import PhaseIndices
from .transcription import Transcription
from .variables import Variable

Array: TypeAlias = np.ndarray

SMALLEST, LARGEST = 1e-8, 1e12
LARGE_BOUND = 1e5
"""Bounds beyond this many times the guess say nothing about size."""


def variable_size(variable: Variable, values: Array) -> float:
    """Typical size of a variable whose guess takes these values."""
    if variable.nominal is not None:
        return variable.nominal
    guessed = float(np.max(np.abs(values), initial=0.0))
    low, high = variable.bounds
    if np.isfinite(low) and np.isfinite(high) and high > low:
        bound = max(abs(low), abs(high))
        if guessed == 0.0 or bound < LARGE_BOUND * guessed:
            return float(np.clip(bound, SMALLEST, LARGEST))
    return float(np.clip(guessed, SMALLEST, LARGEST)) if guessed > 0 else 1.0


def scale(transcription: Transcription, p: Array, cost_size: float | None = None) -> None:
    """Set the scales of a transcription whose program has its guess.

    Parameters
    ----------
    transcription:
        Changed in place.
    p:
        Values of the problem's constants.
    cost_size:
        Size of the cost where it is known, from an earlier solve.
    """
    program = transcription.program
    s = program.variable_scale
    for indices in transcription.phases:
        functions = indices.functions
        for entries, variables in (
            (indices.states, functions.states),
            (indices.controls, functions.controls),
            (indices.algebraics, functions.algebraics),
        ):
            for k, variable in enumerate(variables):
                s[entries[:, k]] = variable_size(variable, program.guess[entries[:, k]])
        _sizes_from_dynamics(transcription, indices, p)
        for (_, name), entry in indices.endpoints.items():
            k = [v.name for v in functions.controls].index(name)
            s[entry] = s[indices.controls[0, k]]
        times = indices.times[indices.times >= 0]
        if len(times):
            s[times] = max(float(np.max(np.abs(program.guess[times]))), SMALLEST)
        s[indices.integrals] = np.maximum(np.abs(program.guess[indices.integrals]), 1.0)
    for place, variable in zip(
        transcription.parameters, transcription.problem.parameters, strict=True
    ):
        s[place] = variable_size(variable, program.guess[[place]])
    _scale_rows(transcription, p)
    program.cost_scale = _cost_scale(program, p) if cost_size is None else cost_size


def _sizes_from_dynamics(transcription: Transcription, indices: PhaseIndices, p: Array) -> None:
    """Sizes of states and controls that neither guess nor bounds tell, from those that are known.

    A speed is a length by a time: with the rates f of a phase of length T, an unknown w is
    about r_x / (T |df_x/dw|) for a known state x whose change r_x is its size, or that of
    T f_x if it is larger; or, for a state, T |df_w/du| s_u for a known u.  Sizes within
    ten times of 1 stay 1.
    """
    program, functions, block = transcription.program, indices.functions, indices.node_block
    if block is None:
        return
    s, guess = program.variable_scale, program.guess
    nx = len(functions.states)
    tables = ((indices.states, functions.states), (indices.controls, functions.controls))
    columns = [(table[:, k], v) for table, variables in tables for k, v in enumerate(variables)]
    known = [v.nominal is not None or _is_told(v, guess[entries]) for entries, v in columns]
    if all(known):
        return
    x = np.clip(
        np.where(guess == 0.0, 0.1 * s, guess), program.lower, program.upper
    )  # slopes at zero are often zero by accident
    out, inputs = block.function.jacobian_pattern
    values = np.abs(block.jacobian_values(x, p))
    slopes = np.zeros((nx, len(columns)))
    own = (out < nx) & (inputs < len(columns))
    sizes = np.max(np.where(np.isfinite(values), values, 0.0), axis=1)
    # the block's rates are those of a section times its length: all sections make the phase
    slopes[out[own], inputs[own]] = sizes[own] * len(indices.layout.mesh.sections)
    found = np.array([s[entries[0]] for entries, _ in columns])

    def rate_size(r: int) -> float:
        """Change of a state over the phase, or what its rate would change it by: the larger."""
        own = [found[c] * slopes[r, c] for c in range(len(columns)) if known[c]]
        return float(max(found[r], *own))

    for _ in range(len(columns)):
        changed = False
        for w in np.flatnonzero(~np.array(known)):
            by_state = [
                rate_size(r) / slopes[r, w]
                for r in range(nx)
                if known[r] and slopes[r, w] > 0 and r != w
            ]
            by_rate = [
                found[c] * slopes[w, c]
                for c in range(len(columns))
                if w < nx and known[c] and slopes[w, c] > 0 and c != w
            ]
            if by_state or by_rate:
                found[w] = min(by_state) if by_state else max(by_rate)
                known[w] = changed = True
        if not changed:
            break
    for k, (entries, variable) in enumerate(columns):
        told = variable.nominal is not None or _is_told(variable, guess[entries])
        if not told and not 0.1 <= found[k] <= 10.0:
            s[entries] = float(np.clip(found[k], SMALLEST, LARGEST))


def _is_told(variable: Variable, values: Array) -> bool:
    """Whether a guess or bounds tell a variable's size."""
    low, high = variable.bounds
    return bool(np.any(values != 0.0)) or bool(
        np.isfinite(low) and np.isfinite(high) and high > low
    )


def _scale_rows(transcription: Transcription, p: Array) -> None:
    program = transcription.program
    jacobian = program.jacobian_entries(_interior(program), p)
    size = np.zeros(program.rows)
    values = np.abs(jacobian.values) * program.variable_scale[jacobian.columns]
    np.maximum.at(size, jacobian.rows, np.where(np.isfinite(values), values, 0.0))
    state_scale = {i.phase.name: program.variable_scale[i.states[0]] for i in transcription.phases}
    for group in program.groups:
        rows = slice(group.first, group.first + group.count)
        if group.kind == "dynamics":
            own = np.tile(state_scale[group.phase], max(1, len(group.places)))
        else:  # one scale for a component at all times
            table = size[rows].reshape(-1, len(group.names))
            found = np.clip(table.max(axis=0), SMALLEST, LARGEST)
            own = np.tile(np.where(table.max(axis=0) > 0, found, 1.0), len(table))
        given = program.row_scale[rows]
        use_given = np.isfinite(given) & (group.kind != "dynamics")
        program.row_scale[rows] = np.where(use_given, given, own)


def _interior(program: NonlinearProgram) -> Array:
    """The guess, moved a little where it is zero: slopes at zero are often zero by accident."""
    x = np.where(program.guess == 0.0, 0.1 * program.variable_scale, program.guess)
    return np.asarray(np.clip(x, program.lower, program.upper))


def _cost_scale(program: NonlinearProgram, p: Array) -> float:
    """Largest scaled slope of the cost near the guess."""
    slopes = program.gradient(_interior(program), p)
    largest = float(np.max(np.abs(slopes * program.variable_scale), initial=0.0))
    return largest if np.isfinite(largest) and largest > SMALLEST else 1.0
