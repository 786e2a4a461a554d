"""Energies, momentum and centre of mass of a whole robot."""

from __future__ import annotations

from ..model import Model
from ..program import Function, Scalar
from ..program.program import output
from ..spatial import Vec3, zero_vector
from ..tree import KinematicTree
from .composite import composite_inertias

PARAMETERS, Q, P = "parameters", "q", "p"


def total_functions(model: Model, tree: KinematicTree) -> list[Function]:
    """Kinetic and potential energy; centre of mass and momentum if there is any mass."""
    b = model.builder
    q = {c.name: b.symbol(Q, c.name, c.unit) for c in model.coordinates}
    half = b.constant(0.5)
    kinetic = b.constant(0)
    momenta: list[tuple[Vec3, Vec3]] = []
    for link in tree.links:
        omega, v = tree.angular_velocities[link.index], tree.linear_velocities[link.index]
        moment = link.inertia.times(omega) + link.moment.cross(v)
        linear = v * link.mass + omega.cross(link.moment)
        momenta.append((moment, linear))
        kinetic = kinetic + half * (omega.dot(moment) + v.dot(linear))
        for arc in link.arcs:
            moving = arc.mass.velocity
            own, turning = arc.mass.total(moving), arc.mass.cross(arc.mass.position, moving)
            kinetic = kinetic + v.dot(own) + omega.dot(turning)
            kinetic = kinetic + half * arc.mass.dot(moving, moving)
            momenta[-1] = (moment + turning, linear + own)
            moment, linear = momenta[-1]
    mass, first, _, weight_moment = tree.world_moments()
    with b.context("potential energy"):
        potential = -model.gravity.dot(weight_moment)
        for spring in model.springs:
            stretch = q[spring.coordinate] - spring.rest
            potential = potential + half * spring.stiffness * stretch * stretch
    scalar: tuple[int, ...] = ()
    functions = [
        Function(
            "kinetic_energy",
            (PARAMETERS, Q, P),
            (output("kinetic_energy", scalar, [kinetic], "T [J]"),),
            "Kinetic energy [J].",
        ),
        Function(
            "potential_energy",
            (PARAMETERS, Q),
            (output("potential_energy", scalar, [potential], "U [J]"),),
            "Potential energy [J]: weight, buoyancy, springs.",
        ),
    ]
    if mass.is_zero:
        return functions
    per_mass = b.guard(1 / mass, mass, "the robot has no mass")
    center = first * per_mass
    angular, linear = _total_momentum(tree, momenta, mass)
    functions += [
        Function(
            "center_of_mass",
            (PARAMETERS, Q),
            (output("center_of_mass", (3,), center.list(), "world axes [m]"),),
            "Centre of mass of the whole robot in world axes [m].",
        ),
        Function(
            "momentum",
            (PARAMETERS, Q, P),
            (
                output(
                    "momentum",
                    (6,),
                    [*angular.list(), *linear.list()],
                    "(angular about the centre of mass, linear), world axes",
                ),
            ),
            "Momentum (angular about the centre of mass [kg m^2/s], linear [kg m/s]), world axes.",
        ),
    ]
    return functions


def _total_momentum(
    tree: KinematicTree, momenta: list[tuple[Vec3, Vec3]], mass: Scalar
) -> tuple[Vec3, Vec3]:
    """Sum of body momenta about the centre of mass, in world axes.

    A single root is summed up in its own axes and only turned into the
    world, so that a robot far from the origin loses no digits.
    """
    b = tree.builder
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
