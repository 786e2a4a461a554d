"""Exact integrals over an arc: ∫₀¹ of products of x^a, powers of θ, sin(kxθ) and cos(kxθ).

Everything is a finite sum of terms c · x^a · θ^b · cos(kxθ) or sin(kxθ) with
rational c, so products, θ-derivatives, integrals over x and power series in θ
are exact and take microseconds; nothing here is symbolic algebra in general.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Term = tuple[int, int, int, bool]  # (power of x, power of θ, multiple k, is it a sine)


@dataclass(frozen=True)
class ArcFunction:
    """A function of the arc coordinate x and the bending angle θ."""

    terms: Mapping[Term, Fraction]

    @classmethod
    def of(cls, terms: Iterable[tuple[Term, Fraction | int]]) -> ArcFunction:
        """Collect terms; k = 0 is the constant 1 (sines of zero vanish)."""
        total: dict[Term, Fraction] = defaultdict(Fraction)
        for (a, b, k, is_sine), c in terms:
            if k < 0:
                k, c = -k, -c if is_sine else c
            if not (is_sine and k == 0):
                total[a, b, k, is_sine] += Fraction(c)
        return cls({t: c for t, c in total.items() if c})

    def __add__(self, other: ArcFunction) -> ArcFunction:
        return ArcFunction.of([*self.terms.items(), *other.terms.items()])

    def __mul__(self, other: ArcFunction) -> ArcFunction:
        half = Fraction(1, 2)
        result: list[tuple[Term, Fraction]] = []
        for (a1, b1, k1, s1), c1 in self.terms.items():
            for (a2, b2, k2, s2), c2 in other.terms.items():
                a, b, c = a1 + a2, b1 + b2, c1 * c2 * half
                if s1 and s2:
                    result += [((a, b, k1 - k2, False), c), ((a, b, k1 + k2, False), -c)]
                elif not s1 and not s2:
                    result += [((a, b, k1 - k2, False), c), ((a, b, k1 + k2, False), c)]
                elif s1:
                    result += [((a, b, k1 + k2, True), c), ((a, b, k1 - k2, True), c)]
                else:
                    result += [((a, b, k2 + k1, True), c), ((a, b, k2 - k1, True), c)]
        return ArcFunction.of(result)

    def by_theta(self) -> ArcFunction:
        """∂/∂θ."""
        result: list[tuple[Term, Fraction]] = []
        for (a, b, k, is_sine), c in self.terms.items():
            result.append(((a, b - 1, k, is_sine), c * b))
            result.append(((a + 1, b, k, not is_sine), c * k if is_sine else -c * k))
        return ArcFunction.of(result)

    def by_square(self) -> ArcFunction:
        """∂/∂(θ²) = 1/(2θ) ∂/∂θ."""
        return ArcFunction.of(
            ((a, b - 1, k, s), c / 2) for (a, b, k, s), c in self.by_theta().terms.items()
        )

    def integral(self) -> ArcFunction:
        """∫₀¹ dx: a function of θ alone (all powers of x are 0, trigonometric of kθ)."""
        result: list[tuple[Term, Fraction]] = []
        for (a, b, k, is_sine), c in self.terms.items():
            result += [
                ((0, b + power, m, s), c * value)
                for (power, m, s), value in _moment(a, k, is_sine).items()
            ]
        return ArcFunction.of(result)

    def series(self, count: int) -> list[tuple[int, Fraction]]:
        """Power series in θ of an integral: ``count`` leading (power, coefficient) pairs.

        Raises
        ------
        ValueError
            If a negative power of θ does not cancel (the function has a pole).
        """
        lowest = min((b for _, b, _, _ in self.terms), default=0)
        coefficients: dict[int, Fraction] = defaultdict(Fraction)
        span = 2 * count - lowest + 2
        for (a, b, k, is_sine), c in self.terms.items():
            if a:
                raise ValueError("only an integral over x has a series in θ alone")
            for n in range(1 if is_sine else 0, span + 1, 2):
                factor = Fraction((-1) ** (n // 2) * k**n, math.factorial(n))
                coefficients[b + n] += c * factor
        if any(c for power, c in coefficients.items() if power < 0):
            raise ValueError("the function has a pole at θ = 0")
        nonzero = sorted((power, c) for power, c in coefficients.items() if c)
        return nonzero[:count]

    def value(self, x: float, theta: float) -> float:
        """Plain evaluation, for tests and pictures."""
        return sum(
            float(c) * x**a * theta**b * (math.sin if s else math.cos)(k * x * theta)
            for (a, b, k, s), c in self.terms.items()
        )


def sine(x_power: int = 0, theta_power: int = 0, factor: int = 1) -> ArcFunction:
    """``factor`` · x^a θ^b sin(xθ)."""
    return ArcFunction.of([((x_power, theta_power, 1, True), factor)])


def cosine(x_power: int = 0, theta_power: int = 0, factor: int = 1) -> ArcFunction:
    """``factor`` · x^a θ^b cos(xθ)."""
    return ArcFunction.of([((x_power, theta_power, 1, False), factor)])


def one(theta_power: int = 0) -> ArcFunction:
    """θ^b."""
    return ArcFunction.of([((0, theta_power, 0, False), 1)])


def _moment(a: int, k: int, is_sine: bool) -> dict[tuple[int, int, bool], Fraction]:
    """∫₀¹ x^a trig(kxθ) dx by parts, as {(power of θ, multiple, is sine): coefficient}."""
    if k == 0:
        return {(0, 0, False): Fraction(1, a + 1)}
    result: dict[tuple[int, int, bool], Fraction] = defaultdict(Fraction)
    inverse = Fraction(1, k)
    if is_sine:  # [−x^a cos/(kθ)] + a/(kθ) ∫ x^(a−1) cos
        result[-1, k, False] -= inverse
        if a == 0:
            result[-1, 0, False] += inverse
    else:  # [x^a sin/(kθ)] − a/(kθ) ∫ x^(a−1) sin
        result[-1, k, True] += inverse
    if a > 0:
        sign = 1 if is_sine else -1
        for (power, m, s), value in _moment(a - 1, k, not is_sine).items():
            result[power - 1, m, s] += sign * a * inverse * value
    return {t: c for t, c in result.items() if c}
