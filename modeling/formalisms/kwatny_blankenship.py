"""Kwatny and Blankenship's own formula: the slow, obvious twin of :mod:`.poincare`.

Poincaré's equations in their book's form (*Nonlinear Control and Analytical
Mechanics*, 2000, chapter 5; the sea-lion paper's eqs (11)–(14)):

    M ṗ + C p + F = Q ,
    C = D V − ½ (D V)ᵀ − Σ_j p_j X_jᵀ M ,   D = ∂(M p)/∂q ,   F = Vᵀ ∂U/∂q

with the structure constants c of the columns v_j of V, X_j = (c^i_jk)_ik and

    [v_j, v_k] = (∂v_k/∂q) v_j − (∂v_j/∂q) v_k = Σ_i c^i_jk v_i .

Everything is taken literally: brackets, D and ∂U/∂q by differentiating the
program, the bracket's components by the left inverse W of V, and

    M = Σ_bodies m J_vᵀ J_v + J_ωᵀ I J_ω

from Jacobians of centres of mass that are read off the path from the body to
the world, mass by mass.  No composite sweep and no recursion over velocities
is used.  Its C is not the one of :mod:`.poincare` (Ṁ − 2C is not skew here),
but C p is, to rounding.  For a quaternion, V and W belong to unit length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..checks import check_model
from ..equations import EquationsOfMotion
from ..errors import ModelError
from ..model import Model
from ..parts import Body, MassLump
from ..program import Builder, Function, Program, Scalar
from ..program.program import output
from ..program.transform import jacobian
from ..spatial import Mat3, Vec3
from ..tree import KinematicTree
from .assembly import PARAMETERS, P, Q, input_groups

Matrix = list[list[Scalar]]


def kwatny_blankenship(model: Model) -> EquationsOfMotion:
    """Derive V, M, C, F, C p + F and the structure constants literally.

    Returns
    -------
    EquationsOfMotion
        With the functions ``velocity_map`` (nq×n), ``rate_map`` (n×nq),
        ``structure_constants`` (n×n×n, entry [i, j, k] is c^i_jk),
        ``mass_matrix``, ``coriolis_matrix`` (both n×n), ``force_vector`` and
        ``bias_forces`` (n each).

    Raises
    ------
    ModelError
        If the model cannot be derived, or has continuum segments (arcs).
    """
    check_model(model)
    bent = [body.name for body in model.bodies.values() if body.arcs]
    if bent:
        raise ModelError(
            f"model {model.name!r}: this formalism knows rigid bodies only, but there are arcs on "
            f"{', '.join(bent)}"
        )
    tree, b = KinematicTree(model), model.builder
    n, nq = tree.size, len(tree.coordinates)
    q = [b.symbol(Q, c.name, c.unit) for c in tree.coordinates]
    p = tree.rates
    v, w = _named_maps(model)
    with b.context("structure constants"):
        constants = structure_constants(b, q, v, w)
    with b.context("mass matrix"):
        mass = _mass_matrix(tree)
    with b.context("Coriolis matrix"):
        coriolis = _coriolis_matrix(b, q, p, v, mass, constants)
    with b.context("force vector"):
        slope = jacobian(b, [_potential(tree)], q)[0]
        force = [_dot(b, _column(v, k), slope) for k in range(n)]
    bias = [_dot(b, row, p) + f for row, f in zip(coriolis, force, strict=True)]
    flat_constants = [entry for plane in constants for row in plane for entry in row]
    results = (
        ("velocity_map", (nq, n), _flat(v), "V(q) in q_dot = V p", False),
        ("rate_map", (n, nq), _flat(w), "W(q) in p = W q_dot", False),
        ("structure_constants", (n, n, n), flat_constants, "[v_j, v_k] = sum c[i,j,k] v_i", False),
        ("mass_matrix", (n, n), _flat(mass), "M(q)", False),
        ("coriolis_matrix", (n, n), _flat(coriolis), "Kwatny and Blankenship's C(q, p)", True),
        ("force_vector", (n,), force, "F(q) = V^T dU/dq", False),
        ("bias_forces", (n,), bias, "C(q, p) p + F(q)", True),
    )
    groups = input_groups(model)
    available = {g.name for g in groups}
    functions = [
        Function(
            name,
            tuple(g for g in (PARAMETERS, Q, *((P,) if moving else ())) if g in available),
            (output(name, shape, values, text),),
            text,
        )
        for name, shape, values, text, moving in results
    ]
    program = Program.freeze(b, groups, functions)
    return EquationsOfMotion.of(model, "kwatny_blankenship", program)


def structure_constants(
    builder: Builder, q: Sequence[Scalar], v: Matrix, w: Matrix
) -> list[Matrix]:
    """c[i][j][k] of the brackets of the columns of V, by differentiating V.

    Parameters
    ----------
    builder:
        The program.
    q:
        Coordinates, nq of them.
    v, w:
        V (nq×n) and its left inverse W (n×nq).
    """
    nq, n = len(v), len(w)
    zero = builder.constant(0)
    slopes = jacobian(builder, _flat(v), q)  # row a·n + k: gradient of V[a][k]

    columns = [_column(v, k) for k in range(n)]

    def along(k: int, j: int) -> list[Scalar]:
        """(∂v_k/∂q) v_j."""
        return [_dot(builder, slopes[a * n + k], columns[j]) for a in range(nq)]

    result = [[[zero] * n for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for k in range(j + 1, n):
            pairs = zip(along(k, j), along(j, k), strict=True)
            bracket = [first - second for first, second in pairs]
            if all(entry.is_zero for entry in bracket):
                continue
            for i in range(n):
                c = _dot(builder, w[i], bracket)
                result[i][j][k], result[i][k][j] = c, -c
    return result


def _named_maps(model: Model) -> tuple[Matrix, Matrix]:
    """V and W from the joints' own entries."""
    zero = model.builder.constant(0)
    v = {k: s for body in model.bodies.values() for k, s in body.joint.velocity_map.items()}
    w = {k: s for body in model.bodies.values() for k, s in body.joint.rate_map.items()}
    coordinates, velocities = model.coordinates, model.velocities
    return (
        [[v.get((c.name, r.name), zero) for r in velocities] for c in coordinates],
        [[w.get((r.name, c.name), zero) for c in coordinates] for r in velocities],
    )


