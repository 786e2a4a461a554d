"""A constant-curvature arc as a joint: from its base frame to a frame along it.

See :mod:`.shape` for the bending coordinates (u, w) = θ (cos φ, sin φ).  The
frame at the end is turned by the rotation vector (u, 0, w): the arc does not
twist (R = R_t(φ) R_b(θ) R_t(−φ) in tangent and binormal).  Everything is
regular at θ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ModelError
from ..program import Builder, Scalar, parse_unit
from ..program.transform import directional_derivative
from ..realised import Column, Coordinate, Joint, Primitive, RealisedJoint
from ..spatial import Mat3, Rotation, Vec3
from .shape import S_SHAPE, X_SHAPE, at_end, even_function
from .trigonometric import one, sine

Y_AT_END = one(-2) + sine(0, -3, -1)
"""(θ − sin θ)/θ³."""


@dataclass(frozen=True)
class Arc(Joint):
    """The motion of a frame at a fraction of an arc against the arc's base frame.

    Parameters
    ----------
    names:
        The bending coordinates (u, w) [rad].
    length:
        Length of the whole arc, a scalar in m.
    fraction:
        Where along the arc the frame sits, 0 < fraction ≤ 1.
    shared:
        Whether the coordinates belong to an earlier joint.
    """

    names: tuple[str, str]
    length: Scalar
    fraction: float = 1.0
    shared: bool = False

    def realise(self, builder: Builder, body: str) -> RealisedJoint:
        owner = f"arc of body {body!r}"
        if not 0 < self.fraction <= 1:
            raise ModelError(f"{owner}: fraction must be in (0, 1], got {self.fraction!r}")
        if builder.dimension(self.length) != parse_unit("m"):
            raise ModelError(f"{owner}: length must be a scalar in [m], got {self.length!r}")
        q = [Coordinate(name, "rad", kind="angle") for name in self.names]
        p = [Coordinate(f"{name}_rate", "rad/s", "", f"rate of {name}") for name in self.names]
        bend = [builder.symbol("q", c.name, c.unit) for c in q]
        rates = [builder.symbol("p", v.name, v.unit) for v in p]
        k = self.fraction
        rotation, position, columns = _end_frame(bend[0] * k, bend[1] * k, self.length * k)
        entries = [e * k for angular, linear in columns for e in (*angular.list(), *linear.list())]
        changes = directional_derivative(builder, entries, zip(bend, rates, strict=True))
        made = []
        for number, velocity in enumerate(p):
            own, change = (block[6 * number : 6 * number + 6] for block in (entries, changes))
            made.append(
                Column(
                    velocity.name,
                    Vec3(*own[:3]),
                    Vec3(*own[3:]),
                    (Vec3(*change[:3]), Vec3(*change[3:])),
                )
            )
        primitive = Primitive(rotation, position, tuple(made))
        if self.shared:
            return RealisedJoint((primitive,), follows=self.names)
        unit = builder.constant(1)
        pairs = [(c.name, v.name) for c, v in zip(q, p, strict=True)]
        return RealisedJoint(
            (primitive,),
            tuple(q),
            tuple(p),
            dict.fromkeys(pairs, unit),
            {(v, c): unit for c, v in pairs},
        )


def _end_frame(
    u: Scalar, w: Scalar, length: Scalar
) -> tuple[Rotation, Vec3, list[tuple[Vec3, Vec3]]]:
    """Rotation and position of the end of an arc, and its columns by u and w in child axes."""
    builder = u.builder
    s = u * u + w * w
    sinc, versine, third = (even_function(at_end(f), s) for f in (S_SHAPE, X_SHAPE, Y_AT_END))
    sinc_rate, versine_rate = (even_function(at_end(f.by_square()), s) for f in (S_SHAPE, X_SHAPE))
    unity = builder.constant(1)
    rotation = Rotation(
        Mat3.of(
            [
                [unity - versine * w * w, -(sinc * w), versine * u * w],
                [sinc * w, unity - versine * s, -(sinc * u)],
                [versine * u * w, sinc * u, unity - versine * u * u],
            ]
        )
    )
    position = Vec3(w * versine, -sinc, -(u * versine))
    by_u = (2 * u * sinc_rate, 2 * u * versine_rate)
    by_w = (2 * w * sinc_rate, 2 * w * versine_rate)
    moves = (
        Vec3(w * by_u[1], -by_u[0], -(versine + u * by_u[1])),
        Vec3(versine + w * by_w[1], -by_w[0], -(u * by_w[1])),
    )
    # Right Jacobian of the rotation vector φ = (u, 0, w): 1 − X φ̃ + Y φ̃².
    turns = (
        Vec3(unity - third * w * w, -(versine * w), third * u * w),
        Vec3(third * u * w, versine * u, unity - third * u * u),
    )
    return (
        rotation,
        position * length,
        [(turn, rotation.unapply(move) * length) for turn, move in zip(turns, moves, strict=True)],
    )
