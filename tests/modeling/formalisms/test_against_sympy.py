"""Small systems against SymPy's own mechanics: Lagrange and Kane."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from numeric import Numbers
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)

from bestiary.modeling import Model, Planar, Prismatic, Revolute, Spherical, poincare


def test_double_pendulum_equals_lagranges_method():
    model = Model("double_pendulum")
    model.body(
        "upper", joint=Revolute("a", "y"), mass=1.3, com=(0.2, 0, -0.5), inertia=(0.1, 0.1, 0.1)
    )
    model.body(
        "lower",
        parent="upper",
        at=(0.1, 0.2, -0.9),
        joint=Revolute("b", "y"),
        mass=0.7,
        com=(0, 0.1, -0.4),
        inertia=(0.05, 0.05, 0.05),
    )
    equations = poincare(model)
    numbers = Numbers(equations.program, equations.values())

    a, b = dynamicsymbols("a b")
    world = ReferenceFrame("N")
    upper = world.orientnew("A", "Axis", (a, world.y))
    lower = upper.orientnew("B", "Axis", (b, upper.y))
    origin = Point("O")
    origin.set_vel(world, 0)
    center = origin.locatenew("C", 0.2 * upper.x - 0.5 * upper.z)
    elbow = origin.locatenew("E", 0.1 * upper.x + 0.2 * upper.y - 0.9 * upper.z)
    second = elbow.locatenew("D", 0.1 * lower.y - 0.4 * lower.z)
    for point, start, frame in (
        (center, origin, upper),
        (elbow, origin, upper),
        (second, elbow, lower),
    ):
        point.v2pt_theory(start, world, frame)
    bodies = [
        RigidBody("U", center, upper, 1.3, (inertia(upper, 0, 0.1, 0), center)),
        RigidBody("L", second, lower, 0.7, (inertia(lower, 0, 0.05, 0), second)),
    ]
    for body, height in zip(bodies, (center, second), strict=True):
        body.potential_energy = body.mass * 9.81 * height.pos_from(origin).dot(world.z)
    lagrangian = sum(x.kinetic_energy(world) - x.potential_energy for x in bodies)
    method = LagrangesMethod(lagrangian, [a, b])
    method.form_lagranges_equations()
    compare(numbers, method.mass_matrix, method.forcing, [a, b], [a.diff(), b.diff()])


def test_cart_with_tilted_rail_equals_lagranges_method():
    model = Model("cart")
    model.body("cart", joint=Prismatic("s", (3, 0, 4)), orientation=(0, 0, 0), mass=2)
    model.body("bob", parent="cart", joint=Revolute("a", (0, 1, 0)), mass=0.5, com=(0, 0, -0.8))
    equations = poincare(model)
    numbers = Numbers(equations.program, equations.values())
    s, a = dynamicsymbols("s a")
    world = ReferenceFrame("N")
    origin = Point("O")
    origin.set_vel(world, 0)
    rail = 0.6 * world.x + 0.8 * world.z
    arm = world.orientnew("A", "Axis", (a, world.y))
    cart = origin.locatenew("C", s * rail)
    bob = cart.locatenew("B", -0.8 * arm.z)
    particles = [Particle("c", cart, 2), Particle("b", bob, 0.5)]
    lagrangian = 0
    for particle in particles:
        position = particle.point.pos_from(origin)
        particle.point.set_vel(world, position.dt(world))
        particle.potential_energy = particle.mass * 9.81 * position.dot(world.z)
        lagrangian += particle.kinetic_energy(world) - particle.potential_energy
    method = LagrangesMethod(lagrangian, [s, a])
    method.form_lagranges_equations()
    compare(numbers, method.mass_matrix, method.forcing, [s, a], [s.diff(), a.diff()])


@pytest.mark.parametrize("sequence", ["zyx", "zxz"])
def test_spherical_pendulum_with_a_wheel_equals_kanes_method(sequence):
    """Kane's generalized speeds are our quasi-velocities: body rates, and a wheel's rate."""
    model = Model("spherical")
    model.body(
        "rod",
        joint=Spherical(f"euler_{sequence}"),
        mass=1.1,
        com=(0.1, -0.2, 0.6),
        inertia=(0.2, 0.3, 0.25, 0.01, -0.02, 0.03),
    )
    model.body(
        "wheel",
        parent="rod",
        at=(0, 0.1, 0.5),
        joint=Revolute("spin", "x"),
        mass=0.4,
        com=(0, 0.05, 0),
        inertia=(0.02, 0.01, 0.01),
    )
    equations = poincare(model)
    numbers = Numbers(equations.program, equations.values())

    q = dynamicsymbols("q1:4")
    spin, spin_rate = dynamicsymbols("spin w")
    speeds = dynamicsymbols("u1:4")
    world = ReferenceFrame("N")
    steps = [q["xyz".index(c)] for c in sequence] if sequence == "zyx" else q
    rod = world.orientnew("R", "Body", steps, sequence)
    kinematic = [rod.ang_vel_in(world).dot(e) - u for e, u in zip(rod, speeds, strict=True)]
    kinematic.append(spin.diff() - spin_rate)
    rod.set_ang_vel(world, sum((u * e for e, u in zip(rod, speeds, strict=True)), 0 * rod.x))
    wheel = rod.orientnew("W", "Axis", (spin, rod.x))
    wheel.set_ang_vel(rod, spin_rate * rod.x)
    origin = Point("O")
    origin.set_vel(world, 0)
    center = origin.locatenew("C", 0.1 * rod.x - 0.2 * rod.y + 0.6 * rod.z)
    hub = origin.locatenew("H", 0.1 * rod.y + 0.5 * rod.z)
    rim = hub.locatenew("G", 0.05 * wheel.y)
    for point, start, frame in ((center, origin, rod), (hub, origin, rod), (rim, hub, wheel)):
        point.v2pt_theory(start, world, frame)
    bodies = [
        RigidBody("R", center, rod, 1.1, (inertia(rod, 0.2, 0.3, 0.25, 0.01, 0.03, -0.02), center)),
        RigidBody("W", rim, wheel, 0.4, (inertia(wheel, 0.02, 0.01, 0.01), rim)),
    ]
    loads = [(x.masscenter, -x.mass * 9.81 * world.z) for x in bodies]
    method = KanesMethod(world, [*q, spin], [*speeds, spin_rate], kinematic)
    method.kanes_equations(bodies, loads)
    names = [c.name for c in equations.coordinates]
    assert names[-1] == "spin"
    compare(numbers, method.mass_matrix, method.forcing, [*q, spin], [*speeds, spin_rate])


def test_planar_joint_is_a_plane_motion_with_body_rates():
    """A disc on a table, pushed off its centre: Newton and Euler by hand."""
    model = Model("disc", gravity=0)
    model.body("disc", joint=Planar("z"), mass=2.0, com=(0.3, 0, 0), inertia=(0.25, 0.25, 0.5))
    equations = poincare(model)
    numbers = Numbers(equations.program, equations.values())
    w, vx, vy = 1.2, -0.4, 0.9
    q, p = [0.7, 1.0, 2.0], [w, vx, vy]
    m, c = numbers("mass_matrix", q=q), numbers("bias_forces", q=q, p=p)
    assert m == pytest.approx(np.array([[0.5 + 0.18, 0, 0.6], [0, 2, 0], [0.6, 0, 2]]))
    # force = m (v̇ + ω×v + ω̇×c − ω²c); torque about the origin has c × force
    force = 2.0 * np.array([-w * vy - 0.3 * w**2, w * vx])
    assert c == pytest.approx([0.3 * force[1], *force])


def compare(numbers, mass_matrix, forcing, coordinates, speeds):
    """M and M ṗ = forcing at random states: M equal, forcing = −(C p + F)."""
    plain_q = sympy.symbols(f"x:{len(coordinates)}")
    plain_p = sympy.symbols(f"y:{len(speeds)}")
    swap = dict(zip([*speeds, *coordinates], [*plain_p, *plain_q], strict=True))
    evaluate = sympy.lambdify(
        [plain_q, plain_p], [mass_matrix.subs(swap), forcing.subs(swap)], cse=True
    )
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, p = rng.uniform(0.2, 1.2, size=len(plain_q)), rng.normal(size=len(plain_p))
        expected, right = (np.array(x, dtype=float) for x in evaluate(q, p))
        assert numbers("mass_matrix", q=q) == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert -numbers("bias_forces", q=q, p=p) == pytest.approx(
            right.ravel(), rel=1e-10, abs=1e-11
        )
