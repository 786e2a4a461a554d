"""``solve``: from a statement to a verified solution."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .backend import interruptible
from .compilation import NodeCompiler
from .diagnosis import judge
from .errors import OptimalControlError
from .functions import PhaseFunctions
from .mesh import Mesh, make_mesh
from .motion import evaluators
from .problem import OptimalControlProblem
from .refinement import RefinementOptions, refine
from .replay import replay
from .schemes import Radau, Scheme
from .solution import Solution
from .transcription import Transcription

NLP_SHARE = 1e-3
"""The program is solved to this part of the tolerance of the mesh, but at least to 1e-8."""


def solve(
    problem: OptimalControlProblem,
    scheme: Scheme | None = None,
    mesh: Any = 20,
    tolerance: float = 1e-6,
    *,
    refine_mesh: bool = True,
    rounds: int = 12,
    nodes: int = 6000,
    knots: bool = True,
    guess: Solution | None = None,
    iterations: int = 1000,
    seconds: float | None = None,
    linear_solver: str = "mumps",
    solver_options: Mapping[str, Any] | None = None,
    compile: str = "auto",
    progress: Any = None,
) -> Solution:
    """Solve a problem, refine its mesh, replay the motion and judge it.

    Parameters
    ----------
    problem:
        The statement.
    scheme:
        How motions are represented; ``Radau(3)`` by default.
    mesh:
        Intervals to begin with: a number, their ends as fractions, or one of these
        for each phase by name.
    tolerance:
        Largest relative error of a state on an interval, and of the cost.
    refine_mesh:
        Whether the mesh may change; else it is solved as it is.
    rounds, nodes:
        Most meshes, and most nodes of a mesh.
    knots:
        Whether times where the motion changes its structure may become variables.
    guess:
        An earlier solution, of the same problem or one with the same phases.
    iterations, seconds:
        Limits of each solve of a mesh.
    linear_solver, solver_options:
        Of IPOPT.
    compile:
        Whether the functions of a node become machine code: ``"auto"`` where that pays,
        ``"always"`` or ``"never"``; see :mod:`.compilation`.
    progress:
        Called as ``progress(round, iterate)`` at each iteration; a true result stops.

    Returns
    -------
    Solution
        Sealed if it failed.

    Raises
    ------
    OptimalControlError
        For a statement that is not complete, or options that mean nothing.
    SolverUnavailableError
        If the linear solver is not there.
    """
    begun = time.perf_counter()
    problem.check()
    scheme = scheme or Radau(3)
    if not isinstance(scheme, Scheme):
        raise OptimalControlError(f"scheme: expected one such as Radau(3), got {scheme!r}")
    if not 1e-12 <= tolerance <= 1.0:
        raise OptimalControlError(f"tolerance: expected 1e-12 to 1, got {tolerance!r}")
    functions = [PhaseFunctions(problem, phase) for phase in problem.phases]
    if scheme.shoots and any(len(f.algebraics) for f in functions):
        raise OptimalControlError(
            f"{scheme} needs explicit dynamics; this problem has algebraic variables"
        )
    chosen = mesh if isinstance(mesh, Mapping) else {p.name: mesh for p in problem.phases}
    meshes = [
        make_mesh(chosen.get(p.name, 20), scheme, f"phase {p.name!r}") for p in problem.phases
    ]
    p = np.array([problem.constant_values[v.name] for v in problem.constants()])
    options = RefinementOptions(tolerance, rounds if refine_mesh else 1, nodes, knots)
    solver = {
        "tolerance": min(1e-8, max(NLP_SHARE * tolerance, 1e-11)),
        "iterations": iterations,
        "seconds": seconds,
        "linear_solver": linear_solver,
        "options": solver_options,
    }
    start = None
    if guess is not None:
        x = guess.refined.outcome.x
        start = (guess.refined.motions, x[guess.refined.transcription.parameters])
    compiler = NodeCompiler(compile)

    def build(current: Sequence[Mesh]) -> Transcription:
        transcription = Transcription(problem, functions, current, scheme)
        transcription.program.compile = compiler
        return transcription

    with interruptible() as stop:
        refined = refine(
            build,
            meshes,
            scheme,
            p,
            options,
            solver,
            stop,
            progress,
            start,
        )
    replays = None
    if np.all(np.isfinite(refined.outcome.x)):
        program = refined.transcription.program
        scales = [program.variable_scale[i.states[0]] for i in refined.transcription.phases]
        replays = replay(
            evaluators(refined.transcription, refined.outcome.x, p),
            refined.motions,
            scales,
            min(1e-9, 0.01 * tolerance),
        )
    verdict = judge(refined, replays, p, tolerance)
    return Solution(
        problem,
        refined,
        verdict,
        replays,
        {"scheme": str(scheme), "tolerance": tolerance, "linear_solver": linear_solver},
        time.perf_counter() - begun,
        problem.constant_values,
    )
