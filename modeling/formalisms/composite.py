"""Mass and Coriolis matrices by one composite-body sweep.

Every body is treated as a cloud of point masses.  With the velocity Jacobian
J_i of point i in inertial axes,

    M = Σ m_i J_iᵀ J_i ,     C = Σ m_i J_iᵀ J̇_i ,

so Ṁ = C + Cᵀ and Ṁ − 2C is skew, and C p is the exact bias.  In the axes of a
link with the columns (a, b) of a twist Jacobian and their inertial rates
(å, b̊) — å = ω × a for a column that is constant in the link — the point at r
gives J_i = b + a × r and J̇_i = b̊ + å × r + a × r̊, hence for a composite

    C = Jᵀ (𝓜 J̊ + 𝓑 J) ,   𝓑 = [[D, 0], [−h̊×, 0]] ,
    D = −Σ m r̃ r̊̃ ,   h̊ = Σ m r̊ .

A rigid body that turns with ω about its origin has h̊ = ω × h and
D = −ω̃ P with the second moment P = ½ tr(I) 1 − I.  Composites (m, h, I, h̊, D)
move to the parent by the parallel-axis theorem (with ã b̃ = b aᵀ − (a·b) 1 throughout).
Each velocity sends three columns up its path: for the points that it moves

    N = Σ m (r × J, J) ,   F = Σ m (r × J̇, J̇) ,   g = Σ m r̊ × J

and moving the origin by d makes r + d of r and r̊ + d̊ of r̊; hence g gains d̊ × Σ m J.
A column (a, b) of an ancestor then has M = a·N₁ + b·N₂, C = a·F₁ + b·F₂ on its row and
å·N₁ + b̊·N₂ + a·g on its column.
(The composite idea is that of Walker and Orin; the factorisation of C is the
natural one of point masses, compare Echeandia and Wensing, arXiv:2010.01033.)
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Scalar
from ..spatial import (
    Mat3,
    Sym3,
    Vec3,
    point_inertia,
    symmetric_outer,
    zero_matrix,
    zero_vector,
)
from ..tree import KinematicTree, Link, LinkArc, LinkColumn


@dataclass
class Composite:
    """Inertia of a subtree about a link's origin, with its inertial rates."""

    mass: Scalar
    moment: Vec3
    inertia: Sym3
    moment_rate: Vec3
    rotation_rate: Mat3  # D


@dataclass
class _JacobianMomentum:
    """What a velocity sends towards the root: N = 𝓜J, F = 𝓜J̊ + 𝓑J, g = 𝓑ᵀJ (angular part).

    Links that share a velocity (coupled joints) add up in one wave.
    """

    n_moment: Vec3
    n_force: Vec3
    f_moment: Vec3
    f_force: Vec3
    g: Vec3

    def __add__(self, other: _JacobianMomentum) -> _JacobianMomentum:
        return _JacobianMomentum(
            self.n_moment + other.n_moment,
            self.n_force + other.n_force,
            self.f_moment + other.f_moment,
            self.f_force + other.f_force,
            self.g + other.g,
        )


def mass_and_coriolis(tree: KinematicTree) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """M(q) and C(q, p) as n×n nested lists of scalars, n quasi-velocities."""
    n = tree.size
    zero = tree.builder.constant(0)
    mass = [[zero] * n for _ in range(n)]
    coriolis = [[zero] * n for _ in range(n)]

    def add(matrix: list[list[Scalar]], i: int, j: int, value: Scalar) -> None:
        matrix[i][j] = matrix[i][j] + value

    composites = [_rigid(tree, link) for link in tree.links]
    waves: list[dict[int, _JacobianMomentum]] = [{} for _ in tree.links]
    for link in reversed(tree.links):
        composite, below = composites[link.index], waves[link.index]
        omega = tree.angular_velocities[link.index]
        for arc in link.arcs:
            block, spin_block = _start_arc(arc, omega, below)
            for k, i in enumerate(arc.indices):
                for m, j in enumerate(arc.indices):
                    add(mass, i, j, block[k][m])
                    add(coriolis, i, j, spin_block[k][m])
        own = [(column, _start(composite, omega, column)) for column in link.columns]
        for column in link.columns:
            i = column.index
            for other, wave in own:
                add(mass, i, other.index, _pair(column, wave.n_moment, wave.n_force))
                add(coriolis, i, other.index, _pair(column, wave.f_moment, wave.f_force))
            spun = column.inertial_rate(omega)
            for j, wave in below.items():
                coupling = _pair(column, wave.n_moment, wave.n_force)
                add(mass, i, j, coupling)
                add(mass, j, i, coupling)
                add(coriolis, i, j, _pair(column, wave.f_moment, wave.f_force))
                add(
                    coriolis,
                    j,
                    i,
                    spun[0].dot(wave.n_moment)
                    + spun[1].dot(wave.n_force)
                    + column.angular.dot(wave.g),
                )
        if link.parent < 0:
            continue
        for column, wave in own:
            below[column.index] = below[column.index] + wave if column.index in below else wave
        shift_rate = _shift_rate(tree, link)
        above = waves[link.parent]
        for j, wave in below.items():
            lifted = _lift(link, shift_rate, wave)
            above[j] = above[j] + lifted if j in above else lifted
        composites[link.parent] = _merge(
            composites[link.parent], _moved(link, shift_rate, composite)
        )
    return mass, coriolis


