"""Tracking motions: computed torque and partial feedback linearization, tuned and run.

The law and its algebra are those of :mod:`bestiary.modeling.control`, where they
are stated symbolically and emitted as C.  A tracker calls the compiled step of a
robot that has one for the same coordinates and the same algebra in NumPy otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bestiary.generated import SingularityError

from .references import Reference, hold, smooth_cycle

__all__ = ["SETTLING_FACTOR", "JointTracker", "smooth_cycle"]

Array: TypeAlias = np.ndarray
PerName: TypeAlias = "float | Sequence[float] | Array | Mapping[str, float]"

SETTLING_FACTOR = 5.834
"""(1 + x) e^−x = 0.02 at x = 5.834: two-percent settling of a double pole, λ = x / time."""

UNLIMITED = 1e30
"""Limit of an input that is not limited: finite, also in single precision."""

WEAKEST_COUPLING = 1e-4
RESERVE = 0.1
"""Both as in :mod:`bestiary.modeling.control`."""


class JointTracker:
    """Control law u(t, q, p) that makes coordinates of a robot follow a reference.

    With v = q̈_d + 2λ(q̇_d − q̇) + λ²(q_d − q) the tracked coordinates obey q̈ = v as
    long as no input reaches its limit: computed torque where everything is
    tracked, collocated partial feedback linearization where the rest (a floating
    base) has no input, non-collocated where a tracked coordinate has none.

    Parameters
    ----------
    robot:
        Inputs that act on no single joint velocity are left at zero.
    references:
        Coordinate name → function of time that returns (q_d, q̇_d, q̈_d);
        tracked coordinates without one are held at ``rest``.
    settling_time:
        Two-percent settling time of the tracking error [s]: one for all, one for
        each tracked coordinate, or by coordinate name.
    rest:
        (nq,) pose that the other tracked coordinates hold (neutral by default).
    tracked:
        Coordinates to track; all that have an input by default.  Those without an
        input are reached through the coupling by the inputs that track nothing.
    limits:
        Largest size of each input [N m or N]: one for all, one for each input that
        the tracker uses, or by input name; no limits by default.  Where they do not
        suffice all tracked accelerations become smaller by the same factor.
    compiled:
        None: the robot's own step where it has one for these coordinates.  False:
        NumPy's algebra.  A name: this controller of the robot, with its coordinates.

    Attributes
    ----------
    tracked, inputs:
        Names of the tracked coordinates and of the inputs in use.
    gains, limits:
        λ [1/s] of each of the former, largest size of each of the latter.
    kind:
        "computed torque", "collocated" or "non-collocated".
    step:
        Name of the robot's function that runs, or None for NumPy's algebra.

    Raises
    ------
    ValueError
        For an unknown name, a settling time or limit that is not positive, or more
        coordinates than inputs.
    """

    def __init__(
        self,
        robot: Any,
        references: Mapping[str, Reference],
        settling_time: PerName = 0.2,
        rest: Array | None = None,
        *,
        tracked: Sequence[str] | None = None,
        limits: PerName | None = None,
        compiled: str | bool | None = None,
    ) -> None:
        self.robot = robot
        pose = np.array(robot.neutral if rest is None else rest, dtype=float)
        plant = _Plant.of(robot, pose)
        if isinstance(compiled, str):
            tracked = _controller(robot, compiled)["tracked"]
        if tracked is None:
            tracked = [c for c in plant.rates if plant.rates[c] in plant.inputs]
        if not tracked:
            raise ValueError("no actuated joint to track")
        own = self._own_step(robot, tracked, compiled)
        self.step: str | None = None
        if own is not None:
            self.step, tracked = own["function"], own["tracked"]
        self.split = _Split.of(plant, tracked, own["inputs"] if own is not None else None)
        self.tracked, self.inputs = tuple(tracked), self.split.input_names
        self.kind = self.split.kind
        unknown = sorted(set(references) - set(self.tracked))
        if unknown:
            what = "actuated joint" if self.kind != "non-collocated" else "tracked coordinate"
            raise ValueError(
                f"no {what} {', '.join(unknown)}; have {', '.join(self.tracked)} "
                "(name others in tracked=)"
            )
        times = _per_name(settling_time, self.tracked, "settling_time", "s")
        self.gains = SETTLING_FACTOR / times
        self.limits = _per_name(
            UNLIMITED if limits is None else limits, self.inputs, "limits", "N m or N", UNLIMITED
        )
        places = [plant.coordinates.index(c) for c in self.tracked]
        self.rest = pose[places]
        self._places = np.array(places)
        laws = [references.get(c, hold(r)) for c, r in zip(self.tracked, self.rest, strict=True)]
        self._laws: list[Reference] = laws
        self._full = np.zeros(len(robot.inputs))
        self._call: Callable[..., tuple[Array, Array]] | None = (
            getattr(robot, self.step) if self.step is not None else None
        )

    @staticmethod
    def _own_step(
        robot: Any, tracked: Sequence[str], compiled: str | bool | None
    ) -> Mapping[str, Any] | None:
        """The robot's controller of these coordinates, if it is wanted."""
        if compiled is False:
            return None
        if isinstance(compiled, str):
            return _controller(robot, compiled)
        for controller in getattr(robot, "controllers", {}).values():
            if sorted(controller["tracked"]) == sorted(tracked):
                return dict(controller)
        if compiled:
            raise ValueError(f"{robot.name} has no controller of {', '.join(tracked)}")
        return None

    def target(self, t: float) -> tuple[Array, Array, Array]:
        """(q_d, q̇_d, q̈_d) of the tracked coordinates at time t."""
        position, rate, acceleration = np.array([law(t) for law in self._laws], dtype=float).T
        return position, rate, acceleration

    def error(self, t: float, q: Array, p: Array) -> tuple[Array, Array]:
        """Reference less coordinate, and its rate, of the tracked coordinates."""
        position, rate, _ = self.target(t)
        q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
        return position - q[self._places], rate - p[self.split.tracked]

    def __call__(self, t: float, q: Array, p: Array) -> Array:
        """Inputs (nu,) at time t and state (q, p), within their limits."""
        return self._inputs(t, q, p)[0]

    def accelerate(self, q: Array, p: Array, wanted: Array) -> Array:
        """Inputs (nu,) that give the tracked coordinates the accelerations ``wanted``.

        The law without its own feedback, for whoever closes another loop around it.
        Within the limits as in the law.
        """
        q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
        if self._call is not None:
            as_it_is = np.concatenate([q[self._places], p[self.split.tracked], wanted])
            return self._call(q, p, as_it_is, self.gains, self.limits)[0]
        inputs = self._full.copy()
        carrying, driving = self.split.forces(self.robot, q, p, wanted)
        inputs[self.split.columns] = _limited(carrying, driving, self.limits)
        return inputs

    def unlimited(self, t: float, q: Array, p: Array) -> Array:
        """Inputs (nu,) that would follow the reference exactly."""
        return self._inputs(t, q, p)[1]

    def _inputs(self, t: float, q: Array, p: Array) -> tuple[Array, Array]:
        position, rate, acceleration = self.target(t)
        if self._call is not None:
            reference = np.concatenate([position, rate, acceleration])
            return self._call(q, p, reference, self.gains, self.limits)
        q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
        behind, slower = position - q[self._places], rate - p[self.split.tracked]
        wanted = acceleration + self.gains * (2 * slower + self.gains * behind)
        carrying, driving = self.split.forces(self.robot, q, p, wanted)
        held, free = self._full.copy(), self._full.copy()
        free[self.split.columns] = carrying + driving
        held[self.split.columns] = _limited(carrying, driving, self.limits)
        return held, free


