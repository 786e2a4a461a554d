"""What a joint becomes when it is written into a program: primitives, coordinates, maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .program import Builder, Scalar
from .spatial import Rotation, Vec3

AXES = "xyz"


@dataclass(frozen=True)
class Coordinate:
    """A generalized coordinate or quasi-velocity: name, SI unit, LaTeX symbol, meaning."""

    name: str
    unit: str
    symbol: str = ""
    description: str = ""
    kind: str = "other"  # "angle", "length", "quaternion" for coordinates


@dataclass(frozen=True)
class Column:
    """Motion column of one quasi-velocity, in child axes, angular first.

    ``rate`` is the (angular, linear) rate of change of the column in child axes;
    None for a constant column, which is what all joints but arcs have.
    """

    velocity: str
    angular: Vec3
    linear: Vec3
    rate: tuple[Vec3, Vec3] | None = None


@dataclass(frozen=True)
class Primitive:
    """One step of a realised joint.

    ``rotation`` maps child axes to parent axes, ``translation`` is the child
    origin in parent axes, ``columns`` are the motion columns of the step.
    """

    rotation: Rotation
    translation: Vec3
    columns: tuple[Column, ...] = ()


NameMap = Mapping[tuple[str, str], Scalar]


@dataclass(frozen=True)
class RealisedJoint:
    """Primitives and kinematics of a joint.

    ``velocity_map`` holds the non-zero entries of V in q̇ = V p, keyed by
    (coordinate, velocity); ``rate_map`` those of its left inverse W in p = W q̇,
    keyed by (velocity, coordinate).
    """

    primitives: tuple[Primitive, ...] = ()
    coordinates: tuple[Coordinate, ...] = ()
    velocities: tuple[Coordinate, ...] = ()
    velocity_map: NameMap = field(default_factory=dict)
    rate_map: NameMap = field(default_factory=dict)
    follows: tuple[str, ...] = ()  # coordinates of other joints that this one repeats

    def rate_of(self, coordinate: str) -> str | None:
        """The velocity that is the rate of a coordinate; None where there is no single one."""
        row = [(v, value) for (c, v), value in self.velocity_map.items() if c == coordinate]
        return row[0][0] if len(row) == 1 and row[0][1].is_constant(1) else None


class Joint:
    """Base of all joints; see the subclasses."""

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        """Write the joint's kinematics into a program."""
        raise NotImplementedError


def coordinate_symbol(builder: Builder, coordinate: Coordinate) -> Scalar:
    """The scalar of a coordinate."""
    return builder.symbol("q", coordinate.name, coordinate.unit)
