"""Joints: how a body may move against its parent.

A joint is described by plain data here and *realised* as a chain of primitive
links when the model is built.  Every primitive has motion columns that are constant in
its own child frame (but for arcs) (the twist S p it adds, angular first), a rotation and a
translation.  Compound joints are chains; spherical, planar and floating joints
are one primitive whose quasi-velocity is the child-frame twist, so that the
mass matrix does not depend on how the orientation is parametrised: only
V(q) in q̇ = V(q) p does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .errors import ModelError
from .orientation import orientation_coordinates, realise_orientation
from .program import Builder
from .realised import AXES, Column, Coordinate, Joint, Primitive, RealisedJoint, coordinate_symbol
from .spatial import (
    NoRotation,
    Vec3,
    axis_rotation,
    rotation_about,
    unit_vector,
    zero_vector,
)

Axis: TypeAlias = "str | Sequence[float]"


def _direction(builder: Builder, axis: Axis, owner: str) -> Vec3:
    if isinstance(axis, str):
        sign, letter = (-1, axis[1:]) if axis[:1] == "-" else (1, axis)
        if len(letter) != 1 or letter not in AXES:
            raise ModelError(
                f"{owner}: axis {axis!r} is not one of 'x', 'y', 'z', '-x', '-y', '-z' "
                "or a direction of three numbers"
            )
        return unit_vector(builder, AXES.index(letter)) * sign
    try:
        values = [float(v) for v in axis]
    except (TypeError, ValueError):
        values = []
    length = math.sqrt(sum(v * v for v in values))
    if len(values) != 3 or not math.isfinite(length) or length == 0:
        raise ModelError(f"{owner}: axis {axis!r} must be three finite numbers, not all zero")
    return Vec3(*(builder.constant(v / length) for v in values))


def _check_ratio(ratio: float, owner: str) -> None:
    if not math.isfinite(ratio) or ratio == 0:
        raise ModelError(f"{owner}: ratio must be finite and not zero, got {ratio!r}")


@dataclass(frozen=True)
class Fixed(Joint):
    """No motion: the body is welded to its parent."""

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        return RealisedJoint()


@dataclass(frozen=True)
class SingleAxis(Joint):
    """Common part of :class:`Revolute` and :class:`Prismatic`.

    Parameters
    ----------
    name:
        Name of the coordinate; the body's name by default.
    axis:
        ``"x"``, ``"y"``, ``"z"``, one of these with a minus sign, or three numbers.
    velocity, symbol, velocity_symbol, description:
        Name of the rate (default ``<name>_rate``), LaTeX symbols, a sentence.
    """

    name: str = ""
    axis: Axis = "z"
    velocity: str = ""
    symbol: str = ""
    velocity_symbol: str = ""
    description: str = ""

    def _variables(self, body: str, unit: str, kind: str) -> tuple[Coordinate, Coordinate]:
        name = self.name or body
        return (
            Coordinate(name, unit, self.symbol, self.description, kind),
            Coordinate(
                self.velocity or f"{name}_rate",
                f"{unit}/s",
                self.velocity_symbol,
                f"rate of {name}",
            ),
        )

    def _realised(
        self, builder: Builder, q: Coordinate, p: Coordinate, primitive: Primitive
    ) -> RealisedJoint:
        one = builder.constant(1)
        return RealisedJoint(
            (primitive,), (q,), (p,), {(q.name, p.name): one}, {(p.name, q.name): one}
        )


@dataclass(frozen=True)
class Revolute(SingleAxis):
    """Rotation about a fixed axis; coordinate in rad.  Arguments: :class:`SingleAxis`.

    The joint turns by ``ratio`` times the coordinate, which followers of the
    coordinate may repeat with another ratio.
    """

    ratio: float = 1.0

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        q, p = self._variables(body, "rad", "angle")
        owner = f"joint {q.name!r} of body {body!r}"
        direction = _direction(builder, self.axis, owner)
        _check_ratio(self.ratio, owner)
        name = q.name if self.ratio == 1 else ""
        rotation = rotation_about(direction, coordinate_symbol(builder, q) * self.ratio, name)
        column = Column(p.name, direction * self.ratio, zero_vector(builder))
        return self._realised(builder, q, p, Primitive(rotation, zero_vector(builder), (column,)))


@dataclass(frozen=True)
class Prismatic(SingleAxis):
    """Sliding along a fixed axis; coordinate in m.  Arguments: :class:`SingleAxis`."""

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        q, p = self._variables(body, "m", "length")
        direction = _direction(builder, self.axis, f"joint {q.name!r} of body {body!r}")
        column = Column(p.name, zero_vector(builder), direction)
        return self._realised(
            builder,
            q,
            p,
            Primitive(NoRotation(builder), direction * coordinate_symbol(builder, q), (column,)),
        )


@dataclass(frozen=True)
class Follower(Joint):
    """A revolute axis that repeats a coordinate of an earlier joint: angle = ratio · q.

    Links of a tail segment that bend alike are one revolute joint and followers
    of it.  It adds no coordinate; ``velocity`` is the followed rate
    (``<coordinate>_rate`` by default).
    """

    coordinate: str
    axis: Axis = "z"
    ratio: float = 1.0
    velocity: str = ""

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        owner = f"follower of {self.coordinate!r} on body {body!r}"
        _check_ratio(self.ratio, owner)
        direction = _direction(builder, self.axis, owner)
        angle = builder.symbol("q", self.coordinate, "rad") * self.ratio
        column = Column(
            self.velocity or f"{self.coordinate}_rate",
            direction * self.ratio,
            zero_vector(builder),
        )
        primitive = Primitive(rotation_about(direction, angle), zero_vector(builder), (column,))
        return RealisedJoint((primitive,), follows=(self.coordinate,))


@dataclass(frozen=True)
class Compound(Joint):
    """Elementary joints one after the other, from parent to child.

    Parameters
    ----------
    joints:
        The elements.
    order:
        Names of the coordinates in the order in which q (and p) should hold
        them; the order of the elements by default.
    """

    joints: Sequence[Joint]
    order: Sequence[str] = ()

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        parts = [joint.realise(builder, body) for joint in self.joints]
        coordinates = [c for part in parts for c in part.coordinates]
        velocities = [v for part in parts for v in part.velocities]
        if self.order:
            position = {name: k for k, name in enumerate(self.order)}
            names = [c.name for c in coordinates]
            if sorted(position) != sorted(names) or len(names) != len(velocities):
                raise ModelError(
                    f"compound joint of body {body!r}: order {tuple(self.order)} must name "
                    f"exactly the coordinates {tuple(names)} of single-axis joints"
                )
            rank = [position[name] for name in names]
            coordinates = [c for _, c in sorted(zip(rank, coordinates, strict=True))]
            velocities = [v for _, v in sorted(zip(rank, velocities, strict=True))]
        return RealisedJoint(
            tuple(p for part in parts for p in part.primitives),
            tuple(coordinates),
            tuple(velocities),
            {k: v for part in parts for k, v in part.velocity_map.items()},
            {k: v for part in parts for k, v in part.rate_map.items()},
            tuple(name for part in parts for name in part.follows),
        )


@dataclass(frozen=True)
class Universal(Joint):
    """Two revolute axes one after the other, ``axes`` seen from the parent.

    Coordinates ``names`` [rad]; ``<body>_1`` and ``<body>_2`` by default.
    """

    axes: tuple[Axis, Axis] = ("x", "y")
    names: tuple[str, str] | None = None

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        first, second = self.names or (f"{body}_1", f"{body}_2")
        return Compound((Revolute(first, self.axes[0]), Revolute(second, self.axes[1]))).realise(
            builder, body
        )


@dataclass(frozen=True)
class Cylindrical(Joint):
    """Rotation about an axis and sliding along it.

    Coordinates ``names``: angle [rad] and length [m]; ``<body>_angle`` and
    ``<body>_length`` by default.
    """

    axis: Axis = "z"
    names: tuple[str, str] | None = None

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        angle, length = self.names or (f"{body}_angle", f"{body}_length")
        return Compound((Revolute(angle, self.axis), Prismatic(length, self.axis))).realise(
            builder, body
        )


@dataclass(frozen=True)
class Planar(Joint):
    """Motion in the plane normal to ``normal`` (a coordinate axis).

    Coordinates: rotation about the normal [rad], then the two positions along
    the other axes in cyclic order [m].  Quasi-velocities: the child-frame twist
    (angular rate, two linear velocities), so M does not depend on the pose.
    """

    normal: str = "z"
    names: tuple[str, str, str] | None = None
    velocity_names: tuple[str, str, str] | None = None

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        if self.normal not in tuple(AXES):
            raise ModelError(
                f"planar joint of body {body!r}: normal {self.normal!r} is not 'x', 'y' or 'z'"
            )
        k = AXES.index(self.normal)
        i, j = (k + 1) % 3, (k + 2) % 3
        names = self.names or (f"{body}_angle", f"{body}_{AXES[i]}", f"{body}_{AXES[j]}")
        rates = self.velocity_names or (
            f"{body}_w{AXES[k]}",
            f"{body}_v{AXES[i]}",
            f"{body}_v{AXES[j]}",
        )
        angle = Coordinate(names[0], "rad", kind="angle")
        first = Coordinate(names[1], "m", kind="length")
        second = Coordinate(names[2], "m", kind="length")
        rotation = axis_rotation(k, coordinate_symbol(builder, angle), angle.name)
        zero, e = zero_vector(builder), [unit_vector(builder, a) for a in range(3)]
        translation = e[i] * coordinate_symbol(builder, first) + e[j] * coordinate_symbol(
            builder, second
        )
        c, s, one = rotation.cosine, rotation.sine, builder.constant(1)
        velocity_map = {
            (names[0], rates[0]): one,
            (names[1], rates[1]): c,
            (names[1], rates[2]): -s,
            (names[2], rates[1]): s,
            (names[2], rates[2]): c,
        }
        return RealisedJoint(
            (
                Primitive(
                    rotation,
                    translation,
                    (
                        Column(rates[0], e[k], zero),
                        Column(rates[1], zero, e[i]),
                        Column(rates[2], zero, e[j]),
                    ),
                ),
            ),
            (angle, first, second),
            (
                Coordinate(rates[0], "rad/s"),
                Coordinate(rates[1], "m/s"),
                Coordinate(rates[2], "m/s"),
            ),
            velocity_map,
            {(p, q): v for (q, p), v in velocity_map.items()},  # a rotation: W = Vᵀ
        )


def _twist_names(prefix: str, kinds: str = "wv") -> tuple[str, ...]:
    return tuple(f"{prefix}{kind}{axis}" for kind in kinds for axis in AXES)


@dataclass(frozen=True)
class Spherical(Joint):
    """Free rotation about a point; quasi-velocity is the angular velocity in child axes.

    Parameters
    ----------
    orientation:
        ``"quaternion"`` (scalar first, child → parent) or ``"euler_<sequence>"``.
    names, velocity_names:
        Coordinate names (4 or 3) and the three rates; prefixed with the body's
        name by default.
    """

    orientation: str = "quaternion"
    names: tuple[str, ...] | None = None
    velocity_names: tuple[str, str, str] | None = None

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        names = self.names or orientation_coordinates(self.orientation, f"{body}_")
        rates = self.velocity_names or _twist_names(f"{body}_", "w")
        o = realise_orientation(
            builder, self.orientation, names, rates, f"spherical joint of body {body!r}"
        )
        zero = zero_vector(builder)
        columns = tuple(Column(r, unit_vector(builder, k), zero) for k, r in enumerate(rates))
        return RealisedJoint(
            (Primitive(o.rotation, zero, columns),),
            o.coordinates,
            tuple(Coordinate(r, "rad/s") for r in rates),
            o.velocity_map,
            o.rate_map,
        )


@dataclass(frozen=True)
class Floating(Joint):
    """Free motion in space; quasi-velocity is the child-frame twist (ω, v).

    Parameters
    ----------
    orientation:
        ``"quaternion"`` (scalar first, child → parent) or ``"euler_<sequence>"``.
    names, velocity_names:
        Coordinate names: the orientation's, then x, y, z [m]; six velocities.
        Prefixed with ``prefix`` by default, which is empty: give one where a
        robot has two floating bodies.
    prefix:
        Put in front of the default names.
    symbols, velocity_symbols:
        LaTeX symbols in the same orders.
    """

    orientation: str = "quaternion"
    names: tuple[str, ...] | None = None
    velocity_names: tuple[str, ...] | None = None
    prefix: str = ""
    symbols: tuple[str, ...] = ()
    velocity_symbols: tuple[str, ...] = ()

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        owner = f"floating joint of body {body!r}"
        default = orientation_coordinates(self.orientation, self.prefix)
        names = self.names or (*default, *(f"{self.prefix}{a}" for a in AXES))
        rates = self.velocity_names or _twist_names(self.prefix)
        if len(names) != len(default) + 3 or len(rates) != 6:
            raise ModelError(
                f"{owner}: orientation {self.orientation!r} needs {len(default) + 3} coordinate "
                f"names and 6 velocity names, got {len(names)} and {len(rates)}"
            )
        o = realise_orientation(builder, self.orientation, names[:-3], rates[:3], owner)
        position = tuple(Coordinate(n, "m", kind="length") for n in names[-3:])
        zero, e = zero_vector(builder), [unit_vector(builder, k) for k in range(3)]
        columns = (
            *(Column(rates[k], e[k], zero) for k in range(3)),
            *(Column(rates[3 + k], zero, e[k]) for k in range(3)),
        )
        matrix = o.rotation.matrix.rows  # ẋ = R v
        blocks = {
            (position[i].name, rates[3 + j]): matrix[i][j] for i in range(3) for j in range(3)
        }
        coordinates = (*o.coordinates, *position)
        velocities = tuple(Coordinate(r, "rad/s" if k < 3 else "m/s") for k, r in enumerate(rates))
        return RealisedJoint(
            (
                Primitive(
                    o.rotation, Vec3(*(coordinate_symbol(builder, c) for c in position)), columns
                ),
            ),
            _with_symbols(coordinates, self.symbols),
            _with_symbols(velocities, self.velocity_symbols),
            {**o.velocity_map, **blocks},
            {**o.rate_map, **{(p, q): v for (q, p), v in blocks.items()}},
        )


def _with_symbols(items: Sequence[Coordinate], symbols: Sequence[str]) -> tuple[Coordinate, ...]:
    if not symbols:
        return tuple(items)
    return tuple(replace(c, symbol=s) for c, s in zip(items, symbols, strict=True))
