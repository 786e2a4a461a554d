"""Motions that grow beyond all bounds by themselves, however they are steered.

x' = x^2 from 1 is infinite after a second, x' = 10 x passes 1e12 within three: no motion
lasts until the end of the phase, or none that polynomials on a mesh could follow, and a
solver can only report that it got nowhere.  Simulations from the start tell: with the
controls of the guess and of the last iterate, with none, and at each of their limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .estimate import Evaluator
from .labels import with_unit
from .motion import evaluators
from .numbering import PhaseIndices
from .transcription import Transcription

Array: TypeAlias = np.ndarray

BEYOND = 1e9
"""A state beyond this many times its scale has left everything."""
SUDDEN = 0.02
"""A state that grows from the root of that to all of it within this part of the time escapes."""
MOST_STEPS = 2000


@dataclass(frozen=True)
class Escape:
    """A state that leaves all bounds, when at the latest, and whether suddenly."""

    name: str
    unit: str
    time: float
    end: float
    sudden: bool

    def __str__(self) -> str:
        how = "escapes to infinity" if self.sudden else "grows without bound"
        return (
            f"{self.name} {how} by itself: simulated from the start, with controls as guessed, as "
            f"found, at zero and at their limits, it has left everything by "
            f"{with_unit(self.time, 's')}, before the end at {with_unit(self.end, 's')}"
        )


def find_escape(transcription: Transcription, x: Array, p: Array) -> Escape | None:
    """The first phase all of whose simulations leave everything; None if there is none."""
    if transcription.scheme.shoots:
        return None
    every = evaluators(transcription, x, p)
    for indices, evaluator in zip(transcription.phases, every, strict=True):
        found = _of_phase(transcription, indices, evaluator, x)
        if found is not None:
            return found
    return None


def _of_phase(
    transcription: Transcription, indices: PhaseIndices, evaluator: Evaluator, x: Array
) -> Escape | None:
    program, guess = transcription.program, transcription.program.guess
    start = indices.states[0]
    if not np.all(program.lower[start] == program.upper[start]):
        return None  # another start may last
    ends = indices.boundaries(guess)
    span = float(ends[0]), float(ends[-1])
    places = indices.layout.rate_times(ends)
    scale = program.variable_scale[start]
    latest: tuple[float, int, bool] = (-np.inf, 0, True)
    for controls in _controls(transcription, indices, x):
        left = _simulated(
            evaluator,
            program.lower[start],
            scale,
            span,
            places,
            controls,
            guess[indices.algebraics],
        )
        if left is None:
            return None
        latest = max(latest, left)
    time, state, sudden = latest
    variable = indices.functions.states[state]
    return Escape(variable.name, variable.unit, time, span[1], sudden)


def _controls(transcription: Transcription, indices: PhaseIndices, x: Array) -> list[Array]:
    """(R, nu) tables of controls to try, all different."""
    program, entries = transcription.program, indices.controls
    low, high = program.lower[entries], program.upper[entries]
    scale = program.variable_scale[entries]
    wanted = [
        program.guess[entries],
        x[entries],
        np.zeros_like(scale),
        np.where(np.isfinite(low), low, -scale),
        np.where(np.isfinite(high), high, scale),
    ]
    found: list[Array] = []
    for values in wanted:
        values = np.clip(values, low, high)
        if np.all(np.isfinite(values)) and not any(np.allclose(values, f) for f in found):
            found.append(values)
    return found


def _simulated(
    evaluator: Evaluator,
    start: Array,
    scale: Array,
    span: tuple[float, float],
    times: Array,
    controls: Array,
    algebraics: Array,
) -> tuple[float, int, bool] | None:
    """When a simulation leaves everything, which state does, and whether suddenly; else None."""
    order = np.argsort(times, kind="stable")
    t_nodes, u_nodes = times[order], controls[order]

    def rates(t: float, y: Array) -> Array:
        u = [np.interp(t, t_nodes, column) for column in u_nodes.T]
        now = np.array(u).reshape(1, -1)
        return np.asarray(evaluator.rates(y[None], now, algebraics[:1], np.array([t]))[0])

    from scipy.integrate import RK45  # heavy: only where a solve has failed

    stepper = RK45(rates, span[0], start, span[1], rtol=1e-4, atol=1e-6 * scale)
    halfway = np.nan
    for _ in range(MOST_STEPS):
        if stepper.status != "running":
            break
        stepper.step()
        size = np.abs(stepper.y) / scale
        if not np.all(np.isfinite(size)):
            size = np.where(np.isfinite(size), size, np.inf)
        if np.max(size) > BEYOND**0.5 and np.isnan(halfway):
            halfway = stepper.t
        if np.max(size) > BEYOND or (stepper.status == "failed" and np.isfinite(halfway)):
            length = stepper.t - span[0]
            return float(stepper.t), int(np.argmax(size)), stepper.t - halfway < SUDDEN * length
    return None
