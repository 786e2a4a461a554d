"""Elementary functions of program scalars: ``sin``, ``sqrt``, ``select`` and the rest."""

from __future__ import annotations

from .scalar import Scalar, ScalarLike


def _call(operation: str, *arguments: ScalarLike) -> Scalar:
    builder = next(a.builder for a in arguments if isinstance(a, Scalar))
    return Scalar(builder, builder.call(operation, *(builder.ref_of(a) for a in arguments)))


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in radians."""
    return _call("sin", x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in radians."""
    return _call("cos", x)


def tan(x: Scalar) -> Scalar:
    """Tangent of an angle in radians."""
    return _call("tan", x)


def sqrt(x: Scalar) -> Scalar:
    """Square root; halves the dimension."""
    return _call("sqrt", x)


def exp(x: Scalar) -> Scalar:
    """Exponential of a dimensionless value."""
    return _call("exp", x)


def log(x: Scalar) -> Scalar:
    """Natural logarithm of a dimensionless value."""
    return _call("log", x)


def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent of a dimensionless value."""
    return _call("tanh", x)


def absolute(x: Scalar) -> Scalar:
    """Absolute value."""
    return _call("abs", x)


def atan2(y: ScalarLike, x: ScalarLike) -> Scalar:
    """Angle of the vector (x, y), in radians."""
    return _call("atan2", y, x)


def minimum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """The smaller of two values of one dimension."""
    return _call("min", a, b)


def maximum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """The larger of two values of one dimension."""
    return _call("max", a, b)


def select(condition: ScalarLike, if_positive: ScalarLike, otherwise: ScalarLike) -> Scalar:
    """``if_positive`` where ``condition`` > 0, else ``otherwise``; both are evaluated."""
    return _call("select", condition, if_positive, otherwise)
