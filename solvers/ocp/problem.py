"""The statement of an optimal-control problem: phases, parameters, costs and links, by name.

Nothing here knows about meshes or solvers; :meth:`OptimalControlProblem.solve`
hands the statement to :mod:`~bestiary.solvers.ocp.solving`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from .errors import OptimalControlError
from .expressions import check_symbols, scalar
from .phase import Phase
from .user_calls import number
from .variables import (
    NameTable,
    Range,
    Variable,
    as_range,
    limits_of,
    mapping,
    positive,
    split_names,
    text,
)


@dataclass(frozen=True)
class CostTerm:
    """A term of the cost in end values, parameters and integrals."""

    name: str
    expression: ca.SX


@dataclass(frozen=True)
class BoundaryConstraint:
    """low <= expression <= high, in end values, times, parameters and integrals."""

    name: str
    expression: ca.SX
    bounds: Range
    unit: str


class OptimalControlProblem:
    """An optimal-control problem in words.

    Parameters
    ----------
    robot:
        A loaded robot: each phase then has its coordinates, velocities and inputs as
        states and controls and its equations of motion as dynamics.
    name:
        For reports and files.
    free:
        Parameters of the robot that are found together with the motion, with their ranges.
    adjustable:
        Parameters of the robot that become constants of the problem: :meth:`set` changes
        them between solves, and nothing is derived or compiled anew.

    Attributes
    ----------
    strategy:
        For a problem that one solve does not solve: ``strategy(problem, **options)`` gives a
        solution by several, with the options of :func:`~bestiary.solvers.ocp.solve`.

    Examples
    --------
    >>> from bestiary.solvers.ocp import OptimalControlProblem
    >>> problem = OptimalControlProblem(name="double integrator")
    >>> move = problem.phase("move", duration=1.0)
    >>> x, v = move.states("x v", units="m m/s")
    >>> (u,) = move.controls("u", units="m/s^2")
    >>> move.dynamics({x: v, v: u})
    >>> move.start(x=0, v=0); move.end(x=1, v=0)
    >>> move.minimize(integral=u**2)
    >>> solution = problem.solve()
    >>> round(solution.cost, 6)
    12.0
    """

    def __init__(
        self,
        robot: Any = None,
        name: str = "problem",
        *,
        free: Mapping[str, Any] | None = None,
        adjustable: Iterable[str] = (),
    ) -> None:
        if isinstance(robot, str | bytes):
            raise OptimalControlError(
                f"the first argument is a loaded robot, got {robot!r}; for a name write "
                f"OptimalControlProblem(name={robot!r}), for a robot bestiary.load({robot!r})"
            )
        if not isinstance(name, str):
            raise OptimalControlError(f"name: expected a text, got {name!r}")
        self.name = name
        self.robot = robot
        self.phases: list[Phase] = []
        self.costs: list[CostTerm] = []
        self.boundaries: list[BoundaryConstraint] = []
        self._parameters = NameTable(f"problem {name!r}")
        self._constants = NameTable(f"problem {name!r}")
        self.parameter_guesses: dict[str, float] = {}
        self.strategy: Callable[..., Any] | None = None
        self.constant_values: dict[str, float] = {}
        if robot is not None:
            from .robots import declare_parameters

            declare_parameters(self, robot, free, adjustable)
        elif free or adjustable:
            raise OptimalControlError(f"problem {name!r}: free and adjustable need a robot")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise OptimalControlError(
            f"problem {self.name!r} cannot be pickled, since its expressions cannot: give other "
            "processes the function that states it (as multistart(..., executor=) takes it), and "
            "save solutions with solution.save(path)"
        )

    def __copy__(self) -> OptimalControlProblem:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimalControlProblem:
        memo[id(self)] = made = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    # -- parts -------------------------------------------------------------
    def phase(
        self, name: str = "phase", duration: Any = None, start: Any = "default", end: Any = None
    ) -> Phase:
        """Add a phase.

        Parameters
        ----------
        name:
            Unique within the problem.
        duration, start, end:
            Seconds: a number (fixed), (low, high), or None (free).  The first phase
            starts at 0 by default, later ones where they are linked.
        """
        if any(p.name == name for p in self.phases):
            raise OptimalControlError(f"problem {self.name!r}: there is already a phase {name!r}")
        if isinstance(start, str):
            if start != "default":
                raise OptimalControlError(f"phase {name!r}: start: expected seconds, got {start!r}")
            start = None if self.phases else 0.0
        phase = Phase(self, name, start, duration, end)
        self.phases.append(phase)
        if self.robot is not None:
            from .robots import add_robot

            add_robot(phase, self.robot)
        return phase

    def parameter(
        self,
        name: str,
        bounds: Any = None,
        guess: float | None = None,
        unit: str = "",
        nominal: float | None = None,
    ) -> ca.SX:
        """A number to be found together with the motion; its symbol."""
        (name,) = split_names([name], f"problem {self.name!r}: parameter")
        self._refuse_taken(name)
        found = as_range(bounds, f"parameter {name}: bounds")
        label = f"problem {self.name!r}: parameter {name}"
        unit, size = text(unit, f"{label}: unit"), positive(nominal, f"{label}: nominal")
        first = _middle(found) if guess is None else number(guess, f"{label}: guess")
        symbol = self._parameters.add(Variable(name, unit, ca.SX.sym(name), found, size))
        self.parameter_guesses[name] = first
        return symbol

    def constant(self, name: str, value: float, unit: str = "") -> ca.SX:
        """A number that is given, but may be another one in the next solve; its symbol."""
        (name,) = split_names([name], f"problem {self.name!r}: constant")
        self._refuse_taken(name)
        unit = text(unit, f"problem {self.name!r}: constant {name}: unit")
        self.constant_values[name] = self._number(name, value)
        return self._constants.add(Variable(name, unit, ca.SX.sym(name)))

    def set(self, /, **values: float) -> None:
        """Change the values of constants."""
        for name, value in values.items():
            if name not in self._constants:
                have = ", ".join(v.name for v in self._constants) or "no constants"
                raise OptimalControlError(
                    f"problem {self.name!r}: no constant {name!r}; it has {have}"
                )
            self.constant_values[name] = self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        """The value of a constant, checked."""
        try:
            found = float("nan") if isinstance(value, str | bool) else float(value)
        except (TypeError, ValueError, RuntimeError):
            found = float("nan")
        if not math.isfinite(found):
            raise OptimalControlError(
                f"problem {self.name!r}: constant {name}: expected a finite number, got {value!r}"
            )
        return found

    def _refuse_taken(self, name: str) -> None:
        if self.has_name(name) or any(name in p.table for p in self.phases):
            raise OptimalControlError(f"problem {self.name!r}: the name {name!r} is taken")

    def has_name(self, name: str) -> bool:
        """Whether a parameter or constant has this name."""
        return name in self._parameters or name in self._constants

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """Parameters in order."""
        return tuple(self._parameters)

    @property
    def constants(self) -> tuple[Variable, ...]:
        """Constants in order."""
        return tuple(self._constants)

    @property
    def table(self) -> dict[str, ca.SX]:
        """Symbols of parameters and constants by name."""
        return {v.name: v.symbol for v in (*self._parameters, *self._constants)}

    # -- conditions and cost -----------------------------------------------
    @property
    def endpoint_table(self) -> dict[str, ca.SX]:
        """Symbols with a meaning between phases, by a name for messages."""
        table = self.table
        for phase in self.phases:
            table[f"{phase.name}.start_time"] = phase.start_time
            table[f"{phase.name}.end_time"] = phase.end_time
            for (where, name), symbol in phase.endpoint_symbols.items():
                table[f"{phase.name}.{name} at {where}"] = symbol
            for term in phase.integrals:
                assert term.symbol is not None
                table[f"{phase.name}.{term.name}"] = term.symbol
        return table

    def _expression(self, value: Any, label: str) -> ca.SX:
        table = self.endpoint_table
        found = scalar(value, label, table)
        check_symbols(
            found, label, table, "conditions on end values (use phase.initial and phase.final)"
        )
        return found

    def constrain(
        self,
        name: str,
        expression: Any,
        low: float | None = None,
        high: float | None = None,
        equals: float | None = None,
        unit: str = "",
    ) -> None:
        """Constrain an expression in end values, times, parameters and integrals.

        Either ``equals=``, or ``low`` and ``high`` (None: no limit).
        """
        (name,) = split_names([name], f"problem {self.name!r}: constrain")
        label = f"problem {self.name!r}: constraint {name}"
        bounds, unit = limits_of(low, high, equals, label), text(unit, f"{label}: unit")
        if any(b.name == name for b in self.boundaries):
            raise OptimalControlError(f"{label}: there is already one of this name")
        self.boundaries.append(
            BoundaryConstraint(name, self._expression(expression, label), bounds, unit)
        )

    def link(
        self,
        first: Phase | str,
        second: Phase | str,
        states: Iterable[str] | str | None = None,
        jumps: Any = None,
    ) -> None:
        """Let a phase begin where another ends, in time and state.

        Parameters
        ----------
        first, second:
            The phases, or their names.
        states:
            Names of the states that go on; by default all that both phases have.
        jumps:
            By name, how much a state changes between them: ``{"mass": -dropped}``.
        """
        first, second = self._phase(first), self._phase(second)
        if first is second:
            raise OptimalControlError(f"link: phase {first.name!r} cannot follow itself")
        shared = [v.name for v in second.state_variables]
        own = {v.name: v for v in first.state_variables}
        names = [n for n in shared if n in own] if states is None else split_names(states, "link")
        jump = dict(mapping(jumps or {}, "link: jumps", '{"mass": -1.0}'))
        unlinked = [str(n) for n in jump if n not in names]
        if unlinked:  # before anything is stated
            raise OptimalControlError(f"link: jumps of states not linked: {', '.join(unlinked)}")
        for phase in (first, second):
            missing = [n for n in names if n not in {v.name for v in phase.state_variables}]
            if missing:
                raise OptimalControlError(
                    f"link: phase {phase.name!r} has no state {', '.join(missing)}; it has "
                    f"{', '.join(v.name for v in phase.state_variables) or 'none'}"
                )
        label = f"link_{first.name}_{second.name}".replace("-", "_").replace(" ", "_")
        self.constrain(f"{label}_time", second.start_time - first.end_time, equals=0, unit="s")
        for name in names:
            difference = second.initial(second[name]) - first.final(first[name])
            self.constrain(
                f"{label}_{name}", difference - jump.get(name, 0.0), equals=0, unit=own[name].unit
            )

    def _phase(self, phase: Phase | str) -> Phase:
        """One of the phases, also by its name."""
        for known in self.phases:
            if known is phase or known.name == phase:
                return known
        names = ", ".join(p.name for p in self.phases) or "none"
        raise OptimalControlError(f"problem {self.name!r}: no phase {phase!r}; it has {names}")

    def cost_name(self, name: str | None, default: str) -> str:
        """The name of a new term of the cost: as given, or the default, numbered if need be.

        Raises
        ------
        OptimalControlError
            If there is a term of the given name.
        """
        taken = {c.name for c in self.costs}
        taken |= {t.name for p in self.phases for t in p.cost_integrals}
        if name is None:
            numbered = (f"{default} {k}" for k in range(2, len(taken) + 3))
            return next(n for n in (default, *numbered) if n not in taken)
        if not isinstance(name, str) or not name:
            raise OptimalControlError(f"cost: name: expected a text, got {name!r}")
        if name in taken:
            raise OptimalControlError(
                f"problem {self.name!r}: the cost has already a term {name!r}; give each term a "
                "name of its own, or state their sum as one"
            )
        return name

    def add_cost(self, expression: Any, name: str | None, default: str = "term") -> None:
        """Add a term in end values, times, parameters and integrals to the cost."""
        label = self.cost_name(name, default)
        self.costs.append(CostTerm(label, self._expression(expression, f"cost {label!r}")))

    def minimize(self, expression: Any, name: str | None = None) -> None:
        """Add to the cost an expression in end values, times, parameters and integrals.

        A term without a name gets one with a number; two terms of one name are refused.
        """
        self.add_cost(expression, name)

    def maximize(self, expression: Any, name: str | None = None) -> None:
        """Subtract from the cost; see :meth:`minimize`."""
        self.add_cost(-self._expression(expression, f"cost {name or 'term'!r}"), name)

    def check(self) -> None:
        """Refuse a statement that is not complete, before anything is transcribed."""
        if not self.phases:
            raise OptimalControlError(f"problem {self.name!r}: it has no phases")
        for phase in self.phases:
            phase.check()

    def solve(self, **options: Any) -> Any:
        """Transcribe, solve, refine and verify; see :func:`~bestiary.solvers.ocp.solve`.

        A problem with a ``strategy`` is solved by it, unless a ``guess`` is given.
        """
        from .solving import check_option_names, solve

        check_option_names(options, f"problem {self.name!r}: solve")
        if self.strategy is not None and options.get("guess") is None:
            from .solution import Solution

            label = f"problem {self.name!r}: strategy"
            if not callable(self.strategy):
                raise OptimalControlError(f"{label}: expected a function, got {self.strategy!r}")
            found = self.strategy(self, **options)
            if not isinstance(found, Solution):
                raise OptimalControlError(f"{label}: expected a Solution from it, got {found!r}")
            return found
        return solve(self, **options)

    def to_function(
        self, solution: Any = None, fallback: bool = True, replay: bool = True, **options: Any
    ) -> Any:
        """The problem as a function of its constants and end values, without set-up per call.

        Parameters
        ----------
        solution:
            A solution of this problem whose mesh is kept; by default it is solved first.
        fallback:
            Whether values that the kept mesh does not suit are solved in full.
        replay:
            Whether every result is re-simulated; else it is only measured between its nodes.
        options:
            Of :func:`~bestiary.solvers.ocp.solve`, for the first and for full solves.

        Returns
        -------
        SolveFunction
            ``function(weight=0.1, end_x=2.0)`` gives a Solution, judged like any other.

        Raises
        ------
        OptimalControlError
            If the problem cannot be solved with the values that it has, the solution is of
            another problem, or for options that there are not.

        Examples
        --------
        >>> from bestiary.solvers.ocp import OptimalControlProblem
        >>> problem = OptimalControlProblem(name="double integrator")
        >>> move = problem.phase("move", duration=1.0)
        >>> x, v = move.states("x v")
        >>> (u,) = move.controls("u")
        >>> move.dynamics({x: v, v: u})
        >>> move.start(x=0, v=0); move.end(x=1, v=0)
        >>> move.minimize(integral=u**2)
        >>> function = problem.to_function()
        >>> [round(function(end_x=far).cost, 6) for far in (1, 2, 3)]
        [12.0, 48.0, 108.0]
        """
        from .parametric import to_function

        return to_function(self, solution, fallback, replay, options)


def _middle(bounds: Range) -> float:
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    return float(low if np.isfinite(low) else high if np.isfinite(high) else 0.0)
