"""Vectors, matrices and rotations of program scalars.

Structural zeros fold away in the builder, so one general formula serves
aligned and skewed axes alike.  Rotations about a coordinate axis have their
own class because the congruence R S Rᵀ then needs 8 products instead of 45.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .program import Builder, Scalar
from .program.functions import cos, sin
from .program.scalar import ScalarLike


@dataclass(frozen=True)
class Vec3:
    """A column of three scalars."""

    x: Scalar
    y: Scalar
    z: Scalar

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: ScalarLike) -> Vec3:
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def __getitem__(self, index: int) -> Scalar:
        return (self.x, self.y, self.z)[index]

    def dot(self, other: Vec3) -> Scalar:
        """Inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """Vector product self × other."""
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def list(self) -> list[Scalar]:
        """The three entries."""
        return [self.x, self.y, self.z]

    @property
    def is_zero(self) -> bool:
        """Whether all entries are structural zeros."""
        return self.x.is_zero and self.y.is_zero and self.z.is_zero


def zero_vector(builder: Builder) -> Vec3:
    """The structural zero vector."""
    zero = builder.constant(0)
    return Vec3(zero, zero, zero)


def unit_vector(builder: Builder, axis: int) -> Vec3:
    """The coordinate direction e_axis (0, 1, 2)."""
    return Vec3(*(builder.constant(1 if k == axis else 0) for k in range(3)))


@dataclass(frozen=True)
class Mat3:
    """A general 3×3 matrix, by rows."""

    rows: tuple[Vec3, Vec3, Vec3]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Mat3:
        """Matrix from nested sequences."""
        a, b, c = (Vec3(*row) for row in rows)
        return cls((a, b, c))

    def __add__(self, other: Mat3) -> Mat3:
        a, b, c = (r + s for r, s in zip(self.rows, other.rows, strict=True))
        return Mat3((a, b, c))

    def __sub__(self, other: Mat3) -> Mat3:
        a, b, c = (r - s for r, s in zip(self.rows, other.rows, strict=True))
        return Mat3((a, b, c))

    def __matmul__(self, other: Mat3) -> Mat3:
        columns = other.transpose().rows
        a, b, c = (Vec3(*(r.dot(k) for k in columns)) for r in self.rows)
        return Mat3((a, b, c))

    def times(self, v: Vec3) -> Vec3:
        """Matrix times column."""
        return Vec3(*(r.dot(v) for r in self.rows))

    def transpose(self) -> Mat3:
        """The transpose."""
        a, b, c = (Vec3(*(r[k] for r in self.rows)) for k in range(3))
        return Mat3((a, b, c))

    def column(self, k: int) -> Vec3:
        """Column k."""
        return Vec3(*(r[k] for r in self.rows))

    def entries(self) -> list[Scalar]:
        """Nine entries, row-major."""
        return [e for r in self.rows for e in r.list()]


@dataclass(frozen=True)
class Sym3:
    """A symmetric 3×3 matrix, by its six distinct entries."""

    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar

    def __add__(self, o: Sym3) -> Sym3:
        return Sym3(
            self.xx + o.xx,
            self.yy + o.yy,
            self.zz + o.zz,
            self.xy + o.xy,
            self.xz + o.xz,
            self.yz + o.yz,
        )

    def times(self, v: Vec3) -> Vec3:
        """Matrix times column."""
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def matrix(self) -> Mat3:
        """The same as a general matrix."""
        return Mat3.of(
            [
                [self.xx, self.xy, self.xz],
                [self.xy, self.yy, self.yz],
                [self.xz, self.yz, self.zz],
            ]
        )

    @property
    def is_zero(self) -> bool:
        """Whether all entries are structural zeros."""
        return all(e.is_zero for e in (self.xx, self.yy, self.zz, self.xy, self.xz, self.yz))


def zero_symmetric(builder: Builder) -> Sym3:
    """The structural zero matrix."""
    zero = builder.constant(0)
    return Sym3(zero, zero, zero, zero, zero, zero)


def zero_matrix(builder: Builder) -> Mat3:
    """The structural zero matrix, general storage."""
    return zero_symmetric(builder).matrix()


