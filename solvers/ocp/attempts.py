"""One mesh, several attempts: from another guess or with another rule for the barrier.

A Newton method that fails from one start may succeed from the next.  What counts as an
attempt is stated here and reported; all attempts on a mesh share its limits of
iterations and time, so a problem without a solution does not cost several times as much.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .backend import Outcome, ipopt
from .interruption import Stop
from .nlp import NonlinearProgram
from .progress import Watch
from .status import Status

Array: TypeAlias = np.ndarray
_LOG = logging.getLogger("bestiary.ocp")

FIRST_SHARE = 0.4
"""Part of the iterations that the first attempt may use."""
FEWEST_WARM = 60
"""Iterations that a warm start may use at least; it is meant to be short."""
RIPPLE = 1e-2
"""Disturbance of a guess that led nowhere, as a part of the variables' scales."""
LOWER = 1e-6
"""A cost is lower by at least this part of its size."""
BESIDE = "a start beside a stationary point that is no minimum"
"""The attempt that left such a point."""
BRIEF = 100
"""Iterations of a brief attempt."""
FINAL = (Status.INTERRUPTED, Status.TIME_LIMIT, Status.TOO_FEW_FREEDOMS)
"""What another attempt would not change."""


@dataclass(frozen=True)
class Attempt:
    """How one attempt differs: its guess, its start, its options."""

    name: str
    guess: Callable[[], Array]
    warm: bool = False
    options: Mapping[str, Any] | None = None


def rippled(program: NonlinearProgram, guess: Array) -> Array:
    """A guess a little beside another one, the same every time.

    Where slopes vanish at a guess, as of sqrt(x^2 + y^2) or of a cosine at 0, they
    do not beside it.
    """
    noise = np.random.default_rng(1).uniform(-RIPPLE, RIPPLE, len(guess))
    return np.asarray(np.clip(guess + noise * program.variable_scale, program.lower, program.upper))


def may_be_no_minimum(program: NonlinearProgram, outcome: Outcome) -> bool:
    """Whether a stationary point may be a maximum or a saddle.

    Where the reduced Hessian is not positive definite, the inertia of the matrix of the
    optimality conditions is wrong, and IPOPT adds a multiple of the identity
    (Waechter and Biegler, Math. Programming 106, 2006, 3.1): it did so in its last step, or
    made no step at all.
    """
    if not any(len(block.cost_place) for block in program.blocks):
        return False  # what costs nothing is best everywhere
    added = outcome.history.get("regularization_size")
    if added is None or not len(added):
        return False
    return len(added) == 1 or bool(added[-1] > 0)


def _limited(settings: Mapping[str, Any], left: int) -> dict[str, Any]:
    return {**settings, "iterations": min(left, int(settings["iterations"]))}


def _is_better(found: Outcome, known: Outcome, program: NonlinearProgram) -> bool:
    """Whether a disturbed start led to a lower cost, or to none at all."""
    if found.status is Status.UNBOUNDED:
        return True
    size = max(abs(known.cost), program.cost_scale)
    return found.status.converged and found.cost < known.cost - LOWER * size


def solve_mesh(
    program: NonlinearProgram,
    p: Array,
    solver: Mapping[str, Any],
    *,
    warm: bool,
    usual: int,
    fresh: Callable[[], Array] | None,
    watch: Watch | None,
    stop: Stop,
    duals: tuple[Array, Array] | None = None,
    brief: bool = False,
) -> tuple[Outcome, str]:
    """Solve a program by as many attempts as it takes.

    Parameters
    ----------
    program, p, solver, watch, stop:
        As of :func:`.backend.ipopt`.
    warm:
        Whether the program's guess is an earlier solution.
    usual:
        Iterations that the mesh before took: a warm start that takes many more has lost
        its way.
    fresh:
        Gives the guess that the user stated, on this mesh; None if the program has it.
    brief:
        Whether there is another way than this mesh, so that few attempts are made.
    duals:
        Multipliers of rows and bounds to begin with, for the first attempt.

    Returns
    -------
    outcome, note:
        Of the attempt that succeeded, and what it was; of the first one if none did.
    """
    given = program.guess
    adaptive = {"mu_strategy": "adaptive"}
    attempts = [Attempt("", lambda: given, warm)]
    if warm:
        attempts.append(Attempt("a cold start", lambda: given, options=adaptive))
    if warm and fresh is not None and not brief:
        attempts.append(Attempt("the first guess on the finer mesh", fresh))
    stated = fresh if warm and fresh is not None else (lambda: given)
    if not brief:
        attempts.append(
            Attempt("a disturbed guess", lambda: rippled(program, stated()), options=adaptive)
        )
    left, seconds = int(solver.get("iterations", 1000)), solver.get("seconds")
    begun = time.perf_counter()
    first: Outcome | None = None
    spent = 0
    for k, attempt in enumerate(attempts):
        allowed = left if not brief else min(left, max(BRIEF, 3 * usual))
        if k + 1 < len(attempts):
            share = max(FEWEST_WARM, 3 * usual) if warm and k == 0 else left
            allowed = min(left, share, max(FEWEST_WARM, int(FIRST_SHARE * left)))
        remaining = None if seconds is None else seconds - (time.perf_counter() - begun)
        if allowed < 1 or (remaining is not None and remaining <= 0):
            break
        program.guess = attempt.guess()
        settings = {
            **solver,
            "iterations": allowed,
            "seconds": remaining,
            "options": {**(attempt.options or {}), **(solver.get("options") or {})},
        }
        rows, bounds = duals if duals is not None and k == 0 else (None, None)
        outcome = ipopt(
            program,
            p,
            warm=attempt.warm,
            watch=watch,
            stop=stop,
            row_multipliers=rows,
            bound_multipliers=bounds,
            **settings,
        )
        left -= outcome.iterations
        spent += outcome.iterations
        if outcome.status.converged:
            name = attempt.name
            if not warm and left > 0 and may_be_no_minimum(program, outcome) and not stop.is_set():
                program.guess = rippled(program, outcome.x)
                beside = ipopt(program, p, watch=watch, stop=stop, **_limited(settings, left))
                spent += beside.iterations
                if _is_better(beside, outcome, program):
                    outcome, name = beside, BESIDE
            outcome.iterations = spent
            program.guess = given
            return outcome, name
        first = first or outcome
        if stop.is_set() or outcome.status in FINAL:
            break
        _LOG.info("attempt %d failed: %s", k + 1, outcome.message)
    assert first is not None
    program.guess = given
    first.iterations = spent
    return first, ""
