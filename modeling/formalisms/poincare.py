"""Euler–Poincaré equations of a tree in quasi-velocities.

    q̇ = V(q) p ,      M(q) ṗ + C(q, p) p + F(q) = Q(q, p, u)

after Kwatny and Blankenship (*Nonlinear Control and Analytical Mechanics*,
2000, chapter 5), which the sea-lion paper follows in its eqs (11)–(14).  The
matrices come from one composite sweep (:mod:`.composite`), inverse and forward
dynamics from recursions (:mod:`.recursive`); Kwatny and Blankenship's own
formula with structure constants is kept as the slow twin
(:mod:`.kwatny_blankenship`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..checks import check_model
from ..equations import EquationsOfMotion
from ..model import Model
from ..program import Builder, Function, InputGroup, Output, Program, ProgramSymbol, Scalar
from ..program.program import output
from ..spatial import Vec3, zero_vector
from ..tree import KinematicTree
from .composite import composite_inertias, mass_and_coriolis
from .recursive import forward_dynamics, inverse_dynamics, weight_forces

Q, P, U, RATES = "q", "p", "u", "p_dot"


def poincare(model: Model) -> EquationsOfMotion:
    """Derive all equations of a model.

    Raises
    ------
    ModelError
        If the model cannot be derived (see :func:`~bestiary.modeling.checks.check_model`).
    DimensionError
        If quantities of unlike dimension meet; the message names the term.
    """
    check_model(model)
    tree = KinematicTree(model)
    parts = _Parts(model, tree)
    groups = input_groups(model)
    functions = [*parts.dynamics(), *parts.totals(), *parts.nodes()]
    available = {g.name for g in groups}
    functions = [
        Function(f.name, tuple(i for i in f.inputs if i in available), f.outputs, f.description)
        for f in functions
    ]
    return EquationsOfMotion.of(model, "poincare", Program.freeze(model.builder, groups, functions))


def input_groups(model: Model) -> list[InputGroup]:
    """Input groups of a model's program; groups without symbols are left out."""
    groups = [
        InputGroup(
            "parameters",
            tuple(ProgramSymbol(p.name, p.unit, p.description) for p in model.parameters.values()),
            "parameters of the robot",
            is_struct=True,
        ),
        InputGroup(
            Q,
            tuple(ProgramSymbol(c.name, c.unit, c.description) for c in model.coordinates),
            "generalized coordinates",
        ),
        InputGroup(
            P,
            tuple(ProgramSymbol(v.name, v.unit, v.description) for v in model.velocities),
            "quasi-velocities",
        ),
        InputGroup(
            U,
            tuple(ProgramSymbol(i.name, i.unit, i.description) for i in model.inputs.values()),
            "inputs",
        ),
        InputGroup(
            RATES,
            tuple(ProgramSymbol(f"{v.name}_dot", f"{v.unit}/s") for v in model.velocities),
            "rates of the quasi-velocities",
        ),
    ]
    return [g for g in groups if g.symbols]