def symmetric_outer(u: Vec3, v: Vec3) -> Sym3:
    """2(u·v) 1 − u vᵀ − v uᵀ: the cross term of the parallel-axis theorem.

    With u the first moment of a body and v the shift of its origin.
    """
    xx, yy, zz = u.x * v.x, u.y * v.y, u.z * v.z
    return Sym3(
        2 * (yy + zz),
        2 * (xx + zz),
        2 * (xx + yy),
        -(u.x * v.y + u.y * v.x),
        -(u.x * v.z + u.z * v.x),
        -(u.y * v.z + u.z * v.y),
    )


def point_inertia(r: Vec3, mass: Scalar) -> Sym3:
    """Inertia of a point mass at r about the origin: m (r·r 1 − r rᵀ)."""
    s = r * mass
    xx, yy, zz = s.x * r.x, s.y * r.y, s.z * r.z
    return Sym3(yy + zz, xx + zz, xx + yy, -(s.x * r.y), -(s.x * r.z), -(s.y * r.z))


class Rotation:
    """R maps child axes to parent axes: r_parent = R r_child."""

    def __init__(self, matrix: Mat3) -> None:
        self._given = matrix

    @cached_property
    def matrix(self) -> Mat3:
        """The rotation matrix R."""
        return self._compute_matrix()

    def _compute_matrix(self) -> Mat3:
        return self._given

    def apply(self, v: Vec3) -> Vec3:
        """R v: from child axes to parent axes."""
        return self.matrix.times(v)

    def unapply(self, v: Vec3) -> Vec3:
        """Rᵀ v: from parent axes to child axes."""
        return self.matrix.transpose().times(v)

    def congruence(self, s: Sym3) -> Sym3:
        """R S Rᵀ for symmetric S."""
        rows = self.matrix.rows
        half = [s.times(r) for r in rows]  # S Rᵀ, by columns
        return Sym3(
            rows[0].dot(half[0]),
            rows[1].dot(half[1]),
            rows[2].dot(half[2]),
            rows[0].dot(half[1]),
            rows[0].dot(half[2]),
            rows[1].dot(half[2]),
        )

    def congruence_general(self, b: Mat3) -> Mat3:
        """R B Rᵀ for a general matrix B."""
        return self.matrix @ b @ self.matrix.transpose()


