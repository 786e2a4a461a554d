"""Contact in optimal control: the robot's own law of the ground, with a kink that can be rounded.

The law of :mod:`bestiary.modeling.contact` cuts the normal force off where the ground
would pull, F_n = h(z) [y]+ with y = K h^2 + D z'.  Its corner is all but sharp, as it has to
be for a simulation; Newton's method steps from one side to the other for ever.  Here

    [y]+ = (y + sqrt(y^2 + (delta K h^2)^2 + kappa^2)) / 2

with the problem's constant ``contact_relaxation`` kappa on top: a ladder lowers it, with the
stiffness K, damping D, smoothing eps and slip velocity v_eps, until the law is the robot's.
It acts on nodes in contact only (h is 0 in the air) and adds at most h kappa / 2 to a force.

Inputs may be states whose rates are the controls: torques then have no jumps, and the
fastest modes of a stiff contact (10^4 to 10^5 1/s) follow them instead of being excited at
the end of every interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from .errors import OptimalControlError
from .robots import (
    ForwardRates,
    SymbolicRobot,
    add_limits,
    declare_accelerations,
    declare_coordinates,
    declare_inputs,
    declare_parameters,
    declare_velocities,
    robot_symbols,
    state_balance,
)
from .variables import column

if TYPE_CHECKING:
    from .phase import Phase
    from .problem import OptimalControlProblem

Array: TypeAlias = np.ndarray

RELAXATION = "contact_relaxation"
"""Name of kappa among the problem's constants [N m^(-1/2)]."""
SMALLEST_RELAXATION = 1e-3
"""Counts as none: a node that is 1 mm deep is pressed by 2e-5 N too much."""
CLIP = 1e-3
"""delta, as in :mod:`bestiary.modeling.contact`."""
BLEND = (5.5, -7.0, 2.5)
"""As in :mod:`bestiary.modeling.contact`: h = sqrt(eps) t^3 (5.5 - 7 t + 2.5 t^2)."""

LAW = tuple(
    f"contact_{part}" for part in ("stiffness", "damping", "friction", "slip_velocity", "smoothing")
)
"""Parameters of a robot's contact; the problem's constants of these names are the rungs."""
RUNGS = tuple(n for n in LAW if n != "contact_friction")


@dataclass(frozen=True)
class Ground:
    """The law's numbers, symbols or floats: K, D, mu, v_eps, eps and kappa."""

    stiffness: Any
    damping: Any
    friction: Any
    slip_velocity: Any
    smoothing: Any
    relaxation: Any

    def root(self, depth: Any) -> Any:
        """h(z): sqrt(z) below the ground, 0 above it, smooth between [m^(1/2)]."""
        eps = self.smoothing
        t = ca.fmin(ca.fmax((depth + eps) / (2 * eps), 0.0), 1.0)
        a, b, c = BLEND
        blend = t**3 * (a + t * (b + t * c)) - 1.0
        return ca.sqrt(ca.fmax(depth, eps)) + ca.sqrt(eps) * blend

    def force(self, depth: Any, velocity: Any, normal: ca.DM) -> ca.SX:
        """(3,) force on a node that is so deep and moves with this velocity, world axes [N]."""
        root = self.root(depth)
        elastic = self.stiffness * root**2
        rate = -ca.dot(normal, velocity)
        drive = elastic + self.damping * rate
        corner = (CLIP * elastic) ** 2 + self.relaxation**2
        pressed = root * (drive + ca.sqrt(drive**2 + corner)) / 2
        slip = velocity + normal * rate
        sliding = ca.sqrt(ca.sumsqr(slip) + self.slip_velocity**2)
        return ca.SX(normal * pressed - slip * (self.friction * pressed / sliding))


def contact_nodes(robot: Any) -> tuple[str, ...]:
    """Names of the nodes that may touch the ground.

    Raises
    ------
    OptimalControlError
        If there are none, or the law's parameters have other names.
    """
    nodes = tuple(robot.meta["contacts"]) if "contacts" in robot.meta else ()
    if not nodes:
        raise OptimalControlError(f"{robot.name} has no contact with the ground")
    missing = [n for n in LAW if n not in robot.parameters]
    if missing:
        raise OptimalControlError(
            f"{robot.name}: contact with a ladder needs the parameters {', '.join(LAW)}; "
            f"missing: {', '.join(missing)}"
        )
    return nodes


def declare_contact(problem: OptimalControlProblem, robot: Any) -> None:
    """Make the contact's stiffness, damping, smoothing, slip velocity and kappa constants."""
    contact_nodes(robot)
    declare_parameters(problem, robot, None, RUNGS)
    problem.constant(RELAXATION, SMALLEST_RELAXATION, "N m^(-1/2)")


