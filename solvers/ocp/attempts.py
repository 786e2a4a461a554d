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
            outcome.iterations = spent
            program.guess = given
            return outcome, attempt.name
        first = first or outcome
        if stop.is_set() or outcome.status in FINAL:
            break
        _LOG.info("attempt %d failed: %s", k + 1, outcome.message)
    assert first is not None
    program.guess = given
    first.iterations = spent
    return first, ""