class NoRotation(Rotation):
    """Parallel axes."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(Mat3.of([unit_vector(builder, k).list() for k in range(3)]))

    def apply(self, v: Vec3) -> Vec3:
        return v

    def unapply(self, v: Vec3) -> Vec3:
        return v

    def congruence(self, s: Sym3) -> Sym3:
        return s

    def congruence_general(self, b: Mat3) -> Mat3:
        return b


class AxisRotation(Rotation):
    """Rotation about a coordinate axis by an angle with the given sine and cosine."""

    def __init__(self, axis: int, sine: Scalar, cosine: Scalar) -> None:
        self.axis, self.sine, self.cosine = axis, sine, cosine

    def _compute_matrix(self) -> Mat3:
        i, j, k = self._cycle
        one, zero = self.sine.builder.constant(1), self.sine.builder.constant(0)
        rows = [[zero] * 3 for _ in range(3)]
        rows[i][i] = one
        rows[j][j] = rows[k][k] = self.cosine
        rows[j][k], rows[k][j] = -self.sine, self.sine
        return Mat3.of(rows)

    @property
    def _cycle(self) -> tuple[int, int, int]:
        return self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3

    def _turn(self, v: Vec3, sine: Scalar) -> Vec3:
        i, j, k = self._cycle
        entries = [v.x] * 3
        entries[i] = v[i]
        entries[j] = self.cosine * v[j] - sine * v[k]
        entries[k] = sine * v[j] + self.cosine * v[k]
        return Vec3(*entries)

    def apply(self, v: Vec3) -> Vec3:
        return self._turn(v, self.sine)

    def unapply(self, v: Vec3) -> Vec3:
        return self._turn(v, -self.sine)

    def congruence(self, s: Sym3) -> Sym3:
        full = self.congruence_general(s.matrix()).rows
        return Sym3(full[0].x, full[1].y, full[2].z, full[0].y, full[0].z, full[1].z)

    def congruence_general(self, b: Mat3) -> Mat3:
        # With a = s (B_jj − B_kk) + c (B_jk + B_kj):
        #   B'_jj = B_jj − s a,  B'_kk = B_kk + s a,  B'_jk = c a − B_kj,  B'_kj = c a − B_jk.
        i, j, k = self._cycle
        s, c = self.sine, self.cosine
        m = [r.list() for r in b.rows]
        a = s * (m[j][j] - m[k][k]) + c * (m[j][k] + m[k][j])
        out = [row[:] for row in m]
        sa, ca = s * a, c * a
        out[j][j], out[k][k] = m[j][j] - sa, m[k][k] + sa
        out[j][k], out[k][j] = ca - m[k][j], ca - m[j][k]
        out[i][j], out[i][k] = c * m[i][j] - s * m[i][k], s * m[i][j] + c * m[i][k]
        out[j][i], out[k][i] = c * m[j][i] - s * m[k][i], s * m[j][i] + c * m[k][i]
        return Mat3.of(out)


class RotationSequence(Rotation):
    """R = R1 R2 … Rn, applied factor by factor."""

    def __init__(self, factors: Sequence[Rotation]) -> None:
        self.factors = list(factors)

    def _compute_matrix(self) -> Mat3:
        result = self.factors[0].matrix
        for factor in self.factors[1:]:
            result = result @ factor.matrix
        return result

    def apply(self, v: Vec3) -> Vec3:
        for factor in reversed(self.factors):
            v = factor.apply(v)
        return v

    def unapply(self, v: Vec3) -> Vec3:
        for factor in self.factors:
            v = factor.unapply(v)
        return v

    def congruence(self, s: Sym3) -> Sym3:
        for factor in reversed(self.factors):
            s = factor.congruence(s)
        return s

    def congruence_general(self, b: Mat3) -> Mat3:
        for factor in reversed(self.factors):
            b = factor.congruence_general(b)
        return b


def axis_rotation(axis: int, angle: Scalar, name: str = "") -> AxisRotation:
    """Rotation about coordinate axis 0, 1 or 2 by an angle in radians."""
    builder = angle.builder
    sine, cosine = sin(angle), cos(angle)
    if name:
        builder.name(sine, f"sin_{name}")
        builder.name(cosine, f"cos_{name}")
    return AxisRotation(axis, sine, cosine)


def rotation_about(direction: Vec3, angle: Scalar, name: str = "") -> Rotation:
    """Rodrigues' rotation 1 + sin(angle) k̃ + (1 − cos(angle)) k̃² about a unit vector."""
    builder = angle.builder
    for axis in range(3):
        if direction == unit_vector(builder, axis):
            return axis_rotation(axis, angle, name)
    s, c = sin(angle), cos(angle)
    k, versine = direction, 1 - c
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            value = k[i] * k[j] * versine
            if i == j:
                value = value + c
            else:
                third = 3 - i - j
                sign = 1 if (i, j) in ((1, 0), (2, 1), (0, 2)) else -1
                value = value + sign * k[third] * s
            row.append(value)
        rows.append(row)
    return Rotation(Mat3.of(rows))


def quaternion_rotation(w: Scalar, x: Scalar, y: Scalar, z: Scalar) -> Rotation:
    """Body-to-world rotation of a scalar-first quaternion of any non-zero length.

    The factor 2/(q·q) keeps R orthogonal for a quaternion that has drifted off
    unit length, so a fixed-step integrator cannot deform the robot.
    """
    builder = w.builder
    norm = w * w + x * x + y * y + z * z
    s = 2 / norm
    builder.guard(s, norm - builder.constant(1e-12), "a quaternion must not be zero")
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    xx, yy, zz = s * x * x, s * y * y, s * z * z
    xy, xz, yz = s * x * y, s * x * z, s * y * z
    one = builder.constant(1)
    return Rotation(
        Mat3.of(
            [
                [one - (yy + zz), xy - wz, xz + wy],
                [xy + wz, one - (xx + zz), yz - wx],
                [xz - wy, yz + wx, one - (xx + yy)],
            ]
        )
    )
