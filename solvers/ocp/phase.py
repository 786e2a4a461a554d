"""A phase: states, controls and equations over one stretch of time, all of them by name.

Everything is stated in CasADi SX (or SymPy, or numbers) in the symbols that the
phase hands out; nothing is transcribed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .errors import OptimalControlError
from .expressions import check_symbols, scalar
from .guess_tables import guessed_times, guessed_values
from .variables import (
    FREE,
    NameTable,
    Range,
    Variable,
    as_range,
    limits_of,
    mapping,
    positive,
    positive_sizes,
    split_names,
    split_units,
    text,
)

if TYPE_CHECKING:
    from .problem import OptimalControlProblem

POSITIVE: Range = (0.0, math.inf)
RESERVED = ("time", "start_time", "end_time", "times")
"""Names with a meaning of their own in expressions, or in :meth:`Phase.guess`."""


@dataclass(frozen=True)
class PathConstraint:
    """low <= expression <= high at all times of a phase."""

    name: str
    expression: ca.SX
    bounds: Range
    unit: str


@dataclass(frozen=True)
class IntegralTerm:
    """An integral over a phase; ``symbol`` stands for its value, None in the cost alone."""

    name: str
    integrand: ca.SX
    symbol: ca.SX | None = None
    unit: str = ""


class Phase:
    """One phase of a problem; made by :meth:`OptimalControlProblem.phase`.

    Attributes
    ----------
    time, start_time, end_time, duration:
        SX symbols: time within the phase, and its two ends and their difference.
    stiff:
        Whether motions have time scales far below those of interest, as in contact; a
        replay then takes implicit steps.
    """

    def __init__(
        self, problem: OptimalControlProblem, name: str, start: Any, duration: Any, end: Any
    ) -> None:
        self.name = text(name, f"problem {problem.name!r}: phase: name")
        self.problem = problem
        label = f"phase {name!r}"
        self._label = label
        self.start_range = as_range(start, f"{label}: start")
        self.end_range = as_range(end, f"{label}: end")
        self.duration_range = as_range(duration, f"{label}: duration")
        if duration is None:
            self.duration_range = POSITIVE
        if self.duration_range[0] < 0 or self.duration_range[1] <= 0:
            raise OptimalControlError(
                f"{label}: duration must be positive, got {self.duration_range}"
            )
        if self.start_range[0] == self.start_range[1]:
            self._fix_end()
        self.time = ca.SX.sym("time")
        self.start_time = ca.SX.sym("start_time")
        self.end_time = ca.SX.sym("end_time")
        self.duration = self.end_time - self.start_time
        self._names = NameTable(label)
        self._states: list[str] = []
        self._controls: list[str] = []
        self._algebraics: list[str] = []
        self.rates: dict[str, ca.SX] = {}
        self.equations: dict[str, tuple[ca.SX, str, float | None]] = {}
        self.paths: list[PathConstraint] = []
        self.integrals: list[IntegralTerm] = []
        self.cost_integrals: list[IntegralTerm] = []
        self.start_bounds: dict[str, Range] = {}
        self.end_bounds: dict[str, Range] = {}
        self.endpoint_symbols: dict[tuple[str, str], ca.SX] = {}
        self.guesses: dict[str, Any] = {}
        self.guess_times: np.ndarray | None = None
        self.explicit_rates: Callable[..., Any] | None = None
        self.stiff = False
        self.robot: Any = None
        self.attitudes: dict[str, np.ndarray] = {}

    def _fix_end(self) -> None:
        """With a fixed start, durations and ends are one thing."""
        start = self.start_range[0]
        low = max(self.end_range[0], start + self.duration_range[0])
        high = min(self.end_range[1], start + self.duration_range[1])
        if low > high:
            raise OptimalControlError(
                f"{self._label}: no end time fits: end in {self.end_range}, "
                f"start {start:g}, duration in {self.duration_range}"
            )
        self.end_range = (low, high)
        self.duration_range = (low - start, high - start)

    # -- variables ---------------------------------------------------------
    def states(
        self,
        names: str | Iterable[str],
        units: str | Iterable[str] | None = None,
        nominal: float | Iterable[float] | None = None,
    ) -> tuple[ca.SX, ...]:
        """Declare states; each needs a rate (:meth:`dynamics`).

        Parameters
        ----------
        names:
            ``"x v"`` or a list.
        units:
            One for each, or one for all.
        nominal:
            Typical sizes, for scaling; found from bounds and guess by default.

        Returns
        -------
        tuple of casadi.SX
            One 1x1 symbol for each, even if there is but one.
        """
        return self._declare(self._states, "states", names, units, nominal)

    def controls(
        self,
        names: str | Iterable[str],
        units: str | Iterable[str] | None = None,
        nominal: float | Iterable[float] | None = None,
    ) -> tuple[ca.SX, ...]:
        """Declare controls; arguments as of :meth:`states`."""
        return self._declare(self._controls, "controls", names, units, nominal)

    def algebraics(
        self,
        names: str | Iterable[str],
        units: str | Iterable[str] | None = None,
        nominal: float | Iterable[float] | None = None,
    ) -> tuple[ca.SX, ...]:
        """Declare algebraic variables; each needs an equation (:meth:`equation`)."""
        return self._declare(self._algebraics, "algebraics", names, units, nominal)

    def _declare(
        self,
        group: list[str],
        kind: str,
        names: str | Iterable[str],
        units: str | Iterable[str] | None,
        nominal: float | Iterable[float] | None,
    ) -> tuple[ca.SX, ...]:
        label = f"{self._label}: {kind}"
        listed = split_names(names, label)
        unit_list = split_units(units, len(listed), label)
        sizes: list[float | None] = [None] * len(listed)
        if nominal is not None:
            sizes = positive_sizes(nominal, len(listed), f"{label}: nominal")
        symbols = []
        for name, unit, size in zip(listed, unit_list, sizes, strict=True):
            if name in RESERVED or self.problem.has_name(name):
                raise OptimalControlError(f"{label}: the name {name!r} is taken")
            symbols.append(self._names.add(Variable(name, unit, ca.SX.sym(name), FREE, size)))
            group.append(name)
        return tuple(symbols)

    @property
    def state_variables(self) -> tuple[Variable, ...]:
        """States in order."""
        return tuple(self._names.find(n) for n in self._states)

    @property
    def control_variables(self) -> tuple[Variable, ...]:
        """Controls in order."""
        return tuple(self._names.find(n) for n in self._controls)

    @property
    def algebraic_variables(self) -> tuple[Variable, ...]:
        """Algebraic variables in order."""
        return tuple(self._names.find(n) for n in self._algebraics)

    def __getitem__(self, name: str) -> ca.SX:
        """Symbol of a state, control or algebraic variable by name."""
        return self._names.find(name).symbol

    @property
    def table(self) -> dict[str, ca.SX]:
        """Symbols that have a meaning at a time within the phase, by name."""
        return {
            **{v.name: v.symbol for v in self._names},
            "time": self.time,
            "start_time": self.start_time,
            "end_time": self.end_time,
            **self.problem.table,
        }

    def expression(self, value: Any, label: str) -> ca.SX:
        """A scalar in the symbols of this phase."""
        table = self.table
        found = scalar(value, f"{self._label}: {label}", table)
        check_symbols(found, f"{self._label}: {label}", table, "this phase")
        return found

    # -- equations ---------------------------------------------------------
    def dynamics(self, rates: Mapping[Any, Any]) -> None:
        """State the time derivatives of states: ``{x: v, v: force / mass}``.

        Keys are symbols or names.  All states need one; it may be given in several calls.
        """
        for key, value in mapping(rates, f"{self._label}: dynamics", "{x: v, v: u}").items():
            state = self._names.find(key, "state")
            if state.name not in self._states:
                raise OptimalControlError(f"{self._label}: {state.name!r} is not a state")
            if state.name in self.rates:
                raise OptimalControlError(
                    f"{self._label}: the rate of {state.name!r} was already stated"
                )
            self.rates[state.name] = self.expression(value, f"rate of {state.name}")

    def rate(self, state: Any) -> ca.SX:
        """Symbol of a state's time derivative, for implicit equations.

        It becomes an algebraic variable; state as many equations as there are rates.
        """
        found = self._names.find(state, "state")
        name = f"{found.name}_rate"
        if name not in self._names:
            unit = f"{found.unit}/s" if found.unit else ""
            self.algebraics([name], [unit] if unit else None)
            self.dynamics({found.name: self[name]})
        return self[name]

    def equation(self, name: str, expression: Any, unit: str = "", nominal: Any = None) -> None:
        """State an algebraic equation, ``expression == 0`` at all times.

        Parameters
        ----------
        name, unit:
            As shown in reports.
        expression:
            Scalar in the symbols of the phase.
        nominal:
            Typical size of its terms, for scaling; found from derivatives by default.
        """
        (name,) = split_names([name], f"{self._label}: equation")
        if name in self.equations:
            raise OptimalControlError(f"{self._label}: there is already an equation {name!r}")
        label = f"{self._label}: equation {name}"
        size = positive(nominal, f"{label}: nominal")
        made = self.expression(expression, f"equation {name}")
        self.equations[name] = (made, text(unit, f"{label}: unit"), size)

    # -- constraints -------------------------------------------------------
    def bound(self, /, **ranges: Any) -> None:
        """Bound states, controls and algebraic variables at all times: ``force=(-20, 20)``."""
        for name, value in ranges.items():
            variable = self._names.find(name)
            self._names.replace(variable.bounded(as_range(value, f"{self._label}: bound {name}")))

    def nominal(self, /, **sizes: float | None) -> None:
        """Set typical sizes of states, controls and algebraic variables, for scaling."""
        for name, size in sizes.items():
            variable = self._names.find(name)
            made = positive(size, f"{self._label}: nominal size of {name}")
            self._names.replace(replace(variable, nominal=made))

    def path(
        self,
        name: str,
        expression: Any,
        low: float | None = None,
        high: float | None = None,
        equals: float | None = None,
        unit: str = "",
    ) -> None:
        """Constrain an expression at all times.

        Either ``equals=``, or ``low`` and ``high`` (None: no limit).
        """
        (name,) = split_names([name], f"{self._label}: path")
        if any(p.name == name for p in self.paths):
            raise OptimalControlError(f"{self._label}: there is already a path constraint {name!r}")
        label = f"{self._label}: path {name}"
        bounds, unit = limits_of(low, high, equals, label), text(unit, f"{label}: unit")
        made = self.expression(expression, f"path {name}")
        self.paths.append(PathConstraint(name, made, bounds, unit))

    def start(self, /, **values: Any) -> None:
        """Fix or bound states and controls at the start: a number, or (low, high)."""
        self._ends(self.start_bounds, "start", values)

    def end(self, /, **values: Any) -> None:
        """Fix or bound states and controls at the end: a number, or (low, high)."""
        self._ends(self.end_bounds, "end", values)

    def _ends(self, target: dict[str, Range], where: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            variable = self._names.find(name)
            if variable.name in self._algebraics:
                raise OptimalControlError(
                    f"{self._label}: {where}: {name!r} is algebraic; constrain a state or control"
                )
            target[name] = as_range(value, f"{self._label}: {where} {name}")
            if name in self._controls:
                self._endpoint(name, where)

    def start_orientation(
        self,
        roll: float | None = None,
        pitch: float | None = None,
        yaw: float | None = None,
        *,
        quaternion: Any = None,
        sequence: str = "zyx",
        tolerance: float | None = None,
    ) -> None:
        """Attitude of the robot's base at the start, whatever coordinates it has.

        Parameters
        ----------
        roll, pitch, yaw:
            Angles [rad] about the body axes of ``sequence``; all, or some of them.
        quaternion:
            Body to world, scalar first, of any length; a quaternion and its negative
            are one attitude.
        sequence:
            ``"zyx"`` for a body whose long axis is x, ``"zxy"`` for y.
        tolerance:
            Largest deviation [rad], below a right angle; none by default.
        """
        from .orientation import attitude, set_orientation

        wanted = attitude(roll, pitch, yaw, quaternion, sequence)
        set_orientation(self, "start", wanted, tolerance)

    def end_orientation(
        self,
        roll: float | None = None,
        pitch: float | None = None,
        yaw: float | None = None,
        *,
        quaternion: Any = None,
        sequence: str = "zyx",
        tolerance: float | None = None,
    ) -> None:
        """Attitude of the robot's base at the end; see :meth:`start_orientation`."""
        from .orientation import attitude, set_orientation

        wanted = attitude(roll, pitch, yaw, quaternion, sequence)
        set_orientation(self, "end", wanted, tolerance)

    def initial(self, expression: Any) -> ca.SX:
        """An expression in states and controls, at the start of the phase."""
        return self._at(expression, "start")

    def final(self, expression: Any) -> ca.SX:
        """An expression in states and controls, at the end of the phase."""
        return self._at(expression, "end")

    def _endpoint(self, name: str, where: str) -> ca.SX:
        key = (where, name)
        if key not in self.endpoint_symbols:
            self.endpoint_symbols[key] = ca.SX.sym(f"{name}_at_{where}")
        return self.endpoint_symbols[key]

    def _at(self, expression: Any, where: str) -> ca.SX:
        found = self.expression(expression, f"value at the {where}")
        old, new = [self.time], [self.start_time if where == "start" else self.end_time]
        here = {s.element_hash() for s in ca.symvar(found)}
        for variable in self._names:
            if variable.symbol.element_hash() not in here:
                continue
            if variable.name in self._algebraics:
                raise OptimalControlError(
                    f"{self._label}: value at the {where}: {variable.name!r} is algebraic"
                )
            old.append(variable.symbol)
            new.append(self._endpoint(variable.name, where))
        return ca.substitute(found, ca.vertcat(*old), ca.vertcat(*new))

    def integral(self, expression: Any, name: str | None = None, unit: str = "") -> ca.SX:
        """The integral of an expression over the phase, as a symbol for costs and constraints."""
        name = name or f"integral_{len(self.integrals) + 1}"
        (name,) = split_names([name], f"{self._label}: integral")
        unit = text(unit, f"{self._label}: integral {name}: unit")
        made = self.expression(expression, f"integral {name}")
        symbol = ca.SX.sym(f"{self.name}.{name}")
        self.integrals.append(IntegralTerm(name, made, symbol, unit))
        return symbol

    # -- cost --------------------------------------------------------------
    def minimize(
        self,
        integral: Any = None,
        final: Any = None,
        initial: Any = None,
        name: str | None = None,
    ) -> None:
        """Add to the cost: an integral over the phase, a value at its end or its start.

        A term without a name gets one with a number; two terms of one name are refused.
        """
        self._cost(1.0, integral, final, initial, name)

    def maximize(
        self,
        integral: Any = None,
        final: Any = None,
        initial: Any = None,
        name: str | None = None,
    ) -> None:
        """Subtract from the cost; arguments as of :meth:`minimize`."""
        self._cost(-1.0, integral, final, initial, name)

    def _cost(self, sign: float, integral: Any, final: Any, initial: Any, name: str | None) -> None:
        if integral is None and final is None and initial is None:
            raise OptimalControlError(f"{self._label}: cost: give integral=, final= or initial=")
        given = {
            word: value
            for word, value in (
                ("integral", integral),
                ("final value", final),
                ("initial value", initial),
            )
            if value is not None
        }
        for word, value in given.items():
            own = name if name is None or len(given) == 1 else f"{name}, {word}"
            if word == "integral":
                term = sign * self.expression(value, "integral of the cost")
                label = self.problem.cost_name(own, f"{self.name} {word}")
                self.cost_integrals.append(IntegralTerm(label, term))
            else:
                at_end = self.final(value) if word == "final value" else self.initial(value)
                self.problem.add_cost(sign * at_end, own, f"{self.name} {word}")

    # -- guess -------------------------------------------------------------
    def guess(self, /, times: Any = None, **values: Any) -> None:
        """Where the search starts, by name.

        Parameters
        ----------
        times:
            (T,) times of the arrays below, from the start of the phase to its end: their
            span is a duration that the phase may have.  A single number is a guess of
            the duration.
        values:
            For each state, control or algebraic variable: a number, a pair
            (value at start, value at end), an array of T values, or a function of
            an array of times.  What is not given is a straight line between the
            end conditions.

        Raises
        ------
        OptimalControlError
            For a name that there is not, arrays of another length, or times that do not
            cover the phase.
        """
        places = None
        if times is not None:
            self.guess_times = guessed_times(
                times, self.duration_range, f"{self._label}: guess: times"
            )
        if self.guess_times is not None and len(self.guess_times) > 1:
            t = self.guess_times
            places = (t - t[0]) / (t[-1] - t[0])
        for name, value in values.items():
            if name not in self._names and self.problem.has_name(name):
                raise OptimalControlError(
                    f"{self._label}: guess: {name!r} belongs to the problem; guess a parameter "
                    "where it is declared: problem.parameter(name, guess=...)"
                )
            variable = self._names.find(name)
            self.guesses[variable.name] = (
                value
                if callable(value)
                else guessed_values(value, places, f"{self._label}: guess of {name}")
            )

    def guess_simulation(
        self,
        policy: Any = None,
        duration: float | None = None,
        start: Mapping[str, float] | None = None,
        points: int = 201,
        tolerance: float = 1e-6,
    ) -> dict[str, np.ndarray]:
        """Let the search start from a simulation of the phase under a policy.

        Parameters
        ----------
        policy:
            Function of (time, states by name) that gives the controls, by name or in their
            order; or constant values by name; None: no control at all.  Controls are kept
            within their bounds.
        duration:
            [s]; needed if it is free and was not guessed before.  Where the phase is
            longer, the guess keeps the last values until its end.
        start:
            States at the start; by default as they must be there, else the middle of bounds.
        points:
            Number of times that are kept of the motion.
        tolerance:
            Relative, of the integrator.

        Returns
        -------
        dict
            Name -> (points,) values, with ``time``: what was simulated.

        Raises
        ------
        OptimalControlError
            If the simulation runs away, saying when, or names are unknown.
        """
        from .starting_motions import lasting, simulate_guess

        table = simulate_guess(self, policy, duration, start, points, tolerance)
        whole = lasting(table, self.duration_range[0])
        self.guess(whole["time"], **{n: v for n, v in whole.items() if n != "time"})
        return table

    def guess_equilibrium(self, /, **near: float) -> dict[str, float]:
        """Let the search start from rest: states and controls whose rates are zero.

        Parameters
        ----------
        near:
            Values by name; of all equilibria within the bounds, the nearest to these.

        Returns
        -------
        dict
            Name -> value of the equilibrium.

        Raises
        ------
        OptimalControlError
            If there is none within the bounds.
        """
        from .starting_motions import equilibrium_guess

        found = equilibrium_guess(self, near)
        self.guess(**found)
        return found

    # -- checks ------------------------------------------------------------
    def check(self) -> None:
        """Refuse a phase that is not complete.

        Raises
        ------
        OptimalControlError
            Naming what is missing, or which conditions contradict each other.
        """
        if not self._states:
            raise OptimalControlError(f"{self._label}: it has no states")
        if self.duration_range[1] <= 0:
            raise OptimalControlError(
                f"{self._label}: its end cannot be later than its start: start in "
                f"{self.start_range}, end in {self.end_range}"
            )
        missing = [n for n in self._states if n not in self.rates]
        if missing:
            raise OptimalControlError(f"{self._label}: no dynamics for {', '.join(missing)}")
        if len(self.equations) != len(self._algebraics):
            raise OptimalControlError(
                f"{self._label}: {len(self._algebraics)} algebraic variables "
                f"({', '.join(self._algebraics) or 'none'}) but {len(self.equations)} equations "
                f"({', '.join(self.equations) or 'none'})"
            )
        self._names.check_within({"start": self.start_bounds, "end": self.end_bounds})
