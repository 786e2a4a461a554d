"""The sea lion's equations by SymPy's KanesMethod: the peer of the derivation benchmark.

The same tree, the same quasi-velocities (body-frame twist of the main body,
joint rates) and symbolic parameters, written with ``sympy.physics.mechanics``
in its usual way.  Weight and buoyancy are left out, which favours the peer.
"""

from __future__ import annotations

import time

import sympy
from sympy.physics import mechanics as me


def derive() -> tuple[float, int]:
    """Return (seconds, operations) for M and forcing by KanesMethod."""
    start = time.perf_counter()
    mass_matrix, forcing = _equations()
    seconds = time.perf_counter() - start
    return seconds, int(sympy.count_ops(mass_matrix) + sympy.count_ops(forcing))


def _equations() -> tuple[sympy.Matrix, sympy.Matrix]:
    world, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(world, 0)
    angles = me.dynamicsymbols("roll pitch yaw")
    position = me.dynamicsymbols("x y z")
    omega, v = me.dynamicsymbols("wx wy wz"), me.dynamicsymbols("vx vy vz")
    main = me.ReferenceFrame("main")
    roll, pitch, yaw = angles
    main.orient_body_fixed(world, (yaw, pitch, roll), "ZYX")
    twist = omega[0] * main.x + omega[1] * main.y + omega[2] * main.z
    rates = main.ang_vel_in(world)
    kinematic = [(rates - twist).dot(axis) for axis in main]
    main.set_ang_vel(world, twist)
    center = origin.locatenew(
        "P", position[0] * world.x + position[1] * world.y + position[2] * world.z
    )
    velocity = v[0] * main.x + v[1] * main.y + v[2] * main.z
    direct = sum((p.diff() * axis for p, axis in zip(position, world, strict=True)), me.Vector(0))
    kinematic += [(direct - velocity).dot(axis) for axis in world]
    center.set_vel(world, velocity)
    q, u = [*angles, *position], [*omega, *v]
    bodies: list[me.RigidBody] = []

    def parameter(name: str) -> sympy.Symbol:
        return sympy.Symbol(name, real=True)

    def add_body(
        name: str, frame: me.ReferenceFrame, point: me.Point, stem: str, com: me.Vector
    ) -> None:
        mass_center = point.locatenew(f"{name}_com", com)
        mass_center.v2pt_theory(point, world, frame)
        moments = [parameter(f"{stem}_inertia_{a}") for a in "xyz"]
        inertia = (me.inertia(frame, *moments), mass_center)
        bodies.append(me.RigidBody(name, mass_center, frame, parameter(f"{stem}_mass"), inertia))

    def joint(
        parent: me.ReferenceFrame, point: me.Point, name: str, axis: str, offset: me.Vector
    ) -> tuple[me.ReferenceFrame, me.Point]:
        angle, rate = me.dynamicsymbols(f"{name} {name}_rate")
        child = me.ReferenceFrame(name)
        direction = getattr(parent, axis)
        child.orient_axis(parent, direction, angle)
        child.set_ang_vel(parent, rate * direction)
        q.append(angle)
        u.append(rate)
        kinematic.append(angle.diff() - rate)
        here = point.locatenew(f"{name}_joint", offset)
        here.v2pt_theory(point, world, parent)
        return child, here

    add_body("main", main, center, "main", parameter("main_com_x") * main.x)
    add_body("water", main, center, "water", parameter("water_com_z") * main.z)
    for side, sign in (("left", -1), ("right", 1)):
        shoulder = (
            parameter("shoulder_x") * main.x
            + sign * parameter("shoulder_y") * main.y
            + parameter("shoulder_z") * main.z
        )
        carriage, point = joint(main, center, f"{side}_fore_roll", "x", shoulder)
        offset = sign * parameter("fore_y") * carriage.y + parameter("fore_z") * carriage.z
        frame, point = joint(carriage, point, f"{side}_fore_yaw", "z", offset)
        frame, point = joint(frame, point, f"{side}_fore_pitch", "x", me.Vector(0))
        add_body(f"{side}_fore", frame, point, "fore", parameter("fore_com_x") * frame.x)
    frames = {}
    for part in ("head", "pelvis"):
        frame, point = joint(main, center, f"{part}_pitch", "y", parameter(f"{part}_x") * main.x)
        frame, point = joint(frame, point, f"{part}_yaw", "z", me.Vector(0))
        add_body(part, frame, point, part, parameter(f"{part}_com_x") * frame.x)
        frames[part] = frame, point
    pelvis, pelvis_point = frames["pelvis"]
    for side, sign in (("left", -1), ("right", 1)):
        offset = parameter("hind_x") * pelvis.x + sign * parameter("hind_y") * pelvis.y
        frame, point = joint(pelvis, pelvis_point, f"{side}_hind_roll", "x", offset)
        frame, point = joint(frame, point, f"{side}_hind_yaw", "z", me.Vector(0))
        add_body(f"{side}_hind", frame, point, "hind", parameter("hind_com_x") * frame.x)
    kane = me.KanesMethod(world, q_ind=q, u_ind=u, kd_eqs=kinematic)
    kane.kanes_equations(bodies, [])
    return kane.mass_matrix, kane.forcing


if __name__ == "__main__":
    elapsed, operations = derive()
    print(f"KanesMethod: {elapsed:.1f} s, {operations:,} operations")
