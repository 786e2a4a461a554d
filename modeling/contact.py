"""Regularized contact of nodes with the ground, the same expressions in C and in CasADi.

At a node with penetration z (positive below the ground) and its rate ż the
normal force of Azad and Featherstone (IEEE T-RO 30:736, 2014) is √z (K z + D ż);
that of Hunt and Crossley is K z^{3/2} (1 + (D/K) ż) with D here in N s m^-5/2.
Both are made smooth by writing h(z) for √z and

    F_n = h [K h² + D ż]₊  or  h [K h² + D h² ż]₊ ,   [y]₊ = ½ (y + √(y² + (δ K h²)²))

where h is √z for z ≥ ε, zero for z ≤ −ε, and between them a polynomial that joins
them with two continuous derivatives.  So the force is exactly zero away from the
ground, never negative (no adhesion), and grows with ż: against the elastic force
at ż = 0 it can only take energy.  (A z₊ = ½ (z + √(z² + ε²)) would not do for √z:
it falls off so slowly that a fast node would be braked a metre above the ground.)
Friction is −μ F_n v_t / √(v_t·v_t + v_ε²), never more than μ F_n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from .program import Scalar
from .program.evaluate import evaluate_refs
from .program.functions import maximum, minimum, sqrt
from .program.transform import builder_operations, jacobian
from .spatial import Vec3

Height: TypeAlias = Callable[[Scalar, Scalar], Scalar]
"""Ground height [m] as a function of the two horizontal coordinates [m]."""

LAWS = ("azad_featherstone", "hunt_crossley")
CLIP = 1e-3
"""δ: how soft the force turns to zero when the ground would pull, as a fraction of K h²."""

FLOOR = 1e-10
"""Keeps the derivative of [y]₊ finite at rest in the air, as a fraction of K ε."""

BLEND = (Fraction(11, 2), Fraction(-7), Fraction(5, 2))
"""h/√ε = t³ (5.5 − 7t + 2.5t²) with t = (z + ε)/2ε: value and two derivatives of √z at z = ε."""


@dataclass(frozen=True)
class ContactSurface:
    """Ground and contact law.

    ``stiffness`` K [N m^-3/2], ``damping`` D [N s m^-3/2] (Azad–Featherstone) or
    [N s m^-5/2] (Hunt–Crossley), ``friction`` μ, ``slip_velocity`` v_ε [m/s],
    ``smoothing`` ε [m], the half width over which
    contact sets in; ``height`` None for the plane z = 0.
    """

    stiffness: Scalar
    damping: Scalar
    friction: Scalar
    slip_velocity: Scalar
    smoothing: Scalar
    law: str
    height: Height | None


@dataclass(frozen=True)
class ContactForce:
    """Force on the node in world axes [N], penetration [m] and slip velocity [m/s]."""

    force: Vec3
    normal_force: Scalar
    penetration: Scalar
    slip: Scalar
    energy: Scalar


def contact_force(
    surface: ContactSurface, position: Vec3, velocity: Vec3, up: int, sign: int
) -> ContactForce:
    """Force of the ground on a node.

    Parameters
    ----------
    surface:
        Ground and law.
    position, velocity:
        Of the node in world axes.
    up, sign:
        Number of the world's vertical axis, and whether up is along it.
    """
    builder = position.x.builder
    i, j = (k for k in range(3) if k != up)
    height, normal = _ground(surface, position, up, sign, i, j)
    gap = (position[up] * sign - height) * normal[up] * sign  # distance to the tangent plane
    penetration = -gap
    rate = -velocity.dot(normal)
    root = _root(surface, penetration)
    elastic = surface.stiffness * root * root
    driven = elastic + (
        surface.damping * rate
        if surface.law == "azad_featherstone"
        else surface.damping * root * root * rate
    )
    clip, floor = elastic * CLIP, surface.stiffness * surface.smoothing * FLOOR
    pressed = builder.constant(0.5) * (driven + sqrt(driven * driven + clip * clip + floor * floor))
    normal_force = root * pressed
    tangential = velocity - normal * velocity.dot(normal)
    slow = surface.slip_velocity
    slip = sqrt(tangential.dot(tangential) + slow * slow)
    force = normal * normal_force - tangential * (surface.friction * normal_force / slip)
    return ContactForce(
        force,
        normal_force,
        penetration,
        sqrt(tangential.dot(tangential)),
        _elastic_energy(surface, penetration),
    )


def _blend(surface: ContactSurface, penetration: Scalar) -> Scalar:
    """t = (z + ε)/2ε, kept between 0 and 1."""
    eps = surface.smoothing
    return minimum(maximum((penetration + eps) / (2 * eps), 0), 1)


def _root(surface: ContactSurface, penetration: Scalar) -> Scalar:
    """h(z): √z in contact, 0 in the air, smooth between."""
    eps, t = surface.smoothing, _blend(surface, penetration)
    a, b, c = BLEND
    joint: Scalar = t * t * t * (a + t * (b + t * c)) - 1
    return sqrt(maximum(penetration, eps)) + sqrt(eps) * joint


def _elastic_energy(surface: ContactSurface, penetration: Scalar) -> Scalar:
    """∫ F dz at ż = 0 from the air on: K σ ∫ h³ dz with σ = ½ (1 + √(1 + δ²))."""
    eps, t = surface.smoothing, _blend(surface, penetration)
    cube = _power(BLEND, 3)
    blend = t * 0
    for k in reversed(range(len(cube))):  # ∫ t⁹ (5.5 − 7t + 2.5t²)³ dt
        blend = (blend + cube[k] / (10 + k)) * t
    for _ in range(9):
        blend = blend * t
    deep, rim = maximum(penetration, eps), eps * eps * sqrt(eps)
    gain = 0.5 * (1 + (1 + CLIP * CLIP) ** 0.5)
    beyond = (deep * deep * sqrt(deep) - rim) * 0.4
    energy: Scalar = surface.stiffness * (beyond + 2 * rim * blend) * gain
    return energy


def _power(coefficients: Sequence[Fraction], exponent: int) -> list[Fraction]:
    """Coefficients of a power of a polynomial."""
    result = [Fraction(1)]
    for _ in range(exponent):
        product = [Fraction(0)] * (len(result) + len(coefficients) - 1)
        for i, a in enumerate(result):
            for j, b in enumerate(coefficients):
                product[i + j] += a * b
        result = product
    return result


def _ground(
    surface: ContactSurface, position: Vec3, up: int, sign: int, i: int, j: int
) -> tuple[Scalar, Vec3]:
    """Height of the ground below a point, and its unit normal in world axes."""
    builder = position.x.builder
    zero, one = builder.constant(0), builder.constant(1)
    entries = [zero] * 3
    if surface.height is None:
        entries[up] = one * sign
        return zero, Vec3(*entries)
    # Differentiate the user's function by symbols of its own, then put the point in.
    probe = [builder.symbol("probe", name, "m") for name in ("first", "second")]
    value = surface.height(*probe)
    (slopes,) = jacobian(builder, [value], probe)
    point = {"first": position[i], "second": position[j]}
    height, by_first, by_second = evaluate_refs(
        builder.nodes,
        [value.ref, slopes[0].ref, slopes[1].ref],
        lambda group, name: point[name] if group == "probe" else builder.symbol(group, name),
        builder_operations(builder),
    )
    length = sqrt(one + by_first * by_first + by_second * by_second)
    entries[i], entries[j] = -by_first / length, -by_second / length
    entries[up] = sign / length
    return height, Vec3(*entries)
