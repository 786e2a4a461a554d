"""The regular basis of an arc: integrals, derivatives, the switch, and no pole at θ = 0."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from bestiary.modeling.continuum.arc import Y_AT_END
from bestiary.modeling.continuum.shape import (
    BASIS,
    S_SHAPE,
    SWITCH,
    X_SHAPE,
    at_end,
    even_function,
    shape_integral,
)
from bestiary.modeling.continuum.trigonometric import ArcFunction, cosine, one, sine
from bestiary.modeling.program import (
    Builder,
    Function,
    InputGroup,
    Output,
    Program,
    ProgramSymbol,
    evaluate,
)
from bestiary.modeling.program.transform import jacobian

PRINTED = json.loads((Path(__file__).parents[2] / "data/appendix_b_printed.json").read_text())
PAIRS = [(i, j) for i in range(7) for j in range(i, 7) if j]
FUNCTIONS: dict[str, ArcFunction] = {
    **{f"integral {i} {j}": shape_integral(i, j) for i, j in PAIRS},
    "S at the end": at_end(S_SHAPE),
    "X at the end": at_end(X_SHAPE),
    "Y at the end": Y_AT_END,
    "S' at the end": at_end(S_SHAPE.by_square()),
    "X' at the end": at_end(X_SHAPE.by_square()),
}
LIMIT = 1.2 * np.pi
THETAS = [0.0, 1e-8, 1e-4, 0.1, *np.linspace(0.3, LIMIT, 18), np.pi]


@cache
def program() -> Program:
    """All functions of s = θ² with their first and second derivatives."""
    builder = Builder()
    s = builder.symbol("q", "s")
    values = [even_function(f, s) for f in FUNCTIONS.values()]
    first = [row[0] for row in jacobian(builder, values, [s])]
    second = [row[0] for row in jacobian(builder, first, [s])]
    outputs = tuple(
        Output(name, (len(FUNCTIONS),), tuple(v.ref for v in rows))
        for name, rows in (("value", values), ("first", first), ("second", second))
    )
    group = InputGroup("q", (ProgramSymbol("s"),))
    return Program.freeze(builder, [group], [Function("all", ("q",), outputs)])


@cache
def orders() -> tuple[list[ArcFunction], ...]:
    """The functions and their exact derivatives by s."""
    plain = list(FUNCTIONS.values())
    first = [at_end(f.by_square()) for f in plain]
    return plain, first, [at_end(f.by_square()) for f in first]


def exact(function: ArcFunction, theta: float) -> float:
    """To 60 digits: the closed form, or where it is hopeless the exact series."""
    with mpmath.workdps(60):
        t = mpmath.mpf(theta)
        if theta < 0.3:
            return float(sum(mpmath.mpf(c.numerator) / c.denominator * t**p
                             for p, c in function.series(20)))  # fmt: skip
        return float(
            sum(
                mpmath.mpf(c.numerator) / c.denominator * t**b
                * (mpmath.sin(k * t) if is_sine else mpmath.cos(k * t))
                for (_, b, k, is_sine), c in function.terms.items()
            )
        )  # fmt: skip


@pytest.mark.parametrize("theta", THETAS)
def test_values_and_two_derivatives_are_exact_from_straight_to_beyond_pi(theta):
    got = evaluate(program(), "all", {"q": [theta**2]})
    for name, functions, tolerance in zip(got, orders(), (5e-15, 3e-14, 3e-13), strict=True):
        for label, f, value in zip(FUNCTIONS, functions, got[name], strict=True):
            scale = abs(exact(f, 0.0))
            assert abs(value - exact(f, theta)) <= tolerance * scale, (label, name)


def test_no_jump_at_the_switch_in_value_and_derivatives():
    below, above = (
        evaluate(program(), "all", {"q": [s]})
        for s in (np.nextafter(SWITCH, 0), np.nextafter(SWITCH, 99))
    )
    assert np.pi**2 < SWITCH  # so that up to θ = π the series runs, which cannot cancel
    for name, functions, tolerance in zip(below, orders(), (1e-14, 1e-13, 1e-12), strict=True):
        scale = np.array([abs(exact(f, 0.0)) for f in functions])
        jump = np.abs(np.subtract(above[name], below[name]))
        assert np.all(jump <= tolerance * scale), name


@pytest.mark.parametrize(("i", "j"), PAIRS)
def test_integrals_equal_adaptive_quadrature(i, j):
    for theta in (0.3, 1.3, 2.9, LIMIT):
        got, _ = quad(lambda x, t=theta: BASIS[i].value(x, t) * BASIS[j].value(x, t), 0, 1)
        assert exact(shape_integral(i, j), theta) == pytest.approx(got, rel=1e-8, abs=1e-10)


def test_the_basis_is_what_the_module_says():
    theta, x, h = 1.1, 0.7, 1e-5
    assert BASIS[1].value(x, theta) == pytest.approx(np.sin(x * theta) / theta, rel=1e-15)
    assert BASIS[2].value(x, theta) == pytest.approx((1 - np.cos(x * theta)) / theta**2, rel=1e-14)
    for k in (1, 2, 3, 4):  # the next two are ∂/∂(θ²)
        up, down = (BASIS[k].value(x, np.sqrt(theta**2 + d)) for d in (h, -h))
        assert BASIS[k + 2].value(x, theta) == pytest.approx((up - down) / (2 * h), rel=1e-8)


@pytest.mark.parametrize("place", PRINTED["regular_taylor"])
def test_taylor_coefficients_of_the_basis_by_the_angle(place):
    """1, σ, χ, ∂σ/∂θ, ∂χ/∂θ with σ = sin(xθ)/θ and χ = (1 − cos xθ)/θ."""
    sigma, chi = sine(0, -1), one(-1) + cosine(0, -1, -1)
    basis = (one(), sigma, chi, sigma.by_theta(), chi.by_theta())
    i, j = map(int, place.split(","))
    expected = [(power, Fraction(c)) for power, c in PRINTED["regular_taylor"][place]]
    assert (basis[i] * basis[j]).integral().series(len(expected)) == expected


def test_a_function_that_is_not_even_or_has_a_pole_is_refused():
    s = Builder().symbol("q", "s")
    with pytest.raises(ValueError, match="not even"):
        even_function(ArcFunction.of([((0, 0, 1, True), 1)]), s)
    with pytest.raises(ValueError, match="pole"):
        even_function(one(-2), s)
    with pytest.raises(ValueError, match="only an integral"):
        even_function(sine(1, -1), s)
