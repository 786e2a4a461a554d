"""From the dynamics of a formalism to the functions that every robot offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..contact import ContactForce, contact_force
from ..control import Plant, controller_function, controller_groups
from ..equations import EquationsOfMotion
from ..model import Model
from ..parts import Node
from ..program import Builder, Function, InputGroup, Program, ProgramSymbol, Scalar
from ..program.program import output
from ..realised import AXES
from ..spatial import Vec3, zero_vector
from ..tree import KinematicTree
from .factorization import METHOD, solve_symmetric
from .recursive import weight_forces
from .totals import total_functions

PARAMETERS, Q, P, U, RATES = "parameters", "q", "p", "u", "p_dot"

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Dynamics:
    """What a formalism derives; springs are left to :func:`assemble`.

    ``mass`` and ``coriolis`` are n×n.  ``inverse(p_dot)`` gives M ṗ + C p + weight
    (``p_dot`` None: zero accelerations); ``forward(Q)`` solves
    M ṗ + C p + weight = Q for ṗ by articulated bodies, None: M is factored.
    """

    mass: Matrix
    coriolis: Matrix
    inverse: Callable[[Sequence[Scalar] | None], list[Scalar]]
    forward: Callable[[Sequence[Scalar]], list[Scalar]] | None = None


def assemble(
    model: Model, tree: KinematicTree, dynamics: Dynamics, formalism: str
) -> EquationsOfMotion:
    """All functions of a model, over one program."""
    parts = _Parts(model, tree, dynamics)
    groups = input_groups(model)
    functions = [
        *parts.dynamics_functions(),
        *total_functions(model, tree),
        *parts.node_functions(),
    ]
    available = {g.name for g in groups}
    functions = [
        Function(f.name, tuple(i for i in f.inputs if i in available), f.outputs, f.description)
        for f in functions
    ]
    program = Program.freeze(model.builder, groups, functions)
    return EquationsOfMotion.of(model, formalism, program)


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
        *controller_groups(model),
    ]
    return [g for g in groups if g.symbols]


class _Parts:
    """The functions of a model, group by group."""

    def __init__(self, model: Model, tree: KinematicTree, dynamics: Dynamics) -> None:
        self.model, self.tree, self.dynamics = model, tree, dynamics
        self.builder: Builder = model.builder
        self.zero = self.builder.constant(0)
        self.q = {c.name: self.builder.symbol(Q, c.name, c.unit) for c in model.coordinates}
        self.u = [self.builder.symbol(U, i.name, i.unit) for i in model.inputs.values()]
        self.p_dot = [
            self.builder.symbol(RATES, f"{v.name}_dot", f"{v.unit}/s") for v in model.velocities
        ]

    # -- M, C, F, Q ---------------------------------------------------------
    def dynamics_functions(self) -> list[Function]:
        n, nq, nu = self.tree.size, len(self.model.coordinates), len(self.u)
        velocity_map = self._velocity_map()
        mass, coriolis = self.dynamics.mass, self.dynamics.coriolis
        springs = self._spring_forces()
        with self.builder.context("weight, buoyancy and springs"):
            force = self._sum(weight_forces(self.tree), springs)
        with self.builder.context("bias forces"):
            bias = self._sum(self.dynamics.inverse(None), springs)
        with self.builder.context("inverse dynamics"):
            inverse = self._sum(self.dynamics.inverse(self.p_dot), springs)
        input_map = self._input_map()
        with self.builder.context("generalized forces"):
            contacts = self._contacts()
            passive = self._passive_forces(contacts)
            driving = [_dot(row, self.u, self.zero) for row in input_map]
            applied = self._sum(driving, passive)
            drift = self._difference(bias, passive)
        with self.builder.context("forward dynamics"):
            rates, method = self._accelerations(driving, drift, self._difference(applied, springs))
        q_dot = [_dot(row, self.tree.rates, self.zero) for row in velocity_map]

        m = output("mass_matrix", (n, n), _flat(mass), "M(q), symmetric, both triangles")
        c = output("coriolis_matrix", (n, n), _flat(coriolis), "C(q, p); M_dot - 2 C is skew")
        f = output("force_vector", (n,), force, "F(q): weight, buoyancy, springs")
        v = output("velocity_map", (nq, n), _flat(velocity_map), "V(q) in q_dot = V p")
        w = output("rate_map", (n, nq), _flat(self._rate_map()), "W(q) in p = W q_dot")
        q_rate = output("coordinate_rates", (nq,), q_dot, "q_dot = V(q) p")
        p_rate = output("forward_dynamics", (n,), rates, "p_dot")
        functions = [
            Function("velocity_map", (PARAMETERS, Q), (v,), "Velocity map V(q) of q_dot = V(q) p."),
            Function("rate_map", (PARAMETERS, Q), (w,), "Left inverse of V: p = W(q) q_dot."),
            Function("coordinate_rates", (PARAMETERS, Q, P), (q_rate,), "Coordinate rates V(q) p."),
            Function("mass_matrix", (PARAMETERS, Q), (m,), "Mass matrix M(q)."),
            Function(
                "coriolis_matrix",
                (PARAMETERS, Q, P),
                (c,),
                "Coriolis matrix C(q, p), with M_dot - 2 C skew-symmetric.",
            ),
            Function("force_vector", (PARAMETERS, Q), (f,), "Weight, buoyancy and springs F(q)."),
            Function(
                "equations_of_motion",
                (PARAMETERS, Q, P),
                (m, c, f),
                "M(q), C(q, p) and F(q) at once.",
            ),
            Function(
                "bias_forces",
                (PARAMETERS, Q, P),
                (output("bias_forces", (n,), bias, "C(q, p) p + F(q)"),),
                "Bias forces C(q, p) p + F(q).",
            ),
            Function(
                "inverse_dynamics",
                (PARAMETERS, Q, P, RATES),
                (output("inverse_dynamics", (n,), inverse, "M p_dot + C p + F"),),
                "Generalized forces M p_dot + C p + F of a motion.",
            ),
            Function(
                "generalized_forces",
                (PARAMETERS, Q, P, U),
                (output("generalized_forces", (n,), applied, "Q(q, p, u)"),),
                "Generalized forces Q(q, p, u) of inputs and damping.",
            ),
            Function(
                "forward_dynamics",
                (PARAMETERS, Q, P, U),
                (p_rate,),
                f"Accelerations p_dot by {method}.",
            ),
            Function(
                "state_rates",
                (PARAMETERS, Q, P, U),
                (q_rate, p_rate),
                "q_dot and p_dot at once, for integrators.",
            ),
        ]
        if contacts:
            functions += self._contact_functions([contact for _, contact in contacts])
            d = output("drift_forces", (n,), drift, "C(q, p) p + F(q) - Q(q, p, 0)")
            functions.append(
                Function(
                    "drift_forces",
                    (PARAMETERS, Q, P),
                    (d,),
                    "All forces but those of the inputs, C(q, p) p + F(q) - Q(q, p, 0).",
                )
            )
        if nu:
            b = output("input_matrix", (n, nu), _flat(input_map), "B(q): Q = B u + damping")
            functions.append(Function("input_matrix", (PARAMETERS, Q), (b,), "Input matrix B(q)."))
        if self.model.controllers:
            plant = Plant(mass, drift)
            functions += [
                controller_function(self.model, controller, plant)
                for controller in self.model.controllers.values()
            ]
        return functions

    def _accelerations(
        self, driving: list[Scalar], drift: list[Scalar], driven: list[Scalar]
    ) -> tuple[list[Scalar], str]:
        """Accelerations, and by which method: M ṗ = B u − drift unless there is a recursion."""
        if self.dynamics.forward is not None:
            return self.dynamics.forward(driven), "articulated bodies"
        rest = self._difference(driving, drift)
        names = [v.name for v in self.tree.velocities]
        return solve_symmetric(self.dynamics.mass, rest, names), METHOD

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
                rate = self.model.rate_of(spring.coordinate)
                index = [v.name for v in self.model.velocities].index(str(rate))
                stretch = self.q[spring.coordinate] - spring.rest
                forces[index] = forces[index] + spring.stiffness * stretch
        return forces

    def _input_map(self) -> list[list[Scalar]]:
        rows = [[self.zero] * len(self.u) for _ in range(self.tree.size)]
        names = [v.name for v in self.model.velocities]
        for k, item in enumerate(self.model.inputs.values()):
            if item.velocity is not None:
                rows[names.index(item.velocity)][k] = self.builder.constant(1)
                continue
            assert item.node is not None
            assert item.direction is not None
            node = self.model.nodes[item.node]
            force = item.direction
            if item.world_axes:
                force = self.tree.in_node_axes(node, force)
            for index, value in self.tree.node_force_map(node, force).items():
                rows[index][k] = value
        return rows

    def _passive_forces(self, contacts: list[tuple[Node, ContactForce]]) -> list[Scalar]:
        """Q(q, p, 0): damping and contacts."""
        loads: dict[int, list[tuple[Vec3, Vec3]]] = {}
        for node, contact in contacts:
            link = self.tree.link_of_body[node.body.name]
            turn = self.tree.world_frames[link][0]
            force = Vec3(*(turn.column(k).dot(contact.force) for k in range(3)))
            loads.setdefault(link, []).append((node.position, force))
        forces = self.tree.forces_on(loads)
        names = [v.name for v in self.tree.velocities]
        for damper in self.model.dampers:
            with self.builder.context(f"damper on {damper.velocity!r}"):
                index = names.index(damper.velocity)
                forces[index] = forces[index] - damper.coefficient * self.tree.rates[index]
        return forces

    def _contacts(self) -> list[tuple[Node, ContactForce]]:
        surface = self.model.contact_surface
        if surface is None:
            return []
        up, sign = AXES.index(self.model.up.lstrip("-")), -1 if self.model.up[0] == "-" else 1
        result = []
        for name in self.model.contacts:
            node = self.model.nodes[name]
            link = self.tree.link_of_body[node.body.name]
            with self.builder.context(f"contact of node {name!r}"):
                turn, origin = self.tree.world_frames[link]
                position = origin + turn.times(node.position)
                omega, v = (
                    self.tree.angular_velocities[link],
                    self.tree.linear_velocities[link],
                )
                velocity = turn.times(v + omega.cross(node.position))
                result.append((node, contact_force(surface, position, velocity, up, sign)))
        return result

    def _contact_functions(self, contacts: list[ContactForce]) -> list[Function]:
        k = len(contacts)
        forces = [value for c in contacts for value in c.force.list()]
        depth, slip = [c.penetration for c in contacts], [c.slip for c in contacts]
        energy = self.zero
        for c in contacts:
            energy = energy + c.energy
        nodes = ", ".join(self.model.contacts)
        return [
            Function(
                "contact_forces",
                (PARAMETERS, Q, P),
                (
                    output("contact_forces", (k, 3), forces, "world axes [N]"),
                    output("penetration", (k,), depth, "below the ground [m]"),
                    output("slip_velocity", (k,), slip, "along the ground [m/s]"),
                ),
                f"Forces of the ground on the nodes {nodes}, penetration and slip.",
            ),
            Function(
                "contact_energy",
                (PARAMETERS, Q),
                (output("contact_energy", (), [energy], "elastic energy [J]"),),
                "Elastic energy stored in all contacts [J].",
            ),
        ]

    @staticmethod
    def _sum(a: Iterable[Scalar], b: Iterable[Scalar]) -> list[Scalar]:
        return [x + y for x, y in zip(a, b, strict=True)]

    @staticmethod
    def _difference(a: Iterable[Scalar], b: Iterable[Scalar]) -> list[Scalar]:
        return [x - y for x, y in zip(a, b, strict=True)]

    # -- nodes ----------------------------------------------------------------
    def node_functions(self) -> list[Function]:
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
                    (PARAMETERS, Q),
                    (output(f"{name}_pose", (4, 4), pose, "homogeneous, node to world"),),
                    f"Pose of node {name} in the world, 4x4 homogeneous.",
                ),
                Function(
                    f"{name}_velocity",
                    (PARAMETERS, Q, P),
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
                    (PARAMETERS, Q),
                    (
                        output(
                            f"{name}_jacobian", (6, n), _flat(rows), "(omega, v) = J p, node axes"
                        ),
                    ),
                    f"Jacobian of node {name}: (omega, v) = J p in node axes.",
                ),
            ]
        return functions


def _flat(rows: Matrix) -> list[Scalar]:
    return [value for row in rows for value in row]


def _dot(a: Iterable[Scalar], b: Iterable[Scalar], zero: Scalar) -> Scalar:
    total = zero
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
