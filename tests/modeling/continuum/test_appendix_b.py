"""Appendix B: the generated closed forms of E and Q against integrals and the printed page."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from numeric import Thawed

from bestiary.build_tools.backends.c import emit_c
from bestiary.build_tools.backends.casadi import casadi_function
from bestiary.build_tools.backends.numpy import numpy_function
from bestiary.modeling.continuum.appendix_b import (
    SWITCH,
    appendix_b,
    e_entry,
    q_entry,
    taylor,
)
from bestiary.modeling.program import evaluate
from bestiary.modeling.program.transform import jacobian

PRINTED = json.loads((Path(__file__).parents[2] / "data/appendix_b_printed.json").read_text())
SIZES = {"e_matrix": (5, 5), "q_matrix": (5, 9)}
ENTRIES = {"E": e_entry, "Q": q_entry}
THETAS = [1e-8, 1e-6, 1e-3, 0.05, 0.3, 0.7, 1.0, 1.3, 1.7, 1.999, 2.0, 2.001, 2.3, 2.7, 3.0, np.pi]


@cache
def equations():
    return appendix_b()


@cache
def rates():
    """The derivatives of both matrices by θ, through the statements."""
    thawed = Thawed(equations().program)
    theta = thawed.group("q")
    return thawed.freeze(
        **{
            f: (
                ("q",),
                [row[0] for row in jacobian(thawed.builder, thawed.output(f), theta)],
                shape,
            )
            for f, shape in SIZES.items()
        }
    )


def matrix(program, function: str, theta: float) -> np.ndarray:
    values = evaluate(program, function, {"q": [theta]})[function]
    return np.array(values).reshape(SIZES[function])


def functions_of(theta, x):
    """f and g of the paper at one x, and their derivatives by θ."""
    s, c = mpmath.sin(x * theta), mpmath.cos(x * theta)
    f = [1, s, x * c, -c, x * s]
    g = [1, s, 2 * x * c, x * c, -x * x * s, -c, 2 * x * s, x * s, x * x * c]
    df = [0, x * c, -x * x * s, x * s, x * x * c]
    dg = [0, x * c, -2 * x * x * s, -x * x * s, -(x**3) * c]
    dg += [x * s, 2 * x * x * c, x * x * c, -(x**3) * s]
    return f, g, df, dg


def quadrature(function: str, theta: float, *, rate: bool) -> np.ndarray:
    """∫ f fᵀ or ∫ f gᵀ over x by Gauss-Legendre with 24 nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    rows, columns = SIZES[function]
    total = np.zeros((rows, columns))
    for node, weight in zip(nodes, weights, strict=True):
        f, g, df, dg = functions_of(mpmath.mpf(theta), mpmath.mpf(0.5 + 0.5 * node))
        other, d_other = (f, df) if function == "e_matrix" else (g, dg)
        for i in range(rows):
            for j in range(columns):
                value = df[i] * other[j] + f[i] * d_other[j] if rate else f[i] * other[j]
                total[i, j] += float(0.5 * weight * value)
    return total


@pytest.mark.parametrize("function", SIZES)
@pytest.mark.parametrize("theta", THETAS)
def test_every_entry_and_its_derivative_equal_the_integral_to_1e_12(function, theta):
    value = matrix(equations().program, function, theta)
    assert np.max(np.abs(value - quadrature(function, theta, rate=False))) < 1e-13
    slope = matrix(rates(), function, theta)
    assert np.max(np.abs(slope - quadrature(function, theta, rate=True))) < 1e-12


@pytest.mark.parametrize("function", SIZES)
def test_no_jump_at_the_switch_in_value_or_derivative(function):
    at = np.sqrt(SWITCH)
    below, above = np.nextafter(at, 0) * (1 - 1e-15), np.nextafter(at, 9) * (1 + 1e-15)
    assert below**2 < SWITCH < above**2
    for program in (equations().program, rates()):
        jump = matrix(program, function, above) - matrix(program, function, below)
        assert np.max(np.abs(jump)) < 5e-14


def test_the_series_is_what_runs_below_the_switch_and_the_closed_form_above():
    """With cos and sin replaced by zero only the closed form changes."""
    blank = {**{n: getattr(np, n) for n in ("sqrt",)}, "sin": lambda x: 0.0, "cos": lambda x: 0.0}
    table = {
        **blank,
        "const": float,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "max": max,
        "select": lambda c, a, b: a if c > 0 else b,
    }
    program = equations().program
    for theta, same in ((1.9, True), (2.1, False)):
        blanked = evaluate(program, "q_matrix", {"q": [theta]}, table)["q_matrix"]
        assert (blanked == list(matrix(program, "q_matrix", theta).ravel())) is same


