"""What a model is made of: parameters, bodies, nodes, loads and inputs, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from .continuum.mass import ArcMass
from .program import Scalar
from .realised import RealisedJoint
from .spatial import Rotation, Sym3, Vec3


@dataclass(frozen=True)
class Parameter:
    """A named constant of the robot: SI unit, default value, where the value is from.

    A ``positive`` one is refused by robots at 0 and below.
    """

    name: str
    unit: str
    default: float
    source: str = ""
    description: str = ""
    positive: bool = False


@dataclass(frozen=True)
class MassLump:
    """Mass, centre of mass and inertia about that centre, in body axes."""

    name: str
    mass: Scalar
    com: Vec3
    inertia: Sym3


@dataclass(frozen=True)
class Buoyancy:
    """Displaced volume of a body and the centre of that volume, in body axes."""

    volume: Scalar
    center: Vec3


@dataclass
class Body:
    """A rigid body of the tree; its frame sits at the end of its joint."""

    name: str
    parent: Body | None
    joint: RealisedJoint
    offset: Vec3
    orientation: Rotation
    lumps: list[MassLump] = field(default_factory=list)
    buoyancy: Buoyancy | None = None
    arcs: list[ArcMass] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Body({self.name!r})"


@dataclass(frozen=True)
class Node:
    """A named frame fixed in a body."""

    name: str
    body: Body
    position: Vec3
    orientation: Rotation
    description: str = ""


@dataclass(frozen=True)
class Spring:
    """Linear spring on a coordinate: force −k (q − rest) on the matching velocity."""

    coordinate: str
    stiffness: Scalar
    rest: Scalar


@dataclass(frozen=True)
class Damper:
    """Linear damping on a quasi-velocity: force −c p."""

    velocity: str
    coefficient: Scalar


@dataclass(frozen=True)
class Input:
    """An actuator: a torque or force on a joint velocity, or a force at a node."""

    name: str
    unit: str
    velocity: str | None = None
    node: str | None = None
    direction: Vec3 | None = None
    world_axes: bool = False
    description: str = ""
