"""Free flight, reduced: angular momentum about the centre of mass is constant by construction.

A robot that nothing touches falls as a point; about its centre of mass its angular
momentum L stays what it was.  So neither its place nor its speed is a state, nor is
the angular velocity of its base: states are the base's attitude, the joint coordinates
r and their rates s.  With the twist (w, v) of the base in its own axes, seen from the
falling centre of mass, the first six rows of M(r) (w, v, s) are its momentum:

    M_base (w, v, s) = (R(attitude)' L, 0)                       6 equations for w, v
    inverse_dynamics((w, 0, s), (w', a, s')) = (0, 0, Q_joints)  6 + n equations for w', a, s'

with gravity left out.  Here a is the acceleration of the base's origin in base axes
(v' + w x v): forces depend on v only through it, since all inertial frames are alike.
All six lifted variables enter linearly, which keeps the functions of a node small.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    declare_velocities,
    full_rates,
    robot_symbols,
    state_balance,
    typical_time,
)
from .variables import column

if TYPE_CHECKING:
    from .phase import Phase
    from .problem import OptimalControlProblem

Array: TypeAlias = np.ndarray

BASE = 6
MOMENTUM = tuple(f"angular_momentum_{a}" for a in "xyz")


def add_free_flight(
    phase: Phase, robot: Any, angular_momentum: Sequence[float] = (0.0, 0.0, 0.0)
) -> None:
    """Give a phase the reduced dynamics of a robot in free flight.

    Parameters
    ----------
    phase:
        A phase of a problem without a robot of its own.
    robot:
        One floating base that carries everything; nothing outside acts on it but gravity.
    angular_momentum:
        (3,) about the centre of mass, world axes [kg m^2/s]; unless it is zero it becomes
        three constants of the problem, ``angular_momentum_x`` and so on.

    Raises
    ------
    OptimalControlError
        If the robot has no such base, or loads that depend on where or how fast it is.
    """
    symbols = robot_symbols(phase.problem, robot)
    override = {"gravity": 0.0} if "gravity" in robot.parameters else {}
    model = SymbolicRobot(robot, symbols, override)
    attitude = base_attitude(robot)
    size = len(robot.velocities)
    joints = range(BASE, size)
    phase.robot = robot
    places = [*range(attitude), *range(attitude + 3, len(robot.coordinates))]
    states = declare_coordinates(phase, robot, places)
    q = ca.vertcat(states[:attitude], ca.SX.zeros(3), states[attitude:])
    s = declare_velocities(phase, robot, joints)
    u = declare_inputs(phase, robot)
    twist = declare_velocities(phase, robot, range(BASE), algebraic=True)
    spin = ca.vertcat(twist[:3], ca.SX.zeros(3))
    rate = typical_time(phase) ** -2
    base_acceleration = column(
        [
            *phase.algebraics([f"{v.name}_rate" for v in robot.velocities[:3]], "rad/s^2", rate),
            *phase.algebraics([f"base_acceleration_{a}" for a in "xyz"], "m/s^2"),
        ]
    )
    s_rate = declare_accelerations(phase, robot, joints)
    zero = ca.SX.zeros(size)
    momentum = model("inverse_dynamics", q=q, p=zero, p_dot=ca.vertcat(twist, s))
    needed = model(
        "inverse_dynamics",
        q=q,
        p=ca.vertcat(spin, s),
        p_dot=ca.vertcat(base_acceleration, s_rate),
    )
    acting = model("generalized_forces", q=q, p=ca.vertcat(twist, s), u=u)
    _check_free(robot, model, ca.vertcat(momentum, needed), acting, states[:attitude], twist)
    kept = ca.SX(ca.DM.zeros(3))
    if any(float(value) != 0.0 for value in angular_momentum):
        world = column(
            [
                phase.problem.constant(name, value, "kg m^2/s")
                for name, value in zip(MOMENTUM, angular_momentum, strict=True)
            ]
        )
        kept = model(f"{root_node(robot)}_pose", q=q)[:3, :3].T @ world
    for k, axis in enumerate("xyz"):
        phase.equation(f"angular_momentum_{axis}_kept", momentum[k] - kept[k], "kg m^2/s")
    for k, axis in enumerate("xyz"):
        phase.equation(f"linear_momentum_{axis}_zero", momentum[3 + k], "kg m/s")
    state_balance(phase, robot, needed - acting, range(size))
    rates = model("coordinate_rates", q=q, p=ca.vertcat(spin, s))
    for k in places:
        phase.dynamics({robot.coordinates[k].name: rates[k]})
    add_limits(phase, robot)
    phase.explicit_rates = FlightRates(phase.problem, robot)


def base_attitude(robot: Any) -> int:
    """Number of coordinates of the attitude of a floating base: 4 or 3.

    Raises
    ------
    OptimalControlError
        If the robot does not begin with a floating base.
    """
    units = robot.velocities.units[:BASE]
    kinds = [c.kind for c in robot.coordinates]
    count = 4 if kinds[:4] == ["quaternion"] * 4 else 3
    if (
        list(units) != ["rad/s"] * 3 + ["m/s"] * 3
        or robot.coordinates.units[count : count + 3] != ("m",) * 3
    ):
        raise OptimalControlError(
            f"{robot.name}: free flight needs a floating base whose twist (angular, linear) comes "
            f"first; the velocities begin with {', '.join(map(str, robot.velocities[:BASE]))}"
        )
    return count


def root_node(robot: Any) -> str:
    """The node of the first body, which the world carries.

    Raises
    ------
    OptimalControlError
        If it is no node of the robot.
    """
    for node in robot.meta["nodes"]:
        if (
            node["parent"] == "world"
            and node["name"] == node["body"]
            and node["name"] in robot.nodes
        ):
            return str(node["name"])
    raise OptimalControlError(f"{robot.name}: its first body is no node (built with frame=False)")


def _check_free(
    robot: Any, model: SymbolicRobot, inertial: ca.SX, acting: ca.SX, attitude: ca.SX, twist: ca.SX
) -> None:
    """Refuse robots on which something outside acts."""
    moved = robot.mass_matrix(robot.random_state(0)[0])[3:BASE, 3:BASE]
    if not np.allclose(moved, moved[0, 0] * np.eye(3), rtol=1e-12, atol=0):
        raise OptimalControlError(
            f"{robot.name}: its mass depends on the direction (added mass of a fluid), so it "
            "does not fall freely; use the full model"
        )
    _check_weight(robot)
    where = {s.element_hash() for s in ca.vertsplit(attitude)}
    if any(s.element_hash() in where for s in ca.symvar(inertial)):
        raise OptimalControlError(
            f"{robot.name}: its inertial forces depend on the attitude of its base, so its "
            "angular momentum is not kept"
        )
    if acting[:BASE].nnz() and not ca.densify(acting[:BASE]).is_zero():
        raise OptimalControlError(
            f"{robot.name}: generalized forces act on its base (contact, drag, damping or "
            "thrust), so its momentum is not kept; use the full model, or build the robot "
            "without them (contact=False)"
        )
    outside = {s.element_hash() for s in ca.vertsplit(ca.vertcat(attitude, twist))}
    if any(s.element_hash() in outside for s in ca.symvar(acting)):
        raise OptimalControlError(
            f"{robot.name}: its generalized forces depend on the motion of its base; "
            "use the full model"
        )


def _check_weight(robot: Any) -> None:
    """Refuse robots whose weight is not that of their masses in a uniform field."""
    if "gravity" not in robot.parameters:
        return
    q = robot.random_state(1)[0]
    weight = robot.force_vector(q) - robot.with_parameters(gravity=0.0).force_vector(q)
    pushed = robot.mass_matrix(q)[:, 3:BASE]  # what an acceleration of the whole robot takes
    fall = -weight[3:BASE] / pushed[3, 0]
    rest = weight + pushed @ fall
    size = float(np.linalg.norm(fall))
    if not (
        np.allclose(rest, 0.0, atol=1e-9 * np.max(np.abs(weight)))
        and np.isclose(size, abs(robot.parameters["gravity"]), rtol=1e-9)
    ):
        raise OptimalControlError(
            f"{robot.name}: it does not fall like a stone (buoyancy): other outer forces than "
            "weight act on it; use the full model"
        )


def base_twist(robot: Any, q: Array, s: Array, momentum: Array) -> Array:
    """(N, 6) twist of the base, in its axes, seen from the centre of mass.

    Parameters
    ----------
    q:
        (N, nq) coordinates; the place does not matter.
    s:
        (N, n) joint velocities.
    momentum:
        (3,) angular momentum about the centre of mass, world axes [kg m^2/s].
    """
    one = len(q) == 1  # a call costs less than a batch
    matrix = robot.mass_matrix(q[0])[None] if one else robot.mass_matrix_batch(q)
    right = -(matrix[:, :BASE, BASE:] @ s[..., None])[..., 0]
    if momentum.any():
        node = root_node(robot)
        pose = robot.node_pose(node, q[0])[None] if one else robot.node_pose_batch(node, q)
        right[:, :3] += np.einsum("kji,j->ki", pose[:, :3, :3], momentum)
    return np.asarray(np.linalg.solve(matrix[:, :BASE, :BASE], right[..., None])[..., 0])


def full_coordinates(robot: Any, x: Array) -> Array:
    """(N, nq) full coordinates of reduced states; the base is at 0."""
    return _with_base_at_zero(x, base_attitude(robot), len(robot.coordinates))


def _with_base_at_zero(x: Array, attitude: int, size: int) -> Array:
    """(N, size) coordinates: the attitude's, three zeros, and the joints' of reduced states."""
    q = np.zeros((len(x), size))
    q[:, :attitude], q[:, attitude + 3 :] = x[:, :attitude], x[:, attitude : size - 3]
    return q


class FlightRates(ForwardRates):
    """Rates of the reduced states, by the full model's compiled forward dynamics."""

    def __init__(self, problem: OptimalControlProblem, robot: Any) -> None:
        super().__init__(problem, robot)
        self._attitude = base_attitude(robot)

    def momentum(self, p: Array) -> Array:
        """(3,) angular momentum among the problem's constants; zero if it is not there."""
        names = [v.name for v in self._problem.constants]
        if MOMENTUM[0] not in names:
            return np.zeros(3)
        values = np.atleast_1d(np.asarray(p, dtype=float))
        return values[[names.index(n) for n in MOMENTUM]]

    def _coordinates(self, x: Array) -> Array:
        return _with_base_at_zero(x, self._attitude, self._size)

    def _rates(self, robot: Any, x: Array, u: Array, p: Array) -> Array:
        q, s = self._coordinates(x), x[:, self._size - 3 :]
        v = np.hstack([base_twist(robot, q, s, self.momentum(p)), s])
        q_rates, v_rates = full_rates(robot, q, v, u)
        parts = q_rates[:, : self._attitude], q_rates[:, self._attitude + 3 :], v_rates[:, BASE:]
        return np.hstack(parts)
