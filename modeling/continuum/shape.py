"""The shape of a constant-curvature arc as functions of s = θ², safe at θ = 0.

An arc of unit length with bending (u, w) = θ (cos φ, sin φ) starts along −y.
Its rotation vector is u about x and w about z, so that (u, w) adds up like the
angles of links that turn about x and z.  The point at x ∈ [0, 1] lies at

    r(x) = (w X, −S, −u X) ,   S = sin(xθ)/θ ,   X = (1 − cos xθ)/θ²

and S, X are entire functions of s.  Every function of s here is written twice:
as a power series below the switch and in closed form above it, so that values
and derivatives stay exact to rounding for all θ.
"""

from __future__ import annotations

from functools import cache

from ..program import Scalar
from ..program.functions import cos, maximum, select, sin, sqrt
from .trigonometric import ArcFunction, cosine, one, sine

SWITCH = 4.0
"""Value of s = θ² at which the closed form takes over from the series."""

SERIES_TERMS = 18

S_SHAPE = sine(0, -1)
X_SHAPE = one(-2) + cosine(0, -2, -1)

BASIS: tuple[ArcFunction, ...] = (
    one(),
    S_SHAPE,
    X_SHAPE,
    S_SHAPE.by_square(),
    X_SHAPE.by_square(),
    S_SHAPE.by_square().by_square(),
    X_SHAPE.by_square().by_square(),
)
"""1, S, X, S′, X′, S″, X″ with ′ = ∂/∂s."""


@cache
def shape_integral(i: int, j: int) -> ArcFunction:
    """∫₀¹ of the product of two basis functions, exact."""
    return (BASIS[i] * BASIS[j]).integral()


def even_function(function: ArcFunction, s: Scalar) -> Scalar:
    """Statements for a function of θ that is even in θ and has no power of x.

    Parameters
    ----------
    function:
        For example :func:`shape_integral`, or a basis function :func:`at_end`.
    s:
        θ², dimensionless and not negative.
    """
    builder = s.builder
    series = function.series(SERIES_TERMS)
    if any(power % 2 for power, _ in series):
        raise ValueError("the function is not even in θ")
    coefficients = dict(series)
    highest = max(coefficients, default=0) // 2
    small = builder.constant(0)
    for k in reversed(range(highest + 1)):
        small = small * s + builder.constant(float(coefficients.get(2 * k, 0)))
    # The closed form is evaluated at a safe θ even where the series is used.
    theta = sqrt(maximum(s, builder.constant(SWITCH)))
    large = builder.constant(0)
    for (_, power, k, is_sine), c in sorted(function.terms.items()):
        term = builder.constant(float(c)) * theta**power
        if k:
            term = term * (sin(k * theta) if is_sine else cos(k * theta))
        large = large + term
    return select(s - builder.constant(SWITCH), large, small)


def at_end(function: ArcFunction) -> ArcFunction:
    """A basis function at x = 1, as a function of θ alone."""
    return ArcFunction.of(((0, b, k, s), c) for (_, b, k, s), c in function.terms.items())
