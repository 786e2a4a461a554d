"""Where a motion changes its structure: switches of controls, and constraints that become active.

Between such times the motion is smooth and a polynomial follows it; across them
no refinement by halves gets rid of the error.  The times found here become knots
of the mesh, decision variables that the solver then places exactly, and what
stays at a limit between two knots is held there: else the solver would gain by
polynomials that exceed the limit between nodes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np

from .estimate import Evaluator
from .mesh import Held, Joined
from .trajectory import PhaseTrajectory

Array: TypeAlias = np.ndarray

ACTIVE = 1e-4
"""A limit is active within this part of the quantity's range."""
CLOSEST = 2e-3
"""Events closer than this part of a phase are one."""
FEWEST_RUNS = 4
"""As many short runs in a row are chatter."""
TRANSITION = 0.02
"""A stretch without a limit between two with limits is none if it is shorter, as a part."""
JUMP_WIDTH, SMOOTH_WIDTH = 0.75, 4.0
"""Between these many intervals from an event a control is smooth and tells whether it jumps."""
MOSTLY = 0.85
"""A quantity is held where this part of the nodes of a section is at the limit."""


@dataclass(frozen=True)
class Structure:
    """Events of a phase and what holds between them.

    Attributes
    ----------
    times:
        Events, in order.
    held:
        For each of the len(times) + 1 stretches between them, the active limits.
    singular:
        For each stretch, whether a control chatters between its limits: a singular arc.
    joined:
        For each stretch, the controls that reach or leave a limit at its ends without a jump.
    """

    times: tuple[float, ...]
    held: tuple[tuple[Held, ...], ...]
    singular: tuple[bool, ...]
    joined: tuple[tuple[Joined, ...], ...]

    @property
    def signature(self) -> tuple[tuple[bool, tuple[Held, ...]], ...]:
        """What is equal for two motions of the same structure."""
        return tuple(zip(self.singular, self.held, strict=True))

    @property
    def jumps(self) -> bool:
        """Whether a control jumps from one of its limits to the other."""
        return any(
            a.kind == b.kind == "control" and a.number == b.number and a.side != b.side
            for first, second in itertools.pairwise(self.held)
            for a in first
            for b in second
        )


@dataclass(frozen=True)
class _Quantity:
    kind: str
    number: int
    status: Array
    values: Array
    chatters: Array


def find_structure(evaluator: Evaluator, motion: PhaseTrajectory) -> Structure:
    """The structure of a phase's motion."""
    layout = motion.layout
    times = layout.rate_times(motion.boundaries)
    order = np.argsort(times, kind="stable")
    t = times[order]
    quantities = _quantities(evaluator, motion, order, times)
    found: list[float] = []
    for quantity in quantities:
        found += _changes(t, quantity, motion)
    closest = CLOSEST * (motion.end - motion.start)
    merged: list[float] = []
    for time in sorted(found):
        inside = motion.start + closest < time < motion.end - closest
        if inside and (not merged or time - merged[-1] > closest):
            merged.append(time)
    # a stretch without nodes says nothing: its first event goes
    ends = [motion.start, *merged, motion.end]
    kept: list[float] = []
    for left, time in zip(ends[:-2], merged, strict=True):
        begin = kept[-1] if kept else left
        if np.any((t > begin) & (t < time)):
            kept.append(time)
    edges = [motion.start, *kept, motion.end]
    held, singular = [], []
    for left, right in itertools.pairwise(edges):
        inside_ = (t > left) & (t <= right)
        own = []
        for quantity in quantities:
            for side in (-1, 1):
                share = np.mean(quantity.status[inside_] == side) if np.any(inside_) else 0.0
                if share >= MOSTLY:
                    own.append(Held(quantity.kind, quantity.number, side))
        held.append(_independent(evaluator, own))
        singular.append(any(np.any(q.chatters[inside_]) for q in quantities))
    return _simplest(evaluator, motion, kept, held, singular)


