"""A robot's equations as the dynamics of a phase: accelerations are variables, M is never inverted.

q' = V(q) p, p' = a, and the algebraic equations of the robot's own program

    inverse_dynamics(q, p, a) - Q(q, p, u) = 0,    M a + C p + F = Q,

loads, contact and damping included.  The replay of a solution goes the other way,
through the compiled forward dynamics: two programs that have to agree.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from bestiary.build_tools.backends.casadi import PARAMETERS, casadi_function
from bestiary.generated.errors import ModelInputError, SingularityError

from .errors import OptimalControlError
from .variables import column

if TYPE_CHECKING:
    from .phase import Phase
    from .problem import OptimalControlProblem

Array: TypeAlias = np.ndarray

SWINGS = 4.0
"""Sizes for scaling: angles of about a radian, changed this often within a phase."""

_CONJUGATE = {"rad/s": "N m", "m/s": "N"}


def declare_parameters(
    problem: OptimalControlProblem,
    robot: Any,
    free: Mapping[str, Any] | None,
    adjustable: Iterable[str],
) -> None:
    """Make chosen parameters of a robot parameters or constants of a problem, by their names.

    Parameters
    ----------
    problem, robot:
        The problem, before its first phase, and its robot.
    free:
        Robot parameter → range; each is found together with the motion.
    adjustable:
        Robot parameters whose values may be other ones in the next solve.

    Raises
    ------
    OptimalControlError
        If the robot has no such parameter.
    """
    values, units = robot.parameters, robot.parameters.units
    chosen = dict(free or {})
    for name in (*chosen, *adjustable):
        if name not in values:
            raise OptimalControlError(f"{robot.name} has no parameter {name!r}")
    for name, bounds in chosen.items():
        size = abs(values[name]) or None
        problem.parameter(name, bounds, guess=values[name], unit=units[name], nominal=size)
    for name in adjustable:
        problem.constant(name, values[name], units[name])


def robot_symbols(problem: OptimalControlProblem, robot: Any) -> dict[str, ca.SX]:
    """Robot parameters that are symbols of the problem, by name."""
    return {n: s for n, s in problem.table.items() if n in robot.parameters}


class SymbolicRobot:
    """Functions of a robot on SX symbols, with its parameter values built in.

    Parameters
    ----------
    robot:
        A loaded robot.
    symbols:
        Parameters that stay symbols.
    override:
        Parameters with another value than the robot's.
    """

    def __init__(
        self,
        robot: Any,
        symbols: Mapping[str, ca.SX] | None = None,
        override: Mapping[str, float] | None = None,
    ) -> None:
        self.robot, self._symbols = robot, dict(symbols or {})
        self._fixed = {
            **{n: v for n, v in robot.parameters.items() if n not in self._symbols},
            **(override or {}),
        }
        self._functions: dict[str, ca.Function] = {}

    def __call__(self, function: str, **arguments: Any) -> Any:
        """First output of a function of the program; arguments it does not take are left out."""
        if function not in self._functions:
            self._functions[function] = casadi_function(self.robot.program, function, self._fixed)
        made = self._functions[function]
        given = {
            name: column([self._symbols[n] for n in self._order()])
            if name == PARAMETERS
            else arguments[name]
            for name in made.name_in()
        }
        return ca.SX(made.call(given)[made.name_out(0)])

    def _order(self) -> Sequence[str]:
        group = next(g for g in self.robot.program.groups if g.name == PARAMETERS)
        return [s.name for s in group.symbols if s.name in self._symbols]


def add_robot(phase: Phase, robot: Any) -> None:
    """Give a phase the coordinates, velocities, inputs, limits and dynamics of a robot.

    States are q and p, controls the inputs; the acceleration of a velocity ``wx`` is the
    algebraic variable ``wx_rate``, and the equation of its row is ``wx_balance``.
    """
    model = SymbolicRobot(robot, robot_symbols(phase.problem, robot))
    phase.robot = robot
    q = declare_coordinates(phase, robot, range(len(robot.coordinates)))
    p = declare_velocities(phase, robot, range(len(robot.velocities)))
    u = declare_inputs(phase, robot)
    a = declare_accelerations(phase, robot, range(len(robot.velocities)))
    rates = model("coordinate_rates", q=q, p=p)
    phase.dynamics({c.name: rates[k] for k, c in enumerate(robot.coordinates)})
    needed = model("inverse_dynamics", q=q, p=p, p_dot=a)
    acting = model("generalized_forces", q=q, p=p, u=u)
    state_balance(phase, robot, needed - acting, range(len(robot.velocities)))
    add_limits(phase, robot)
    phase.explicit_rates = ForwardRates(phase.problem, robot)


def typical_time(phase: Phase) -> float:
    """A time in which an angle changes by about a radian [s]."""
    low, high = phase.duration_range
    if math.isfinite(high):
        return (low + high) / 2 / SWINGS
    return (low or 1.0) / SWINGS


def declare_coordinates(phase: Phase, robot: Any, places: Iterable[int]) -> ca.SX:
    """States for some of the coordinates."""
    chosen = [robot.coordinates[k] for k in places]
    return column(
        [
            phase.states([c.name], [c.unit], 1.0 if c.kind == "quaternion" else None)[0]
            for c in chosen
        ]
    )


def declare_velocities(
    phase: Phase, robot: Any, places: Iterable[int], algebraic: bool = False
) -> ca.SX:
    """States (or algebraic variables) for some of the velocities."""
    declare = phase.algebraics if algebraic else phase.states
    size = 1.0 / typical_time(phase)
    return column(
        [
            declare([v.name], [v.unit], size if v.unit == "rad/s" else None)[0]
            for v in (robot.velocities[k] for k in places)
        ]
    )


def declare_accelerations(phase: Phase, robot: Any, places: Iterable[int]) -> ca.SX:
    """Algebraic variables for some of the accelerations, which are the velocities' rates."""
    size, gravity = typical_time(phase) ** -2, robot.parameters.get("gravity", 0.0)
    found = []
    for v in (robot.velocities[k] for k in places):
        nominal = size if v.unit == "rad/s" else gravity or None
        (symbol,) = phase.algebraics([f"{v.name}_rate"], [_per_second(v.unit)], nominal)
        phase.dynamics({v.name: symbol})
        found.append(symbol)
    return column(found)


