"""The register of problems with a known optimum: what tests and the command line look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..problem import OptimalControlProblem

Builder: TypeAlias = Callable[[], OptimalControlProblem]


@dataclass(frozen=True)
class Benchmark:
    """A problem, its optimum and where that is from.

    Attributes
    ----------
    name, build:
        The name of a function of the library, and the function.
    optimum:
        The best value known, of what is minimized or maximized.
    tolerance:
        Relative; as tight as the optimum is known, but 1e-6 at the tightest.
    source:
        Who states it, or how it follows.
    maximized:
        Whether the problem is stated as a maximum.
    """

    name: str
    build: Builder
    optimum: float
    tolerance: float
    source: str
    maximized: bool = False

    def value(self, solution: Any) -> float:
        """The value of a solution, comparable with the optimum."""
        return -float(solution.cost) if self.maximized else float(solution.cost)

    def error(self, solution: Any) -> float:
        """Relative distance of a solution's value from the optimum (absolute if that is 0)."""
        size = abs(self.optimum) if self.optimum else 1.0
        return abs(self.value(solution) - self.optimum) / size


BENCHMARKS: dict[str, Benchmark] = {}
"""Every problem of the library by name."""


def benchmark(
    optimum: float, tolerance: float, source: str, maximized: bool = False
) -> Callable[[Builder], Builder]:
    """Enter a function that builds a problem into the register, under its own name."""

    def enter(build: Builder) -> Builder:
        name = build.__name__
        if name in BENCHMARKS:
            raise ValueError(f"there is already a benchmark {name!r}")
        BENCHMARKS[name] = Benchmark(name, build, optimum, tolerance, source, maximized)
        return build

    return enter
