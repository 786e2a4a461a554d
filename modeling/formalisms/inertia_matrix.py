"""The inertia-matrix method: Jacobians of all bodies in one set of axes.

    M = Σ_b m_b J_vᵀ J_v + J_ωᵀ I_b J_ω
    h = Σ_b m_b J_vᵀ (a° − g) + J_ωᵀ (I_b ε° + ω × I_b ω)

with J_v, a° at the centre of mass of body b and a°, ε° the accelerations for
ṗ = 0: the kinematics of appendix A, eqs (A1)–(A14), of *How a serpentine tail
assists agile motions of kangaroo rats*, for any tree.  All vectors are written
in the axes of a single floating root where there is one (there its Jacobian is
constant), else in world axes.  The quasi-velocities are those of the model; the
paper's world-frame (v, ω) are a re-ordering of the root's twist.

On request of C, the factorisation is

    C = Σ_b m_b J_vᵀ J̇_v + J_ωᵀ (I_b J̇_ω + S J_ω) ,   S = ½(ω̃I − Iω̃ − (Iω)~)

with rates in inertial axes: S ω = ω × I ω and S + Sᵀ = İ, so Ṁ − 2C is skew.
Links that share a velocity simply add their columns, so the cost is linear in
the number of links for a given number of velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..checks import check_model
from ..continuum.mass import Field
from ..equations import EquationsOfMotion
from ..model import Model
from ..program import Scalar
from ..spatial import Mat3, Rotation, Vec3, unit_vector, zero_vector
from ..tree import KinematicTree, Link, LinkArc
from .assembly import Dynamics, assemble


def inertia_matrix(model: Model) -> EquationsOfMotion:
    """Derive all equations of a model by the inertia-matrix method.

    Raises
    ------
    ModelError, DimensionError
        As :func:`~bestiary.modeling.formalisms.poincare.poincare`.
    """
    check_model(model)
    tree = KinematicTree(model)
    with model.builder.context("mass and Coriolis matrix"):
        sweep = _JacobianSweep(model, tree)
        mass, coriolis = sweep.mass_and_coriolis()
    return assemble(model, tree, Dynamics(mass, coriolis, sweep.inverse), "inertia_matrix")


@dataclass
class _Jacobian:
    """A column of a link's Jacobian (at its origin) and its inertial rate."""

    angular: Vec3
    linear: Vec3
    angular_rate: Vec3
    linear_rate: Vec3

    def __add__(self, other: _Jacobian) -> _Jacobian:
        return _Jacobian(
            self.angular + other.angular,
            self.linear + other.linear,
            self.angular_rate + other.angular_rate,
            self.linear_rate + other.linear_rate,
        )


@dataclass
class _Placed:
    """A link in reference axes: rotation, angular velocity, step from its parent, columns."""

    link: Link
    rotation: Mat3
    omega: Vec3
    step: Vec3
    sliding: Vec3
    columns: dict[int, _Jacobian]


@dataclass(frozen=True)
class _Mass:
    """A mass lump in reference axes: J_v and J̇_v are taken at its centre."""

    owner: _Placed
    mass: Scalar
    arm: Vec3
    inertia: Mat3
    has_inertia: bool