def names(theta: mpmath.mpf) -> dict:
    def reference(kind):
        return lambda i, j: printed(f"{kind}({i},{j})", theta)

    return {
        "t": theta,
        "c": mpmath.cos(theta),
        "s": mpmath.sin(theta),
        "c2": mpmath.cos(2 * theta),
        "s2": mpmath.sin(2 * theta),
        "E": reference("E"),
        "Q": reference("Q"),
    }


def printed(text: str, theta: mpmath.mpf):
    """A printed formula, or an entry such as Q(3,4) as printed."""
    kind, _, rest = text.partition("(")
    if kind in ENTRIES and rest.rstrip(")") in PRINTED[kind]:
        return printed(PRINTED[kind][rest.rstrip(")")], theta)
    exact = text.replace("1/2", "mpf(1)/2").replace("1/3", "mpf(1)/3").replace("1/4", "mpf(1)/4")
    return eval(exact, {"mpf": mpmath.mpf, "__builtins__": {}}, names(theta))


@pytest.mark.parametrize("theta", [1e-8, 1e-3, 0.4, 1.1, 1.999, 2.001, 2.6, np.pi])
@pytest.mark.parametrize(("kind", "function"), [("E", "e_matrix"), ("Q", "q_matrix")])
def test_every_printed_formula_equals_the_generated_entry(kind, function, theta):
    got = matrix(equations().program, function, theta)
    with mpmath.workdps(60):
        for place, formula in PRINTED[kind].items():
            i, j = map(int, place.split(","))
            expected = float(printed(formula, mpmath.mpf(theta)))
            assert got[i - 1, j - 1] == pytest.approx(expected, abs=1e-15, rel=1e-12), place
            if kind == "E":
                assert got[i - 1, j - 1] == got[j - 1, i - 1]


@pytest.mark.parametrize("chain", PRINTED["identities"], ids=" = ".join)
def test_every_printed_identity_holds_exactly(chain):
    """As exact functions of θ, by SymPy on the exact integrals."""
    t = sympy.Symbol("t")

    def symbolic(kind):
        def entry(i, j):
            return sum(
                sympy.Rational(c.numerator, c.denominator)
                * t**b
                * (sympy.sin(k * t) if is_sine else sympy.cos(k * t))
                for (_, b, k, is_sine), c in ENTRIES[kind](i, j).terms.items()
            )

        return entry

    scope = {"E": symbolic("E"), "Q": symbolic("Q"), "S": sympy.Rational}
    left, right = (eval(side.replace("1/", "S(1)/"), {"__builtins__": {}}, scope) for side in chain)
    assert sympy.expand(left - right) == 0


def test_together_the_printed_formulas_and_identities_name_every_entry():
    named = {("E", *map(int, p.split(","))) for p in PRINTED["E"]}
    named |= {("E", j, i) for _, i, j in named}
    named |= {("Q", *map(int, p.split(","))) for p in PRINTED["Q"]}
    for chain in PRINTED["identities"]:
        named |= {
            (kind, int(i), int(j))
            for side in chain
            for kind, i, j in re.findall(r"([EQ])\((\d),(\d)\)", side)
        }
    everything = {("E", i, j) for i in range(1, 6) for j in range(1, 6)}
    everything |= {("Q", i, j) for i in range(1, 6) for j in range(1, 10)}
    assert named == everything


@pytest.mark.parametrize("name", PRINTED["taylor"])
def test_taylor_coefficients_are_those_of_the_table(name):
    expected = [(power, Fraction(c)) for power, c in PRINTED["taylor"][name]]
    entry = ENTRIES[name[0]](int(name[1]), int(name[2]))
    assert taylor(entry, len(expected)) == expected


def test_matrices_take_negative_bending_with_the_right_parity():
    odd = np.add.outer([0, 1, 0, 0, 1], [0, 1, 0, 0, 1]) % 2 == 1
    for theta in (0.4, 2.6):
        plus, minus = (matrix(equations().program, "e_matrix", s * theta) for s in (1, -1))
        assert np.array_equal(minus, np.where(odd, -plus, plus))


def test_back_ends_emit_them_like_any_robot():
    sources = emit_c(equations())
    assert any("appendix_b_e_matrix_f64(" in text for text in sources.files.values())
    assert any("appendix_b_q_matrix_f32(" in text for text in sources.files.values())
    by_numpy = numpy_function(equations().program, "q_matrix")(q=[2.6])["q_matrix"]
    by_casadi = casadi_function(equations().program, "q_matrix")([2.6]).full()
    expected = matrix(equations().program, "q_matrix", 2.6)
    assert np.allclose(by_numpy, expected, rtol=0, atol=1e-15)
    assert np.allclose(by_casadi, expected, rtol=0, atol=1e-15)
