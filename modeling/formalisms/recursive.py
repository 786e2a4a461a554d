"""Inverse dynamics by recursion and forward dynamics by articulated bodies.

Both use the *classical* acceleration (α, a): a is the acceleration of the
link's origin in link axes, so that no linear velocity is needed.  From parent
to child, with E = α̃ + ω̃ω̃ of the parent,

    α_c = Rᵀ α_p + S_ω ṗ + ω_c × S_ω p + Ṡ_ω p
    a_c = Rᵀ(a_p + E d + ω_p × R S_v p) + S_v ṗ + ω_c × S_v p + Ṡ_v p

where Ṡ, the change of a column in its link, is zero for all joints but arcs.  A body
needs the wrench (I α + h × a + ω × I ω,  m a + E h); the moving mass of an arc adds
that of its own acceleration 2ω × ṙ + r̈.  Weight enters
as a world that accelerates with −g; where bodies displace fluid it is an
external wrench instead.  Articulated bodies: Featherstone, *Rigid Body Dynamics
Algorithms*, 2008, chapter 7; a joint with several columns is eliminated column
by column in its link, which is the LDLᵀ factorisation of its block, so every
robot needs one division for each degree of freedom and no matrix is inverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..program import Scalar
from ..spatial import Mat3, Sym3, Vec3, zero_vector
from ..tree import KinematicTree, Link, LinkArc


@dataclass(frozen=True)
class Motion:
    """Angular and classical linear acceleration of a link, in its axes."""

    angular: Vec3
    linear: Vec3


def inverse_dynamics(tree: KinematicTree, accelerations: Sequence[Scalar] | None) -> list[Scalar]:
    """Generalized forces M ṗ + C p + F (without springs), n of them.

    ``accelerations`` are the n scalars ṗ, or None for zero (then the bias).
    """
    b = tree.builder
    world = Motion(zero_vector(b), zero_vector(b) if tree.weight_is_wrench else -tree.model.gravity)
    omegas = tree.angular_velocities
    motions: list[Motion] = []
    wrenches: list[tuple[Vec3, Vec3]] = []
    turns: list[Mat3 | None] = []
    for link in tree.links:
        above = world if link.parent < 0 else motions[link.parent]
        motion = _moved_motion(tree, link, above, None if link.parent < 0 else turns[link.parent])
        for column in link.columns:
            if accelerations is not None:
                rate = accelerations[column.index]
                motion = Motion(
                    motion.angular + column.angular * rate, motion.linear + column.linear * rate
                )
        motions.append(motion)
        turns.append(_turn_matrix(motion.angular, omegas[link.index]))
        wrenches.append(_body_wrench(tree, link, motion, turns[-1]))
    forces = [b.constant(0)] * tree.size
    for link in tree.links:
        for arc in link.arcs:
            _add_arc(tree, link, arc, motions[link.index], accelerations, wrenches, forces)
    for link in reversed(tree.links):
        moment, force = wrenches[link.index]
        for column in link.columns:
            work = column.angular.dot(moment) + column.linear.dot(force)
            forces[column.index] = forces[column.index] + work
        if link.parent >= 0:
            force = link.rotation.apply(force)
            moment = link.rotation.apply(moment) + link.translation.cross(force)
            old = wrenches[link.parent]
            wrenches[link.parent] = (old[0] + moment, old[1] + force)
    return forces


def weight_forces(tree: KinematicTree) -> list[Scalar]:
    """F = Vᵀ ∂U/∂q of weight and buoyancy alone, by composite first moments."""
    b = tree.builder
    forces = [b.constant(0)] * tree.size
    totals = [(link.weight, link.weight_moment) for link in tree.links]
    for link in tree.links:
        for arc in link.arcs:
            for index, field in zip(arc.indices, arc.mass.by_bending, strict=True):
                pull = arc.mass.total(field).dot(tree.gravity[link.index])
                forces[index] = forces[index] - pull
    for link in reversed(tree.links):
        mass, moment = totals[link.index]
        g = tree.gravity[link.index]
        torque, force = -moment.cross(g), g * -mass
        for column in link.columns:
            work = column.angular.dot(torque) + column.linear.dot(force)
            forces[column.index] = forces[column.index] + work
        if link.parent >= 0:
            moved = link.rotation.apply(moment) + link.translation * mass
            old = totals[link.parent]
            totals[link.parent] = (old[0] + mass, old[1] + moved)
    return forces


def _add_arc(
    tree: KinematicTree,
    link: Link,
    arc: LinkArc,
    motion: Motion,
    accelerations: Sequence[Scalar] | None,
    wrenches: list[tuple[Vec3, Vec3]],
    forces: list[Scalar],
) -> None:
    """What an arc needs beyond a rigid body of its present shape.

    The point at r accelerates with a + E r + z, z = 2ω × ṙ + r̈; a and E act on
    the link's (m, h, I), which include the arc.
    """
    mass, omega = arc.mass, tree.angular_velocities[link.index]
    first, second = mass.bending_rates
    extra = (
        mass.velocity.crossed_by(omega * 2) + first.scaled(mass.u_rate) + second.scaled(mass.w_rate)
    )
    if accelerations is not None:
        for index, field in zip(arc.indices, mass.by_bending, strict=True):
            extra = extra + field.scaled(accelerations[index])
    moment, force = wrenches[link.index]
    wrenches[link.index] = (
        moment + mass.cross(mass.position, extra),
        force + mass.total(extra),
    )
    linear = motion.linear
    if tree.weight_is_wrench:
        linear = linear - tree.gravity[link.index]
    turn = _turn_matrix(motion.angular, omega).rows
    for index, field in zip(arc.indices, mass.by_bending, strict=True):
        pairs = mass.outer(field, mass.position).rows  # ∫ r_u rᵀ, so r_u · E r = E : that
        work = mass.total(field).dot(linear) + mass.dot(field, extra)
        for row, pair in zip(turn, pairs, strict=True):
            work = work + row.dot(pair)
        forces[index] = forces[index] + work


def _turn_matrix(alpha: Vec3, omega: Vec3) -> Mat3:
    """E = α̃ + ω̃ω̃."""
    xx, yy, zz = omega.x * omega.x, omega.y * omega.y, omega.z * omega.z
    xy, xz, yz = omega.x * omega.y, omega.x * omega.z, omega.y * omega.z
    return Mat3.of(
        [
            [-(yy + zz), xy - alpha.z, xz + alpha.y],
            [xy + alpha.z, -(xx + zz), yz - alpha.x],
            [xz - alpha.y, yz + alpha.x, -(xx + yy)],
        ]
    )


def _moved_motion(tree: KinematicTree, link: Link, above: Motion, turn: Mat3 | None) -> Motion:
    """Acceleration of a link but for its own ṗ."""
    rotation = link.rotation
    linear = above.linear
    if turn is not None:
        linear = linear + turn.times(link.translation)
    bias = _velocity_bias(tree, link, with_centripetal=False)
    return Motion(
        rotation.unapply(above.angular) + bias.angular, rotation.unapply(linear) + bias.linear
    )


def _velocity_bias(tree: KinematicTree, link: Link, *, with_centripetal: bool) -> Motion:
    """Velocity-product part ζ of a link's acceleration, in link axes."""
    b = tree.builder
    omega = tree.angular_velocities[link.index]
    spin = zero_vector(b)
    for column in link.columns:
        spin = spin + column.angular * column.rate
    slide = tree.relative_velocity(link)
    angular, linear = omega.cross(spin), omega.cross(slide)
    for column in link.columns:
        if column.change is not None:
            angular = angular + column.change[0] * column.rate
            linear = linear + column.change[1] * column.rate
    if link.parent >= 0:
        above = tree.angular_velocities[link.parent]
        carried = above.cross(link.rotation.apply(slide))
        if with_centripetal:
            carried = carried + above.cross(above.cross(link.translation))
        linear = linear + link.rotation.unapply(carried)
    return Motion(angular, linear)


