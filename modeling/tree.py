"""From a model to a chain of links with motion columns.

Symbols used in the mechanics, all in the axes of the link they belong to:

=========  ==================================================================
R, d       rotation child → parent, child origin in parent axes
S          motion column (angular, linear) of one quasi-velocity, constant but for arcs
ω, v       angular velocity, velocity of the link's origin
m, h, I    mass, first moment m·c, inertia about the link's origin
w, k       net weight mass m − ρV and its first moment (buoyancy taken off)
=========  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .continuum.mass import ArcMass
from .model import Model
from .parts import Body, Node
from .program import Builder, Scalar
from .spatial import (
    Mat3,
    NoRotation,
    Rotation,
    Sym3,
    Vec3,
    point_inertia,
    zero_symmetric,
    zero_vector,
)


@dataclass(frozen=True)
class LinkColumn:
    """Motion column of quasi-velocity number ``index``; ``rate`` is its symbol.

    ``change`` is the rate of the column in link axes, None where it is constant.
    """

    index: int
    rate: Scalar
    angular: Vec3
    linear: Vec3
    change: tuple[Vec3, Vec3] | None = None

    def inertial_rate(self, omega: Vec3) -> tuple[Vec3, Vec3]:
        """Rate of the column in inertial axes, ω × S and its own change, in link axes."""
        angular, linear = omega.cross(self.angular), omega.cross(self.linear)
        if self.change is None:
            return angular, linear
        return angular + self.change[0], linear + self.change[1]

    @property
    def unit(self) -> tuple[int, int] | None:
        """(position 0–5, sign) if the column is ± one unit direction, else None."""
        entries = [*self.angular.list(), *self.linear.list()]
        nonzero = [k for k, e in enumerate(entries) if not e.is_zero]
        if len(nonzero) != 1:
            return None
        sign = next((s for s in (1, -1) if entries[nonzero[0]].is_constant(s)), None)
        return None if sign is None else (nonzero[0], sign)


@dataclass(frozen=True)
class LinkArc:
    """An arc's moving mass on its base link, with the numbers of its two velocities."""

    mass: ArcMass
    indices: tuple[int, int]


@dataclass
class Link:
    """One moving frame of the tree."""

    index: int
    parent: int  # -1: the world
    body: str
    rotation: Rotation
    translation: Vec3
    columns: list[LinkColumn]
    mass: Scalar
    moment: Vec3
    inertia: Sym3
    weight: Scalar
    weight_moment: Vec3
    children: list[int] = field(default_factory=list)
    arcs: list[LinkArc] = field(default_factory=list)

    @property
    def has_mass(self) -> bool:
        """Whether any inertia is attached to this very link."""
        return not (self.mass.is_zero and self.moment.is_zero and self.inertia.is_zero)


