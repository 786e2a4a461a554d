"""Describing a robot: parameters, bodies on joints, nodes, loads, inputs, variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .contact import LAWS, ContactSurface, Height
from .continuum.arc import Arc
from .continuum.mass import ArcMass
from .continuum.shape import MAX_BENDING
from .errors import ModelError
from .joints import Fixed
from .limits import Limit, common_unit
from .names import identifier
from .parameters import ParameterTable, Quantity, Triple, is_literal_zero
from .parts import Body, Buoyancy, Damper, Input, MassLump, Node, Spring
from .program import Scalar
from .realised import AXES, Coordinate, Joint, RealisedJoint
from .spatial import (
    Sym3,
    Vec3,
)

if TYPE_CHECKING:
    from .control import Controller

WORLD = "world"


class Model(ParameterTable):
    """A tree of rigid bodies, described symbolically.

    Parameters
    ----------
    name:
        Identifier of the robot; it becomes the prefix of the generated C names.
    up:
        World axis against gravity: ``"z"`` (default), ``"-z"`` for z down, and so on.
    gravity:
        Size of gravity [m/s^2]; 0 for none.
    fluid_density:
        Density [kg/m^3] for buoyancy, or None where no fluid is meant.
    title, source:
        A sentence about the robot and where it is from.

    Numbers given for masses, lengths and inertias become parameters with that
    default, named after what they belong to (``head_mass``); a literal zero
    stays a structural zero and costs nothing.
    """

    def __init__(
        self,
        name: str,
        *,
        up: str = "z",
        gravity: float = 9.81,
        fluid_density: float | None = None,
        title: str = "",
        source: str = "",
    ) -> None:
        super().__init__(identifier(name, "model"))
        self.title, self.source, self.up = title, source, up
        self.bodies: dict[str, Body] = {}
        self.nodes: dict[str, Node] = {}
        self.springs: list[Spring] = []
        self.dampers: list[Damper] = []
        self.inputs: dict[str, Input] = {}
        self.limits: list[Limit] = []
        self.contacts: list[str] = []
        self.controllers: dict[str, Controller] = {}
        self.positive: list[tuple[Scalar, str]] = []  # must be > 0 in every variant
        self.contact_surface: ContactSurface | None = None
        self._coordinate_order: list[str] = []
        self._velocity_order: list[str] = []
        axis = up.lstrip("-")
        if len(axis) != 1 or axis not in AXES or len(up) - len(axis) > 1:
            raise ModelError(f"model {name!r}: up {up!r} is not one of 'x', 'y', 'z', '-x' …")
        zero = self.builder.constant(0)
        entries = [zero] * 3
        if gravity:
            size = self.parameter("gravity", gravity, "m/s^2", description="size of gravity")
            entries[AXES.index(axis)] = size if up.startswith("-") else -size
        self.gravity = Vec3(*entries)
        self.fluid_density = (
            self.parameter("fluid_density", fluid_density, "kg/m^3", description="of the fluid")
            if fluid_density is not None
            else None
        )

    # -- tree ---------------------------------------------------------------
    def body(
        self,
        name: str,
        *,
        joint: Joint | None = None,
        parent: Body | str | None = None,
        at: Triple = (0, 0, 0),
        orientation: Triple = (0, 0, 0),
        mass: Quantity = 0,
        com: Triple = (0, 0, 0),
        inertia: Triple | None = None,
        frame: bool = True,
    ) -> Body:
        """Add a body.

        Parameters
        ----------
        name:
            Unique name.
        joint:
            How it moves against its parent; :class:`Fixed` by default.
        parent:
            A body added before, its name, or None for the world.
        at, orientation:
            Position [m] and roll-pitch-yaw [rad] of the joint in parent axes.
        mass, com, inertia:
            kg, m from the body's frame, and (xx, yy, zz[, xy, xz, yz]) [kg m^2]
            about the centre of mass in body axes (products as matrix entries).
            A body without mass is allowed; its weight is then carried by others.
        frame:
            Whether its frame is a node of the robot too; the functions of the nodes of
            a long chain cost more than its dynamics.

        Raises
        ------
        ModelError
            For a duplicate name, an unknown parent, a wrong unit or size.
        """
        identifier(name, "body")
        if name in self.bodies or name == WORLD:
            raise ModelError(f"body {name!r}: this name is taken")
        with self.builder.context(f"body {name!r}"):
            realised = (joint or Fixed()).realise(self.builder, name)
            known = set(self._coordinate_order), set(self._velocity_order)
            for c, taken, kind in (
                *((c, known[0], "coordinate") for c in realised.coordinates),
                *((v, known[1], "velocity") for v in realised.velocities),
            ):
                identifier(c.name, f"{kind} of body {name!r}")
                if c.name in taken:
                    raise ModelError(f"body {name!r}: {kind} name {c.name!r} is taken")
                taken.add(c.name)
            self._check_followed(name, realised)
            body = Body(
                name,
                self._parent(name, parent),
                realised,
                self.vector(at, f"{name}_at", "m", f"body {name!r}: at"),
                self.rotation(orientation, f"{name}_orientation", f"body {name!r}: orientation"),
            )
            self._coordinate_order += [c.name for c in realised.coordinates]
            self._velocity_order += [v.name for v in realised.velocities]
            self.bodies[name] = body
            if is_literal_zero(mass) and inertia is None:
                if not all(is_literal_zero(c) for c in com):
                    raise ModelError(f"body {name!r}: com is given, but neither mass nor inertia")
            else:
                self.lump(body, "", mass, com, inertia)
        if frame:
            self.node(name, body, description=f"frame of body {name}")
        return body

    def _check_followed(self, name: str, joint: RealisedJoint) -> None:
        """Refuse a follower of what is not there, or whose rate has another name."""
        known = {c.name: c for c in (*self.coordinates, *joint.coordinates)}
        rates = {*self._velocity_order, *(v.name for v in joint.velocities)}
        for followed in joint.follows:
            if followed not in known:
                raise ModelError(
                    f"body {name!r} follows {followed!r}, but no earlier joint has that "
                    f"coordinate; have {', '.join(self._coordinate_order) or 'none'}"
                )
            if known[followed].unit != "rad" or known[followed].kind != "angle":
                raise ModelError(
                    f"body {name!r} follows {followed!r}, which is no angle of a revolute joint "
                    f"(kind {known[followed].kind}, unit {known[followed].unit})"
                )
        missing = [
            c.velocity for p in joint.primitives for c in p.columns if c.velocity not in rates
        ]
        if missing:
            raise ModelError(
                f"body {name!r} follows {', '.join(joint.follows)}, but there is no velocity "
                f"{missing[0]!r}; name the rate of the followed joint by velocity=…"
            )

    def lump(
        self,
        body: Body | str,
        name: str,
        mass: Quantity,
        com: Triple = (0, 0, 0),
        inertia: Triple | None = None,
    ) -> None:
        """Add more mass to a body (a payload, flooded water); arguments as in :meth:`body`.

        ``name`` prefixes the parameters made from plain numbers.
        """
        owner = self._body(body)
        label = f"body {owner.name!r}" + (f", lump {name!r}" if name else "")
        prefix = f"{owner.name}_{name}" if name else owner.name
        entries = tuple(inertia if inertia is not None else (0, 0, 0))
        if len(entries) not in (3, 6):
            raise ModelError(
                f"{label}: inertia must be (xx, yy, zz) or (xx, yy, zz, xy, xz, yz), "
                f"got {len(entries)} entries"
            )
        tags = ("xx", "yy", "zz", "xy", "xz", "yz")
        six = [
            self.quantity(v, f"{prefix}_inertia_{t}", "kg m^2", f"{label}: inertia {t}")
            for v, t in zip(entries, tags, strict=False)
        ]
        six += [self.builder.constant(0)] * (6 - len(six))
        owner.lumps.append(
            MassLump(
                name,
                self.quantity(mass, f"{prefix}_mass", "kg", f"{label}: mass"),
                self.vector(com, f"{prefix}_com", "m", f"{label}: com"),
                Sym3(*six),
            )
        )

    def arc(
        self,
        name: str,
        *,
        parent: Body | str,
        length: Quantity,
        mass: Quantity,
        names: tuple[str, str] | None = None,
        at: Triple = (0, 0, 0),
        orientation: Triple = (0, 0, 0),
    ) -> Body:
        """Add a constant-curvature segment of uniform mass; returns the body at its end.

        Parameters
        ----------
        name:
            Name of the end body, to which a further segment may be attached.
        parent, at, orientation:
            Where the segment starts; unbent it points along −y there.
        length, mass:
            m and kg of the segment, whose mass sits on its centre line.
        names:
            The bending coordinates (u, w) = θ (cos φ, sin φ) [rad]: the end is turned
            by the rotation vector (u, 0, w); ``<name>_u`` and ``<name>_w`` by default.
        """
        label = f"arc {name!r}"
        base = self.body(f"{name}_base", parent=parent, at=at, orientation=orientation)
        u, w = names or (f"{name}_u", f"{name}_w")
        extent = self.quantity(length, f"{name}_length", "m", f"{label}: length")
        weight = self.quantity(mass, f"{name}_mass", "kg", f"{label}: mass")
        if extent.is_zero:
            raise ModelError(f"{label}: length must not be zero")
        end = self.body(name, parent=base, joint=Arc((u, w), extent))
        base.arcs.append(ArcMass(self.builder, weight, extent, (u, w)))
        self.positive.append((extent, f"length of {label}"))
        self.limit(u, w, high=MAX_BENDING, reason="an arc's formulas are proven up to here")
        return end

    def buoyancy(self, body: Body | str, volume: Quantity, center: Triple = (0, 0, 0)) -> None:
        """Let a body displace fluid: volume [m^3] and its centre [m] in body axes."""
        owner = self._body(body)
        if self.fluid_density is None:
            raise ModelError(
                f"body {owner.name!r}: buoyancy needs a fluid; give the model a fluid_density"
            )
        label = f"body {owner.name!r}: buoyancy"
        owner.buoyancy = Buoyancy(
            self.quantity(volume, f"{owner.name}_volume", "m^3", f"{label} volume"),
            self.vector(center, f"{owner.name}_buoyancy", "m", f"{label} center"),
        )

    def node(
        self,
        name: str,
        body: Body | str,
        at: Triple = (0, 0, 0),
        orientation: Triple = (0, 0, 0),
        description: str = "",
    ) -> Node:
        """Name a frame of a body: position [m] and roll-pitch-yaw [rad] in body axes."""
        identifier(name, "node")
        if name in self.nodes:
            raise ModelError(f"node {name!r}: this name is taken (every body is a node too)")
        node = Node(
            name,
            self._body(body),
            self.vector(at, f"{name}_at", "m", f"node {name!r}: at"),
            self.rotation(orientation, f"{name}_orientation", f"node {name!r}: orientation"),
            description,
        )
        self.nodes[name] = node
        return node

    # -- loads and inputs -----------------------------------------------------
    def spring(self, coordinate: str, stiffness: Quantity, rest: Quantity = 0) -> None:
        """Linear spring on a single-axis joint coordinate; part of F and of the energy."""
        unit = self._single_axis(coordinate, "spring").unit
        label, per = f"spring on {coordinate!r}", "N m/rad" if unit == "rad" else "N/m"
        self.springs.append(
            Spring(
                coordinate,
                self.quantity(stiffness, f"{coordinate}_stiffness", per, label),
                self.quantity(rest, f"{coordinate}_rest", unit, label),
            )
        )

    def damper(self, velocity: str, coefficient: Quantity) -> None:
        """Linear damping on a quasi-velocity; part of Q."""
        v = self._velocity(velocity, "damper")
        per = "N m s/rad" if v.unit == "rad/s" else "N s/m"
        self.dampers.append(
            Damper(
                velocity,
                self.quantity(coefficient, f"{velocity}_damping", per, f"damper on {velocity!r}"),
            )
        )

    def limit(
        self,
        *coordinates: str,
        low: float | None = None,
        high: float | None = None,
        refuse: bool = True,
        reason: str = "",
    ) -> None:
        """Limit a coordinate, or the length √(Σ q²) of several; see :class:`.limits.Limit`.

        Robots refuse arguments outside (unless ``refuse`` is False) where they come in
        from Python; generated code does not look.  Without limits any value is taken.
        """
        unit = common_unit(coordinates, {c.name: c.unit for c in self.coordinates})
        self.limits.append(Limit(coordinates, unit, low, high, refuse, reason))

    def actuate(self, *velocities: str) -> None:
        """A torque [N m] or force [N] input on each of the given joint velocities.

        The input is named after the velocity's coordinate: ``head_pitch_torque``.
        """
        for velocity in velocities:
            v = self._velocity(velocity, "actuator")
            kind, unit = ("torque", "N m") if v.unit == "rad/s" else ("force", "N")
            stem = velocity.removesuffix("_rate")
            self._input(
                Input(f"{stem}_{kind}", unit, velocity=velocity, description=f"on {velocity}")
            )

    def force_input(
        self, name: str, node: str, direction: Sequence[float], *, world_axes: bool = False
    ) -> None:
        """A force input [N] at a node along a fixed direction of node (or world) axes."""
        if node not in self.nodes:
            raise ModelError(f"force input {name!r}: no node {node!r}")
        values = [float(v) for v in direction]
        length = math.sqrt(sum(v * v for v in values))
        if len(values) != 3 or not math.isfinite(length) or not length:
            raise ModelError(
                f"force input {name!r}: direction must be three numbers, finite and not all 0"
            )
        vector = Vec3(*(self.builder.constant(v / length) for v in values))
        self._input(Input(name, "N", node=node, direction=vector, world_axes=world_axes))

    def ground_contact(
        self,
        *nodes: str,
        stiffness: Quantity,
        damping: Quantity,
        friction: Quantity,
        slip_velocity: Quantity = 5e-3,
        smoothing: Quantity = 1e-5,
        law: str = "azad_featherstone",
        height: Height | None = None,
    ) -> None:
        """Let nodes touch the ground; part of Q, see :mod:`bestiary.modeling.contact`.

        Parameters
        ----------
        nodes:
            Names of the nodes that may touch.
        stiffness, damping:
            N m^-3/2, and N s m^-3/2 (Azad–Featherstone) or N s m^-5/2 (Hunt–Crossley).
        friction:
            Coefficient of Coulomb friction.
        slip_velocity, smoothing:
            Velocity [m/s] below which friction turns viscous; length [m] over which
            contact sets in.
        law:
            ``"azad_featherstone"`` or ``"hunt_crossley"``.
        height:
            Ground height [m] as a function of the two horizontal coordinates
            (program scalars in m); the plane at height 0 by default.

        Raises
        ------
        ModelError
            For an unknown node or law, or a constant that must be positive and is not.
        """
        if self.contact_surface is not None:
            raise ModelError(f"model {self.name!r}: ground contact is declared twice")
        unknown = [n for n in nodes if n not in self.nodes]
        if unknown or not nodes:
            raise ModelError(f"ground contact: no node {', '.join(unknown) or 'given'}")
        if law not in LAWS:
            raise ModelError(f"ground contact: law {law!r} is not one of {', '.join(LAWS)}")
        per = "N s m^(-3/2)" if law == "azad_featherstone" else "N s m^(-5/2)"
        values = []
        for value, name, unit in (
            (stiffness, "contact_stiffness", "N m^(-3/2)"),
            (damping, "contact_damping", per),
            (friction, "contact_friction", "1"),
            (slip_velocity, "contact_slip_velocity", "m/s"),
            (smoothing, "contact_smoothing", "m"),
        ):
            scalar = self.quantity(value, name, unit, f"ground contact: {name}")
            if name not in ("contact_damping", "contact_friction"):
                self.positive.append((scalar, name.replace("_", " ")))
            values.append(scalar)
        self.contacts = list(nodes)
        self.contact_surface = ContactSurface(
            values[0], values[1], values[2], values[3], values[4], law, height
        )

    def _input(self, new: Input) -> None:
        identifier(new.name, "input")
        if new.name in self.inputs:
            raise ModelError(f"input {new.name!r} is declared twice")
        self.inputs[new.name] = new

    # -- orders ---------------------------------------------------------------
    def order(self, coordinates: Sequence[str], velocities: Sequence[str]) -> None:
        """Fix the order of q and p (the order of definition otherwise)."""
        for given, known, kind in (
            (list(coordinates), self._coordinate_order, "coordinates"),
            (list(velocities), self._velocity_order, "velocities"),
        ):
            if sorted(given) != sorted(known):
                odd = sorted(set(given) ^ set(known))
                raise ModelError(
                    f"model {self.name!r}: order must name all {kind} exactly once; "
                    f"check {', '.join(odd) or 'repeated names'}"
                )
        self._coordinate_order, self._velocity_order = list(coordinates), list(velocities)

    @property
    def coordinates(self) -> list[Coordinate]:
        """Generalized coordinates q, in order."""
        known = {c.name: c for b in self.bodies.values() for c in b.joint.coordinates}
        return [known[name] for name in self._coordinate_order]

    @property
    def velocities(self) -> list[Coordinate]:
        """Quasi-velocities p, in order."""
        known = {v.name: v for b in self.bodies.values() for v in b.joint.velocities}
        return [known[name] for name in self._velocity_order]

    def _body(self, body: Body | str) -> Body:
        if isinstance(body, str):
            if body not in self.bodies:
                raise ModelError(f"no body {body!r}; have {', '.join(self.bodies) or 'none'}")
            return self.bodies[body]
        if self.bodies.get(body.name) is not body:
            raise ModelError(f"body {body.name!r} belongs to another model")
        return body

    def _parent(self, name: str, parent: Body | str | None) -> Body | None:
        if parent is None or parent == WORLD:
            return None
        label = parent if isinstance(parent, str) else parent.name
        if label == name:
            raise ModelError(f"body {name!r} cannot be its own parent (a loop)")
        try:
            return self._body(parent)
        except ModelError as error:
            raise ModelError(
                f"body {name!r}: unknown parent {label!r}; a parent must be added before its "
                f"children (this also excludes loops); have {', '.join(self.bodies) or 'none'}"
            ) from error

    def _velocity(self, name: str, what: str) -> Coordinate:
        for v in self.velocities:
            if v.name == name:
                return v
        raise ModelError(f"{what}: no velocity {name!r}; have {', '.join(self._velocity_order)}")

    def rate_of(self, coordinate: str) -> str | None:
        """The velocity that is the rate of a coordinate.

        None if the coordinate is one of several (a quaternion, Euler angles of a
        floating body) whose rates mix several velocities.

        Raises
        ------
        KeyError
            If there is no such coordinate.
        """
        for body in self.bodies.values():
            if any(c.name == coordinate for c in body.joint.coordinates):
                return body.joint.rate_of(coordinate)
        raise KeyError(coordinate)

    def _single_axis(self, coordinate: str, what: str) -> Coordinate:
        for c in self.coordinates:
            if c.name == coordinate:
                if self.rate_of(coordinate) is None:
                    raise ModelError(
                        f"{what} on {coordinate!r}: only coordinates of single-axis joints "
                        "(whose rate is a quasi-velocity) are supported"
                    )
                return c
        raise ModelError(
            f"{what}: no coordinate {coordinate!r}; have {', '.join(self._coordinate_order)}"
        )