class _Parts:
    """The functions of a model, group by group."""

    def __init__(self, model: Model, tree: KinematicTree) -> None:
        self.model, self.tree = model, tree
        self.builder: Builder = model.builder
        self.zero = self.builder.constant(0)
        self.q = {c.name: self.builder.symbol(Q, c.name, c.unit) for c in model.coordinates}
        self.u = [self.builder.symbol(U, i.name, i.unit) for i in model.inputs.values()]
        self.p_dot = [
            self.builder.symbol(RATES, f"{v.name}_dot", f"{v.unit}/s") for v in model.velocities
        ]

    # -- M, C, F, Q ---------------------------------------------------------
    def dynamics(self) -> list[Function]:
        n, nq, nu = self.tree.size, len(self.model.coordinates), len(self.u)
        velocity_map = self._velocity_map()
        with self.builder.context("mass and Coriolis matrix"):
            mass, coriolis = mass_and_coriolis(self.tree)
        springs = self._spring_forces()
        with self.builder.context("weight, buoyancy and springs"):
            force = self._sum(weight_forces(self.tree), springs)
        with self.builder.context("bias forces"):
            bias = self._sum(inverse_dynamics(self.tree, None), springs)
        with self.builder.context("inverse dynamics"):
            inverse = self._sum(inverse_dynamics(self.tree, self.p_dot), springs)
        input_map = self._input_map()
        with self.builder.context("generalized forces"):
            applied = self._applied_forces(input_map)
        with self.builder.context("forward dynamics"):
            driven = [a - s for a, s in zip(applied, springs, strict=True)]
            rates = forward_dynamics(self.tree, driven)
        q_dot = [_dot(row, self.tree.rates, self.zero) for row in velocity_map]

        m = output("mass_matrix", (n, n), _flat(mass), "M(q), symmetric, both triangles")
        c = output("coriolis_matrix", (n, n), _flat(coriolis), "C(q, p); M_dot - 2 C is skew")
        f = output("force_vector", (n,), force, "F(q): weight, buoyancy, springs")
        v = output("velocity_map", (nq, n), _flat(velocity_map), "V(q) in q_dot = V p")
        w = output("rate_map", (n, nq), _flat(self._rate_map()), "W(q) in p = W q_dot")
        q_rate = output("coordinate_rates", (nq,), q_dot, "q_dot = V(q) p")
        p_rate = output("forward_dynamics", (n,), rates, "p_dot")
        functions = [
            Function("velocity_map", (_K, Q), (v,), "Velocity map V(q) of q_dot = V(q) p."),
            Function("rate_map", (_K, Q), (w,), "Left inverse of V: p = W(q) q_dot."),
            Function("coordinate_rates", (_K, Q, P), (q_rate,), "Coordinate rates V(q) p."),
            Function("mass_matrix", (_K, Q), (m,), "Mass matrix M(q)."),
            Function(
                "coriolis_matrix",
                (_K, Q, P),
                (c,),
                "Coriolis matrix C(q, p), with M_dot - 2 C skew-symmetric.",
            ),
            Function("force_vector", (_K, Q), (f,), "Weight, buoyancy and springs F(q)."),
            Function(
                "equations_of_motion", (_K, Q, P), (m, c, f), "M(q), C(q, p) and F(q) at once."
            ),
            Function(
                "bias_forces",
                (_K, Q, P),
                (output("bias_forces", (n,), bias, "C(q, p) p + F(q)"),),
                "Bias forces C(q, p) p + F(q).",
            ),
            Function(
                "inverse_dynamics",
                (_K, Q, P, RATES),
                (output("inverse_dynamics", (n,), inverse, "M p_dot + C p + F"),),
                "Generalized forces M p_dot + C p + F of a motion.",
            ),
            Function(
                "generalized_forces",
                (_K, Q, P, U),
                (output("generalized_forces", (n,), applied, "Q(q, p, u)"),),
                "Generalized forces Q(q, p, u) of inputs and damping.",
            ),
            Function(
                "forward_dynamics",
                (_K, Q, P, U),
                (p_rate,),
                "Accelerations p_dot by articulated bodies.",
            ),
            Function(
                "state_rates",
                (_K, Q, P, U),
                (q_rate, p_rate),
                "q_dot and p_dot at once, for integrators.",
            ),
        ]
        if nu:
            b = output("input_matrix", (n, nu), _flat(input_map), "B(q): Q = B u + damping")
            functions.append(Function("input_matrix", (_K, Q), (b,), "Input matrix B(q)."))
        return functions

    def _velocity_map(self) -> list[list[Scalar]]:
        blocks = [b.joint.velocity_map for b in self.model.bodies.values()]
        entries = {k: v for block in blocks for k, v in block.items()}
        return [
            [entries.get((c.name, v.name), self.zero) for v in self.model.velocities]
            for c in self.model.coordinates
        ]

    def _rate_map(self) -> list[list[Scalar]]:
        blocks = [b.joint.rate_map for b in self.model.bodies.values()]
        entries = {k: v for block in blocks for k, v in block.items()}
        return [
            [entries.get((v.name, c.name), self.zero) for c in self.model.coordinates]
            for v in self.model.velocities
        ]

    def _spring_forces(self) -> list[Scalar]:
        """Spring part of F = Vᵀ ∂U/∂q."""
        forces = [self.zero] * self.tree.size
        for spring in self.model.springs:
            with self.builder.context(f"spring on {spring.coordinate!r}"):
                index = self._velocity_of(spring.coordinate)
                stretch = self.q[spring.coordinate] - spring.rest
                forces[index] = forces[index] + spring.stiffness * stretch
        return forces

    def _velocity_of(self, coordinate: str) -> int:
        for body in self.model.bodies.values():
            for name, velocity in body.joint.velocity_map:
                if name == coordinate:
                    return [v.name for v in self.model.velocities].index(velocity)
        raise KeyError(coordinate)

    def _input_map(self) -> list[list[Scalar]]:
        rows = [[self.zero] * len(self.u) for _ in range(self.tree.size)]
        names = [v.name for v in self.model.velocities]
        for k, item in enumerate(self.model.inputs.values()):
            if item.velocity is not None:
                rows[names.index(item.velocity)][k] = self.builder.constant(1)
                continue
            assert item.node is not None and item.direction is not None
            node = self.model.nodes[item.node]
            force = item.direction
            if item.world_axes:
                force = self.tree.in_node_axes(node, force)
            for index, value in self.tree.node_force_map(node, force).items():
                rows[index][k] = value
        return rows

    def _applied_forces(self, input_map: list[list[Scalar]]) -> list[Scalar]:
        forces = [_dot(row, self.u, self.zero) for row in input_map]
        names = [v.name for v in self.model.velocities]
        for damper in self.model.dampers:
            with self.builder.context(f"damper on {damper.velocity!r}"):
                index = names.index(damper.velocity)
                forces[index] = forces[index] - damper.coefficient * self.tree.rates[index]
        return forces

    @staticmethod
    def _sum(a: Iterable[Scalar], b: Iterable[Scalar]) -> list[Scalar]:
        return [x + y for x, y in zip(a, b, strict=True)]

    # -- energies, momentum, centre of mass ----------------------------------
    def totals(self) -> list[Function]:
        tree, b = self.tree, self.builder
        half = b.constant(0.5)
        kinetic = self.zero
        momenta: list[tuple[Vec3, Vec3]] = []
        for link in tree.links:
            omega, v = tree.angular_velocities[link.index], tree.linear_velocities[link.index]
            moment = link.inertia.times(omega) + link.moment.cross(v)
            linear = v * link.mass + omega.cross(link.moment)
            momenta.append((moment, linear))
            kinetic = kinetic + half * (omega.dot(moment) + v.dot(linear))
        mass, first, _, weight_moment = tree.world_moments()
        with b.context("potential energy"):
            potential = -self.model.gravity.dot(weight_moment)
            for spring in self.model.springs:
                stretch = self.q[spring.coordinate] - spring.rest
                potential = potential + half * spring.stiffness * stretch * stretch
        scalar: tuple[int, ...] = ()
        functions = [
            Function(
                "kinetic_energy",
                (_K, Q, P),
                (output("kinetic_energy", scalar, [kinetic], "T [J]"),),
                "Kinetic energy [J].",
            ),
            Function(
                "potential_energy",
                (_K, Q),
                (output("potential_energy", scalar, [potential], "U [J]"),),
                "Potential energy [J]: weight, buoyancy, springs.",
            ),
        ]
        if mass.is_zero:
            return functions
        per_mass = b.guard(1 / mass, mass, "the robot has no mass")
        center = first * per_mass
        angular, linear = self._total_momentum(momenta, mass)
        functions += [
            Function(
                "center_of_mass",
                (_K, Q),
                (output("center_of_mass", (3,), center.list(), "world axes [m]"),),
                "Centre of mass of the whole robot in world axes [m].",
            ),
            Function(
                "momentum",
                (_K, Q, P),
                (
                    output(
                        "momentum",
                        (6,),
                        [*angular.list(), *linear.list()],
                        "(angular about the centre of mass, linear), world axes",
                    ),
                ),
                "Momentum (angular about the centre of mass [kg m^2/s], linear [kg m/s]), "
                "world axes.",
            ),
        ]
        return functions

    def _total_momentum(self, momenta: list[tuple[Vec3, Vec3]], mass: Scalar) -> tuple[Vec3, Vec3]:
        """Sum of body momenta about the centre of mass, in world axes.

        A single root is summed up in its own axes and only turned into the
        world, so that a robot far from the origin loses no digits.
        """
        tree, b = self.tree, self.builder
        totals = list(momenta)
        composites = composite_inertias(tree)
        base = (zero_vector(b), zero_vector(b))
        single = len(tree.roots) == 1
        first = composites[tree.roots[0]].moment if single else tree.world_moments()[1]
        for link in reversed(tree.links):
            if link.parent < 0 and single:
                base = totals[link.index]
                continue
            moment, force = totals[link.index]
            force = link.rotation.apply(force)
            moment = link.rotation.apply(moment) + link.translation.cross(force)
            old = base if link.parent < 0 else totals[link.parent]
            merged = (old[0] + moment, old[1] + force)
            if link.parent < 0:
                base = merged
            else:
                totals[link.parent] = merged
        per_mass = b.guard(1 / mass, mass, "the robot has no mass")
        angular = base[0] - (first * per_mass).cross(base[1])
        linear = base[1]
        if single:
            turn = tree.links[tree.roots[0]].rotation.apply
            angular, linear = turn(angular), turn(linear)
        return angular, linear

    # -- nodes ----------------------------------------------------------------
    def nodes(self) -> list[Function]:
        functions = []
        for node in self.model.nodes.values():
            columns, position = self.tree.node_pose(node)
            omega, v = self.tree.node_twist(node)
            jacobian = self.tree.node_jacobian(node)
            n = self.tree.size
            none = (zero_vector(self.builder), zero_vector(self.builder))
            parts = [jacobian.get(k, none) for k in range(n)]
            pose = [
                *(s for r in range(3) for s in (*(c[r] for c in columns), position[r])),
                *(self.builder.constant(int(k == 3)) for k in range(4)),
            ]
            rows = [[part[0][r] for part in parts] for r in range(3)]
            rows += [[part[1][r] for part in parts] for r in range(3)]
            name = node.name
            functions += [
                Function(
                    f"{name}_pose",
                    (_K, Q),
                    (output(f"{name}_pose", (4, 4), pose, "homogeneous, node to world"),),
                    f"Pose of node {name} in the world, 4x4 homogeneous.",
                ),
                Function(
                    f"{name}_velocity",
                    (_K, Q, P),
                    (
                        output(
                            f"{name}_velocity",
                            (6,),
                            [*omega.list(), *v.list()],
                            "(omega, v), node axes",
                        ),
                    ),
                    f"Twist (omega, v) of node {name} in node axes.",
                ),
                Function(
                    f"{name}_jacobian",
                    (_K, Q),
                    (
                        output(
                            f"{name}_jacobian", (6, n), _flat(rows), "(omega, v) = J p, node axes"
                        ),
                    ),
                    f"Jacobian of node {name}: (omega, v) = J p in node axes.",
                ),
            ]
        return functions


_K = "parameters"


def _flat(rows: list[list[Scalar]]) -> list[Scalar]:
    return [value for row in rows for value in row]


def _dot(a: Iterable[Scalar], b: Iterable[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


__all__ = ["Output", "input_groups", "poincare"]
