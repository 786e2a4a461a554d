"""From a decision vector to motions, and back to physical numbers of the phases."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .estimate import Evaluator
from .numbering import PhaseIndices
from .trajectory import PhaseTrajectory
from .transcription import Transcription

Array: TypeAlias = np.ndarray


def evaluators(transcription: Transcription, x: Array, p: Array) -> list[Evaluator]:
    """Equations of each phase with the parameters and times of a decision vector."""
    s = x[transcription.parameters]
    result = []
    for indices in transcription.phases:
        b = indices.boundaries(x)
        result.append(Evaluator(indices.functions, s, p, (float(b[0]), float(b[-1]))))
    return result


def trajectories(transcription: Transcription, x: Array, p: Array) -> list[PhaseTrajectory]:
    """The motion of each phase that a decision vector stands for."""
    return [
        _trajectory(indices, evaluator, x, p)
        for indices, evaluator in zip(
            transcription.phases, evaluators(transcription, x, p), strict=True
        )
    ]


def _trajectory(indices: PhaseIndices, evaluator: Evaluator, x: Array, p: Array) -> PhaseTrajectory:
    layout, boundaries = indices.layout, indices.boundaries(x)
    states = x[indices.states]
    controls, algebraics = x[indices.controls], x[indices.algebraics]
    nx = states.shape[1]
    if indices.node_block is not None:
        lengths = np.diff(boundaries)[layout.rate_section]
        scaled = indices.node_block.values(x, p)[:nx].T
        rates = scaled / np.where(lengths != 0, lengths, 1.0)[:, None]
    else:
        ends = np.array([[i.states[0], i.states[-1]] for i in layout.intervals]).ravel()
        held = np.array([[i.rates[0], i.rates[-1]] for i in layout.intervals]).ravel()
        times = layout.state_times(boundaries)[ends]
        none = np.empty((len(ends), 0))
        rates = evaluator.all(states[ends], controls[held], none, times)["rates"]
        rates = rates.reshape(len(layout.intervals), 2, nx)
    return PhaseTrajectory(layout, boundaries, states, rates, controls, algebraics)