def _mass_matrix(tree: KinematicTree) -> Matrix:
    n, zero = tree.size, tree.builder.constant(0)
    mass = [[zero] * n for _ in range(n)]
    for body in tree.model.bodies.values():
        for lump in body.lumps:
            columns = _center_jacobian(tree, body, lump)
            inertia = lump.inertia.matrix()
            for i, (spin_i, speed_i) in columns.items():
                moment = inertia.times(spin_i)
                for j, (spin_j, speed_j) in columns.items():
                    mass[i][j] = mass[i][j] + lump.mass * speed_i.dot(speed_j) + moment.dot(spin_j)
    return mass


def _center_jacobian(
    tree: KinematicTree, body: Body, lump: MassLump
) -> dict[int, tuple[Vec3, Vec3]]:
    """Columns (ω, velocity of the centre of mass) of a lump, in body axes.

    A joint rate ṡ of a link on the path gives ω = Rᵀ S_ω ṡ and
    Rᵀ (S_v + S_ω × r) ṡ, with r the centre as seen from that link and R the
    rotation from body axes to the link's.
    """
    columns: dict[int, tuple[Vec3, Vec3]] = {}
    turn = _identity(tree.builder)
    r = lump.com
    for link in tree.node_path(tree.model.nodes[body.name]):
        back = turn.transpose()
        for column in link.columns:
            spin = back.times(column.angular)
            speed = back.times(column.linear + column.angular.cross(r))
            if column.index in columns:
                old = columns[column.index]
                spin, speed = old[0] + spin, old[1] + speed
            columns[column.index] = (spin, speed)
        r = link.rotation.matrix.times(r) + link.translation
        turn = link.rotation.matrix @ turn
    return columns


def _potential(tree: KinematicTree) -> Scalar:
    """U = −Σ m g·c + Σ ρ V g·b + Σ ½ k (q − rest)², centres in world axes."""
    model, b = tree.model, tree.builder
    total = b.constant(0)
    for body in model.bodies.values():
        for lump in body.lumps:
            total = total - lump.mass * model.gravity.dot(_in_world(tree, body, lump.com))
        if body.buoyancy is not None:
            assert model.fluid_density is not None
            displaced = model.fluid_density * body.buoyancy.volume
            center = _in_world(tree, body, body.buoyancy.center)
            total = total + displaced * model.gravity.dot(center)
    for spring in model.springs:
        unit = next(c.unit for c in tree.coordinates if c.name == spring.coordinate)
        stretch = b.symbol(Q, spring.coordinate, unit) - spring.rest
        total = total + spring.stiffness * stretch * stretch * 0.5
    return total


def _in_world(tree: KinematicTree, body: Body, point: Vec3) -> Vec3:
    for link in tree.node_path(tree.model.nodes[body.name]):
        point = link.rotation.matrix.times(point) + link.translation
    return point


def _coriolis_matrix(
    b: Builder,
    q: Sequence[Scalar],
    p: Sequence[Scalar],
    v: Matrix,
    mass: Matrix,
    constants: list[Matrix],
) -> Matrix:
    n = len(p)
    momentum = [_dot(b, row, p) for row in mass]
    slopes = jacobian(b, momentum, q)  # D
    dv = [[_dot(b, row, _column(v, k)) for k in range(n)] for row in slopes]
    result = [[dv[i][k] - dv[k][i] * 0.5 for k in range(n)] for i in range(n)]
    for k in range(n):
        # (Σ_j p_j X_jᵀ)[k][i] = Σ_j p_j c^i_jk
        turned = [_dot(b, _column(constants[i], k), p) for i in range(n)]
        for column in range(n):
            result[k][column] = result[k][column] - _dot(b, turned, _column(mass, column))
    return result


def _identity(b: Builder) -> Mat3:
    one, zero = b.constant(1), b.constant(0)
    return Mat3.of([[one if i == j else zero for j in range(3)] for i in range(3)])


def _dot(b: Builder, left: Iterable[Scalar], right: Iterable[Scalar]) -> Scalar:
    """Σ left · right, passing over structural zeros."""
    total = b.constant(0)
    for x, y in zip(left, right, strict=True):
        if not (x.is_zero or y.is_zero):
            total = total + x * y
    return total


def _column(matrix: Matrix, k: int) -> list[Scalar]:
    return [row[k] for row in matrix]


def _flat(rows: Matrix) -> list[Scalar]:
    return [entry for row in rows for entry in row]
