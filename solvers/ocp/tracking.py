"""From plan to result: a found righting, tracked by a robot that is not quite the model.

The controller knows the model; what flies has other masses, may be pushed on its way, and
its torques are limited.  Two controllers are compared: ``"tail"`` tracks the planned tail
(collocated partial feedback linearization) and never looks at the body, ``"attitude"``
also feeds back the attitude (:mod:`.attitude_feedback`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..attitude import add_attitude
from ..control import JointTracker
from ..references import Jet, Reference
from ..simulation import simulate
from .attitude_feedback import AttitudeFeedback, FlightPlan, attitude_error, flight_plan
from .errors import OptimalControlError
from .flight import BASE, base_twist

if TYPE_CHECKING:
    import xarray as xr

    from .solution import Solution

Array: TypeAlias = np.ndarray

CONTROLLERS = ("tail", "attitude")
SETTLING_TIME = 0.02
"""Of the tail's tracking error [s]."""
PERIOD = 1e-3
"""Sampling period of the controllers [s]."""


@dataclass(frozen=True)
class Push:
    """A blow to the body in flight.

    Attributes
    ----------
    impulse:
        (3,) force times time, body axes [N s].
    at:
        (3,) where, from the body's origin, body axes [m].
    time:
        When [s].
    """

    impulse: tuple[float, float, float]
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    time: float = 0.1

    def apply(self, robot: Any, q: Array, p: Array) -> Array:
        """(np,) velocities after the blow: M(q) (p_after - p_before) = generalized impulse."""
        generalized = np.zeros(len(p))
        generalized[:3] = np.cross(self.at, self.impulse)
        generalized[3:BASE] = self.impulse
        change = np.linalg.solve(robot.mass_matrix(q), generalized)
        return np.asarray(p + change)


CORNER = (0.015, 0.03, 0.0)
PUSHES: Mapping[str, Push | None] = {
    "none": None,
    "at the right shoulder, down": Push((0.0, 0.0, -1.5e-3), CORNER),
    "at the right shoulder, forward and up": Push((0.0, 1e-3, 1.5e-3), CORNER),
}
"""Blows of 1.5 mN s and more; body axes: x right, y forward, z up."""


def mass_cases(names: Sequence[str] = ("torso_mass", "tail_mass"), error: float = 0.1) -> list[
    dict[str, float]
]:  # fmt: skip
    """Factors of masses: all of one, and every combination of ``1 - error`` and ``1 + error``."""
    corners = itertools.product((1 - error, 1 + error), repeat=len(names))
    return [dict.fromkeys(names, 1.0), *(dict(zip(names, c, strict=True)) for c in corners)]


def with_masses(robot: Any, factors: Mapping[str, float]) -> Any:
    """The robot with some parameters multiplied; inertias follow where they are stated by mass."""
    return robot.with_parameters(**{k: float(robot.parameters[k]) * f for k, f in factors.items()})


def planned_references(
    robot: Any, solution: Solution, phase: str | None = None
) -> dict[str, Reference]:
    """References of the joint coordinates, from the solution's own polynomials.

    Position and rate are states, the acceleration is the derivative of the latter.  After
    the end the last position is held.

    Returns
    -------
    dict
        Coordinate name -> function of time, which counts from the start of the phase.
    """
    motion = solution.motion(phase)
    record = next(r for r in solution.record.phases if r.motion is motion)
    names = [quantity.name for quantity in record.states]
    last: dict[float, tuple[Array, Array]] = {}

    def at(time: float) -> tuple[Array, Array]:
        if time not in last:  # all coordinates are asked for the same time
            last.clear()
            t = np.array([motion.start + time])
            last[time] = motion.states_at(t)[0], motion.rates_at(t)[0]
        return last[time]

    def reference(position: int, rate: int) -> Reference:
        def law(time: float) -> Jet:
            if time > motion.end - motion.start:
                return float(motion.states[-1, position]), 0.0, 0.0
            states, changes = at(max(time, 0.0))
            return float(states[position]), float(states[rate]), float(changes[rate])

        return law

    pairs = zip(robot.coordinates.names[-(len(robot.velocities) - BASE) :],
                robot.velocities.names[BASE:], strict=True)  # fmt: skip
    return {c: reference(names.index(c), names.index(v)) for c, v in pairs}