def composite_inertias(tree: KinematicTree) -> list[Composite]:
    """Composites of all links, without their rates."""
    composites = [_rigid(tree, link) for link in tree.links]
    for link in reversed(tree.links):
        if link.parent >= 0:
            composites[link.parent] = _merge(
                composites[link.parent],
                _moved(link, zero_vector(tree.builder), composites[link.index]),
            )
    return composites


def _rigid(tree: KinematicTree, link: Link) -> Composite:
    b = tree.builder
    if not link.has_mass:
        return Composite(link.mass, link.moment, link.inertia, zero_vector(b), zero_matrix(b))
    omega, i = tree.angular_velocities[link.index], link.inertia
    half = (i.xx + i.yy + i.zz) * 0.5
    second = Sym3(half - i.xx, half - i.yy, half - i.zz, -i.xy, -i.xz, -i.yz)
    columns = [-omega.cross(c) for c in second.matrix().rows]  # −ω × P e_k
    moment_rate = omega.cross(link.moment)
    rotation_rate = Mat3.of([[c[r] for c in columns] for r in range(3)])
    for arc in link.arcs:  # ṙ in the link adds m∫ṙ to h̊ and m∫(r·ṙ 1 − ṙ rᵀ) to D
        moving, position = arc.mass.velocity, arc.mass.position
        moment_rate = moment_rate + arc.mass.total(moving)
        p = arc.mass.outer(moving, position).rows
        trace = p[0].x + p[1].y + p[2].z
        rotation_rate = rotation_rate + Mat3.of(
            [[trace - p[i][j] if i == j else -p[i][j] for j in range(3)] for i in range(3)]
        )
    return Composite(link.mass, link.moment, link.inertia, moment_rate, rotation_rate)


def _start_arc(
    arc: LinkArc, omega: Vec3, waves: dict[int, _JacobianMomentum]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Blocks (2×2) of M and C of an arc alone; its waves join those below its base link."""
    mass = arc.mass
    position = mass.position
    spinning = position.crossed_by(omega) + mass.velocity  # r̊
    fields = mass.by_bending
    rates = [
        field.crossed_by(omega) + change
        for field, change in zip(fields, mass.bending_rates, strict=True)
    ]
    for k, i in enumerate(arc.indices):
        wave = _JacobianMomentum(
            mass.cross(position, fields[k]),
            mass.total(fields[k]),
            mass.cross(position, rates[k]),
            mass.total(rates[k]),
            mass.cross(spinning, fields[k]),
        )
        waves[i] = waves[i] + wave if i in waves else wave
    return (
        [[mass.dot(field, other) for other in fields] for field in fields],
        [[mass.dot(field, rate) for rate in rates] for field in fields],
    )


def _pair(column: LinkColumn, moment: Vec3, force: Vec3) -> Scalar:
    return column.angular.dot(moment) + column.linear.dot(force)


def _start(c: Composite, omega: Vec3, column: LinkColumn) -> _JacobianMomentum:
    a, b = column.angular, column.linear
    a_rate, b_rate = column.inertial_rate(omega)
    return _JacobianMomentum(
        c.inertia.times(a) + c.moment.cross(b),
        b * c.mass - c.moment.cross(a),
        c.inertia.times(a_rate) + c.moment.cross(b_rate) + c.rotation_rate.times(a),
        b_rate * c.mass - c.moment.cross(a_rate) - c.moment_rate.cross(a),
        c.rotation_rate.transpose().times(a) + c.moment_rate.cross(b),
    )


def _shift_rate(tree: KinematicTree, link: Link) -> Vec3:
    """d̊ = ω_parent × d + R Σ S_v p, in parent axes."""
    own = link.rotation.apply(tree.relative_velocity(link))
    return tree.angular_velocities[link.parent].cross(link.translation) + own


def _lift(link: Link, shift_rate: Vec3, w: _JacobianMomentum) -> _JacobianMomentum:
    turn, d = link.rotation.apply, link.translation
    n_force, f_force = turn(w.n_force), turn(w.f_force)
    return _JacobianMomentum(
        turn(w.n_moment) + d.cross(n_force),
        n_force,
        turn(w.f_moment) + d.cross(f_force),
        f_force,
        turn(w.g) + shift_rate.cross(n_force),
    )


def _moved(link: Link, shift_rate: Vec3, c: Composite) -> Composite:
    """The composite about the parent's origin, in parent axes."""
    turn, d = link.rotation.apply, link.translation
    h, h_rate = turn(c.moment), turn(c.moment_rate)
    moment = h + d * c.mass
    inertia = link.rotation.congruence(c.inertia) + symmetric_outer(h, d) + point_inertia(d, c.mass)
    # −Σ m (r+d)~(r̊+d̊)~ = D + [h_p·d̊ + h̊·d] 1 − d̊ h_pᵀ − h̊ dᵀ, with h_p = h + m d.
    p = [[shift_rate[i] * moment[j] + h_rate[i] * d[j] for j in range(3)] for i in range(3)]
    diagonal = [p[1][1] + p[2][2], p[0][0] + p[2][2], p[0][0] + p[1][1]]
    shift = Mat3.of([[diagonal[i] if i == j else -p[i][j] for j in range(3)] for i in range(3)])
    return Composite(
        c.mass,
        moment,
        inertia,
        h_rate + shift_rate * c.mass,
        link.rotation.congruence_general(c.rotation_rate) + shift,
    )


def _merge(a: Composite, b: Composite) -> Composite:
    return Composite(
        a.mass + b.mass,
        a.moment + b.moment,
        a.inertia + b.inertia,
        a.moment_rate + b.moment_rate,
        a.rotation_rate + b.rotation_rate,
    )
