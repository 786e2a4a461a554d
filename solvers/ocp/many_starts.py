"""Many guesses, one problem: each solved by itself, on any executor, in a fixed order.

Local optima are found by starting from several places.  The work is mapped over a
``concurrent.futures`` executor (threads, processes, Dask's or MPI's pools alike); results
come in the order of the guesses whoever finishes first, and random guesses come from one
``SeedSequence``, so that a run can be repeated anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import OptimalControlError
from .problem import OptimalControlProblem
from .solving import check_option_names, solve
from .user_calls import call, described, number, told

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from .solution import Solution

Factory: TypeAlias = Callable[[], OptimalControlProblem]
Guess: TypeAlias = Any
"""A Solution, a function that is called with the problem (and a random generator if it takes
two arguments) and states the guess, or None for the problem's own."""

SAME = 1e-5
"""Relative difference of costs below which two solutions count as one optimum."""


@dataclass(frozen=True)
class Attempt:
    """One start: its number, how it ended, its solution, or the error that it met."""

    number: int
    solution: Solution | None
    error: str = ""

    @property
    def success(self) -> bool:
        """Whether a verified solution came of it."""
        return self.solution is not None and self.solution.success

    @property
    def cost(self) -> float:
        """Its cost; inf if it failed."""
        return self.solution.cost if self.solution is not None and self.success else float("inf")

    def __str__(self) -> str:
        if self.solution is None:
            return f"start {self.number}: {self.error}"
        if not self.success:
            return f"start {self.number}: {self.solution.status.value}"
        return f"start {self.number}: cost {self.cost:.9g}"


@dataclass(frozen=True)
class MultiStart:
    """All attempts in the order of their guesses."""

    attempts: tuple[Attempt, ...]

    @property
    def best(self) -> Solution:
        """The solution with the lowest cost.

        Raises
        ------
        OptimalControlError
            If no start succeeded.
        """
        good = [a for a in self.attempts if a.success]
        if not good:
            raise OptimalControlError(
                "multistart: no start succeeded:\n" + "\n".join(f"  {a}" for a in self.attempts)
            )
        found = min(good, key=lambda a: (a.cost, a.number)).solution
        assert found is not None
        return found

    @property
    def optima(self) -> list[tuple[float, list[int]]]:
        """Different costs that were found, the lowest first, and the starts that led there."""
        groups: list[tuple[float, list[int]]] = []
        for attempt in sorted((a for a in self.attempts if a.success), key=lambda a: a.cost):
            if groups and abs(attempt.cost - groups[-1][0]) <= SAME * max(abs(groups[-1][0]), 1e-9):
                groups[-1][1].append(attempt.number)
            else:
                groups.append((attempt.cost, [attempt.number]))
        return groups

    def __str__(self) -> str:
        good = sum(a.success for a in self.attempts)
        lines = [f"{len(self.attempts)} starts, {good} solved"]
        for cost, starts in self.optima:
            lines.append(f"  cost {cost:.9g}: start {', '.join(map(str, sorted(starts)))}")
        lines += [f"  {a}" for a in self.attempts if not a.success]
        return "\n".join(lines)


def multistart(
    problem: OptimalControlProblem | Factory,
    guesses: Sequence[Guess] | int,
    *,
    executor: Executor | None = None,
    seed: int | np.random.SeedSequence = 0,
    spread: float = 0.5,
    **options: Any,
) -> MultiStart:
    """Solve a problem from several guesses.

    Parameters
    ----------
    problem:
        The statement, or a function without arguments that makes it.  Other processes need
        a function that can be pickled: one at the top level of a module.
    guesses:
        One start each: None for the problem's own guess; an earlier solution; or a function
        ``f(problem)`` or ``f(problem, generator)`` that states a guess in the phases of the
        problem it is given.  A number: the problem's own guess, and disturbed ones.
    executor:
        Where to solve; one after another in this thread by default.  A problem object is
        solved in one thread only, as solves share its guess.
    seed:
        Of the random generators: start ``k`` has the ``k``-th child of its SeedSequence.
    spread:
        How far the disturbed guesses of a number of starts lie from the problem's own, in
        sizes of the quantities.
    options:
        Of :func:`.solve`.

    Raises
    ------
    OptimalControlError
        If there are no guesses, or something cannot be sent to other processes.
    """
    check_option_names(options, "multistart")
    if "guess" in options:
        raise OptimalControlError("multistart: guess: the starts are in the argument guesses")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise OptimalControlError(
            f"multistart: executor: expected one of concurrent.futures, got {executor!r}"
        )
    if not (isinstance(problem, OptimalControlProblem) or callable(problem)):
        raise OptimalControlError(
            "multistart: problem: expected an OptimalControlProblem or a function that makes one, "
            f"got {problem!r}"
        )
    if number(spread, "multistart: spread") < 0:
        raise OptimalControlError(f"multistart: spread: expected 0 or more, got {spread!r}")
    if isinstance(guesses, bool | str) or not isinstance(guesses, int | np.integer | Iterable):
        raise OptimalControlError(
            "multistart: guesses: expected a number of starts or a list of guesses, got "
            f"{guesses!r}"
        )
    if isinstance(guesses, int | np.integer):
        if guesses < 1:
            raise OptimalControlError(f"multistart: guesses: expected 1 or more, got {guesses}")
        starts: list[Guess] = [None, *([Disturbed(spread)] * (guesses - 1))]
    else:
        starts = list(guesses)
    if not starts:
        raise OptimalControlError("multistart: no guesses given")
    try:
        sequence = (
            seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        )
    except (TypeError, ValueError) as error:
        raise OptimalControlError(
            f"multistart: seed: expected a whole number, 0 or more, got {seed!r}"
        ) from error
    seeds = sequence.spawn(len(starts))
    options = {"progress": False, **options}
    jobs = [(problem, guess, child, options) for guess, child in zip(starts, seeds, strict=True)]
    if executor is None:
        return MultiStart(tuple(_attempt(k, *job) for k, job in enumerate(jobs)))
    if isinstance(problem, OptimalControlProblem):
        raise OptimalControlError(
            "multistart: with an executor, give a function that makes the problem: starts "
            "would share one problem and its guess"
        )
    from pickle import PicklingError

    futures: list[Future[Attempt]] = []
    try:
        for k, job in enumerate(jobs):
            futures.append(executor.submit(_attempt, k, *job))
        return MultiStart(tuple(f.result() for f in futures))
    except (RuntimeError, CancelledError) as error:  # shut down, or a process of it has died
        raise OptimalControlError(f"multistart: the executor failed: {told(error)}") from error
    except (PicklingError, AttributeError, TypeError) as error:
        raise OptimalControlError(
            f"multistart: this cannot be sent to another process ({error}); the problem's "
            "function and the guesses must be at the top level of a module, solutions loaded "
            "from files"
        ) from error
    finally:
        for future in futures:
            future.cancel()


