"""Feedback of the attitude for a robot in free flight: a found motion, corrected on its way.

A tail that tracks its part of a plan turns the body by what its inertia, not that of the
model, makes of it; a push adds a spin that no tail joint feels.  Where partial feedback
linearization hands out the accelerations of the shape, the attitude follows from the
shape alone: with the planned attitude Q_d, phi the rotation vector of Q_d^-1 Q (body
axes), r the shape, s its rates and L the angular momentum of the plan,

    phi' = w(phi, r, s; L) - w_d - w_d x phi,    r' = s,    s' = v,

where the angular velocity w follows from M_base (w, v_base, s) = (R' L, 0).  Linearized about
the plan this is a linear system that changes in time, and the linear-quadratic regulator
of the deviations (phi, r - r_d, s - s_d) gives v = s_d' - K(t) (deviations): near the end
it asks for the planned attitude, on the way it leaves the tail free to find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..control import JointTracker
from .errors import OptimalControlError
from .flight import BASE, MOMENTUM, base_attitude, base_twist
from .orientation import conjugate, product

if TYPE_CHECKING:
    from .solution import Solution

Array: TypeAlias = np.ndarray

SAMPLES = 401
STEP = 1e-5
"""Of the central differences of the angular velocity: error some 1e-10 of its size."""


@dataclass(frozen=True)
class FlightPlan:
    """A found motion of a robot in free flight, sampled evenly.

    Attributes
    ----------
    times:
        (T,) [s], from 0.
    attitude:
        (T, 4) unit quaternions, scalar first.
    shape, rates, accelerations:
        (T, n) joint coordinates, their rates, and the derivatives of these.
    momentum:
        (3,) angular momentum about the centre of mass, world axes [kg m^2/s].
    """

    times: Array
    attitude: Array
    shape: Array
    rates: Array
    accelerations: Array
    momentum: Array


@dataclass(frozen=True)
class Weights:
    """Deviations that count the same: each error is divided by its own (Bryson's rule).

    Attributes
    ----------
    acceleration:
        Of the joints, all along [rad/s^2].
    attitude, shape, rates:
        At the end [rad, rad, rad/s].
    attitude_on_the_way, shape_on_the_way, rates_on_the_way:
        All along [rad, rad, rad/s].
    """

    acceleration: float = 300.0
    attitude: float = np.pi / 180
    shape: float = 0.05
    rates: float = 5.0
    attitude_on_the_way: float = np.pi / 18
    shape_on_the_way: float = 0.5
    rates_on_the_way: float = 50.0


def flight_plan(
    robot: Any, solution: Solution, phase: str | None = None, samples: int = SAMPLES
) -> FlightPlan:
    """Sample a solution; both formulations of free flight will do.

    Parameters
    ----------
    robot:
        That of the problem, with a quaternion base.
    solution:
        Whose phase has the attitude, the joint coordinates and their rates as states.
    phase:
        Its name, if there are several.
    samples:
        Number of even times.

    Raises
    ------
    OptimalControlError
        If the states are not those of such a flight.
    """
    motion = solution.motion(phase)
    record = next(r for r in solution.record.phases if r.motion is motion)
    names = [quantity.name for quantity in record.states]
    if base_attitude(robot) != 4:
        raise OptimalControlError(f"{robot.name}: a flight plan needs a quaternion base")
    groups = (
        robot.coordinates.names[:4],
        robot.coordinates.names[7:],
        robot.velocities.names[BASE:],
    )
    missing = [n for group in groups for n in group if n not in names]
    if missing:
        raise OptimalControlError(
            f"{solution.name}: no flight plan: {', '.join(missing)} of {robot.meta['name']} "
            f"are no states of phase {record.name!r}"
        )
    times = np.linspace(motion.start, motion.end, samples)
    states, changes = motion.states_at(times), motion.rates_at(times)
    attitude, shape, rates = (states[:, [names.index(n) for n in g]] for g in groups)
    attitude = attitude / np.linalg.norm(attitude, axis=1, keepdims=True)
    accelerations = changes[:, [names.index(n) for n in groups[2]]]
    momentum = np.array([solution.constants.get(name, 0.0) for name in MOMENTUM])
    if "vx" in names:  # the full model has its momentum in its state
        q, p = (
            np.array([states[0, names.index(n)] for n in part.names])
            for part in (robot.coordinates, robot.velocities)
        )
        momentum = robot.momentum(q, p)[:3]
    return FlightPlan(times - times[0], attitude, shape, rates, accelerations, momentum)


def attitude_error(planned: Array, measured: Array) -> Array:
    """(..., 3) rotation vector from one unit quaternion (..., 4) to another, in their own axes."""
    turn = product(conjugate(planned).T, measured.T)
    turn = np.where(turn[0] < 0, -turn, turn)  # the shorter way round
    size = np.linalg.norm(turn[1:], axis=0)
    tiny = size < 1e-12
    ratio = np.where(tiny, 2.0, 2 * np.arctan2(size, turn[0]) / np.where(tiny, 1.0, size))
    return np.asarray((ratio * turn[1:]).T)


def deviation_dynamics(robot: Any, plan: FlightPlan) -> Array:
    """(T, 3+2n, 3+2n) matrices A(t) of the deviations (attitude, shape, rates) from a plan."""
    from scipy.spatial.transform import Rotation

    count, n = plan.shape.shape
    planned = Rotation.from_quat(np.roll(plan.attitude, -1, axis=1))

    def spin(change: Array) -> Array:
        q = np.zeros((count, len(robot.coordinates)))
        turned = planned * Rotation.from_rotvec(np.tile(change[:3], (count, 1)))
        q[:, :4] = np.roll(turned.as_quat(), 1, axis=1)
        q[:, 7:] = plan.shape + change[3 : 3 + n]
        return base_twist(robot, q, plan.rates + change[3 + n :], plan.momentum)[:, :3]

    size = 3 + 2 * n
    matrices = np.zeros((count, size, size))
    steps = STEP * np.eye(size)
    for k, step in enumerate(steps):
        matrices[:, :3, k] = (spin(step) - spin(-step)) / (2 * STEP)
    wanted = spin(np.zeros(size))
    for k in range(3):
        matrices[:, :3, k] -= np.cross(wanted, np.eye(3)[k])
    matrices[:, 3 : 3 + n, 3 + n :] = np.eye(n)
    return matrices


def regulator_gains(times: Array, matrices: Array, weights: Weights) -> Array:
    """(T, n, 3+2n) gains K(t) of the linear-quadratic regulator, by the discrete Riccati equation.

    Parameters
    ----------
    times:
        (T,) even times [s]; accelerations are held from one to the next.
    matrices:
        (T, 3+2n, 3+2n) of :func:`deviation_dynamics`.
    weights:
        What counts how much.
    """
    size = matrices.shape[1]
    n = (size - 3) // 2
    sizes = np.array([3, n, n])
    final = (weights.attitude, weights.shape, weights.rates)
    running = (weights.attitude_on_the_way, weights.shape_on_the_way, weights.rates_on_the_way)
    step, length = times[1] - times[0], times[-1] - times[0]
    cost = np.diag(np.repeat(np.array(final) ** -2, sizes))
    along = np.diag(np.repeat(np.array(running) ** -2, sizes)) * step / length
    effort = np.eye(n) * step / length / weights.acceleration**2
    push = np.vstack([np.zeros((3 + n, n)), np.eye(n)])
    gains = np.zeros((len(times), n, size))
    for k in range(len(times) - 2, -1, -1):
        scaled = (matrices[k] + matrices[k + 1]) / 2 * step
        series = np.eye(size) + scaled / 2 + scaled @ scaled / 6  # of (exp(A h) - 1) / (A h)
        onward, pushed = np.eye(size) + scaled @ series, step * series @ push
        gains[k] = np.linalg.solve(effort + pushed.T @ cost @ pushed, pushed.T @ cost @ onward)
        cost = along + onward.T @ cost @ (onward - pushed @ gains[k])
        cost = (cost + cost.T) / 2
    gains[-1] = gains[-2]
    return gains


class AttitudeFeedback:
    """Control law u(t, q, p): the plan's shape, corrected so that the attitude comes out right.

    Parameters
    ----------
    robot:
        The model that plan and law are made with; what flies may differ from it.
    plan:
        From :func:`flight_plan`.
    weights:
        Of the regulator.
    limits:
        Largest size of each input, as in :class:`~bestiary.solvers.control.JointTracker`.

    Attributes
    ----------
    gains:
        (T, n, 3+2n) at the times of the plan.
    """

    def __init__(
        self, robot: Any, plan: FlightPlan, weights: Weights | None = None, *, limits: Any = None
    ) -> None:
        joints = robot.coordinates.names[7:]
        self.plan = plan
        self.tracker = JointTracker(robot, {}, limits=limits)
        if sorted(self.tracker.tracked) != sorted(joints):
            raise OptimalControlError(
                f"{robot.name}: attitude feedback needs an input at every joint; they are at "
                f"{', '.join(self.tracker.tracked)}"
            )
        self._order = [joints.index(name) for name in self.tracker.tracked]
        self.gains = regulator_gains(
            plan.times, deviation_dynamics(robot, plan), Weights() if weights is None else weights
        )

    def deviation(self, t: float, q: Array, p: Array) -> Array:
        """(3+2n,) attitude [rad], shape and rates, each less what is planned at time t [s]."""
        k, share = self._place(t)
        mixed = (
            (1 - share) * part[k] + share * part[k + 1]
            for part in (self.plan.attitude, self.plan.shape, self.plan.rates)
        )
        planned, shape, rates = mixed
        turn = attitude_error(planned, np.asarray(q[:4]))
        return np.concatenate([turn, q[7:] - shape, p[BASE:] - rates])

    def __call__(self, t: float, q: Array, p: Array) -> Array:
        """Inputs (nu,) within their limits; after the end as at the end."""
        k, share = self._place(t)
        accelerations, gains = (
            (1 - share) * part[k] + share * part[k + 1]
            for part in (self.plan.accelerations, self.gains)
        )
        wanted = accelerations - gains @ self.deviation(t, q, p)
        return self.tracker.accelerate(q, p, wanted[self._order])

    def _place(self, t: float) -> tuple[int, float]:
        last = len(self.plan.times) - 1
        place = float(np.clip(t / self.plan.times[-1], 0.0, 1.0)) * last
        k = min(int(place), last - 1)
        return k, place - k


__all__ = [
    "AttitudeFeedback",
    "FlightPlan",
    "Weights",
    "attitude_error",
    "deviation_dynamics",
    "flight_plan",
    "regulator_gains",
]