def torque_limits(robot: Any, solution: Solution, phase: str | None = None) -> Array:
    """(nu,) limits of the robot's inputs that the solution was planned with."""
    motion = solution.motion(phase)
    record = next(r for r in solution.record.phases if r.motion is motion)
    ranges = {c.name: max(abs(c.low), abs(c.high)) for c in record.controls}
    return np.array([ranges[name] for name in robot.inputs.names])


def controller(robot: Any, solution: Solution, kind: str = "attitude") -> Any:
    """A control law u(t, q, p) that follows the solution within its torque limits.

    Parameters
    ----------
    robot:
        The robot of the problem: the model that the controller knows.
    solution:
        Of :func:`~bestiary.solvers.ocp.library.righting.righting`.
    kind:
        ``"tail"`` or ``"attitude"``, see the module.

    Raises
    ------
    OptimalControlError
        For another kind.
    """
    if kind not in CONTROLLERS:
        raise OptimalControlError(
            f"controller: kind must be one of {', '.join(CONTROLLERS)}, got {kind!r}"
        )
    limits = torque_limits(robot, solution)
    if kind == "attitude":
        return AttitudeFeedback(robot, flight_plan(robot, solution), limits=limits)
    return JointTracker(robot, planned_references(robot, solution), SETTLING_TIME, limits=limits)


def track(
    robot: Any,
    solution: Solution,
    law: Any,
    *,
    masses: Mapping[str, float] | None = None,
    push: Push | None = None,
    samples: int = 101,
) -> xr.Dataset:
    """Fly the full compiled model with other masses and a blow, controlled at 1 kHz.

    Parameters
    ----------
    robot, solution:
        The robot of the problem, and its solution.
    law:
        From :func:`controller`, or any u(t, q, p).
    masses:
        Parameter name -> factor of what flies.
    push:
        A blow on the way.
    samples:
        Number of even times in the result.

    Returns
    -------
    xarray.Dataset
        A motion with energies, momentum and attitude, and the scalars ``attitude_error``
        and ``largest_attitude_error`` (angle to the planned attitude at the end, and all
        along) [rad], ``peak_torque`` [N m], ``saturation`` (share of samples with a torque
        at its limit) and ``momentum_at_end`` [kg m^2/s].

    Raises
    ------
    OptimalControlError
        If the blow is not within the motion.
    """
    import xarray as xr

    plan = flight_plan(robot, solution, samples=samples)
    flying = with_masses(robot, masses or {})
    length = float(plan.times[-1])
    if push is not None and not 0 < push.time < length:
        raise OptimalControlError(
            f"push: time must be within the motion, 0 to {length:g} s, got {push.time:g} s"
        )
    q, p = _start(flying, plan)
    options: dict[str, Any] = {
        "method": "dopri5", "period": PERIOD, "rtol": 1e-8, "atol": 1e-10
    }  # fmt: skip
    if push is None:
        result = simulate(flying, length, q=q, p=p, control=law, samples=samples, **options)
    else:
        share = push.time / length
        before = max(2, round(share * (samples - 1)) + 1)
        after = max(2, samples - before + 1)
        first = simulate(flying, push.time, q=q, p=p, control=law, samples=before, **options)
        q = first.q.values[-1]
        p = push.apply(flying, q, first.p.values[-1])
        start = push.time
        rest = simulate(
            flying,
            length - start,
            q=q,
            p=p,
            control=lambda t, q, p: law(t + start, q, p),
            samples=after,
            **options,
        )
        rest = rest.assign_coords(time=rest.time + start)
        result = xr.concat([first.isel(time=slice(0, -1)), rest], "time", combine_attrs="override")
    return _judged(add_attitude(result, "zxy"), robot, solution)


