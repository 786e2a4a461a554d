"""Contradictions in a statement that can be shown before anything is solved.

Ranges of all quantities are put into the conditions (:mod:`.intervals`): a
condition that no value within the ranges meets is refused in words, and so are
algebraic equations that do not determine their variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import casadi as ca
import numpy as np

from .errors import OptimalControlError
from .functions import PhaseFunctions
from .intervals import apart, enclosure
from .labels import listed, with_unit
from .phase import Phase
from .problem import OptimalControlProblem
from .variables import Range, Variable

Array: TypeAlias = np.ndarray

TRIALS = 5
"""Points at which the equations of a phase are tried."""
SINGULAR = 1e-11
"""Relative size of a singular value that counts as zero."""


def check_statement(problem: OptimalControlProblem, functions: Sequence[PhaseFunctions]) -> None:
    """Refuse a problem whose conditions contradict each other or its ranges.

    Raises
    ------
    OptimalControlError
        Naming the condition, what it can be, and what it must be.
    """
    for found in functions:
        _check_path_ranges(problem, found.phase)
        _check_equations(problem, found)
    _check_conditions(problem)


def _outside(where: str, values: Range, limits: Range, unit: str) -> OptimalControlError:
    can = (
        f"is {with_unit(values[0], unit, 6)}"
        if values[0] == values[1]
        else f"can only be {_shown(values, unit)}"
    )
    must = (
        f"must be {with_unit(limits[0], unit, 6)}"
        if limits[0] == limits[1]
        else f"must be {_shown(limits, unit)}"
    )
    return OptimalControlError(f"{where} {must}, but with the bounds and end conditions it {can}")


def _shown(values: Range, unit: str) -> str:
    low, high = values
    if math.isinf(low):
        return f"at most {with_unit(high, unit, 6)}"
    if math.isinf(high):
        return f"at least {with_unit(low, unit, 6)}"
    return f"from {low:.6g} to {with_unit(high, unit, 6)}"


def _ranges(problem: OptimalControlProblem, phase: Phase, where: str | None) -> dict[int, Range]:
    """Ranges of the symbols of a phase at its start, its end, or at any time."""
    ends = {"start": phase.start_bounds, "end": phase.end_bounds}.get(where or "", {})
    every: Iterable[Variable] = (
        *phase.state_variables, *phase.control_variables, *phase.algebraic_variables,
    )  # fmt: skip
    found = {}
    for variable in every:
        low, high = variable.bounds
        own = ends.get(variable.name, variable.bounds)
        found[variable.symbol.element_hash()] = max(low, own[0]), min(high, own[1])
    time = {
        "start": phase.start_range,
        "end": phase.end_range,
        None: (phase.start_range[0], phase.end_range[1]),
    }[where]
    found[phase.time.element_hash()] = time
    found[phase.start_time.element_hash()] = phase.start_range
    found[phase.end_time.element_hash()] = phase.end_range
    return found | _common(problem)


def _common(problem: OptimalControlProblem) -> dict[int, Range]:
    found = {v.symbol.element_hash(): v.bounds for v in problem.parameters}
    for v in problem.constants:
        value = problem.constant_values[v.name]
        found[v.symbol.element_hash()] = (value, value)
    return found


def _check_path_ranges(problem: OptimalControlProblem, phase: Phase) -> None:
    label = f"phase {phase.name!r}"
    for where in (None, "start", "end"):
        ranges = _ranges(problem, phase, where)
        at = "" if where is None else f" at the {where}"
        for path in phase.paths:
            values = enclosure(path.expression, ranges)
            if apart(values, path.bounds):
                raise _outside(
                    f"{label}: path constraint {path.name}{at}", values, path.bounds, path.unit
                )
        if phase.robot is not None:
            continue  # the equations of motion always have a solution
        for name, (expression, unit, _) in phase.equations.items():
            values = enclosure(expression, ranges)
            if apart(values, (0.0, 0.0)):
                raise _outside(f"{label}: equation {name}{at}", values, (0.0, 0.0), unit)


def _check_conditions(problem: OptimalControlProblem) -> None:
    ranges = _common(problem)
    for phase in problem.phases:
        ranges[phase.start_time.element_hash()] = phase.start_range
        ranges[phase.end_time.element_hash()] = phase.end_range
        variables = {v.name: v for v in (*phase.state_variables, *phase.control_variables)}
        for (where, name), symbol in phase.endpoint_symbols.items():
            ends = phase.start_bounds if where == "start" else phase.end_bounds
            low, high = variables[name].bounds
            own = ends.get(name, (low, high))
            ranges[symbol.element_hash()] = max(low, own[0]), min(high, own[1])
    for condition in problem.boundaries:
        values = enclosure(condition.expression, ranges)
        if apart(values, condition.bounds):
            raise _outside(
                f"problem {problem.name!r}: condition {condition.name}",
                values, condition.bounds, condition.unit,
            )  # fmt: skip


def _check_equations(problem: OptimalControlProblem, functions: PhaseFunctions) -> None:
    """Equations must determine the algebraic variables: index 1, M of full rank."""
    phase, count = functions.phase, functions.z.numel()
    if not count:
        return
    label = f"phase {phase.name!r}"
    names = [v.name for v in functions.algebraics]
    equations = list(phase.equations)
    sparsity = ca.jacobian_sparsity(functions.equations, functions.z)
    pattern = np.array(ca.DM(sparsity, 1).full(), dtype=bool)
    hint = (
        "; an equation without them is a hidden constraint: differentiate it in time until an "
        "algebraic variable appears"
    )
    alone = [equations[k] for k in np.flatnonzero(~pattern.any(axis=1))]
    if alone:
        raise OptimalControlError(
            f"{label}: equation {listed(alone)} contains none of the algebraic variables "
            f"{listed(names)}, so they are not determined{hint}"
        )
    unused = [names[k] for k in np.flatnonzero(~pattern.any(axis=0))]
    if unused:
        raise OptimalControlError(
            f"{label}: algebraic variable {listed(unused)} appears in none of the equations "
            f"{listed(equations)}, so it is not determined; declare it as a control if it is free"
        )
    if ca.sprank(sparsity) < count:
        raise OptimalControlError(
            f"{label}: equations {listed(equations)} cannot be solved for {listed(names)}: "
            f"some of them contain too few of these variables{hint}"
        )
    if phase.explicit_rates is None:
        _check_rank(problem, functions, names, equations)


def _check_rank(
    problem: OptimalControlProblem,
    functions: PhaseFunctions,
    names: Sequence[str],
    equations: Sequence[str],
) -> None:
    """Whether the equations' Jacobian is singular at every one of some points in the ranges."""
    phase = functions.phase
    rng = np.random.default_rng(0)
    ranges = _ranges(problem, phase, None)
    groups = (functions.x, functions.u, functions.z, functions.s, functions.p)
    worst: tuple[Array, Array] | None = None
    for _ in range(TRIALS):
        arguments = [
            np.array([_drawn(rng, ranges[g[k].element_hash()]) for k in range(g.numel())])
            for g in groups
        ]
        times = [_drawn(rng, r) for r in (phase.start_range, phase.start_range, phase.end_range)]
        matrix = np.asarray(functions.equation_slopes(*arguments, *times)).reshape(
            len(equations), len(names)
        )
        if not np.all(np.isfinite(matrix)):
            return
        sizes = np.max(np.abs(matrix), axis=1, keepdims=True)
        scaled = matrix / np.where(sizes > 0, sizes, 1.0)
        left, values, right = np.linalg.svd(scaled)
        if values[-1] > SINGULAR * values[0]:
            return
        worst = np.abs(left[:, -1]), np.abs(right[-1])
    assert worst is not None
    rows = [equations[int(k)] for k in np.flatnonzero(worst[0] > 0.1)]
    columns = [names[int(k)] for k in np.flatnonzero(worst[1] > 0.1)]
    raise OptimalControlError(
        f"phase {phase.name!r}: equations {listed(rows)} do not determine {listed(columns)}: "
        "their derivatives in these variables are dependent (a singular mass matrix?); "
        "remove or replace one of these equations"
    )


def _drawn(rng: np.random.Generator, values: Range) -> float:
    """A number within a range; around zero, or near its finite end, if it is infinite."""
    low, high = values
    if math.isfinite(low) and math.isfinite(high):
        return float(rng.uniform(low, high))
    if math.isfinite(low):
        return low + float(rng.exponential())
    if math.isfinite(high):
        return high - float(rng.exponential())
    return float(rng.normal())
