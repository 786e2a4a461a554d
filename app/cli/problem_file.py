"""Optimal-control problems from a user's Python file, and from the library."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestiary.build_tools.errors import TargetError
from bestiary.build_tools.user_file import check_options, closest, run_user_file

if TYPE_CHECKING:
    from bestiary.solvers.ocp import OptimalControlProblem
    from bestiary.solvers.ocp.library import Benchmark

ENTRY = "problem"


def library() -> Mapping[str, Benchmark]:
    """Problems with a known optimum by name."""
    from bestiary.solvers.ocp.library import BENCHMARKS

    return BENCHMARKS


def problem_from_file(path: Path, options: Mapping[str, Any]) -> OptimalControlProblem:
    """The problem of a file: what its function ``problem`` returns, or its variable ``problem``.

    Parameters
    ----------
    path:
        A Python file.
    options:
        Arguments of the function where it has them; else constants of the problem.

    Raises
    ------
    TargetError
        If there is no such file, it does not run, or it gives no problem; with its line.
    """
    from bestiary.solvers.ocp import OptimalControlProblem

    taken: set[str] = set()

    def entry(path: Path, module: types.ModuleType) -> Callable[[Mapping[str, Any]], Any]:
        found = getattr(module, ENTRY, None)
        if callable(found) and not isinstance(found, OptimalControlProblem):
            parameters = inspect.signature(found).parameters

            def call(given: Mapping[str, Any]) -> Any:
                own = {k: v for k, v in given.items() if k in parameters}
                taken.update(own)
                check_options(f"{ENTRY}() of {path.name}", found, own)
                return found(**own)

            return call
        if found is None:
            raise TargetError(
                f"{path} states no problem: it needs a function {ENTRY}() that returns a "
                f"bestiary.solvers.ocp.OptimalControlProblem, or a variable `{ENTRY}`"
            )
        return lambda _: found

    if not path.is_file():
        raise TargetError(f"there is no problem file {path}")
    made, _ = run_user_file(path.resolve(), options, entry)
    if not isinstance(made, OptimalControlProblem):
        raise TargetError(
            f"{path}: `{ENTRY}` must be (or return) an OptimalControlProblem, "
            f"got {type(made).__name__}"
        )
    set_constants(made, {k: v for k, v in options.items() if k not in taken})
    return made


def set_constants(problem: OptimalControlProblem, values: Mapping[str, Any]) -> None:
    """Change constants of a problem.

    Raises
    ------
    TargetError
        For a constant that it does not have, or a value that is no number.
    """
    known = [v.name for v in problem.constants]
    for name, value in values.items():
        if name not in known:
            raise TargetError(
                f"--set: {problem.name} has no constant {name!r}{closest(name, known)}; "
                f"it has {', '.join(known) or 'none'}"
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TargetError(f"--set: {name}: expected a number, got {value!r}")
        problem.set(**{name: float(value)})
