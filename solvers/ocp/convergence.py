"""Observed order of convergence: how fast a scheme's error falls as its mesh becomes finer.

A smooth problem is solved on uniform meshes that are not refined, and compared with a
reference at the ends of the intervals, where the schemes state their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .problem import OptimalControlProblem
from .schemes import Radau, Scheme
from .solution import Solution
from .solving import solve

Array: TypeAlias = np.ndarray

TIGHT = 1e-10


@dataclass(frozen=True)
class Convergence:
    """Errors of a scheme on finer and finer meshes.

    Attributes
    ----------
    scheme:
        The scheme.
    intervals:
        (M,) of the meshes.
    errors:
        (M,) largest error of a state at ends of intervals, relative to the state's size.
    cost_errors:
        (M,) relative errors of the cost.
    """

    scheme: Scheme
    intervals: Array
    errors: Array
    cost_errors: Array

    @property
    def order(self) -> float:
        """Observed between the two finest meshes."""
        ratio = np.log(self.errors[-2] / self.errors[-1])
        return float(ratio / np.log(self.intervals[-1] / self.intervals[-2]))


def reference_solution(
    build: Callable[[], OptimalControlProblem], intervals: int = 60, degree: int = 8
) -> Solution:
    """A solution far finer than what is compared with it."""
    return solve(build(), Radau(degree), intervals, TIGHT, refine_mesh=False).unseal()


def observe(
    build: Callable[[], OptimalControlProblem],
    scheme: Scheme,
    intervals: Sequence[int],
    reference: Solution,
) -> Convergence:
    """Errors of a scheme on uniform meshes.

    Parameters
    ----------
    build:
        Makes the problem; it should have one phase, a fixed duration and a smooth solution.
    scheme, intervals:
        What is tried.
    reference:
        See :func:`reference_solution`.
    """
    exact = reference.motion()
    sizes = np.max(np.abs(exact.states), axis=0)
    errors, costs = [], []
    for count in intervals:
        found = solve(build(), scheme, int(count), TIGHT, refine_mesh=False).unseal()
        motion = found.motion()
        states = motion.states[motion.layout.interval_starts]
        gap = np.abs(states - exact.states_at(motion.edges)) / np.where(sizes > 0, sizes, 1.0)
        errors.append(float(np.max(gap)))
        costs.append(abs(found.cost - reference.cost) / abs(reference.cost))
    return Convergence(scheme, np.array(intervals), np.array(errors), np.array(costs))


def plot_convergence(results: Sequence[Convergence], axes: Any = None) -> Any:
    """Errors over intervals, both logarithmic, with the stated slopes dashed; the axes."""
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(figsize=(7.0, 5.0), layout="constrained")
    for number, result in enumerate(results):
        color = f"C{number}"
        stated = result.scheme.order()
        label = f"{result.scheme}: order {result.order:.1f}, stated {stated}"
        axes.loglog(result.intervals, result.errors, "o-", color=color, label=label)
        slope = result.errors[-1] * (result.intervals[-1] / result.intervals) ** float(stated)
        axes.loglog(result.intervals, slope, "--", color=color, linewidth=0.8)
    axes.set_xlabel("intervals")
    axes.set_ylabel("largest relative error of a state")
    ticks = sorted({int(n) for r in results for n in r.intervals})
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.grid(True, alpha=0.3)
    axes.legend()
    return axes
