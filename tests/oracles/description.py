"""Plain descriptions of trees, written twice: as joints of the toolkit and as elements.

The oracles (Pinocchio, MuJoCo) are built from the *elements*: single motions
with an axis and the names that their coordinates and velocities must get.
They share no code with ``bestiary.modeling`` beyond this description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from bestiary.modeling import Model

AXES = "xyz"


@dataclass(frozen=True)
class Lump:
    """Mass [kg], centre of mass [m], inertia (xx, yy, zz, xy, xz, yz) about it [kg m^2]."""

    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]

    @property
    def matrix(self) -> np.ndarray:
        """The inertia as a 3×3 matrix."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True)
class Element:
    """One motion of a joint: revolute, prismatic, spherical, planar or floating.

    ``axis`` is the unit axis (the normal of a planar motion); ``orientation``
    as in the toolkit for spherical and floating ones.  A ``follower`` turns by
    ``ratio`` times a coordinate that an earlier element owns.
    """

    kind: str
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)
    orientation: str = ""
    ratio: float = 1.0
    follower: bool = False


@dataclass(frozen=True)
class BodySpec:
    """A body: joint frame ``at``/``rpy`` in the parent, motion, masses."""

    name: str
    parent: str | None
    at: tuple[float, ...]
    rpy: tuple[float, ...]
    joint: Any
    elements: tuple[Element, ...]
    lumps: tuple[Lump, ...]


@dataclass(frozen=True)
class NodeSpec:
    """A named frame in a body."""

    name: str
    body: str
    at: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TreeSpec:
    """A whole robot; ``coordinates`` and ``velocities`` fix the orders of q and p.

    ``springs`` are (coordinate, stiffness, rest), ``dampers`` (velocity, coefficient).
    """

    name: str
    bodies: tuple[BodySpec, ...]
    nodes: tuple[NodeSpec, ...] = ()
    up: str = "z"
    gravity: float = 9.81
    coordinates: tuple[str, ...] = ()
    velocities: tuple[str, ...] = ()
    springs: tuple[tuple[str, float, float], ...] = ()
    dampers: tuple[tuple[str, float], ...] = ()
    overrides: dict[str, float] = field(default_factory=dict)

    @property
    def gravity_vector(self) -> np.ndarray:
        """Gravity in world axes [m/s^2]."""
        vector = np.zeros(3)
        vector[AXES.index(self.up[-1])] = self.gravity if self.up.startswith("-") else -self.gravity
        return vector

    @property
    def elements(self) -> list[Element]:
        """All elements that own their coordinates, bodies in order."""
        return [e for b in self.bodies for e in b.elements if not e.follower]

    def model(self) -> Model:
        """The toolkit's model of this description."""
        model = Model(self.name, up=self.up, gravity=self.gravity)
        for b in self.bodies:
            model.body(b.name, joint=b.joint, parent=b.parent, at=b.at, orientation=b.rpy)
            for k, lump in enumerate(b.lumps):
                model.lump(b.name, f"lump{k}", lump.mass, lump.com, lump.inertia)
        for node in self.nodes:
            if node.name not in model.nodes:
                model.node(node.name, node.body, node.at, node.rpy)
        if self.coordinates:
            model.order(self.coordinates, self.velocities)
        for spring in self.springs:
            model.spring(*spring)
        for damper in self.dampers:
            model.damper(*damper)
        model.actuate(*(v.name for v in model.velocities))
        return model

    def random_state(self, seed: int) -> tuple[dict[str, float], dict[str, float]]:
        """Coordinates (unit quaternions, no singular Euler angles) and velocities by name."""
        rng = np.random.default_rng(seed)
        q: dict[str, float] = {}
        for element in self.elements:
            q.update(_random_coordinates(element, rng))
        p = {v: float(rng.normal()) for e in self.elements for v in e.velocities}
        return q, p


def _random_coordinates(element: Element, rng: np.random.Generator) -> dict[str, float]:
    names = element.coordinates
    position = {n: float(v) for n, v in zip(names[-3:], rng.normal(size=3), strict=False)}
    if element.kind == "revolute":
        return {names[0]: float(rng.uniform(-3, 3))}
    if element.kind == "prismatic":
        return {names[0]: float(rng.uniform(-0.5, 0.5))}
    if element.kind == "planar":
        values = (rng.uniform(-3, 3), *rng.normal(size=2))
        return {n: float(v) for n, v in zip(names, values, strict=True)}
    if element.orientation == "quaternion":
        wxyz = rng.normal(size=4)
        wxyz /= np.linalg.norm(wxyz)
        orientation = {n: float(v) for n, v in zip(names[:4], wxyz, strict=True)}
    else:
        letters = element.orientation.removeprefix("euler_")
        first, third = rng.uniform(-3, 3, size=2)
        second = rng.uniform(-1.2, 1.2) if len(set(letters)) == 3 else rng.uniform(0.4, 2.7)
        by_step = (first, second, third)
        if len(set(letters)) == 3:  # names are by axis: roll, pitch, yaw
            orientation = {
                names[AXES.index(a)]: float(v) for a, v in zip(letters, by_step, strict=False)
            }
        else:
            orientation = {n: float(v) for n, v in zip(names[:3], by_step, strict=False)}
        orientation = {n: orientation[n] for n in names[:3]}
    return orientation if element.kind == "spherical" else {**orientation, **position}


def child_rotation(element: Element, q: dict[str, float]) -> Rotation:
    """Child → parent rotation of a spherical, floating or planar element."""
    names = element.coordinates
    if element.kind == "planar":
        return Rotation.from_rotvec(np.array(element.axis) * q[names[0]])
    if element.orientation == "quaternion":
        w, x, y, z = (q[n] for n in names[:4])
        return Rotation.from_quat([x, y, z, w])
    letters = element.orientation.removeprefix("euler_")
    if len(set(letters)) == 3:
        angles = [q[names[AXES.index(a)]] for a in letters]
    else:
        angles = [q[n] for n in names[:3]]
    return Rotation.from_euler(letters.upper(), angles)


def roll_pitch_yaw(rpy: Sequence[float]) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    return Rotation.from_euler("ZYX", list(rpy)[::-1]).as_matrix()
