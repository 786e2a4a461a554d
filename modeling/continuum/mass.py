"""Uniform mass along a constant-curvature arc, by exact integrals.

A field on the arc is a vector of the basis functions 1, S, X, S′, X′, S″, X″ of
:mod:`.shape` with coefficients in the axes of the arc's base frame; integrals of
products of fields are the exact matrices ∫ f_i f_j, the regular-basis form of
the matrices E and Q of appendix B of *How a serpentine tail assists agile
motions of kangaroo rats*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..program import Builder, Scalar
from ..spatial import Mat3, Sym3, Vec3, zero_matrix, zero_vector
from .shape import even_function, shape_integral

S0, X0, S1, X1, S2, X2 = range(1, 7)  # positions in the basis; 0 is the constant 1


@dataclass(frozen=True)
class Field:
    """A vector field along the arc: Σ_i coefficient_i · f_i(x)."""

    terms: Mapping[int, Vec3]

    def __add__(self, other: Field) -> Field:
        total = dict(self.terms)
        for k, v in other.terms.items():
            total[k] = total[k] + v if k in total else v
        return Field(total)

    def scaled(self, factor: Scalar) -> Field:
        """The field times a scalar."""
        return Field({k: v * factor for k, v in self.terms.items()})

    def turned(self, rotation: Mat3) -> Field:
        """The field in other axes."""
        return Field({k: rotation.times(v) for k, v in self.terms.items()})

    def crossed_by(self, omega: Vec3) -> Field:
        """Ω × field."""
        return Field({k: omega.cross(v) for k, v in self.terms.items()})


class ArcMass:
    """The moving mass of an arc: position, its derivatives, and integrals over the arc.

    All fields are of the arc with its true length; ``mass`` multiplies integrals.
    """

    def __init__(
        self, builder: Builder, mass: Scalar, length: Scalar, names: tuple[str, str]
    ) -> None:
        self.builder, self.mass, self.length, self.names = builder, mass, length, names
        self.u, self.w = (builder.symbol("q", name, "rad") for name in names)
        self.u_rate, self.w_rate = (builder.symbol("p", f"{name}_rate", "rad/s") for name in names)
        self.s = self.u * self.u + self.w * self.w
        self._known: dict[tuple[int, int], Scalar] = {}

    # -- fields -------------------------------------------------------------
    def _vector(self, x: Scalar | int = 0, y: Scalar | int = 0, z: Scalar | int = 0) -> Vec3:
        entries = (v if isinstance(v, Scalar) else self.builder.constant(v) for v in (x, y, z))
        return Vec3(*entries) * self.length

    @cached_property
    def position(self) -> Field:
        """Position: r = L (w X, −S, −u X)."""
        return Field({S0: self._vector(y=-1), X0: self._vector(x=self.w, z=-self.u)})

    @cached_property
    def by_bending(self) -> tuple[Field, Field]:
        """(∂r/∂u, ∂r/∂w); S and X depend on s = u² + w²."""
        u, w = self.u, self.w
        by_s = {S1: self._vector(y=-2), X1: self._vector(x=2 * w, z=-2 * u)}
        return (
            Field({k: v * u for k, v in by_s.items()}) + Field({X0: self._vector(z=-1)}),
            Field({k: v * w for k, v in by_s.items()}) + Field({X0: self._vector(x=1)}),
        )

    @cached_property
    def second(self) -> tuple[Field, Field, Field]:
        """(∂²r/∂u², ∂²r/∂u∂w, ∂²r/∂w²)."""
        u, w = self.u, self.w
        curve = {S2: self._vector(y=-4), X2: self._vector(x=4 * w, z=-4 * u)}
        along = {S1: self._vector(y=-2), X1: self._vector(x=2 * w, z=-2 * u)}
        uu = Field({k: v * (u * u) for k, v in curve.items()}) + Field(along)
        uw = Field({k: v * (u * w) for k, v in curve.items()})
        ww = Field({k: v * (w * w) for k, v in curve.items()}) + Field(along)
        return (
            uu + Field({X1: self._vector(z=-4 * u)}),
            uw + Field({X1: self._vector(x=2 * u, z=-2 * w)}),
            ww + Field({X1: self._vector(x=4 * w)}),
        )

    @cached_property
    def velocity(self) -> Field:
        """Velocity ṙ seen in the base frame."""
        by_u, by_w = self.by_bending
        return by_u.scaled(self.u_rate) + by_w.scaled(self.w_rate)

    @cached_property
    def bending_rates(self) -> tuple[Field, Field]:
        """Rates of ∂r/∂u and ∂r/∂w in the base frame."""
        uu, uw, ww = self.second
        return (
            uu.scaled(self.u_rate) + uw.scaled(self.w_rate),
            uw.scaled(self.u_rate) + ww.scaled(self.w_rate),
        )

    # -- integrals ------------------------------------------------------------
    def integral(self, i: int, j: int) -> Scalar:
        """∫₀¹ f_i f_j dx as a scalar."""
        key = (min(i, j), max(i, j))
        if key not in self._known:
            self._known[key] = even_function(shape_integral(*key), self.s)
        return self._known[key]

    def total(self, a: Field) -> Vec3:
        """m ∫ a."""
        result = zero_vector(self.builder)
        for i, u in a.terms.items():
            result = result + u * self.integral(0, i)
        return result * self.mass

    def dot(self, a: Field, b: Field) -> Scalar:
        """m ∫ a · b."""
        result = self.builder.constant(0)
        for i, u in a.terms.items():
            for j, v in b.terms.items():
                result = result + u.dot(v) * self.integral(i, j)
        return result * self.mass

    def cross(self, a: Field, b: Field) -> Vec3:
        """m ∫ a × b."""
        result = zero_vector(self.builder)
        for i, u in a.terms.items():
            for j, v in b.terms.items():
                result = result + u.cross(v) * self.integral(i, j)
        return result * self.mass

    def outer(self, a: Field, b: Field) -> Mat3:
        """m ∫ a bᵀ."""
        result = zero_matrix(self.builder)
        for i, u in a.terms.items():
            for j, v in b.terms.items():
                weight = self.integral(i, j)
                result = result + Mat3.of([[x * y * weight for y in v.list()] for x in u.list()])
        a1, a2, a3 = (row * self.mass for row in result.rows)
        return Mat3((a1, a2, a3))

    # -- as a body ----------------------------------------------------------------
    @cached_property
    def moment(self) -> Vec3:
        """First moment m ∫ r about the base frame's origin."""
        return self.total(self.position)

    @cached_property
    def inertia(self) -> Sym3:
        """Inertia m ∫ (r·r 1 − r rᵀ) about the base frame's origin."""
        p = self.outer(self.position, self.position).rows
        xx, yy, zz = p[0].x, p[1].y, p[2].z
        return Sym3(yy + zz, xx + zz, xx + yy, -p[0].y, -p[0].z, -p[1].z)
