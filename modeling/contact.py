"""Regularized contact of nodes with the ground, the same expressions in C and in CasADi.

At a node with penetration z (positive below the ground) and its rate ż the
normal force of Azad and Featherstone (IEEE T-RO 30:736, 2014) is √z (K z + D ż);
that of Hunt and Crossley is K z^{3/2} (1 + (D/K) ż) with D here in N s m^-5/2.
Both are made smooth by

    z₊ = ½ (z + √(z² + ε²)) ,     [y]₊ = ½ (y + √(y² + (δ K z₊)²))

so that the force is never negative (no adhesion), vanishes away from the ground
faster than any contact matters, and grows with ż: against the elastic force at
ż = 0 it can only take energy.  Friction is −μ F_n v_t / √(v_t·v_t + v_ε²), never
more than μ F_n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .program import Builder, Scalar
from .program.evaluate import evaluate_refs
from .program.functions import sqrt
from .program.transform import builder_operations, jacobian
from .spatial import Vec3

Height: TypeAlias = Callable[[Scalar, Scalar], Scalar]
"""Ground height [m] as a function of the two horizontal coordinates [m]."""

LAWS = ("azad_featherstone", "hunt_crossley")
CLIP = 1e-3
"""δ: how soft the force turns to zero when the ground would pull, as a fraction of K z₊."""


@dataclass(frozen=True)
class ContactSurface:
    """Ground and contact law.

    ``stiffness`` K [N m^-3/2], ``damping`` D [N s m^-3/2] (Azad–Featherstone) or
    [N s m^-5/2] (Hunt–Crossley), ``friction`` μ, ``slip_velocity`` v_ε [m/s],
    ``smoothing`` ε [m]; ``height`` None for the plane z = 0.
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
    eps = surface.smoothing
    half = builder.constant(0.5)
    smooth = half * (penetration + sqrt(penetration * penetration + eps * eps))
    root = sqrt(smooth)
    elastic = surface.stiffness * smooth
    driven = elastic + (
        surface.damping * rate
        if surface.law == "azad_featherstone"
        else surface.damping * smooth * rate
    )
    clip = elastic * CLIP
    pressed = half * (driven + sqrt(driven * driven + clip * clip))
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
        _elastic_energy(builder, surface, smooth, eps),
    )


def _elastic_energy(
    builder: Builder, surface: ContactSurface, smooth: Scalar, eps: Scalar
) -> Scalar:
    """∫ F dz at ż = 0: dz = (1 + ε²/4z₊²) dz₊, so K σ (2/5 z₊^{5/2} + ε²/2 z₊^{1/2}).

    The rest energy far above the ground tends to zero with z₊.
    """
    gain = 0.5 * (1 + (1 + CLIP * CLIP) ** 0.5)
    root = sqrt(smooth)
    series = smooth * smooth * root * 0.4 + eps * eps * root * 0.5
    energy: Scalar = surface.stiffness * series * gain
    return energy


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
