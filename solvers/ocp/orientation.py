"""Orientations at the ends of a phase: angles or quaternions, whatever the robot's base uses.

Angles are those of R = R_1 R_2 R_3 about named body axes (``sequence="zyx"``: yaw about z,
pitch about y, roll about x).  With the sign e of the order of the axes (a, b, c),

    R[a, c] = e sin(angle_2),      R[a, a], -e R[a, b] = cos(angle_2) (cos, sin)(angle_3),
                                   R[c, c], -e R[b, c] = cos(angle_2) (cos, sin)(angle_1),

so that each angle can be asked for on its own and without its branch: s cos v - c sin v = 0
and c cos v + s sin v >= 0 for the pair (c, s) and the value v.  A quaternion and its negative
are one attitude: only the vector part of conj(wanted) q is asked to vanish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from ..attitude import SEQUENCES
from .errors import OptimalControlError
from .robots import SymbolicRobot, robot_symbols
from .user_calls import number, numbers

if TYPE_CHECKING:
    from .phase import Phase

Array: TypeAlias = np.ndarray

_TINY = 1e-12


@dataclass(frozen=True)
class Attitude:
    """What is asked of an attitude: all of it, or some of its angles.

    Attributes
    ----------
    angles:
        Name → value [rad]; empty for a quaternion.
    sequence:
        Order of the axes.
    quaternion:
        (4,) scalar first, unit; where angles are missing, with zeros for them.
    complete:
        Whether all of the attitude is given.
    """

    angles: dict[str, float]
    sequence: str
    quaternion: Array
    complete: bool


def attitude(
    roll: float | None = None,
    pitch: float | None = None,
    yaw: float | None = None,
    quaternion: Sequence[float] | Array | None = None,
    sequence: str = "zyx",
) -> Attitude:
    """An attitude from angles [rad] or a quaternion (scalar first, of any length).

    Raises
    ------
    OptimalControlError
        If nothing or both are given, or a value is not a finite number.
    """
    if sequence not in SEQUENCES:
        known = ", ".join(f"{s!r}" for s in SEQUENCES)
        raise OptimalControlError(f"orientation: sequence {sequence!r} is not one of {known}")
    given = {
        name: number(value, f"orientation: {name}")
        for name, value in (("roll", roll), ("pitch", pitch), ("yaw", yaw))
        if value is not None
    }
    if (quaternion is None) == (not given):
        raise OptimalControlError("orientation: give roll, pitch, yaw, or a quaternion")
    if quaternion is not None:
        q = numbers(quaternion, "orientation: quaternion", "four numbers, scalar first")
        length = float(np.linalg.norm(q))
        if q.shape != (4,) or not np.isfinite(length) or length == 0.0:
            raise OptimalControlError(
                f"orientation: a quaternion is four numbers, scalar first, got {quaternion!r}"
            )
        return Attitude({}, sequence, q / length, True)
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, name in zip(sequence, SEQUENCES[sequence], strict=True):
        q = product(q, _about(axis, given.get(name, 0.0)))
    return Attitude(given, sequence, q, len(given) == 3)


def product(a: Any, b: Any) -> Any:
    """Product of two quaternions, scalar first; arrays (4,) or SX columns."""
    values = [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
    return ca.vertcat(*values) if isinstance(b, ca.SX) else np.array(values)


def conjugate(q: Array) -> Array:
    """The inverse of a unit quaternion."""
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))


def matrix(q: Array) -> Array:
    """(3, 3) rotation matrix of a unit quaternion."""
    w, v = q[0], np.asarray(q[1:])
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.asarray((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * cross)


def slerp(first: Array, second: Array, share: Array) -> Array:
    """(N, 4) unit quaternions from one to another on the shorter great circle."""
    second = second if first @ second >= 0 else -second
    angle = math.acos(min(1.0, float(first @ second)))
    share = np.asarray(share, dtype=float)[:, None]
    if angle < 1e-6:
        mixed = first + share * (second - first)
    else:
        mixed = (np.sin((1 - share) * angle) * first + np.sin(share * angle) * second) / math.sin(
            angle
        )
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True))


def _about(axis: str, angle: float) -> Array:
    q = np.zeros(4)
    q[0], q[1 + "xyz".index(axis)] = math.cos(angle / 2), math.sin(angle / 2)
    return q


class BaseOrientation:
    """The attitude of the first body of a robot in the states of a phase.

    Parameters
    ----------
    phase:
        A phase with a robot.

    Raises
    ------
    OptimalControlError
        If there is no robot, or its base does not turn freely.
    """

    def __init__(self, phase: Phase) -> None:
        from .flight import base_attitude, root_node

        if phase.robot is None:
            raise OptimalControlError(f"phase {phase.name!r}: orientations need a robot")
        self.phase, self.robot = phase, phase.robot
        self._node = root_node(self.robot)
        self.count = base_attitude(self.robot)
        self.names = self.robot.coordinates.names[: self.count]
        self.symbols = ca.vertcat(*(phase[n] for n in self.names))

    @property
    def quaternion(self) -> bool:
        """Whether the coordinates are a unit quaternion."""
        return self.count == 4

    def rotation(self) -> ca.SX:
        """(3, 3) rotation matrix, body to world, in the states."""
        model = SymbolicRobot(self.robot, robot_symbols(self.phase.problem, self.robot))
        q = ca.SX.zeros(len(self.robot.coordinates))
        q[: self.count] = self.symbols
        return ca.SX(model(f"{self._node}_pose", q=q)[:3, :3])

    def sequence(self) -> tuple[str, tuple[int, ...]]:
        """Euler sequence of the base, and which coordinate is its first, second, third angle."""

        def rotation(values: Array) -> Array:
            q = np.array(self.robot.neutral)
            q[:3] = values
            return np.asarray(self.robot.node_pose(self._node, q)[:3, :3])

        axes = ""
        for k in range(3):
            turned = rotation(np.eye(3)[k] * 0.3)
            axes += "xyz"[int(np.argmax(np.abs(np.diag(turned) - 1.0) < 1e-9))]
        sample = np.array([0.3, -0.4, 0.7])
        for order in permutations(range(3)):
            made = np.array([1.0, 0.0, 0.0, 0.0])
            for k in order:
                made = product(made, _about(axes[k], float(sample[k])))
            if np.allclose(matrix(made), rotation(sample), atol=1e-9):
                return "".join(axes[k] for k in order), order
        raise OptimalControlError(f"{self.robot.name}: the angles of its base are not understood")

    def coordinates(self, quaternions: Array) -> Array:
        """(N, count) coordinates of unit quaternions, continuous from row to row."""
        if self.quaternion:
            return np.asarray(quaternions)
        from scipy.spatial.transform import Rotation

        axes, order = self.sequence()
        turned = Rotation.from_quat(quaternions[:, [1, 2, 3, 0]])
        angles = np.unwrap(turned.as_euler(axes.upper()), axis=0)
        found = np.empty((len(angles), 3))
        found[:, list(order)] = angles
        return found


def set_orientation(phase: Phase, where: str, wanted: Attitude, tolerance: float | None) -> None:
    """Ask for an attitude at an end of a phase.

    Parameters
    ----------
    phase:
        With a robot.
    where:
        "start" or "end".
    wanted:
        All of the attitude or some angles.
    tolerance:
        Largest deviation [rad], below a right angle: of the attitude if it is complete, else
        of each angle; None: none.

    Raises
    ------
    OptimalControlError
        If the tolerance is not within (0, pi/2), or see :class:`BaseOrientation`.
    """
    base = BaseOrientation(phase)
    if tolerance is not None and not 0 < tolerance < math.pi / 2:
        raise OptimalControlError(
            f"phase {phase.name!r}: orientation: tolerance must be within (0, pi/2) rad, "
            f"got {tolerance!r}"
        )
    if wanted.complete:
        _complete(base, where, wanted.quaternion, tolerance)
    else:
        _angles(base, where, wanted, tolerance)
    _guess(base, where, wanted)


def _complete(base: BaseOrientation, where: str, wanted: Array, tolerance: float | None) -> None:
    phase = base.phase
    if tolerance is None and where == "start":  # both signs are one start: take this one
        values = base.coordinates(wanted[None])[0]
        phase.start(**dict(zip(base.names, map(float, values), strict=True)))
        return
    at = phase.initial if where == "start" else phase.final
    if base.quaternion:
        left = np.array([product(conjugate(wanted), e) for e in np.eye(4)]).T[1:]
        left[np.abs(left) < _TINY] = 0.0
        if tolerance is not None:
            off = ca.sumsqr(ca.SX(ca.DM(left)) @ base.symbols)
            high = math.sin(tolerance / 2) ** 2
            _constrain(phase, where, "deviation_squared", at(off), high=high)
            return
        for axis, row in zip("xyz", left, strict=True):
            places = np.flatnonzero(row)
            if len(places) == 1:  # one coordinate vanishes: a bound will do
                ends = phase.start if where == "start" else phase.end
                ends(**{base.names[places[0]]: 0.0})
            else:
                _constrain(
                    phase, where, axis, at(ca.dot(ca.SX(ca.DM(row)), base.symbols)), equals=0.0
                )
        return
    turned = ca.SX(ca.DM(matrix(wanted).T)) @ base.rotation()
    trace = at(turned[0, 0] + turned[1, 1] + turned[2, 2])
    if tolerance is not None:
        _constrain(phase, where, "trace", trace, low=1 + 2 * math.cos(tolerance))
        return
    for axis, (i, j) in zip("xyz", ((2, 1), (0, 2), (1, 0)), strict=True):
        _constrain(phase, where, axis, at(turned[i, j] - turned[j, i]) / 2, equals=0.0)
    _constrain(phase, where, "trace", trace, low=0.0)


def _angles(base: BaseOrientation, where: str, wanted: Attitude, tolerance: float | None) -> None:
    phase, rotation = base.phase, base.rotation()
    at = phase.initial if where == "start" else phase.final
    a, b, c = ("xyz".index(axis) for axis in wanted.sequence)
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    first, second, third = SEQUENCES[wanted.sequence]
    pairs = {
        first: (rotation[c, c], -sign * rotation[b, c]),
        third: (rotation[a, a], -sign * rotation[a, b]),
    }
    for name, value in wanted.angles.items():
        if name == second:
            low, high = value - (tolerance or 0.0), value + (tolerance or 0.0)
            if not -math.pi / 2 <= value <= math.pi / 2:
                raise OptimalControlError(
                    f"phase {phase.name!r}: {name} is the middle angle of {wanted.sequence!r} and "
                    f"lies within a right angle, got {value:g}; give the other two as well"
                )
            bounds = [math.sin(min(max(v, -math.pi / 2), math.pi / 2)) for v in (low, high)]
            expression = at(sign * rotation[a, c])
            _constrain(phase, where, f"sine_of_{name}", expression, low=bounds[0], high=bounds[1])
            continue
        cosine, sine = pairs[name]
        along = cosine * math.cos(value) + sine * math.sin(value)
        across = sine * math.cos(value) - cosine * math.sin(value)
        _constrain(phase, where, f"branch_of_{name}", at(along), low=0.0)
        if tolerance is None:
            _constrain(phase, where, name, at(across), equals=0.0)
        else:
            slope = math.tan(tolerance)
            _constrain(phase, where, f"{name}_above", at(across + slope * along), low=0.0)
            _constrain(phase, where, f"{name}_below", at(across - slope * along), high=0.0)


def _constrain(
    phase: Phase,
    where: str,
    what: str,
    expression: ca.SX,
    low: float | None = None,
    high: float | None = None,
    equals: float | None = None,
) -> None:
    clean = "".join(c if c.isalnum() else "_" for c in phase.name)
    name = f"{clean}_{where}_orientation_{what}"
    phase.problem.constrain(name, expression, low, high, equals)


def _guess(base: BaseOrientation, where: str, wanted: Attitude) -> None:
    """Attitudes between the two ends as a guess: unit quaternions on a great circle."""
    phase = base.phase
    phase.attitudes[where] = wanted.quaternion
    first = phase.attitudes.get("start", wanted.quaternion)
    second = phase.attitudes.get("end", first)
    for k, name in enumerate(base.names):
        if name in phase.guesses and not isinstance(phase.guesses[name], AttitudeGuess):
            continue
        phase.guesses[name] = AttitudeGuess(base, first, second, k)


@dataclass(frozen=True)
class AttitudeGuess:
    """One coordinate of the attitude, as a function of an array of times."""

    base: BaseOrientation
    first: Array
    second: Array
    place: int

    def __call__(self, times: Array) -> Array:
        """Values at times, the first and last of which are the ends of the phase."""
        t = np.asarray(times, dtype=float)
        share = (t - t[0]) / (t[-1] - t[0]) if t[-1] > t[0] else np.zeros_like(t)
        return self.base.coordinates(slerp(self.first, self.second, share))[:, self.place]