class KinematicTree:
    """Links of a model in an order in which parents come first."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.builder: Builder = model.builder
        self.links: list[Link] = []
        self.roots: list[int] = []
        self.link_of_body: dict[str, int] = {}
        self.coordinates = model.coordinates
        self.velocities = model.velocities
        self.rates = [self.builder.symbol("p", v.name, v.unit) for v in self.velocities]
        self._velocity_index = {v.name: k for k, v in enumerate(self.velocities)}
        # With buoyancy, weight and lift are wrenches; else the world accelerates with −g.
        self.weight_is_wrench = any(b.buoyancy is not None for b in model.bodies.values())
        for body in model.bodies.values():
            self._add_body(body)

    @property
    def has_shared_velocities(self) -> bool:
        """Whether some quasi-velocity moves more than one link or arc (coupled joints)."""
        indices = [c.index for link in self.links for c in link.columns]
        indices += [k for link in self.links for arc in link.arcs for k in arc.indices]
        return len(indices) != len(set(indices))

    @property
    def size(self) -> int:
        """Number of quasi-velocities."""
        return len(self.velocities)

    def _add_body(self, body: Body) -> None:
        parent = -1 if body.parent is None else self.link_of_body[body.parent.name]
        offset = body.offset
        plain = isinstance(body.orientation, NoRotation)
        if not plain or not body.joint.primitives:
            parent = self._add_link(parent, body.name, body.orientation, offset, [])
            offset = zero_vector(self.builder)
        for primitive in body.joint.primitives:
            columns = [
                LinkColumn(
                    self._velocity_index[c.velocity],
                    self.rates[self._velocity_index[c.velocity]],
                    c.angular,
                    c.linear,
                    c.rate,
                )
                for c in primitive.columns
            ]
            parent = self._add_link(
                parent, body.name, primitive.rotation, offset + primitive.translation, columns
            )
            offset = zero_vector(self.builder)
        self.link_of_body[body.name] = parent
        self._load_body(self.links[parent], body)

    def _add_link(
        self,
        parent: int,
        body: str,
        rotation: Rotation,
        translation: Vec3,
        columns: list[LinkColumn],
    ) -> int:
        b = self.builder
        index = len(self.links)
        zero = b.constant(0)
        self.links.append(
            Link(
                index,
                parent,
                body,
                rotation,
                translation,
                columns,
                zero,
                zero_vector(b),
                zero_symmetric(b),
                zero,
                zero_vector(b),
            )
        )
        (self.roots if parent < 0 else self.links[parent].children).append(index)
        return index

    def _load_body(self, link: Link, body: Body) -> None:
        for lump in body.lumps:
            with self.builder.context(f"mass of body {body.name!r}"):
                link.mass = link.mass + lump.mass
                link.moment = link.moment + lump.com * lump.mass
                link.inertia = link.inertia + lump.inertia + point_inertia(lump.com, lump.mass)
        for arc in body.arcs:
            with self.builder.context(f"arc on body {body.name!r}"):
                link.mass = link.mass + arc.mass
                link.moment = link.moment + arc.moment
                link.inertia = link.inertia + arc.inertia
            first, second = (self._velocity_index[f"{n}_rate"] for n in arc.names)
            link.arcs.append(LinkArc(arc, (first, second)))
        link.weight, link.weight_moment = link.mass, link.moment
        if body.buoyancy is not None:
            with self.builder.context(f"buoyancy of body {body.name!r}"):
                assert self.model.fluid_density is not None
                displaced = self.model.fluid_density * body.buoyancy.volume
                link.weight = link.weight - displaced
                link.weight_moment = link.weight_moment - body.buoyancy.center * displaced

    def path(self, link: int) -> list[Link]:
        """Links from the given one up to (excluding) the world."""
        result = []
        while link >= 0:
            result.append(self.links[link])
            link = self.links[link].parent
        return result

    def node_path(self, node: Node) -> list[Link]:
        """Links that carry a node, from its own to the root."""
        return self.path(self.link_of_body[node.body.name])

    # -- motion -----------------------------------------------------------------
    @cached_property
    def angular_velocities(self) -> list[Vec3]:
        """ω of each link in its own axes."""
        result: list[Vec3] = []
        for link in self.links:
            if link.parent < 0:
                omega = zero_vector(self.builder)
            else:
                omega = link.rotation.unapply(result[link.parent])
            for column in link.columns:
                omega = omega + column.angular * column.rate
            if link.columns:
                for axis, value in zip("xyz", omega.list(), strict=True):
                    self.builder.name(value, f"w{axis}_{link.body}")
            result.append(omega)
        return result

    @cached_property
    def linear_velocities(self) -> list[Vec3]:
        """v of each link's origin in its own axes."""
        result: list[Vec3] = []
        for link in self.links:
            if link.parent < 0:
                v = zero_vector(self.builder)
            else:
                omega = self.angular_velocities[link.parent]
                v = link.rotation.unapply(result[link.parent] + omega.cross(link.translation))
            result.append(v + self.relative_velocity(link))
        return result

    def relative_velocity(self, link: Link) -> Vec3:
        """Velocity of a link's origin against its parent, in link axes: Σ S_v p."""
        total = zero_vector(self.builder)
        for column in link.columns:
            total = total + column.linear * column.rate
        return total

    @cached_property
    def gravity(self) -> list[Vec3]:
        """Gravity in the axes of each link."""
        result: list[Vec3] = []
        for link in self.links:
            above = self.model.gravity if link.parent < 0 else result[link.parent]
            result.append(link.rotation.unapply(above))
        return result

    # -- nodes ------------------------------------------------------------------
    def node_pose(self, node: Node) -> tuple[list[Vec3], Vec3]:
        """World pose of a node: columns of its rotation matrix, and its position."""
        position = node.position
        columns = [node.orientation.matrix.column(k) for k in range(3)]
        for link in self.node_path(node):
            position = link.rotation.apply(position) + link.translation
            columns = [link.rotation.apply(c) for c in columns]
        return columns, position

    def node_twist(self, node: Node) -> tuple[Vec3, Vec3]:
        """Twist (ω, v) of a node in its own axes."""
        link = self.link_of_body[node.body.name]
        omega, v = self.angular_velocities[link], self.linear_velocities[link]
        turn = node.orientation.unapply
        return turn(omega), turn(v + omega.cross(node.position))

    def node_jacobian(self, node: Node) -> dict[int, tuple[Vec3, Vec3]]:
        """Columns (angular, linear) of a node's Jacobian in node axes, by velocity index."""
        if self.has_shared_velocities:
            return self._jacobian_from_the_node(node)
        result: dict[int, tuple[Vec3, Vec3]] = {}
        for link in reversed(self.node_path(node)):
            for k, (angular, linear) in result.items():
                moved = linear + angular.cross(link.translation)
                result[k] = (link.rotation.unapply(angular), link.rotation.unapply(moved))
            for column in link.columns:
                own = (column.angular, column.linear)
                old = result.get(column.index)
                result[column.index] = (old[0] + own[0], old[1] + own[1]) if old else own
        turn = node.orientation.unapply
        return {
            k: (turn(angular), turn(linear + angular.cross(node.position)))
            for k, (angular, linear) in result.items()
        }

    def _jacobian_from_the_node(self, node: Node) -> dict[int, tuple[Vec3, Vec3]]:
        """The same, cheaper where many links share few velocities.

        From the node to the root, E turns link axes into node axes and r is the node's place
        as seen from the link's origin, in node axes; a column (a, b) of the link becomes
        (E a, E b + E a × r), so what the links below have given need not be moved.
        """
        result: dict[int, tuple[Vec3, Vec3]] = {}
        turn = node.orientation.matrix.transpose()
        place = turn.times(node.position)
        for link in self.node_path(node):
            for column in link.columns:
                angular = turn.times(column.angular)
                linear = turn.times(column.linear) + angular.cross(place)
                old = result.get(column.index)
                result[column.index] = (
                    (old[0] + angular, old[1] + linear) if old else (angular, linear)
                )
            if link.parent >= 0:
                first, second, third = (link.rotation.apply(row) for row in turn.rows)  # E Rᵀ
                turn = Mat3((first, second, third))
                place = place + turn.times(link.translation)
        return result

    def node_force_map(self, node: Node, force: Vec3) -> dict[int, Scalar]:
        """Generalized forces Jᵀ(0, f) of a force given in node axes, by velocity index."""
        f = node.orientation.apply(force)
        moment = node.position.cross(f)
        result: dict[int, Scalar] = {}
        for link in self.node_path(node):
            for column in link.columns:
                work = column.angular.dot(moment) + column.linear.dot(f)
                old = result.get(column.index)
                result[column.index] = work if old is None else old + work
            f = link.rotation.apply(f)
            moment = link.rotation.apply(moment) + link.translation.cross(f)
        return result

    def in_node_axes(self, node: Node, world_vector: Vec3) -> Vec3:
        """A world vector in node axes."""
        for link in reversed(self.node_path(node)):
            world_vector = link.rotation.unapply(world_vector)
        return node.orientation.unapply(world_vector)

    # -- world axes -------------------------------------------------------------
    @cached_property
    def world_frames(self) -> list[tuple[Mat3, Vec3]]:
        """Rotation to the world and origin of each link, from the root on: nodes share them."""
        result: list[tuple[Mat3, Vec3]] = []
        for link in self.links:
            if link.parent < 0:
                result.append((link.rotation.matrix, link.translation))
                continue
            above, origin = result[link.parent]
            first, second, third = (link.rotation.unapply(row) for row in above.rows)
            place = origin + above.times(link.translation)
            result.append((Mat3((first, second, third)), place))
        return result

    def forces_on(self, loads: Mapping[int, Sequence[tuple[Vec3, Vec3]]]) -> list[Scalar]:
        """Generalized forces Jᵀ(0, f) of all loads at once, by one sweep to the roots.

        ``loads`` has (point, force) in link axes by link; links that carry none cost nothing.
        """
        forces = [self.builder.constant(0)] * self.size
        wrenches: dict[int, tuple[Vec3, Vec3]] = {}

        def add(link: int, moment: Vec3, force: Vec3) -> None:
            old = wrenches.get(link)
            wrenches[link] = (old[0] + moment, old[1] + force) if old else (moment, force)

        for index, applied in loads.items():
            for point, force in applied:
                add(index, point.cross(force), force)
        for link in reversed(self.links):
            if link.index not in wrenches:
                continue
            moment, force = wrenches[link.index]
            for column in link.columns:
                work = column.angular.dot(moment) + column.linear.dot(force)
                forces[column.index] = forces[column.index] + work
            if link.parent >= 0:
                force = link.rotation.apply(force)
                add(link.parent, link.rotation.apply(moment) + link.translation.cross(force), force)
        return forces

    # -- system totals ----------------------------------------------------------
    def world_moments(self) -> tuple[Scalar, Vec3, Scalar, Vec3]:
        """(mass, first moment, net weight mass, its first moment) about the world origin."""
        b = self.builder
        zero = b.constant(0)
        totals = [(lk.mass, lk.moment, lk.weight, lk.weight_moment) for lk in self.links]
        world = (zero, zero_vector(b), zero, zero_vector(b))
        for link in reversed(self.links):
            m, h, w, k = totals[link.index]
            h = link.rotation.apply(h) + link.translation * m
            k = link.rotation.apply(k) + link.translation * w
            base = world if link.parent < 0 else totals[link.parent]
            merged = (base[0] + m, base[1] + h, base[2] + w, base[3] + k)
            if link.parent < 0:
                world = merged
            else:
                totals[link.parent] = merged
        return world
