"""Which conditions stand in each other's way: the nearest problem that can be solved.

Of an infeasible problem the solver only says where it got stuck, with defects
spread over all dynamics.  Here the dynamics are kept, and every bound, end
condition, path constraint and boundary condition may be missed at a price:

    minimize  sum |misses| / scale   subject to the dynamics.

What is missed at the minimum cannot be met; what is active there with a
multiplier is what stands in its way (an elastic program; Chinneck,
"Feasibility and Infeasibility in Optimization", 2008).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from .backend import ipopt
from .blocks import Block, NodeFunction
from .interruption import Stop
from .labels import Labels, at, with_unit
from .nlp import NonlinearProgram
from .sparse import Triplets
from .transcription import Transcription

Array: TypeAlias = np.ndarray

HARD = ("dynamics", "integral", "knot", "end value", "join")
"""Kinds of rows that are kept."""
MISSED = 1e-5
"""Misses above this part of the scale count."""
PRICED = 1e-3
"""Multipliers above this, relative to the price of a miss, count."""
START_PRICE = 4.0
"""Start conditions are given rather than wished for: missing one costs this much more."""
LARGEST = 40_000
"""Programs with more variables than this are not analysed."""
ITERATIONS = 300


@dataclass(frozen=True)
class Conflict:
    """What the nearest solvable problem gives up.

    Attributes
    ----------
    missed:
        Sentences on conditions that cannot be met; empty if all of them can.
    against:
        Conditions that stand in their way, most important first.
    x:
        (n,) decision vector of the nearest motion, bounds not kept.
    """

    missed: tuple[str, ...]
    against: tuple[str, ...]
    x: Array

    @property
    def feasible(self) -> bool:
        """Whether a motion was found that meets all conditions."""
        return not self.missed


def find_conflict(
    transcription: Transcription,
    x: Array,
    p: Array,
    linear_solver: str = "mumps",
    seconds: float | None = None,
    stop: Stop | None = None,
) -> Conflict | None:
    """The nearest problem that can be solved, starting from where a solver got stuck.

    Parameters
    ----------
    transcription:
        The program that could not be solved.
    x, p:
        Decision vector to start from, and values of the problem's constants.
    linear_solver, seconds, stop:
        As of :func:`.backend.ipopt`.

    Returns
    -------
    Conflict or None
        None if even this problem was not solved.
    """
    program = transcription.program
    if program.size > LARGEST or not np.all(np.isfinite(x)):
        return None
    elastic = _Elastic(transcription, x, p)
    outcome = ipopt(
        elastic.program,
        p,
        tolerance=1e-7,
        iterations=ITERATIONS,
        seconds=seconds,
        linear_solver=linear_solver,
        stop=stop,
    )
    if not outcome.status.converged:
        return None
    return elastic.read(outcome.x, outcome.row_multipliers)


class _Elastic:
    """The elastic program, its rows and where they come from."""

    def __init__(self, transcription: Transcription, x: Array, p: Array) -> None:
        original = transcription.program
        self._original, self._transcription = original, transcription
        labels = Labels(transcription, x)
        soft_rows = np.array(
            [labels.of_row(k).kind not in HARD for k in range(original.rows)], dtype=bool
        )
        self._rows = np.flatnonzero(soft_rows)
        finite = np.isfinite(original.lower) | np.isfinite(original.upper)
        timed = np.array(
            [labels.of_variable(k).kind == "time" for k in range(original.size)], dtype=bool
        )
        self._bounds = np.flatnonzero(finite & ~timed)
        n, m, k = original.size, original.rows, len(self._bounds)
        count = len(self._rows) + k
        self._above, self._below = n + np.arange(count), n + count + np.arange(count)
        soft = np.concatenate([self._rows, m + np.arange(k)])
        self._soft = soft
        linear = original.linear
        extended = Triplets(
            np.concatenate([linear.rows, m + np.arange(k), soft, soft]),
            np.concatenate([linear.columns, self._bounds, self._above, self._below]),
            np.concatenate([linear.values, np.ones(k), -np.ones(count), np.ones(count)]),
            (m + k, n + 2 * count),
        )
        size = np.concatenate(
            [original.row_scale[self._rows], original.variable_scale[self._bounds]]
        )
        started = labels.variable_end[self._bounds] < 0
        price = np.concatenate(
            [np.ones(len(self._rows)), np.where(started, START_PRICE, 1.0)]
        ) / size  # fmt: skip
        program = NonlinearProgram(
            n + 2 * count,
            [*_without_cost(original.blocks), _prices(self._above, self._below, price)],
            original.groups,
            extended,
            np.concatenate([original.row_lower, original.lower[self._bounds]]),
            np.concatenate([original.row_upper, original.upper[self._bounds]]),
            original.constants,
        )
        program.compile = original.compile
        program.row_scale = np.concatenate(
            [original.row_scale, original.variable_scale[self._bounds]]
        )
        program.variable_scale = np.concatenate([original.variable_scale, size, size])
        program.lower[self._above] = program.lower[self._below] = 0.0
        program.lower[:n][timed], program.upper[:n][timed] = (
            original.lower[timed],
            original.upper[timed],
        )
        program.guess[:n] = x
        g = np.concatenate([original.residuals(x, p), x[self._bounds]])[soft]
        low, high = program.row_lower[soft], program.row_upper[soft]
        program.guess[self._above] = np.maximum(g - high, 0.0)
        program.guess[self._below] = np.maximum(low - g, 0.0)
        program.guess = np.where(np.isfinite(program.guess), program.guess, 0.0)
        self.program, self._size, self._labels = program, size, labels

    def read(self, x: Array, multipliers: Array) -> Conflict:
        """What the solution of the elastic program says."""
        miss = x[self._above] - x[self._below]
        relative = np.abs(miss) / self._size
        price = multipliers[self._soft] * self._size
        missed = self._grouped(relative > MISSED, relative)
        against = self._grouped((relative <= MISSED) & (np.abs(price) > PRICED), np.abs(price))
        return Conflict(
            tuple(self._miss(own, miss, relative) for own in missed),
            tuple(dict.fromkeys(self._limit(own, price) for own in against)),
            x[: self._original.size],
        )

    def _grouped(self, chosen: Array, weight: Array) -> list[Array]:
        """Chosen soft rows, those of one name together, the heaviest first."""
        groups: dict[Any, list[int]] = {}
        for k in np.flatnonzero(chosen):
            groups.setdefault(self._key(int(k)), []).append(int(k))
        return sorted(
            (np.array(v) for v in groups.values()), key=lambda v: -float(np.sum(weight[v]))
        )

    def _key(self, k: int) -> Any:
        count = len(self._rows)
        if k < count:
            return "row", int(self._labels.row[self._rows[k]])
        entry = int(self._bounds[k - count])
        end = int(self._labels.variable_end[entry])
        return "bound", int(self._labels.variable[entry]), end if self._ends_apart(entry) else 0

    def _ends_apart(self, entry: int) -> bool:
        """Whether a variable is under a condition of its own at an end of the phase."""
        label = self._labels.variable[entry]
        others = self._labels.variable == label
        end = self._labels.variable_end[entry]
        if not end:
            return False
        inner = np.flatnonzero(others & (self._labels.variable_end == 0))
        program = self._original
        return not len(inner) or (
            program.lower[entry] != program.lower[inner[0]]
            or program.upper[entry] != program.upper[inner[0]]
        )

    def _described(self, k: int) -> tuple[str, str, float, float, float, bool]:
        """Name, unit, limits, time of a soft row, and whether it has many siblings."""
        count = len(self._rows)
        labels = self._labels
        if k < count:
            row = int(self._rows[k])
            label = labels.of_row(row)
            low, high = self._original.row_lower[row], self._original.row_upper[row]
            time = float(labels.row_time[row])
            return str(label), label.unit, low, high, time, bool(np.isfinite(time))
        entry = int(self._bounds[k - count])
        label = labels.of_variable(entry)
        low, high = self._original.lower[entry], self._original.upper[entry]
        if self._ends_apart(entry):
            where = "start" if labels.variable_end[entry] < 0 else "end"
            return f"{label} at the {where}", label.unit, low, high, np.nan, False
        time = float(labels.variable_time[entry])
        return str(label), label.unit, low, high, time, bool(np.isfinite(time))

    def _miss(self, own: Array, miss: Array, relative: Array) -> str:
        k = int(own[np.argmax(relative[own])])
        name, unit, low, high, time, many = self._described(k)
        limit = high if miss[k] > 0 else low
        if low == high:
            wanted = f"{name} cannot be {with_unit(limit, unit)}"
        elif miss[k] > 0:
            wanted = f"{name} cannot stay below {with_unit(limit, unit)}"
        else:
            wanted = f"{name} cannot stay above {with_unit(limit, unit)}"
        reached = float(limit + miss[k])
        nearest = with_unit(0.0 if abs(reached) < 1e-6 * self._size[k] else reached, unit)
        when = f"{at(time)}, and elsewhere too" if many and len(own) > 1 else at(time)
        return f"{wanted}: the nearest within reach is {nearest}{when}"

    def _limit(self, own: Array, price: Array) -> str:
        k = int(own[np.argmax(np.abs(price[own]))])
        name, unit, low, high, _, _ = self._described(k)
        if low == high:
            return f"{name} = {with_unit(low, unit)}"
        both = np.any(price[own] > 0) and np.any(price[own] < 0)
        if both and np.isfinite(low) and np.isfinite(high):
            return f"{name} within {low:.4g} and {with_unit(high, unit)}"
        if price[k] > 0:
            return f"{name} <= {with_unit(high, unit)}"
        return f"{name} >= {with_unit(low, unit)}"


def _without_cost(blocks: tuple[Block, ...]) -> list[Block]:
    kept = []
    for block in blocks:
        if not len(block.row):
            continue
        own = copy.copy(block)
        own.cost_place, own.cost_weight = np.empty(0, dtype=int), np.empty(0)
        kept.append(own)
    return kept


def _prices(above: Array, below: Array, price: Array) -> Block:
    """The cost: each miss at its price."""
    w, c = ca.SX.sym("misses", 2), ca.SX.sym("unused")
    count = len(above)
    return Block(
        NodeFunction("misses", w, c, w[0] + w[1]),
        np.stack([above, below], axis=1),
        np.zeros((count, 1)),
        np.full(count, -1),
        np.arange(count),
        price,
    )
