"""``solve``: from a statement to a verified solution."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

import numpy as np

from bestiary.generated.errors import suggestion

from .backend import check_linear_solver
from .compilation import NodeCompiler
from .contradictions import check_statement
from .cut_off import within_bounds
from .diagnosis import judge
from .errors import OptimalControlError
from .functions import PhaseFunctions
from .guess_check import GuessCheck, check_guess
from .interruption import interruptible
from .mesh import Layout, Mesh, make_mesh
from .motion import evaluators
from .problem import OptimalControlProblem
from .progress import watcher
from .refinement import RefinementOptions, refine
from .replay import replay
from .schemes import Radau, Scheme
from .solution import Solution
from .solver_options import check_options
from .transcription import Transcription
from .warm_start import Start, meshes_of, without_knots

Array: TypeAlias = np.ndarray

FIRST = 20
"""Intervals to begin with."""

NLP_SHARE = 1e-3
"""The program is solved to this part of the tolerance of the mesh, but at least to 1e-8."""


def solve(
    problem: OptimalControlProblem,
    scheme: Scheme | None = None,
    mesh: Any = None,
    tolerance: float = 1e-6,
    *,
    refine_mesh: bool = True,
    rounds: int = 12,
    nodes: int = 6000,
    knots: bool = True,
    guess: Solution | None = None,
    duals: bool = False,
    iterations: int = 1000,
    seconds: float | None = None,
    linear_solver: str = "mumps",
    solver_options: Mapping[str, Any] | None = None,
    compile: str = "auto",
    progress: Any = None,
    resimulate: bool = True,
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
        for each phase by name.  By default 20, or the meshes of ``guess`` if it was found
        with the same scheme.
    tolerance:
        Largest relative error of a state on an interval, and of the cost.
    refine_mesh:
        Whether the mesh may change; else it is solved as it is.
    rounds, nodes:
        Most meshes, and most nodes of a mesh (all phases together).
    knots:
        Whether times where the motion changes its structure may become variables.
    guess:
        An earlier solution, of this problem or a similar one, on any mesh: phases and
        quantities find each other by name.
    duals:
        Whether the multipliers of ``guess`` serve too: for a problem that has hardly changed.
    iterations:
        Most iterations on each mesh.
    seconds:
        Most seconds for all meshes together; the best motion so far is kept.
    linear_solver, solver_options:
        Of IPOPT.
    compile:
        Whether the functions of a node become machine code: ``"auto"`` where that pays,
        ``"always"`` or ``"never"``; see :mod:`.compilation`.
    progress:
        None: one line, updated in place, if stderr is a terminal or a notebook; False:
        nothing; or a function of an :class:`.progress.Iterate` that is called at each
        iteration and stops the solve by returning True.  Ctrl-C stops it too; either
        way the best iterate is kept.
    resimulate:
        Whether the motion is replayed; False for steps on the way to another problem.

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
    scheme = Radau(3) if scheme is None else scheme
    _check_arguments(scheme, tolerance, rounds, nodes, iterations, seconds, guess)
    if guess is not None:
        _check_counterparts(problem, guess)
    watch, close = watcher(progress, problem.name)
    check_linear_solver(linear_solver)
    checked_options = check_options(solver_options)
    functions = [PhaseFunctions(problem, phase) for phase in problem.phases]
    if scheme.shoots and any(len(f.algebraics) for f in functions):
        raise OptimalControlError(
            f"{scheme} needs explicit dynamics; this problem has algebraic variables"
        )
    check_statement(problem, functions)
    meshes = _first_meshes(problem, scheme, mesh, guess)
    first = sum(len(Layout(m, scheme).rate_state) for m in meshes)
    if first > nodes:
        raise OptimalControlError(
            f"nodes: the first mesh has {first} nodes already, at most {nodes} are allowed; "
            "give a coarser mesh= or more nodes="
        )
    p = np.array([problem.constant_values[v.name] for v in problem.constants])
    options = RefinementOptions(tolerance, rounds if refine_mesh else 1, nodes, knots)
    solver = {
        "tolerance": min(1e-8, max(NLP_SHARE * tolerance, 1e-11)),
        "iterations": iterations,
        "linear_solver": linear_solver,
        "options": checked_options,
    }
    start = None if guess is None else Start(guess.record, duals)
    compiler = NodeCompiler(compile)

    def build(current: Sequence[Mesh]) -> Transcription:
        transcription = Transcription(problem, functions, current, scheme)
        transcription.program.compile = compiler
        return transcription

    checked: list[GuessCheck] = []

    def inspect(transcription: Transcription, given: Array) -> None:
        checked.append(check_guess(transcription, given, p))

    # what is not a number is found and named by the verdict; NumPy need not warn of it
    with np.errstate(all="ignore"), interruptible(seconds) as stop:
        try:
            refined = refine(build, meshes, scheme, p, options, solver, stop, watch, start, inspect)
            ended = refined.reached or stop.is_set()
            if mesh is None and not ended and any(m.knots for m in meshes):
                # knots of the guess do not suit this problem: once more without them
                plain = [without_knots(m) for m in meshes]
                refined = refine(
                    build, plain, scheme, p, options, solver, stop, watch, start, inspect
                )
        finally:
            close()
        refined = within_bounds(refined, p, tolerance)
        replays = None
        # whoever stops a search does not want to wait for the replay of a motion that is none
        unfinished = stop.is_set() and not refined.outcome.status.converged
        if resimulate and not unfinished and np.all(np.isfinite(refined.outcome.x)):
            program = refined.transcription.program
            scales = [program.variable_scale[i.states[0]] for i in refined.transcription.phases]
            replays = replay(
                evaluators(refined.transcription, refined.outcome.x, p),
                refined.motions,
                scales,
                min(1e-9, 0.01 * tolerance),
            )
        verdict = judge(
            refined,
            replays,
            p,
            tolerance,
            guess=checked[0] if checked else None,
            stop=stop,
            linear_solver=linear_solver,
        )
    return Solution(
        problem,
        refined,
        verdict,
        replays,
        {"scheme": str(scheme), "tolerance": tolerance, "linear_solver": linear_solver},
        time.perf_counter() - begun,
        problem.constant_values,
    )


def check_option_names(names: Iterable[str], label: str, also: Iterable[str] = ()) -> None:
    """Refuse names that are no options of :func:`solve` (nor of ``also``).

    Raises
    ------
    OptimalControlError
        With the closest name.
    """
    known = [n for n in signature(solve).parameters if n != "problem"]
    known += [n for n in also if n not in known]
    for name in names:
        if name not in known:
            raise OptimalControlError(
                f"{label}: no option {name!r}{suggestion(name, known)}; have {', '.join(known)}"
            )


def _check_counterparts(problem: OptimalControlProblem, guess: Solution) -> None:
    """Refuse a guess that has nothing in common with the problem."""
    start = Start(guess.record)
    found = {p.name: start.phase(p.name, len(problem.phases)) for p in problem.phases}
    for phase in problem.phases:
        old = found[phase.name]
        own = {v.name for v in (*phase.state_variables, *phase.control_variables)}
        if old is not None and own & {q.name for q in (*old.states, *old.controls)}:
            return
    phases = ", ".join(
        f"{p.name} ({', '.join(q.name for q in p.states)})" for p in guess.record.phases
    )
    raise OptimalControlError(
        f"guess: the solution of {guess.name!r} has no phase with a state or control of this "
        f"problem, so nothing of it can serve; it has {phases}"
    )


def _first_meshes(
    problem: OptimalControlProblem, scheme: Scheme, mesh: Any, guess: Solution | None
) -> list[Mesh]:
    """One a phase: as given, else as the guess had them, else 20 intervals."""
    names = [p.name for p in problem.phases]
    same = guess is not None and guess.record.phases[0].motion.layout.scheme == scheme
    if mesh is None and guess is not None and same:
        mesh = meshes_of(guess, names)
    given = mesh if isinstance(mesh, Mapping) else dict.fromkeys(names, mesh)
    unknown = [str(n) for n in given if n not in names]
    if unknown:
        raise OptimalControlError(
            f"mesh: no phase {', '.join(unknown)}; the problem has {', '.join(names)}"
        )
    return [
        make_mesh(FIRST if given.get(n) is None else given[n], scheme, f"phase {n!r}")
        for n in names
    ]


def _check_arguments(
    scheme: Any, tolerance: Any, rounds: Any, nodes: Any, iterations: Any, seconds: Any, guess: Any
) -> None:
    """Refuse arguments of a wrong type or range, each by name."""
    if not isinstance(scheme, Scheme):
        raise OptimalControlError(f"scheme: expected one such as Radau(3), got {scheme!r}")
    if not _is_number(tolerance) or not 1e-12 <= tolerance <= 1.0:
        raise OptimalControlError(f"tolerance: expected 1e-12 to 1, got {tolerance!r}")
    for name, value in (("rounds", rounds), ("nodes", nodes), ("iterations", iterations)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise OptimalControlError(f"{name}: expected a positive integer, got {value!r}")
    if seconds is not None and not (_is_number(seconds) and seconds > 0):
        raise OptimalControlError(f"seconds: expected a positive number or None, got {seconds!r}")
    if guess is not None and not isinstance(guess, Solution):
        raise OptimalControlError(f"guess: expected an earlier Solution, got {guess!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
