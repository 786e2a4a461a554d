"""Schemes: how a motion on one interval is represented, and what makes it obey its dynamics.

All collocation schemes here are implicit Runge-Kutta methods with abscissae c
in [0, 1], A_jk = int_0^{c_j} l_k and b_k = int_0^1 l_k for the Lagrange basis
l_k of c.  The defects x_j - x_0 = h sum A_jk f_k are multiplied by the inverse
of (the invertible part of) A, so that each holds the rates of its own node
alone (and those of the first node for Lobatto): the "differential" form, whose
Jacobian is sparsest.  On an interval the state is the integral of the
polynomial through the rates, the control the polynomial through the controls.

======================  ============  =====  ==================================
scheme                  abscissae     order  known as
======================  ============  =====  ==================================
``Radau(d)``            LGR, c_d = 1  2d-1   Radau pseudospectral, Radau IIA
``Gauss(d)``            LG            2d     Gauss pseudospectral
``HermiteSimpson()``    0, 1/2, 1     4      separated Hermite-Simpson
``Trapezoid()``         0, 1          2      direct transcription by trapezia
``MultipleShooting(n)`` none          4      n Runge-Kutta steps an interval
======================  ============  =====  ==================================

Orders are those of the state at the ends of intervals for smooth motions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.polynomial import legendre

from .errors import OptimalControlError

Array: TypeAlias = np.ndarray

LARGEST_DEGREE = 30


@dataclass(frozen=True)
class Basis:
    """What a scheme does on an interval of length 1.

    Attributes
    ----------
    nodes:
        (k,) places of the states between the ends, then 1: with the shared start
        these are the k+1 states of an interval.
    rates:
        (r,) abscissae c where rates, controls and algebraic variables live.
    rate_states:
        (r,) which state (0: start) each of them belongs to.
    defect_states, defect_rates:
        (k, k+1) and (k, r): P X = h Q F.
    weights:
        (r,) quadrature b.
    """

    nodes: Array
    rates: Array
    rate_states: Array
    defect_states: Array
    defect_rates: Array
    weights: Array


@dataclass(frozen=True)
class Scheme:
    """A collocation scheme of some degree; see the table of this module."""

    degree: int
    name: ClassVar[str] = ""
    variable_degree: ClassVar[bool] = False
    shoots: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.degree, bool) or not isinstance(self.degree, int | np.integer):
            raise OptimalControlError(
                f"{type(self).__name__}: degree must be an integer, got {self.degree!r}"
            )
        object.__setattr__(self, "degree", int(self.degree))  # NumPy's do not go into files
        if not 1 <= self.degree <= LARGEST_DEGREE:
            raise OptimalControlError(
                f"{type(self).__name__}: degree must be 1 to {LARGEST_DEGREE}, got {self.degree}"
            )

    def __str__(self) -> str:
        return f"{self.name} {self.degree}" if self.variable_degree else self.name

    def basis(self, degree: int) -> Basis:
        """The matrices of the scheme on one interval."""
        raise NotImplementedError

    def order(self, degree: int | None = None) -> int:
        """Order of the error of the state at the ends of intervals."""
        raise NotImplementedError


def radau_points(degree: int) -> Array:
    """Right Legendre-Gauss-Radau points in (0, 1]: zeros of P_d - P_{d-1} on [-1, 1]."""
    series = np.zeros(degree + 1)
    series[degree], series[degree - 1] = 1.0, -1.0
    points = np.sort(np.real(legendre.legroots(series)))
    derivative = legendre.legder(series)
    for _ in range(3):  # polish: the eigenvalue solver loses digits at high degree
        points = points - legendre.legval(points, series) / legendre.legval(points, derivative)
    points[-1] = 1.0
    return (points + 1) / 2


def lagrange_values(nodes: Array, at: Array) -> Array:
    """(len(at), len(nodes)) values of the Lagrange basis polynomials."""
    at = np.atleast_1d(at)
    values = np.ones((len(at), len(nodes)))
    for k, own in enumerate(nodes):
        for j, other in enumerate(nodes):
            if j != k:
                values[:, k] *= (at - other) / (own - other)
    return values


def lagrange_integrals(nodes: Array, at: Array) -> Array:
    """(len(at), len(nodes)) integrals from 0 of the Lagrange basis polynomials, exact."""
    at = np.atleast_1d(at)
    points, weights = legendre.leggauss(len(nodes) // 2 + 1)
    points, weights = (points + 1) / 2, weights / 2
    values = lagrange_values(nodes, np.outer(at, points).ravel())
    means = np.einsum("g,agk->ak", weights, values.reshape(len(at), len(points), -1))
    return np.asarray(at[:, None] * means)


@lru_cache(maxsize=256)
def _collocation(nodes: tuple[float, ...]) -> Basis:
    c = np.array(nodes)
    a = lagrange_integrals(c, c)
    b = lagrange_integrals(c, np.array([1.0]))[0]
    starts, ends = c[0] == 0.0, c[-1] == 1.0
    first = 1 if starts else 0
    inverse = np.linalg.inv(a[first:, first:])
    count = len(c) - first
    states = np.hstack([-inverse.sum(axis=1, keepdims=True), inverse])
    rates = np.hstack([inverse @ a[first:, :first], np.eye(count)])
    inner = c[first:]
    if not ends:  # the end of a Gauss interval: x_1 = x_0 + b A^-1 (x - x_0), linear in the states
        row = b @ inverse
        states = np.vstack(
            [np.hstack([states, np.zeros((count, 1))]), [*(row.sum() - 1, *-row), 1.0]]
        )
        rates = np.vstack([rates, np.zeros((1, len(c)))])
        inner = np.append(inner, 1.0)
    places = np.arange(1 - first, 1 - first + len(c))
    return Basis(inner, c, places, states, rates, b)


@lru_cache(maxsize=LARGEST_DEGREE)
def _radau(degree: int) -> Basis:
    return _collocation(tuple(radau_points(degree)))


@lru_cache(maxsize=LARGEST_DEGREE)
def _gauss(degree: int) -> Basis:
    return _collocation(tuple((legendre.leggauss(degree)[0] + 1) / 2))


@dataclass(frozen=True)
class Radau(Scheme):
    """Radau pseudospectral collocation (right end included); the default."""

    degree: int = 3
    name: ClassVar[str] = "Radau"
    variable_degree: ClassVar[bool] = True

    def basis(self, degree: int) -> Basis:
        """See :meth:`Scheme.basis`."""
        return _radau(degree)

    def order(self, degree: int | None = None) -> int:
        """See :meth:`Scheme.order`."""
        return 2 * (degree or self.degree) - 1


@dataclass(frozen=True)
class Gauss(Scheme):
    """Gauss pseudospectral collocation (no end included)."""

    degree: int = 3
    name: ClassVar[str] = "Gauss"
    variable_degree: ClassVar[bool] = True

    def basis(self, degree: int) -> Basis:
        """See :meth:`Scheme.basis`."""
        return _gauss(degree)

    def order(self, degree: int | None = None) -> int:
        """See :meth:`Scheme.order`."""
        return 2 * (degree or self.degree)


@dataclass(frozen=True)
class HermiteSimpson(Scheme):
    """Separated Hermite-Simpson: Lobatto with three points."""

    degree: int = 3
    name: ClassVar[str] = "Hermite-Simpson"

    def __post_init__(self) -> None:
        if self.degree != 3:
            raise OptimalControlError("HermiteSimpson: its degree is 3")

    def basis(self, degree: int) -> Basis:
        """See :meth:`Scheme.basis`."""
        return _collocation((0.0, 0.5, 1.0))

    def order(self, degree: int | None = None) -> int:
        """See :meth:`Scheme.order`."""
        return 4


@dataclass(frozen=True)
class Trapezoid(Scheme):
    """Trapezoidal collocation: Lobatto with two points."""

    degree: int = 2
    name: ClassVar[str] = "trapezoid"

    def __post_init__(self) -> None:
        if self.degree != 2:
            raise OptimalControlError("Trapezoid: its degree is 2")

    def basis(self, degree: int) -> Basis:
        """See :meth:`Scheme.basis`."""
        return _collocation((0.0, 1.0))

    def order(self, degree: int | None = None) -> int:
        """See :meth:`Scheme.order`."""
        return 2


@dataclass(frozen=True)
class MultipleShooting(Scheme):
    """Multiple shooting: ``degree`` classical Runge-Kutta steps an interval.

    Controls are linear on each interval (``hold="linear"``) or constant.
    """

    degree: int = 4
    hold: str = "linear"
    name: ClassVar[str] = "multiple shooting"
    shoots: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hold not in ("linear", "constant"):
            raise OptimalControlError(
                f"MultipleShooting: hold must be 'linear' or 'constant', got {self.hold!r}"
            )

    def basis(self, degree: int) -> Basis:
        """Where controls are held; there are no defects between the ends."""
        linear = self.hold == "linear"
        rates = np.array([0.0, 1.0]) if linear else np.array([0.5])
        none = np.empty((0, 2)), np.empty((0, len(rates)))
        return Basis(
            np.array([1.0]),
            rates,
            np.array([0, 1] if linear else [0]),
            *none,
            np.full(len(rates), 1 / len(rates)),
        )

    def order(self, degree: int | None = None) -> int:
        """See :meth:`Scheme.order`."""
        return 4
