"""Physical dimensions as exponents of (length, mass, time), and SI unit strings.

Angles are dimensionless.  A unit string is a product of SI symbols with
optional integer or rational exponents, in the form ``"kg m^2"``, ``"N m/rad"``,
``"m s^-2"`` or ``"m^(1/2)"``; everything after a slash (up to the next one) is divided.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache


class UnitError(ValueError):
    """A unit string that is not a product of known SI symbols."""


class DimensionError(ValueError):
    """Two quantities of different dimension were added or compared."""


@dataclass(frozen=True)
class Dimension:
    """Exponents of length, mass and time of a physical quantity."""

    length: Fraction = Fraction(0)
    mass: Fraction = Fraction(0)
    time: Fraction = Fraction(0)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(self.length + other.length, self.mass + other.mass, self.time + other.time)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other ** Fraction(-1)

    def __pow__(self, exponent: Fraction | int) -> Dimension:
        e = Fraction(exponent)
        return Dimension(self.length * e, self.mass * e, self.time * e)

    def __str__(self) -> str:
        parts = []
        for symbol, exponent in (("kg", self.mass), ("m", self.length), ("s", self.time)):
            if exponent == 1:
                parts.append(symbol)
            elif exponent != 0:
                text = str(exponent) if exponent.denominator == 1 else f"({exponent})"
                parts.append(f"{symbol}^{text}")
        return " ".join(parts) or "1"


DIMENSIONLESS = Dimension()


def _dim(length: int = 0, mass: int = 0, time: int = 0) -> Dimension:
    return Dimension(Fraction(length), Fraction(mass), Fraction(time))


SI_UNITS: dict[str, Dimension] = {
    "1": DIMENSIONLESS,
    "rad": DIMENSIONLESS,
    "m": _dim(length=1),
    "kg": _dim(mass=1),
    "s": _dim(time=1),
    "Hz": _dim(time=-1),
    "N": _dim(1, 1, -2),
    "J": _dim(2, 1, -2),
    "W": _dim(2, 1, -3),
    "Pa": _dim(-1, 1, -2),
}

_FACTOR = re.compile(r"^([A-Za-z]+|1)(?:\^(-?\d+|\(-?\d+/\d+\)))?$")
_SLASH = re.compile(r"/(?![^(]*\))")  # not the one of a rational exponent


@cache
def parse_unit(unit: str) -> Dimension:
    """Return the dimension of an SI unit string.

    Raises
    ------
    UnitError
        If a factor is not one of the known SI symbols; the message lists them.
    """
    result = DIMENSIONLESS
    for position, block in enumerate(_SLASH.split(unit)):
        sign = 1 if position == 0 else -1
        factors = block.replace("*", " ").split()
        if not factors:
            raise UnitError(f"unit {unit!r}: empty factor; write for example 'kg m^2' or 'm/s'")
        for factor in factors:
            match = _FACTOR.match(factor)
            if match is None or match[1] not in SI_UNITS:
                raise UnitError(
                    f"unit {unit!r}: cannot read {factor!r}; expected a product of "
                    f"{', '.join(sorted(SI_UNITS))} with exponents as in 'kg m^2' (SI only)"
                )
            result = result * SI_UNITS[match[1]] ** (sign * Fraction((match[2] or "1").strip("()")))
    return result