class _JacobianSweep:
    """Placement, Jacobians and lumps of a tree in its reference axes."""

    def __init__(self, model: Model, tree: KinematicTree) -> None:
        self.model, self.tree, self.builder = model, tree, model.builder
        root = tree.links[tree.roots[0]]
        self.floating = len(tree.roots) == 1 and len(root.columns) == 6
        self.placed: list[_Placed] = []
        for link in tree.links:
            self.placed.append(self._place(link))
        self.gravity = root.rotation.unapply(model.gravity) if self.floating else model.gravity
        self.masses = [m for body in model.bodies.values() for m in self._lumps(body.name)]

    def _place(self, link: Link) -> _Placed:
        b = self.builder
        zero = zero_vector(b)
        identity = Mat3.of([unit_vector(b, k).list() for k in range(3)])
        if link.parent >= 0:
            above = self.placed[link.parent]
            rotation = _turned(above.rotation, link.rotation)
            omega, step = above.omega, above.rotation.times(link.translation)
            carried = above.omega
            columns = dict(above.columns)
        else:
            rotation = identity if self.floating else link.rotation.matrix
            omega, step, carried = zero, link.translation, zero
            columns = {}
        own = [(c, rotation.times(c.angular), rotation.times(c.linear)) for c in link.columns]
        sliding = zero
        for column, angular, linear in own:
            omega = omega + angular * column.rate
            sliding = sliding + linear * column.rate
        step_rate = carried.cross(step) + sliding
        moved = {
            k: _Jacobian(
                j.angular,
                j.linear + j.angular.cross(step),
                j.angular_rate,
                j.linear_rate + j.angular_rate.cross(step) + j.angular.cross(step_rate),
            )
            for k, j in columns.items()
        }
        for column, angular, linear in own:
            new = _Jacobian(angular, linear, omega.cross(angular), omega.cross(linear))
            if column.change is not None:
                new.angular_rate = new.angular_rate + rotation.times(column.change[0])
                new.linear_rate = new.linear_rate + rotation.times(column.change[1])
            old = moved.get(column.index)
            moved[column.index] = new if old is None else old + new
        return _Placed(link, rotation, omega, step, sliding, moved)

    def _lumps(self, body: str) -> list[_Mass]:
        owner = self.placed[self.tree.link_of_body[body]]
        rotation = Rotation(owner.rotation)
        return [
            _Mass(
                owner,
                lump.mass,
                owner.rotation.times(lump.com),
                rotation.congruence(lump.inertia).matrix(),
                not lump.inertia.is_zero,
            )
            for lump in self.model.bodies[body].lumps
        ]

    def mass_and_coriolis(self) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
        """Sum M and C over all lumps."""
        n = self.tree.size
        zero = self.builder.constant(0)
        mass = [[zero] * n for _ in range(n)]
        coriolis = [[zero] * n for _ in range(n)]
        for lump in self.masses:
            omega, arm = lump.owner.omega, lump.arm
            arm_rate = omega.cross(arm)
            spin = _spin_matrix(lump.inertia, omega)
            columns = lump.owner.columns
            at_center = {
                k: (
                    j.linear + j.angular.cross(arm),
                    j.linear_rate + j.angular_rate.cross(arm) + j.angular.cross(arm_rate),
                )
                for k, j in columns.items()
            }
            for j, column in columns.items():
                momentum = at_center[j][0] * lump.mass
                force = at_center[j][1] * lump.mass
                turning = lump.inertia.times(column.angular)
                torque = lump.inertia.times(column.angular_rate) + spin.times(column.angular)
                for i, row in columns.items():
                    if i <= j:
                        value = at_center[i][0].dot(momentum) + row.angular.dot(turning)
                        mass[i][j] = mass[i][j] + value
                    bias = at_center[i][0].dot(force) + row.angular.dot(torque)
                    coriolis[i][j] = coriolis[i][j] + bias
        for placed, arc in self._arcs():
            fields = self._arc_columns(placed, arc)
            for i, (field, _) in fields.items():
                for j, (other, rate) in fields.items():
                    if i <= j:
                        mass[i][j] = mass[i][j] + arc.mass.dot(field, other)
                    coriolis[i][j] = coriolis[i][j] + arc.mass.dot(field, rate)
        for i in range(n):
            for j in range(i):
                mass[i][j] = mass[j][i]
        return mass, coriolis

    def _arcs(self) -> list[tuple[_Placed, LinkArc]]:
        return [(placed, arc) for placed in self.placed for arc in placed.link.arcs]

    @staticmethod
    def _arc_columns(placed: _Placed, arc: LinkArc) -> dict[int, tuple[Field, Field]]:
        """Velocity fields J(x) of an arc's points and their inertial rates, by velocity.

        The blocks A_k and B_k of section 2.3 and appendix B of the paper.
        """
        mass, omega = arc.mass, placed.omega
        position = mass.position.turned(placed.rotation)
        moving = position.crossed_by(omega) + mass.velocity.turned(placed.rotation)
        result = {}
        for k, j in placed.columns.items():
            field = Field({0: j.linear}) + position.crossed_by(j.angular)
            rate = Field({0: j.linear_rate}) + position.crossed_by(j.angular_rate)
            result[k] = field, rate + moving.crossed_by(j.angular)
        for k, own, change in zip(arc.indices, mass.by_bending, mass.bending_rates, strict=True):
            field = own.turned(placed.rotation)
            rate = field.crossed_by(omega) + change.turned(placed.rotation)
            old = result.get(k)
            result[k] = (field, rate) if old is None else (old[0] + field, old[1] + rate)
        return result

    def inverse(self, accelerations: Sequence[Scalar] | None) -> list[Scalar]:
        """M ṗ + C p + weight by one acceleration recursion, eqs (A9)–(A12)."""
        b = self.builder
        zero = zero_vector(b)
        epsilons: list[Vec3] = []
        linears: list[Vec3] = []
        for placed in self.placed:
            link, omega, step = placed.link, placed.omega, placed.step
            epsilon, a = zero, zero
            if link.parent >= 0:
                carried = self.placed[link.parent].omega
                epsilon = epsilons[link.parent]
                a = linears[link.parent] + epsilon.cross(step)
                a = a + carried.cross(carried.cross(step) + placed.sliding)
            for column in link.columns:
                angular = placed.rotation.times(column.angular)
                linear = placed.rotation.times(column.linear)
                epsilon = epsilon + omega.cross(angular * column.rate)
                if column.change is not None:
                    epsilon = epsilon + placed.rotation.times(column.change[0]) * column.rate
                    a = a + placed.rotation.times(column.change[1]) * column.rate
                if accelerations is not None:
                    epsilon = epsilon + angular * accelerations[column.index]
                    a = a + linear * accelerations[column.index]
            epsilons.append(epsilon)
            linears.append(a + omega.cross(placed.sliding))
        forces = [b.constant(0)] * self.tree.size
        for lump in self.masses:
            owner = lump.owner
            omega, epsilon = owner.omega, epsilons[owner.link.index]
            at_center = (
                linears[owner.link.index]
                + epsilon.cross(lump.arm)
                + omega.cross(omega.cross(lump.arm))
            )
            force = (at_center - self.gravity) * lump.mass
            torque = lump.inertia.times(epsilon) + omega.cross(lump.inertia.times(omega))
            self._project(forces, owner, lump.arm, force, torque)
        for owner, arc in self._arcs():
            fields = self._arc_columns(owner, arc)
            index = owner.link.index
            acceleration = Field({0: linears[index] - self.gravity})
            position = arc.mass.position.turned(owner.rotation)
            moving = arc.mass.velocity.turned(owner.rotation)
            acceleration = acceleration + position.crossed_by(epsilons[index])
            swirl = position.crossed_by(owner.omega) + moving.scaled(b.constant(2))
            acceleration = acceleration + swirl.crossed_by(owner.omega)
            rates = (arc.mass.u_rate, arc.mass.w_rate)
            for change, rate in zip(arc.mass.bending_rates, rates, strict=True):
                acceleration = acceleration + change.turned(owner.rotation).scaled(rate)
            if accelerations is not None:
                for k, own in zip(arc.indices, arc.mass.by_bending, strict=True):
                    acceleration = acceleration + own.turned(owner.rotation).scaled(
                        accelerations[k]
                    )
            for k, (field, _) in fields.items():
                forces[k] = forces[k] + arc.mass.dot(field, acceleration)
        self._add_buoyancy(forces)
        return forces

    def _add_buoyancy(self, forces: list[Scalar]) -> None:
        for body in self.model.bodies.values():
            if body.buoyancy is None:
                continue
            assert self.model.fluid_density is not None
            owner = self.placed[self.tree.link_of_body[body.name]]
            arm = owner.rotation.times(body.buoyancy.center)
            lift = self.gravity * (self.model.fluid_density * body.buoyancy.volume)
            self._project(forces, owner, arm, lift, zero_vector(self.builder))

    @staticmethod
    def _project(
        forces: list[Scalar], owner: _Placed, arm: Vec3, force: Vec3, torque: Vec3
    ) -> None:
        moment = torque + arm.cross(force)
        for k, column in owner.columns.items():
            forces[k] = forces[k] + column.angular.dot(moment) + column.linear.dot(force)


def _turned(rotation: Mat3, step: Rotation) -> Mat3:
    """R_parent R, column of rows by rows: (R_parent R)ᵀ = Rᵀ R_parentᵀ."""
    a, b, c = (step.unapply(row) for row in rotation.rows)
    return Mat3((a, b, c))


def _spin_matrix(inertia: Mat3, omega: Vec3) -> Mat3:
    """S = ½(ω̃I − Iω̃ − (Iω)~)."""
    half = omega.x.builder.constant(0.5)
    momentum = inertia.times(omega)
    left = [omega.cross(inertia.column(k)) for k in range(3)]  # columns of ω̃I
    cross = _cross_matrix(momentum)
    # I is symmetric, so Iω̃ = −(ω̃I)ᵀ.
    return Mat3.of(
        [[(left[c][r] + left[r][c] - cross.rows[r][c]) * half for c in range(3)] for r in range(3)]
    )


def _cross_matrix(v: Vec3) -> Mat3:
    zero = v.x.builder.constant(0)
    return Mat3.of([[zero, -v.z, v.y], [v.z, zero, -v.x], [-v.y, v.x, zero]])
