"""The shape of a constant-curvature arc as functions of s = θ², safe at θ = 0.

An arc of unit length with bending (u, w) = θ (cos φ, sin φ) starts along −y.
Its rotation vector is u about x and w about z, so that (u, w) adds up like the
angles of links that turn about x and z.  The point at x ∈ [0, 1] lies at

    r(x) = (w X, −S, −u X) ,   S = sin(xθ)/θ ,   X = (1 − cos xθ)/θ²

and S, X are entire functions of s.  Every function of s here is written twice:
as a power series below the switch and in closed form above it.  The closed forms
divide by high powers of θ and cancel, those of S″ and X″ worst: at θ = 2 they
lose 4 digits, beyond θ = π none that matters.  The series converge everywhere,
so the switch lies just above π; measured against 60 digits up to θ = 1.2 π, all
values are then exact to 3e-15 and all derivatives by s to 2e-14.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from ..program import Scalar
from ..program.functions import cos, maximum, select, sin, sqrt
from .trigonometric import ArcFunction, Term, cosine, one, sine

SWITCH = 10.0
"""Value of s = θ² at which the closed form takes over from the series (θ just above π)."""

MAX_BENDING = 1.2 * math.pi
"""Bending θ [rad] up to which values and derivatives are proven (tests of this module)."""

SERIES_ERROR = 1e-19
"""Terms below this at the switch, against the value at θ = 0, are left out."""

MOST_TERMS = 40

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


def even_function(function: ArcFunction, s: Scalar, switch: float = SWITCH) -> Scalar:
    """Statements for a function of θ that is even in θ and has no power of x.

    Parameters
    ----------
    function:
        For example :func:`shape_integral`, or a basis function :func:`at_end`.
    s:
        θ², dimensionless and not negative.
    switch:
        Value of s up to which the series is used.
    """
    builder = s.builder
    small = builder.constant(0)
    for coefficient in reversed(_coefficients(function, switch)):
        small = small * s + builder.constant(coefficient)
    # The closed form is evaluated at a safe θ even where the series is used.
    theta = sqrt(maximum(s, builder.constant(switch)))
    large = builder.constant(0)
    for (_, power, k, is_sine), c in sorted(function.terms.items()):
        term = builder.constant(float(c)) * theta**power
        if k:
            term = term * (sin(k * theta) if is_sine else cos(k * theta))
        large = large + term
    return select(s - builder.constant(switch), large, small)


@cache
def _series(terms: frozenset[tuple[Term, Fraction]]) -> list[tuple[int, Fraction]]:
    return ArcFunction.of(terms).series(MOST_TERMS)


def _coefficients(function: ArcFunction, switch: float) -> list[float]:
    """Coefficients of the powers of s that matter below the switch."""
    series = _series(frozenset(function.terms.items()))
    if any(power % 2 for power, _ in series):
        raise ValueError("the function is not even in θ")
    scale = abs(float(series[0][1])) if series else 0.0
    kept = [
        (power // 2, float(c))
        for power, c in series
        if abs(float(c)) * switch ** ((power - series[0][0]) // 2) > SERIES_ERROR * scale
    ]
    coefficients = [0.0] * (max((k for k, _ in kept), default=-1) + 1)
    for k, c in kept:
        coefficients[k] = c
    return coefficients


def at_end(function: ArcFunction) -> ArcFunction:
    """A basis function at x = 1, as a function of θ alone."""
    return ArcFunction.of(((0, b, k, s), c) for (_, b, k, s), c in function.terms.items())