def _start(flying: Any, plan: FlightPlan) -> tuple[Array, Array]:
    """The planned start: attitude, shape, rates of the shape, and angular momentum."""
    q = np.array(flying.neutral)
    q[:4], q[7:] = plan.attitude[0], plan.shape[0]
    twist = base_twist(flying, q[None], plan.rates[:1], plan.momentum)[0]
    return q, np.concatenate([twist, plan.rates[0]])


def _judged(result: xr.Dataset, robot: Any, solution: Solution) -> xr.Dataset:
    motion = solution.motion()
    record = next(r for r in solution.record.phases if r.motion is motion)
    names = [quantity.name for quantity in record.states]
    times = np.clip(np.asarray(result.time) + motion.start, motion.start, motion.end)
    planned = motion.states_at(times)[:, [names.index(n) for n in robot.coordinates.names[:4]]]
    planned = planned / np.linalg.norm(planned, axis=1, keepdims=True)
    errors = np.linalg.norm(attitude_error(planned, result.q.values[:, :4]), axis=1)
    torques = np.abs(result.u.values)
    full = torques >= torque_limits(robot, solution) * (1 - 1e-6)
    spin = float(np.linalg.norm(result.momentum.values[-1, :3]))
    return result.assign(
        planned_attitude_error=("time", errors, {"units": "rad"}),
        attitude_error=((), float(errors[-1]), {"units": "rad"}),
        largest_attitude_error=((), float(errors.max()), {"units": "rad"}),
        peak_torque=((), float(torques.max()), {"units": "N m"}),
        saturation=((), float(full.any(axis=1).mean()), {"units": "1"}),
        momentum_at_end=((), spin, {"units": "kg m^2/s"}),
    )


def tracking_table(
    robot: Any,
    solution: Solution,
    *,
    masses: Sequence[Mapping[str, float]] | None = None,
    pushes: Mapping[str, Push | None] = PUSHES,
    controllers: Sequence[str] = CONTROLLERS,
) -> xr.Dataset:
    """What each controller makes of wrong masses and blows.

    Parameters
    ----------
    robot, solution:
        The robot of the problem, and its solution.
    masses:
        Factors by parameter name; by default of torso and tail, ten per cent off.
    pushes:
        Blows by name.
    controllers:
        Kinds, see :func:`controller`.

    Returns
    -------
    xarray.Dataset
        ``attitude_error`` [deg], ``peak_torque`` [N m], ``saturation`` and
        ``momentum_at_end`` [kg m^2/s] with dimensions controller, push, masses.
    """
    import xarray as xr

    cases = list(masses) if masses is not None else mass_cases()
    kept = ("attitude_error", "peak_torque", "saturation", "momentum_at_end")
    table = np.zeros((len(kept), len(controllers), len(pushes), len(cases)))
    for a, kind in enumerate(controllers):
        law = controller(robot, solution, kind)
        for (b, push), (c, factors) in itertools.product(
            enumerate(pushes.values()), enumerate(cases)
        ):
            result = track(robot, solution, law, masses=factors, push=push)
            table[:, a, b, c] = [float(result[name]) for name in kept]
    table[0] = np.degrees(table[0])
    units = ("deg", "N m", "1", "kg m^2/s")
    labels = [", ".join(f"{k} x {v:g}" for k, v in case.items()) or "as planned" for case in cases]
    return xr.Dataset(
        {
            name: (("controller", "push", "masses"), values, {"units": unit})
            for name, values, unit in zip(kept, table, units, strict=True)
        },
        {"controller": list(controllers), "push": list(pushes), "masses": labels},
    )


__all__ = [
    "PUSHES",
    "Push",
    "controller",
    "mass_cases",
    "planned_references",
    "torque_limits",
    "track",
    "tracking_table",
    "with_masses",
]