def _simplest(
    evaluator: Evaluator,
    motion: PhaseTrajectory,
    times: list[float],
    held: list[tuple[Held, ...]],
    singular: list[bool],
) -> Structure:
    """Without stretches that differ in nothing, or that no interval resolves."""
    times, held, singular = list(times), list(held), list(singular)
    k = 1
    while k < len(held):
        start = times[k - 1]
        end = times[k] if k < len(times) else motion.end
        first, last = motion.locate(np.array([start, end]))[0]
        width = float(np.max(np.diff(motion.edges)[first : last + 1]))
        only_states = held[k] and all(h.kind != "control" for h in held[k])
        next_is_control = k + 1 < len(held) and any(h.kind == "control" for h in held[k + 1])
        unresolved = only_states and next_is_control and end - start < width
        between = k < len(times) and held[k - 1] and held[k + 1]
        short = end - start < TRANSITION * (motion.end - motion.start)
        if between and short and not held[k] and not singular[k]:
            # one limit takes over from another, smeared over a few intervals
            times[k - 1 : k + 1] = [(start + end) / 2]
            del held[k], singular[k]
            continue
        same = held[k] == held[k - 1] and singular[k] == singular[k - 1]
        if same or unresolved:  # the latter: a limit that is reached as a control reaches its own
            del times[k - 1], held[k], singular[k]
        else:
            k += 1
    joined = _joined(evaluator, motion, [motion.start, *times, motion.end], held, singular)
    return Structure(tuple(times), tuple(held), tuple(singular), joined)


def _joined(
    evaluator: Evaluator,
    motion: PhaseTrajectory,
    edges: list[float],
    held: list[tuple[Held, ...]],
    singular: list[bool],
) -> tuple[tuple[Joined, ...], ...]:
    """For each stretch, controls that are at their limit beyond an end and meet it there."""
    times = motion.layout.rate_times(motion.boundaries)
    found: list[list[Joined]] = [[] for _ in held]
    for k, (first, second) in enumerate(itertools.pairwise(held)):
        for free, other, end in ((k, second, 1), (k + 1, first, 0)):
            if singular[free] or motion.layout.scheme.shoots:
                continue
            for limit in other:
                own = any(h.kind == "control" and h.number == limit.number for h in held[free])
                if limit.kind != "control" or own:
                    continue
                bounds = evaluator.functions.controls[limit.number].bounds
                inside = (times > edges[free]) & (times < edges[free + 1])
                values = motion.controls[inside, limit.number]
                value = bounds[0 if limit.side < 0 else 1]
                if _meets(motion, times[inside], values, edges[k + 1], value):
                    found[free].append(Joined(limit.number, end, limit.side))
    return tuple(tuple(own) for own in found)


def _meets(motion: PhaseTrajectory, t: Array, values: Array, event: float, limit: float) -> bool:
    """Whether a control, continued from where it is smooth, is at its limit at an event.

    The interval of the event itself is left out: there a polynomial smears a jump.
    """
    width = float(np.diff(motion.edges)[motion.locate(np.array([event]))[0][0]])
    distance = np.abs(t - event)
    near = (distance > JUMP_WIDTH * width) & (distance < SMOOTH_WIDTH * width)
    if np.count_nonzero(near) < 3:
        return False
    slope, value = np.polyfit(distance[near], values[near] - limit, 1)
    return bool(abs(value) <= abs(slope) * width)


def _independent(evaluator: Evaluator, held: list[Held]) -> tuple[Held, ...]:
    """Limits that controls can keep: no more than there are controls left to keep them.

    A mass that stays at its lowest because the thrust is zero must not be held as well.
    """
    functions = evaluator.functions
    controls = tuple(h for h in held if h.kind == "control")
    fixed = {h.number for h in controls}
    fixed |= {k for k, v in enumerate(functions.controls) if v.bounds[0] == v.bounds[1]}
    free = len(functions.controls) - len(fixed)
    kept = list(controls)
    for kind in ("path", "state"):
        for limit in (h for h in held if h.kind == kind):
            if kind == "path" and len(functions.controls):
                used = np.flatnonzero(
                    ca.which_depends(functions.paths[limit.number], functions.u, 1, False)
                )
                if len(used) and fixed.issuperset(int(k) for k in used):
                    continue  # it follows from the controls that are held
            if free > 0:
                kept.append(limit)
                free -= 1
    return tuple(kept)