@dataclass(frozen=True)
class Disturbed:
    """A guess at random distance from the problem's own: smooth waves on states and controls."""

    spread: float

    def __call__(self, problem: OptimalControlProblem, generator: np.random.Generator) -> None:
        from .functions import PhaseFunctions
        from .guess import initial_guess
        from .mesh import make_mesh
        from .scaling import variable_size
        from .schemes import Radau
        from .transcription import Transcription

        scheme = Radau(3)
        functions = [PhaseFunctions(problem, p) for p in problem.phases]
        plain = Transcription(
            problem, functions, [make_mesh(20, scheme, "multistart") for _ in functions], scheme
        )
        initial_guess(plain)
        guess = plain.program.guess
        for indices in plain.phases:
            boundaries = indices.boundaries(guess)
            duration = boundaries[-1] - boundaries[0]
            shares = np.linspace(0.0, 1.0, 41)
            table = {}
            for entries, variables, places in (
                (indices.states, indices.functions.states, indices.layout.state_place),
                (indices.controls, indices.functions.controls, indices.layout.rate_place),
            ):
                for k, variable in enumerate(variables):
                    own = np.interp(shares, places, guess[entries[:, k]])
                    size = self.spread * variable_size(variable, guess[entries[:, k]])
                    waves = sum(
                        generator.normal() / n * np.sin(n * np.pi * shares) for n in (1, 2, 3)
                    )
                    low, high = variable.bounds
                    table[variable.name] = np.clip(own + size * waves, low, high)
            stretch = 1.0
            if indices.times[0] >= 0 or indices.times[-1] >= 0:
                stretch = float(np.exp(self.spread * generator.normal()))
            length = float(np.clip(duration * stretch, *indices.phase.duration_range))
            indices.phase.guess(shares * length, **table)


def _attempt(
    number: int, problem: OptimalControlProblem | Factory, guess: Guess,
    seed: np.random.SeedSequence, options: dict[str, Any],
) -> Attempt:  # fmt: skip
    from .solution import Solution

    try:
        stated = problem if isinstance(problem, OptimalControlProblem) else _made(problem)
        kept = [(p, dict(p.guesses), p.guess_times) for p in stated.phases]
        try:
            earlier = guess if isinstance(guess, Solution) else None
            if earlier is None and guess is not None:
                _state(guess, stated, np.random.default_rng(seed))
            return Attempt(number, solve(stated, guess=earlier, **options))
        finally:
            for phase, guesses, times in kept:
                phase.guesses, phase.guess_times = guesses, times
    except OptimalControlError as error:
        return Attempt(number, None, str(error))


def _made(factory: Factory) -> OptimalControlProblem:
    """The problem of the user's function."""
    made = call("multistart: problem", factory)
    if not isinstance(made, OptimalControlProblem):
        raise OptimalControlError(
            f"multistart: problem: {described(factory)} must return an OptimalControlProblem, "
            f"got {made!r}"
        )
    return made


def _state(guess: Any, problem: OptimalControlProblem, generator: np.random.Generator) -> None:
    import inspect

    if not callable(guess):
        raise OptimalControlError(
            f"multistart: a guess is None, a Solution or a function of the problem, got {guess!r}"
        )
    needed = len(inspect.signature(guess).parameters)
    given = (problem, generator) if needed > 1 else (problem,)
    call("multistart: guesses", guess, *given)