def _weight_wrench(tree: KinematicTree, link: Link) -> tuple[Vec3, Vec3]:
    g = tree.gravity[link.index]
    return link.weight_moment.cross(g), g * link.weight


def _body_wrench(
    tree: KinematicTree, link: Link, motion: Motion, turn: Mat3 | None
) -> tuple[Vec3, Vec3]:
    b = tree.builder
    moment, force = zero_vector(b), zero_vector(b)
    if link.has_mass:
        assert turn is not None
        omega = tree.angular_velocities[link.index]
        force = motion.linear * link.mass + turn.times(link.moment)
        moment = (
            link.inertia.times(motion.angular)
            + link.moment.cross(motion.linear)
            + omega.cross(link.inertia.times(omega))
        )
    if tree.weight_is_wrench:
        torque, weight = _weight_wrench(tree, link)
        moment, force = moment - torque, force - weight
    return moment, force


class _Articulated:
    """Symmetric 6×6 articulated inertia (angular first) with its bias wrench."""

    def __init__(self, inertia: list[list[Scalar]], bias: list[Scalar]) -> None:
        self.inertia, self.bias = inertia, bias

    @classmethod
    def rigid(cls, tree: KinematicTree, link: Link) -> _Articulated:
        b = tree.builder
        zero = b.constant(0)
        h, i, omega = link.moment, link.inertia.matrix().rows, tree.angular_velocities[link.index]
        cross = [[zero, -h.z, h.y], [h.z, zero, -h.x], [-h.y, h.x, zero]]
        top = [[*i[r].list(), *cross[r]] for r in range(3)]
        bottom = [
            [*(cross[c][r] for c in range(3)), *(link.mass if c == r else zero for c in range(3))]
            for r in range(3)
        ]
        moment = omega.cross(link.inertia.times(omega))
        force = omega.cross(omega.cross(h))
        if tree.weight_is_wrench:
            torque, weight = _weight_wrench(tree, link)
            moment, force = moment - torque, force - weight
        return cls([*top, *bottom], [*moment.list(), *force.list()])

    def add(self, other: _Articulated) -> None:
        for r in range(6):
            self.bias[r] = self.bias[r] + other.bias[r]
            for c in range(6):
                self.inertia[r][c] = self.inertia[r][c] + other.inertia[r][c]

    def times(self, vector: Sequence[Scalar]) -> list[Scalar]:
        result = []
        for row in self.inertia:
            total = row[0] * vector[0]
            for k in range(1, 6):
                total = total + row[k] * vector[k]
            result.append(total)
        return result

    def moved(self, link: Link) -> _Articulated:
        """The same about the parent's origin, in parent axes."""
        m = self.inertia
        rotation, d = link.rotation, link.translation
        a = rotation.congruence(_symmetric(m, 0)).matrix()
        b = rotation.congruence_general(Mat3.of([row[3:] for row in m[:3]]))
        c = rotation.congruence(_symmetric(m, 3)).matrix()
        moment = rotation.apply(Vec3(*self.bias[:3]))
        force = rotation.apply(Vec3(*self.bias[3:]))
        if not d.is_zero:
            # B_p = B + d̃C,  A_p = A − B d̃ + d̃ B_pᵀ (rows: (B d̃)_i = B_i × d).
            moment = moment + d.cross(force)
            shifted = [d.cross(c.column(k)) for k in range(3)]
            b_new = b + Mat3.of([[s[r] for s in shifted] for r in range(3)])
            first = [r.cross(d) for r in b.rows]
            second = [r.cross(d) for r in b_new.rows]
            upper = {
                (i, j): a.rows[i][j] - first[i][j] - second[j][i]
                for i in range(3)
                for j in range(i, 3)
            }
            a = Mat3.of([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
            b = b_new
        bt = b.transpose()
        rows = [[*a.rows[r].list(), *b.rows[r].list()] for r in range(3)]
        rows += [[*bt.rows[r].list(), *c.rows[r].list()] for r in range(3)]
        return _Articulated(rows, [*moment.list(), *force.list()])


def _symmetric(m: list[list[Scalar]], start: int) -> Sym3:
    i, j, k = start, start + 1, start + 2
    return Sym3(m[i][i], m[j][j], m[k][k], m[i][j], m[i][k], m[j][k])


@dataclass
class _Pivot:
    """An eliminated column: ṗ = (u − Uᵀ a)/D at the stage of its elimination."""

    index: int
    direction: list[Scalar]
    u_row: list[Scalar]
    reciprocal: Scalar
    residual: Scalar


def forward_dynamics(tree: KinematicTree, forces: Sequence[Scalar]) -> list[Scalar]:
    """Accelerations ṗ from generalized forces Q − springs, n of each."""
    b = tree.builder
    bodies = [_Articulated.rigid(tree, link) for link in tree.links]
    biases = [_velocity_bias(tree, link, with_centripetal=True) for link in tree.links]
    pivots: dict[int, list[_Pivot]] = {}
    for link in reversed(tree.links):
        body, bias = bodies[link.index], biases[link.index]
        zeta = [*bias.angular.list(), *bias.linear.list()]
        body.bias = [p + q for p, q in zip(body.bias, body.times(zeta), strict=True)]
        pivots[link.index] = [
            _eliminate(tree, link, body, number, forces) for number in range(len(link.columns))
        ]
        if link.parent >= 0:
            bodies[link.parent].add(body.moved(link))
    zero3 = zero_vector(b)
    world = Motion(zero3, zero3 if tree.weight_is_wrench else -tree.model.gravity)
    motions: list[Motion] = []
    result = [b.constant(0)] * tree.size
    for link in tree.links:
        above = world if link.parent < 0 else motions[link.parent]
        linear = above.linear + above.angular.cross(link.translation)
        a = [
            *link.rotation.unapply(above.angular).list(),
            *link.rotation.unapply(linear).list(),
        ]
        for pivot in reversed(pivots[link.index]):
            known = pivot.residual
            for coefficient, value in zip(pivot.u_row, a, strict=True):
                known = known - coefficient * value
            rate = known * pivot.reciprocal
            result[pivot.index] = rate
            a = [v + s * rate for v, s in zip(a, pivot.direction, strict=True)]
        bias = biases[link.index]
        motions.append(Motion(Vec3(*a[:3]) + bias.angular, Vec3(*a[3:]) + bias.linear))
    return result


def _eliminate(
    tree: KinematicTree, link: Link, body: _Articulated, number: int, forces: Sequence[Scalar]
) -> _Pivot:
    b = tree.builder
    column = link.columns[number]
    direction = [*column.angular.list(), *column.linear.list()]
    u_row = body.times(direction)

    def along(values: Sequence[Scalar]) -> Scalar:
        total = direction[0] * values[0]
        for k in range(1, 6):
            total = total + direction[k] * values[k]
        return total

    diagonal = along(u_row)
    name = tree.velocities[column.index].name
    if diagonal.is_zero:
        raise ModelError(f"velocity {name!r} moves no inertia: the mass matrix is singular")
    reciprocal = 1 / diagonal
    b.guard(reciprocal, diagonal, f"mass matrix is not positive definite at velocity {name!r}")
    residual = forces[column.index] - along(body.bias)
    pivot = _Pivot(column.index, direction, u_row, reciprocal, residual)
    scaled = [u * reciprocal for u in u_row]
    zero = b.constant(0)
    old = body.inertia
    upper = {(r, c): old[r][c] - scaled[r] * u_row[c] for r in range(6) for c in range(r, 6)}
    body.bias = [p + s * residual for p, s in zip(body.bias, scaled, strict=True)]
    unit = column.unit
    if unit is not None:
        # Row and column of a unit direction vanish exactly; the bias there is the force itself.
        position, sign = unit
        for k in range(6):
            upper[min(k, position), max(k, position)] = zero
        body.bias[position] = forces[column.index] * sign
    body.inertia = [[upper[min(r, c), max(r, c)] for c in range(6)] for r in range(6)]
    return pivot