@dataclass(frozen=True)
class _Plant:
    """Which coordinate has which rate, and which velocity has which input (by number)."""

    coordinates: list[str]
    velocities: list[str]
    units: list[str]
    input_names: list[str]
    rates: dict[str, int]
    inputs: dict[int, int]

    @classmethod
    def of(cls, robot: Any, pose: Array) -> _Plant:
        """Read off V and B, where they are constant columns of a single one."""
        other = robot.random_state(0)[0]
        names = [c.name for c in robot.coordinates]
        rates = {names[row]: k for row, k in _ones(robot.velocity_map, pose, other).items()}
        inputs: dict[int, int] = {}
        if len(robot.inputs):
            columns = _ones(lambda q: robot.input_matrix(q).T, pose, other)
            inputs = {k: column for column, k in columns.items()}
        return cls(
            names,
            [v.name for v in robot.velocities],
            [v.unit for v in robot.velocities],
            [i.name for i in robot.inputs],
            rates,
            inputs,
        )


def _ones(matrix: Callable[[Array], Array], first: Array, second: Array) -> dict[int, int]:
    """Row → the column of its only entry, for rows that are a unit vector at both poses."""
    a, b = np.asarray(matrix(first)), np.asarray(matrix(second))
    found = {}
    for row in range(a.shape[0]):
        places = np.flatnonzero(a[row])
        if len(places) == 1 and a[row, places[0]] == 1 and np.array_equal(a[row], b[row]):
            found[row] = int(places[0])
    return found


