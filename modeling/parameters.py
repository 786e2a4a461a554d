"""Parameters of a model, named sets of their values, and how plain numbers become parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from .errors import ModelError
from .names import identifier
from .parts import Parameter
from .program import Builder, Scalar, parse_unit
from .realised import AXES
from .spatial import AxisRotation, NoRotation, Rotation, RotationSequence, Vec3, axis_rotation

Quantity: TypeAlias = "Scalar | float | int"
Triple: TypeAlias = "Sequence[Quantity]"


class ParameterTable:
    """The parameters and variants of a model, over the builder of its program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.builder = Builder()
        self.parameters: dict[str, Parameter] = {}
        self.variants: dict[str, dict[str, float]] = {}
        self.variant_notes: dict[str, str] = {}
        self.impossible_variants: set[str] = set()

    def parameter(
        self, name: str, default: float, unit: str, source: str = "", description: str = ""
    ) -> Scalar:
        """Declare a parameter and return it as a scalar to build expressions with.

        Raises
        ------
        ModelError
            If the name is taken or not an identifier, or the default is not finite.
        UnitError
            If the unit cannot be read.
        """
        identifier(name, "parameter")
        if name in self.parameters:
            raise ModelError(f"parameter {name!r} is declared twice")
        parse_unit(unit)
        value = float(default)
        if not math.isfinite(value):
            raise ModelError(f"parameter {name!r}: default must be finite, got {default!r}")
        self.parameters[name] = Parameter(name, unit, value, source, description)
        return self.builder.symbol("parameters", name, unit)

    def variant(
        self,
        name: str,
        values: Mapping[str, float] = {},
        note: str = "",
        *,
        impossible_inertia: bool = False,
    ) -> None:
        """Declare a named set of parameter values; unnamed parameters keep their default.

        ``impossible_inertia`` states that the set knowingly has inertias that no mass
        distribution can have (as a published table may), so that no warning is due.
        """
        identifier(name, "variant")
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            raise ModelError(f"variant {name!r}: unknown parameter {', '.join(unknown)}")
        if name in self.variants:
            raise ModelError(f"variant {name!r} is declared twice")
        for parameter, value in values.items():
            if not math.isfinite(value):
                raise ModelError(
                    f"variant {name!r}: {parameter!r} must be finite, got {float(value)!r}"
                )
        self.variants[name] = {k: float(v) for k, v in values.items()}
        self.variant_notes[name] = note
        if impossible_inertia:
            self.impossible_variants.add(name)

    def values(self, variant: str | None = None) -> dict[str, float]:
        """Parameter values of a variant (defaults without one)."""
        base = {p.name: p.default for p in self.parameters.values()}
        if variant is not None:
            if variant not in self.variants:
                raise ModelError(
                    f"model {self.name!r} has no variant {variant!r}; "
                    f"have {', '.join(self.variants) or 'none'}"
                )
            base.update(self.variants[variant])
        return base

    # -- reading arguments ------------------------------------------------------
    def quantity(self, value: Quantity, name: str, unit: str, label: str) -> Scalar:
        """A number (made a parameter), or a scalar of the right dimension.

        Raises
        ------
        ModelError
            For another unit, another model's scalar, or what is no finite number.
        """
        if isinstance(value, Scalar):
            if value.builder is not self.builder:
                raise ModelError(f"{label}: this scalar belongs to another model")
            dimension, expected = self.builder.dimension(value), parse_unit(unit)
            if dimension is not None and dimension != expected:
                raise ModelError(f"{label} must be in [{unit}], got a value in [{dimension}]")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            raise ModelError(f"{label} must be a number or a parameter, got {value!r}")
        if not math.isfinite(value):
            raise ModelError(f"{label} must be finite, got {value!r}")
        if value == 0:
            return self.builder.constant(0)
        return self.parameter(name, float(value), unit, description=label)

    def vector(self, values: Triple, name: str, unit: str, label: str) -> Vec3:
        """Three quantities; numbers become the parameters ``<name>_x`` … ``<name>_z``."""
        if isinstance(values, Vec3):
            values = values.list()
        entries = list(values)
        if len(entries) != 3:
            raise ModelError(f"{label} must have three entries, got {len(entries)}")
        return Vec3(
            *(
                self.quantity(v, f"{name}_{a}", unit, f"{label} {a}")
                for v, a in zip(entries, AXES, strict=True)
            )
        )

    def rotation(self, angles: Triple, name: str, label: str) -> Rotation:
        """A rotation from roll, pitch, yaw [rad]; multiples of 90° are exact constants."""
        entries = list(angles)
        if len(entries) != 3:
            raise ModelError(f"{label} must be roll, pitch, yaw [rad], got {len(entries)} entries")
        factors = []
        for axis, tag in ((2, "yaw"), (1, "pitch"), (0, "roll")):
            value = entries[axis]
            quarter = _quarter_turns(value)
            if quarter is not None:
                sine, cosine = ((0, 1), (1, 0), (0, -1), (-1, 0))[quarter]
                if quarter:
                    factors.append(
                        AxisRotation(
                            axis, self.builder.constant(sine), self.builder.constant(cosine)
                        )
                    )
                continue
            angle = self.quantity(value, f"{name}_{tag}", "rad", f"{label} {tag}")
            factors.append(axis_rotation(axis, angle))
        return RotationSequence(factors) if factors else NoRotation(self.builder)


def is_literal_zero(value: Quantity) -> bool:
    """Whether a quantity is the plain number 0, which stays a structural zero."""
    return not isinstance(value, Scalar) and value == 0


def _quarter_turns(value: Quantity) -> int | None:
    """0–3 if the literal angle is a multiple of 90°, to the last digit; else None."""
    if isinstance(value, Scalar):
        return 0 if value.is_zero else None
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None  # refused as a quantity
    turns = value / (math.pi / 2)
    return round(turns) % 4 if abs(turns - round(turns)) < 1e-14 else None
