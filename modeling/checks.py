"""Checks of a complete model: what cannot be derived, and what no robot can have."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import ModelError, ModelWarning
from .parts import Body
from .program import Scalar
from .program.evaluate import FLOAT_OPERATIONS, evaluate_refs

if TYPE_CHECKING:
    from .model import Model


def check_model(model: Model) -> None:
    """Refuse a model that cannot be derived and warn of one that no robot can have.

    Raises
    ------
    ModelError
        No moving joint, a joint that moves no mass, a negative mass or volume
        in the defaults or in a variant.
    """
    if not model.velocities:
        raise ModelError(f"model {model.name!r} has no moving joint")
    _require_mass_beyond_joints(model)
    for variant in (None, *model.variants):
        values = model.values(variant)
        tag = f" (variant {variant!r})" if variant else ""
        for body in model.bodies.values():
            _require_not_negative(model, body, values, tag)
        for scalar, what in model.positive:
            (value,) = _numbers(model, [scalar], values)
            if not value > 0:
                raise ModelError(
                    f"model {model.name!r}: {what} must be positive, got {value:g}{tag}"
                )
        _require_dissipative_contact(model, values, tag)
        impossible = [
            b.name for b in model.bodies.values() if not _inertia_exists(model, b, values)
        ]
        if impossible and variant not in model.impossible_variants:
            warnings.warn(
                f"model {model.name!r}{tag}: no mass distribution has the inertia of "
                f"{', '.join(impossible)} (each principal moment about the centre of mass must "
                "not exceed the sum of the two others)",
                ModelWarning,
                stacklevel=4,
            )


def _require_mass_beyond_joints(model: Model) -> None:
    carried = {name: bool(body.lumps or body.arcs) for name, body in model.bodies.items()}
    bending = {n for body in model.bodies.values() for arc in body.arcs for n in arc.names}
    for body in reversed(model.bodies.values()):
        if body.parent is not None and carried[body.name]:
            carried[body.parent.name] = True
    for body in model.bodies.values():
        bends = bending.issuperset(c.name for c in body.joint.coordinates)
        if body.joint.velocities and not carried[body.name] and not bends:
            raise ModelError(
                f"body {body.name!r}: its joint moves no mass; a massless body needs a body with "
                "mass beyond it"
            )


def _require_not_negative(model: Model, body: Body, values: Mapping[str, float], tag: str) -> None:
    for lump in body.lumps:
        label = f"body {body.name!r}" + (f", lump {lump.name!r}" if lump.name else "")
        (mass,) = _numbers(model, [lump.mass], values)
        if mass < 0:
            raise ModelError(f"{label}: mass must not be negative, got {mass:g} kg{tag}")
    for arc in body.arcs:
        mass, length = _numbers(model, [arc.mass, arc.length], values)
        if mass < 0 or length <= 0:
            raise ModelError(
                f"arc on body {body.name!r}: mass must not be negative and length must be "
                f"positive, got {mass:g} kg and {length:g} m{tag}"
            )
    if body.buoyancy is not None:
        (volume,) = _numbers(model, [body.buoyancy.volume], values)
        if volume < 0:
            raise ModelError(
                f"body {body.name!r}: volume must not be negative, got {volume:g} m^3{tag}"
            )


def _require_dissipative_contact(model: Model, values: Mapping[str, float], tag: str) -> None:
    surface = model.contact_surface
    if surface is None:
        return
    for scalar, what in ((surface.damping, "damping"), (surface.friction, "friction")):
        (value,) = _numbers(model, [scalar], values)
        if value < 0:
            raise ModelError(
                f"model {model.name!r}: contact {what} must not be negative, got {value:g}{tag}"
            )


def _inertia_exists(model: Model, body: Body, values: Mapping[str, float]) -> bool:
    """Whether the second moment ½tr(I)1 − I about the centre of mass is semidefinite."""
    total, first = 0.0, [0.0] * 3
    second = [[0.0] * 3 for _ in range(3)]
    for lump in body.lumps:
        mass, *com = _numbers(model, [lump.mass, *lump.com.list()], values)
        i = lump.inertia
        xx, yy, zz, xy, xz, yz = _numbers(model, [i.xx, i.yy, i.zz, i.xy, i.xz, i.yz], values)
        half = (xx + yy + zz) / 2
        own = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
        total += mass
        first = [f + mass * c for f, c in zip(first, com, strict=True)]
        second = [
            [second[r][k] + own[r][k] + mass * com[r] * com[k] for k in range(3)] for r in range(3)
        ]
    if total > 0:
        second = [[second[r][k] - first[r] * first[k] / total for k in range(3)] for r in range(3)]
    return _is_semidefinite(second)


def _numbers(model: Model, scalars: Sequence[Scalar], values: Mapping[str, float]) -> list[float]:
    return evaluate_refs(
        model.builder.nodes,
        [s.ref for s in scalars],
        lambda group, name: values[name],
        FLOAT_OPERATIONS,
    )


def _is_semidefinite(p: list[list[float]]) -> bool:
    """Whether a symmetric 3×3 matrix has no negative principal minor (to rounding)."""
    scale = max(abs(v) for row in p for v in row)
    if scale == 0:
        return True
    p = [[v / scale for v in row] for row in p]
    minors = [p[0][0], p[1][1], p[2][2]]
    minors += [p[a][a] * p[b][b] - p[a][b] ** 2 for a, b in ((0, 1), (0, 2), (1, 2))]
    minors.append(
        p[0][0] * (p[1][1] * p[2][2] - p[1][2] ** 2)
        - p[0][1] * (p[0][1] * p[2][2] - p[1][2] * p[0][2])
        + p[0][2] * (p[0][1] * p[1][2] - p[1][1] * p[0][2])
    )
    return min(minors) > -1e-9