@dataclass(frozen=True)
class _Split:
    """Velocities split as in :mod:`bestiary.modeling.control`, and the algebra on them."""

    tracked: Array  # velocities, in the order of the tracked coordinates
    pulled: Array  # U: tracked without an input
    spare: Array  # A: with an input that pulls U
    rest: Array  # R
    velocities: Array  # on which the inputs in use act
    columns: Array  # of the input matrix
    input_names: tuple[str, ...]
    names: list[str]
    mixed_units: bool
    kind: str

    @classmethod
    def of(cls, plant: _Plant, tracked: Sequence[str], inputs: Sequence[str] | None) -> _Split:
        """Split the velocities; ``inputs`` None for those that are needed.

        Raises
        ------
        ValueError
            For an unknown coordinate, or more coordinates than inputs.
        """
        _check_tracked(plant, tracked)
        following = [plant.rates[c] for c in tracked]
        usable = {
            v: i
            for v, i in plant.inputs.items()
            if inputs is None or plant.input_names[i] in inputs
        }
        pulled = [v for v in following if v not in usable]
        used = {v: i for v, i in usable.items() if pulled or v in following}
        spare = sorted(set(used) - set(following)) if pulled else []
        if len(pulled) > len(spare):
            raise ValueError(
                f"{len(pulled)} tracked coordinates have no input "
                f"({', '.join(plant.velocities[v].removesuffix('_rate') for v in pulled)}), but "
                f"only {len(spare)} inputs are left to move them"
            )
        n = len(plant.velocities)
        kind = "computed torque" if len(following) == n else "collocated"
        order = sorted(used, key=lambda v: used[v])
        return cls(
            np.array(following, dtype=int),
            np.array(sorted(pulled), dtype=int),
            np.array(spare, dtype=int),
            np.array(sorted(set(range(n)) - set(following) - set(spare)), dtype=int),
            np.array(order, dtype=int),
            np.array([used[v] for v in order], dtype=int),
            tuple(plant.input_names[used[v]] for v in order),
            plant.velocities,
            len({plant.units[v] for v in spare}) > 1,
            "non-collocated" if pulled else kind,
        )

    def forces(self, robot: Any, q: Array, p: Array, wanted: Array) -> tuple[Array, Array]:
        """Inputs in use that carry the robot (tracked accelerations 0), and what drives it."""
        mass = robot.mass_matrix(q)
        bias = robot.bias_forces(q, p) - robot.generalized_forces(q, p)
        return self._inputs_for(mass, bias), self._inputs_for(mass, mass[:, self.tracked] @ wanted)

    def _inputs_for(self, mass: Array, needed: Array) -> Array:
        """Inputs for the generalized forces β; linear in them."""
        acceleration = np.zeros(len(needed))
        r, a, t = self.rest, self.spare, self.pulled
        rest = mass[np.ix_(r, r)]
        yielding = np.linalg.solve(rest, needed[r])
        if t.size:
            columns = np.linalg.solve(rest, mass[np.ix_(r, a)])
            coupling = mass[np.ix_(t, a)] - mass[np.ix_(t, r)] @ columns
            missing = needed[t] - mass[np.ix_(t, r)] @ yielding
            acceleration[a] = -self._least(mass, coupling, missing)
            yielding = yielding + columns @ acceleration[a]
        acceleration[r] = -yielding
        free = np.concatenate([r, a])
        result: Array = (needed + mass[:, free] @ acceleration[free])[self.velocities]
        return result

    def _least(self, mass: Array, coupling: Array, missing: Array) -> Array:
        """Smallest x with N x = b, checked for lost coupling as the compiled step is."""
        inertia = np.diag(mass)[self.spare]
        scaled = coupling / inertia if self.mixed_units else coupling
        total = 1.0 if self.mixed_units else inertia.sum()
        square = scaled @ coupling.T
        margins = np.diag(mass)[self.pulled] * total * WEAKEST_COUPLING**2
        left = square.copy()
        for k in reversed(range(len(left))):
            if not left[k, k] > margins[k]:
                raise SingularityError(
                    "the inputs have lost their coupling to velocity "
                    f"{self.names[self.pulled[k]]!r}"
                )
            left[:k, :k] -= np.outer(left[:k, k], left[k, :k]) / left[k, k]
        result: Array = scaled.T @ np.linalg.solve(square, missing)
        return result