def declare_inputs(phase: Phase, robot: Any) -> ca.SX:
    """Controls for the inputs."""
    return column([phase.controls([i.name], [i.unit])[0] for i in robot.inputs])


def state_balance(phase: Phase, robot: Any, residual: ca.SX, places: Iterable[int]) -> None:
    """Equations ``<velocity>_balance``: some rows of M a + C p + F - Q vanish."""
    for row in places:
        v = robot.velocities[row]
        phase.equation(f"{v.name}_balance", residual[row], _CONJUGATE.get(v.unit, ""))


def add_limits(phase: Phase, robot: Any) -> None:
    """The robot's limits: bounds of coordinates, and of squared lengths of several."""
    lengths: dict[tuple[str, ...], tuple[float, str]] = {}
    for limit in robot.limits:
        bounds = {v.name: v.bounds for v in phase.state_variables}
        if not bounds.keys() >= set(limit.coordinates):
            continue
        if len(limit.coordinates) > 1:
            known = lengths.get(limit.coordinates, (math.inf, ""))[0]
            lengths[limit.coordinates] = min(known, limit.high), limit.unit
            continue
        (name,) = limit.coordinates
        low = bounds[name][0] if limit.low is None else max(bounds[name][0], limit.low)
        high = bounds[name][1] if limit.high is None else min(bounds[name][1], limit.high)
        phase.bound(**{name: (low, high)})
    for names, (longest, unit) in lengths.items():
        squares = ca.sumsqr(column([phase[n] for n in names]))
        phase.path("_".join(("length", *names)), squares, high=longest**2, unit=f"{unit}^2")


class ForwardRates:
    """Rates of (q, p) by the compiled forward dynamics: what a replay integrates.

    Parameters
    ----------
    problem:
        Where parameter values come from that are symbols of the problem.
    robot:
        The robot.
    """

    def __init__(self, problem: OptimalControlProblem, robot: Any) -> None:
        self._problem, self._robot = problem, robot
        self._size = len(robot.coordinates)
        self._last: tuple[tuple[bytes, bytes], Any] | None = None

    def __call__(self, x: Array, u: Array, s: Array, p: Array, t: Array) -> Array:
        """(N, nx) rates; rows outside what the model can tell are NaN.

        Parameters
        ----------
        x, u:
            (N, nx) states and (N, nu) controls.
        s, p:
            Values of the problem's parameters and constants.
        t:
            (N,) times, of which a robot knows nothing.
        """
        robot = self.robot(s, p)
        rates = np.full(x.shape, np.nan)
        good = np.isfinite(x).all(axis=1) & within_limits(robot, self._coordinates(x))
        if good.all():
            good = slice(None)
        elif not good.any():
            return rates
        # where the model ends there are no rates: the replay says what that means
        with contextlib.suppress(ModelInputError, SingularityError, np.linalg.LinAlgError):
            rates[good] = self._rates(robot, x[good], u[good], p)
        return rates

    def _coordinates(self, x: Array) -> Array:
        return x[:, : self._size]

    def _rates(self, robot: Any, x: Array, u: Array, p: Array) -> Array:
        return np.hstack(full_rates(robot, x[:, : self._size], x[:, self._size :], u))

    def robot(self, s: Array, p: Array) -> Any:
        """The robot with the parameter values of a solve."""
        key = np.asarray(s, dtype=float).tobytes(), np.asarray(p, dtype=float).tobytes()
        if self._last is None or self._last[0] != key:
            variables = (*self._problem.parameters, *self._problem.constants)
            values = np.concatenate([np.ravel(s), np.ravel(p)])
            own = {
                variable.name: float(value)
                for variable, value in zip(variables, values, strict=True)
                if variable.name in self._robot.parameters
            }
            self._last = key, self._robot.with_parameters(**own) if own else self._robot
        return self._last[1]


def full_rates(robot: Any, q: Array, p: Array, u: Array) -> tuple[Array, Array]:
    """(N, nq) and (N, np) rates of many states."""
    inputs = u if u.shape[1] else None
    if len(q) == 1:  # a call costs less than a batch
        one = robot.state_rates(q[0], p[0], None if inputs is None else u[0])
        return one[0][None], one[1][None]
    arrays = (np.ascontiguousarray(a) for a in (q, p))
    found: tuple[Array, Array] = robot.state_rates_batch(
        *arrays, None if inputs is None else np.ascontiguousarray(inputs)
    )
    return found


def within_limits(robot: Any, q: Array) -> Array:
    """(N,) whether coordinates are within the limits that the robot insists on."""
    good = np.ones(len(q), dtype=bool)
    for limit in robot.limits:
        if not limit.refuse:
            continue
        value = q[:, list(limit.places)]
        size = value[:, 0] if value.shape[1] == 1 else np.linalg.norm(value, axis=1)
        if limit.low is not None:
            good &= size >= limit.low
        if limit.high is not None:
            good &= size <= limit.high
    return good


def _per_second(unit: str) -> str:
    return f"{unit.removesuffix('/s')}/s^2" if unit.endswith("/s") else f"{unit}/s"
