"""Problems with known optima, by name: for tests, for the command line, and to learn from.

``BENCHMARKS[name]`` tells the optimum and its source, ``PROBLEMS[name]()`` builds the problem.
"""

from . import flight, linear, mechanisms, oscillators, paths, processes, rockets
from .benchmark import BENCHMARKS, Benchmark, Builder, benchmark

PROBLEMS: dict[str, Builder] = {name: entry.build for name, entry in BENCHMARKS.items()}

__all__ = [
    "BENCHMARKS",
    "PROBLEMS",
    "Benchmark",
    "Builder",
    "benchmark",
    "flight",
    "linear",
    "mechanisms",
    "oscillators",
    "paths",
    "processes",
    "rockets",
]
