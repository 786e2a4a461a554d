"""Orientations by a unit quaternion or by Euler angles, against body-frame angular velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import ModelError
from .program import Builder, Scalar
from .realised import AXES, Coordinate, NameMap, coordinate_symbol
from .spatial import Rotation, RotationSequence, axis_rotation, quaternion_rotation, unit_vector

SINGULAR_COSINE_SQUARED = 1e-12
"""Euler angles are refused closer than about 1e-6 rad to their singular pose."""


@dataclass(frozen=True)
class Orientation:
    """A realised orientation: rotation, coordinates, V and W blocks against body rates."""

    rotation: Rotation
    coordinates: tuple[Coordinate, ...]
    velocity_map: NameMap
    rate_map: NameMap


def orientation_coordinates(orientation: str, prefix: str) -> tuple[str, ...]:
    """Default coordinate names of an orientation: quaternion or ``euler_<sequence>``."""
    if orientation == "quaternion":
        return tuple(f"{prefix}q{a}" for a in "wxyz")
    sequence = _euler_sequence(orientation)
    if len(set(sequence)) == 3:
        return tuple(f"{prefix}{n}" for n in ("roll", "pitch", "yaw"))
    return tuple(f"{prefix}angle{k}" for k in (1, 2, 3))


def _euler_sequence(orientation: str) -> str:
    prefix, _, letters = orientation.partition("_")
    proper = (
        prefix == "euler"
        and len(letters) == 3
        and set(letters) <= set(AXES)
        and letters[0] != letters[1] != letters[2]
    )
    if not proper:
        raise ModelError(
            f"orientation {orientation!r} is not 'quaternion' or 'euler_' with three axes "
            "of which no two neighbours agree, such as 'euler_zyx'"
        )
    return letters


def realise_orientation(
    builder: Builder, orientation: str, names: Sequence[str], rates: Sequence[str], owner: str
) -> Orientation:
    """Write an orientation into a program; ``names`` are its coordinates, ``rates`` ω.

    Raises
    ------
    ModelError
        For an unknown orientation or a wrong number of names; ``owner`` is named.
    """
    expected = 4 if orientation == "quaternion" else 3
    if orientation != "quaternion":
        _euler_sequence(orientation)
    if len(names) != expected or len(rates) != 3:
        raise ModelError(
            f"{owner}: orientation {orientation!r} needs {expected} coordinate names and 3 "
            f"velocity names, got {len(names)} and {len(rates)}"
        )
    if orientation == "quaternion":
        return _quaternion_orientation(builder, names, rates)
    return _euler_orientation(builder, orientation, names, rates, owner)


def _quaternion_orientation(
    builder: Builder, names: Sequence[str], rates: Sequence[str]
) -> Orientation:
    coordinates = tuple(Coordinate(n, "1", kind="quaternion") for n in names)
    w, x, y, z = (coordinate_symbol(builder, c) for c in coordinates)
    half = builder.constant(0.5)
    # q̇ = ½ q ⊗ (0, ω) with ω in body axes; W = 4 Vᵀ / (q·q) on the unit sphere.
    rows = [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
    velocity_map = {(names[i], rates[j]): half * rows[i][j] for i in range(4) for j in range(3)}
    rate_map = {(rates[j], names[i]): 2 * rows[i][j] for i in range(4) for j in range(3)}
    return Orientation(quaternion_rotation(w, x, y, z), coordinates, velocity_map, rate_map)


def _euler_orientation(
    builder: Builder, orientation: str, names: Sequence[str], rates: Sequence[str], owner: str
) -> Orientation:
    """R = R1(α1) R2(α2) R3(α3) about the named body axes, and ω ↔ α̇.

    Seen from the axes before the third rotation, ω' = R3 ω = R2ᵀe1 α̇1 + e2 α̇2 + e3 α̇3
    with e2 ⟂ e1, e3; hence α̇2 = e2·ω', and with b = e2 × e3 (⟂ e2, e3)
    α̇1 = b·ω' / (b·R2ᵀe1), α̇3 = e3·ω' − (e3·R2ᵀe1) α̇1.
    """
    letters = _euler_sequence(orientation)
    axes = [AXES.index(a) for a in letters]
    # Tait-Bryan angles are listed by axis (roll, pitch, yaw), proper Euler angles in sequence.
    slots = axes if len(set(axes)) == 3 else [0, 1, 2]
    coordinates = tuple(Coordinate(n, "rad", kind="angle") for n in names)
    ordered = [coordinates[s] for s in slots]  # in order of rotation
    r1, r2, r3 = (
        axis_rotation(a, coordinate_symbol(builder, c), c.name)
        for a, c in zip(axes, ordered, strict=True)
    )
    e = [unit_vector(builder, a) for a in range(3)]
    first, second, third = (e[a] for a in axes)
    tilted = r2.unapply(first)
    b = second.cross(third)
    lever = b.dot(tilted)  # ± cos α2 (Tait-Bryan) or ± sin α2
    reciprocal = 1 / lever
    builder.guard(
        reciprocal,
        lever * lever - builder.constant(SINGULAR_COSINE_SQUARED),
        f"{owner}: {orientation} angles are singular here ({ordered[1].name} makes the first and "
        "third axes parallel); use orientation 'quaternion'",
    )
    back = r3.apply  # ω' = R3 ω
    images = [back(e[k]) for k in range(3)]  # R3 e_k: columns of R3
    velocity_map: dict[tuple[str, str], Scalar] = {}
    for k, rate in enumerate(rates):
        rate_1 = b.dot(images[k]) * reciprocal
        values = (
            rate_1,
            second.dot(images[k]),
            third.dot(images[k]) - third.dot(tilted) * rate_1,
        )
        for c, value in zip(ordered, values, strict=True):
            if not value.is_zero:
                velocity_map[c.name, rate] = value
    # ω = R3ᵀ R2ᵀ e1 α̇1 + R3ᵀ e2 α̇2 + e3 α̇3
    columns = (r3.unapply(tilted), r3.unapply(second), third)
    rate_map = {
        (rate, c.name): column[k]
        for c, column in zip(ordered, columns, strict=True)
        for k, rate in enumerate(rates)
        if not column[k].is_zero
    }
    return Orientation(RotationSequence([r1, r2, r3]), coordinates, velocity_map, rate_map)
