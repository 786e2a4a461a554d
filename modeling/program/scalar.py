"""The scalar that the mechanics is written in: a signed reference to a statement."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .builder import Builder

Number: TypeAlias = int | float | Fraction
ScalarLike: TypeAlias = "Scalar | int | float | Fraction"


class Scalar:
    """A value of a program under construction: plus or minus a named statement.

    Arithmetic on scalars appends statements to their :class:`Builder`; nothing
    is ever expanded.  ``-x`` costs nothing, because the sign lives in the
    reference.  Two scalars are equal if and only if they are the same statement
    with the same sign.
    """

    __slots__ = ("builder", "ref")

    def __init__(self, builder: Builder, ref: int) -> None:
        self.builder = builder
        self.ref = ref

    # -- arithmetic -------------------------------------------------------
    def __add__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.add(self.ref, b.ref_of(other)))

    __radd__ = __add__

    def __sub__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.add(self.ref, b.negate(b.ref_of(other))))

    def __rsub__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.add(b.ref_of(other), b.negate(self.ref)))

    def __mul__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.mul(self.ref, b.ref_of(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.div(self.ref, b.ref_of(other)))

    def __rtruediv__(self, other: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.div(b.ref_of(other), self.ref))

    def __neg__(self) -> Scalar:
        return Scalar(self.builder, self.builder.negate(self.ref))

    def __pos__(self) -> Scalar:
        return self

    def __pow__(self, exponent: ScalarLike) -> Scalar:
        b = self.builder
        return Scalar(b, b.power(self.ref, b.ref_of(exponent)))

    # -- identity ---------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        if isinstance(other, Scalar):
            return self.builder is other.builder and self.ref == other.ref
        if isinstance(other, (int, float, Fraction)):
            return self.is_constant(other)
        return NotImplemented

    def __hash__(self) -> int:
        value = self.builder.constant_value(self.ref)  # equal to the number, so hashed like it
        return hash((id(self.builder), self.ref)) if value is None else hash(value)

    def is_constant(self, value: Number) -> bool:
        """Whether this is the given number."""
        return self.builder.constant_value(self.ref) == value

    @property
    def is_zero(self) -> bool:
        """Whether this is the structural zero (not merely a value that may vanish)."""
        return self.builder.is_zero(self.ref)

    def __bool__(self) -> bool:
        raise TypeError(
            "a program scalar has no truth value while the program is being written; "
            "use .is_zero for structural zeros, or select(condition, a, b) in the program"
        )

    def __repr__(self) -> str:
        return f"Scalar({self.builder.describe(self.ref)})"