def _quantities(
    evaluator: Evaluator, motion: PhaseTrajectory, order: Array, times: Array
) -> list[_Quantity]:
    """Controls, states and paths that touch a limit somewhere."""
    layout, functions = motion.layout, evaluator.functions
    found: list[_Quantity] = []
    degrees = np.ones(len(order), dtype=int)
    for interval in layout.intervals:
        degrees[interval.rates] = interval.degree
    degrees = degrees[order]

    def consider(kind: str, k: int, values: Array, bounds: tuple[float, float]) -> None:
        low, high = bounds
        both = np.isfinite(low) and np.isfinite(high)
        size = high - low if both else float(np.ptp(values))
        if size <= 0 or low == high:
            return
        status = np.zeros(len(values), dtype=int)
        status[values - low < ACTIVE * size] = -1
        status[high - values < ACTIVE * size] = 1
        chatters = np.zeros(len(values), dtype=bool)
        if kind == "control" and not layout.scheme.shoots:
            chatters = _chatter(status, degrees)
            status[chatters] = 0
        if np.any(status) or np.any(chatters):
            found.append(_Quantity(kind, k, status, values, chatters))

    for k, variable in enumerate(functions.controls):
        consider("control", k, motion.controls[order, k], variable.bounds)
    states = motion.states[layout.rate_state][order]
    for k, variable in enumerate(functions.states):
        consider("state", k, states[:, k], variable.bounds)
    if functions.phase.paths:
        values = evaluator.all(
            motion.states[layout.rate_state], motion.controls, motion.algebraics, times
        )["paths"][order]
        for k, path in enumerate(functions.phase.paths):
            consider("path", k, values[:, k], path.bounds)
    return found


def _chatter(status: Array, degrees: Array) -> Array:
    """(R,) nodes where a control jumps to and fro within intervals: a singular arc.

    A control that switches stays at its limit for intervals; runs of nodes that are each
    shorter than an interval, four or more of them in a row, mean nothing by themselves.
    """
    edges = np.flatnonzero(np.diff(status)) + 1
    firsts, lasts = np.append(0, edges), np.append(edges, len(status))
    short = [b - a < degrees[a] for a, b in zip(firsts, lasts, strict=True)]
    result = np.zeros(len(status), dtype=bool)
    k = 0
    while k < len(short):
        end = k
        while end < len(short) and short[end]:
            end += 1
        if end - k >= FEWEST_RUNS:
            result[firsts[k] : lasts[end - 1]] = True
        k = end + 1
    return result


def _changes(t: Array, quantity: _Quantity, motion: PhaseTrajectory) -> list[float]:
    """Times where a quantity reaches or leaves its limits, or jumps between them."""
    runs: list[list[int]] = []
    for k, value in enumerate(quantity.status):
        if runs and runs[-1][2] == value:
            runs[-1][1] = k
        else:
            runs.append([k, k, int(value)])
    values = quantity.values
    result: list[float] = []
    skip = False
    for before, run, after in zip([None, *runs[:-1]], runs, [*runs[1:], None], strict=True):
        if skip or before is None:
            skip = False
            continue
        first, last, value = run
        if (
            quantity.kind == "control"
            and value == 0
            and after is not None
            and before[2] * after[2] < 0
            and _intervals(motion, t[first], t[last]) <= 2
        ):
            # from one limit to the other within an interval or two: one switch, where
            # the average of the control says
            a, b = t[before[1]], t[after[0]]
            span = slice(before[1], after[0] + 1)
            mean = np.trapezoid(values[span], t[span]) / (b - a) if b > a else values[first]
            share = (mean - values[after[0]]) / (values[before[1]] - values[after[0]])
            result.append(float(a + np.clip(share, 0.02, 0.98) * (b - a)))
            skip = True
            continue
        if quantity.kind != "control" and value != 0 and first == last:
            result.append(float(t[first]))  # a touch point
            skip = True
            continue
        result.append(float((t[before[1]] + t[first]) / 2))
    return result


def _intervals(motion: PhaseTrajectory, first: float, last: float) -> int:
    """How many intervals a stretch of time touches."""
    k, _ = motion.locate(np.array([first, last]))
    return int(k[1] - k[0] + 1)