def add_robot_in_contact(phase: Phase, robot: Any, *, input_rates: bool = False) -> None:
    """Give a phase the full dynamics of a robot whose contact can be relaxed.

    As :func:`.robots.add_robot`, but for the contact.

    Parameters
    ----------
    phase:
        A phase of a problem without a robot of its own, after :func:`declare_contact`.
    robot:
        Its ground is the plane at height 0, its law that of Azad and Featherstone.
    input_rates:
        Whether inputs are states, and the controls their rates ``<input>_rate``.
    """
    problem = phase.problem
    symbols = robot_symbols(problem, robot)
    forces = _Forces(robot, symbols, problem.table[RELAXATION])
    model = SymbolicRobot(robot, symbols)
    phase.robot = robot
    q = declare_coordinates(phase, robot, range(len(robot.coordinates)))
    p = declare_velocities(phase, robot, range(len(robot.velocities)))
    if input_rates:
        u = column([phase.states([i.name], [i.unit])[0] for i in robot.inputs])
        for i in robot.inputs:
            (rate,) = phase.controls([f"{i.name}_rate"], [f"{i.unit}/s"])
            phase.dynamics({i.name: rate})
    else:
        u = declare_inputs(phase, robot)
    a = declare_accelerations(phase, robot, range(len(robot.velocities)))
    rates = model("coordinate_rates", q=q, p=p)
    phase.dynamics({c.name: rates[k] for k, c in enumerate(robot.coordinates)})
    needed = model("inverse_dynamics", q=q, p=p, p_dot=a)
    acting = forces.others(q, p, u) + forces.ground(q, p)
    state_balance(phase, robot, needed - acting, range(len(robot.velocities)))
    add_limits(phase, robot)
    phase.explicit_rates = ContactRates(problem, robot, input_rates)
    phase.stiff = True


class _Forces:
    """Generalized forces, those of the ground apart."""

    def __init__(self, robot: Any, symbols: Mapping[str, ca.SX], relaxation: Any) -> None:
        self.robot = robot
        self._model = SymbolicRobot(robot, symbols)
        fixed = {n: float(robot.parameters[n]) for n in LAW}
        self._free = SymbolicRobot(
            robot,
            {n: s for n, s in symbols.items() if n not in LAW},
            {**fixed, "contact_stiffness": 0.0, "contact_damping": 0.0},
        )
        law = {n: symbols.get(n, fixed[n]) for n in LAW}
        self._ground = Ground(
            law["contact_stiffness"],
            law["contact_damping"],
            law["contact_friction"],
            law["contact_slip_velocity"],
            law["contact_smoothing"],
            relaxation,
        )
        axis = robot.meta["up"]
        self._up = ca.DM.zeros(3)
        self._up["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0

    def others(self, q: ca.SX, p: ca.SX, u: ca.SX) -> ca.SX:
        """Of inputs, damping and loads."""
        return ca.SX(self._free("generalized_forces", q=q, p=p, u=u))

    def ground(self, q: ca.SX, p: ca.SX) -> ca.SX:
        """Of the ground, relaxed."""
        total = ca.SX.zeros(p.numel())
        for node in contact_nodes(self.robot):
            pose = self._model(f"{node}_pose", q=q)
            jacobian = pose[:3, :3] @ self._model(f"{node}_jacobian", q=q)[3:, :]
            depth = -ca.dot(self._up, pose[:3, 3])
            total += jacobian.T @ self._ground.force(depth, jacobian @ p, self._up)
        return total

    def gap(self, q: ca.SX, p: ca.SX, u: ca.SX) -> ca.SX:
        """Relaxed forces less the robot's own."""
        own = self._model("generalized_forces", q=q, p=p, u=u)
        return ca.SX(self.others(q, p, u) + self.ground(q, p) - own)


class ContactRates(ForwardRates):
    """Rates by the compiled forward dynamics, and by what a relaxed contact adds to them.

    With no relaxation left they are the robot's own, untouched.

    Parameters
    ----------
    problem, robot:
        As for :class:`.robots.ForwardRates`.
    input_rates:
        Whether the last states are the inputs, and the controls their rates.
    """

    def __init__(self, problem: OptimalControlProblem, robot: Any, input_rates: bool) -> None:
        super().__init__(problem, robot)
        self._problem_names = [v.name for v in problem.constants]
        self._inputs = len(robot.inputs) if input_rates else 0
        self._gap: ca.Function | None = None

    def _rates(self, robot: Any, x: Array, u: Array, p: Array) -> Array:
        count = self._inputs
        if not count:
            return self._moving(robot, x, u, p)
        state, held = x[:, :-count], np.ascontiguousarray(x[:, -count:])
        return np.hstack([self._moving(robot, state, held, p), u])

    def _moving(self, robot: Any, x: Array, u: Array, p: Array) -> Array:
        found = super()._rates(robot, x, u, p)
        values = np.atleast_1d(np.asarray(p, dtype=float))
        kappa = float(values[self._problem_names.index(RELAXATION)])
        if kappa <= SMALLEST_RELAXATION:
            return found
        nq = len(robot.coordinates)
        law = np.array([float(robot.parameters[n]) for n in LAW])
        extra = self._more(x[:, :nq], x[:, nq:], law, kappa)
        matrix = robot.mass_matrix_batch(np.ascontiguousarray(x[:, :nq]))
        found[:, nq:] += np.linalg.solve(matrix, extra[..., None])[..., 0]
        return found

    def _more(self, q: Array, p: Array, law: Array, kappa: float) -> Array:
        """(N, np) generalized forces that the relaxation adds."""
        if self._gap is None:
            symbols = {n: ca.SX.sym(n) for n in LAW}
            relaxation = ca.SX.sym(RELAXATION)
            coordinates, velocities = ca.SX.sym("q", q.shape[1]), ca.SX.sym("p", p.shape[1])
            forces = _Forces(self._robot, symbols, relaxation)
            none = ca.SX.zeros(len(self._robot.inputs))
            self._gap = ca.Function(
                "gap",
                [coordinates, velocities, column(list(symbols.values())), relaxation],
                [ca.densify(forces.gap(coordinates, velocities, none))],
                {"cse": True},
            )
        many = self._gap.map(len(q)) if len(q) > 1 else self._gap
        return np.asarray(many(q.T, p.T, np.tile(law[:, None], len(q)), kappa)).T