def _limited(carrying: Array, driving: Array, limits: Array) -> Array:
    """u₀ + s u_v with the largest s ≤ 1 that keeps the limits."""
    room = np.maximum(limits - np.sign(driving) * carrying, RESERVE * limits)
    share = min(1.0, (room / np.maximum(np.abs(driving), room)).min())
    result: Array = np.clip(carrying + share * driving, -limits, limits)
    return result


def _check_tracked(plant: _Plant, tracked: Sequence[str]) -> None:
    unknown = [c for c in tracked if c not in plant.coordinates]
    if unknown:
        raise ValueError(f"no coordinate {', '.join(unknown)}; have {', '.join(plant.coordinates)}")
    odd = [c for c in tracked if c not in plant.rates]
    if odd:
        raise ValueError(
            f"coordinate {odd[0]!r} cannot be tracked: its rate is not a quasi-velocity; "
            f"those are {', '.join(plant.rates)}"
        )
    twice = [c for k, c in enumerate(tracked) if c in tracked[:k]]
    if twice:
        raise ValueError(f"coordinate {twice[0]!r} is named twice")


def _controller(robot: Any, name: str) -> dict[str, Any]:
    known = getattr(robot, "controllers", {})
    if name not in known:
        raise ValueError(
            f"{robot.name} has no controller {name!r}; have {', '.join(known) or 'none'}"
        )
    return dict(known[name])


def _per_name(
    given: PerName, names: Sequence[str], what: str, unit: str, default: float | None = None
) -> Array:
    """Positive numbers, one a name.

    Raises
    ------
    ValueError
        For a number that is not positive, a wrong count, or an unknown or missing name.
    """
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        missing = [n for n in names if n not in given] if default is None else []
        if unknown or missing:
            raise ValueError(
                f"{what}: "
                + (f"no {', '.join(unknown)}" if unknown else f"none for {', '.join(missing)}")
                + f"; names are {', '.join(names)}"
            )
        values = np.array([given.get(n, default) for n in names], dtype=float)
    else:
        values = np.array(given, dtype=float)
        if values.shape not in ((), (len(names),)):
            raise ValueError(
                f"{what} must be one number or {len(names)} ({', '.join(names)}), "
                f"got shape {values.shape}"
            )
        values = np.broadcast_to(values, (len(names),)).copy()
    if default is not None:
        values[values == np.inf] = default
    for name, value in zip(names, values, strict=True):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{what} of {name} must be positive, got {float(value)!r} [{unit}]")
    return values
