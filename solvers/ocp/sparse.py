"""Sparse matrices as lists of entries, in NumPy alone: what assembling a program needs.

SciPy's sparse matrices would do as well, but importing them takes longer than setting up
and solving a small problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

Array: TypeAlias = np.ndarray


@dataclass(frozen=True)
class Triplets:
    """Entries of a matrix; entries at one place add up.

    Attributes
    ----------
    rows, columns, values:
        (k,) arrays.
    shape:
        Numbers of rows and columns.
    """

    rows: Array
    columns: Array
    values: Array
    shape: tuple[int, int]

    def times(self, x: Array) -> Array:
        """(m,) product with a vector."""
        return _added(self.rows, self.values * x[self.columns], self.shape[0])

    def transposed_times(self, y: Array) -> Array:
        """(n,) product of the transposed matrix with a vector."""
        return _added(self.columns, self.values * y[self.rows], self.shape[1])

    def scaled(self, rows: Array | None = None, columns: Array | None = None) -> Triplets:
        """Rows and columns multiplied by factors."""
        values = self.values
        if rows is not None:
            values = values * rows[self.rows]
        if columns is not None:
            values = values * columns[self.columns]
        return Triplets(self.rows, self.columns, values, self.shape)

    def part(self, first: int, last: int) -> Triplets:
        """The columns ``first`` to ``last - 1``."""
        own = (self.columns >= first) & (self.columns < last)
        return Triplets(
            self.rows[own], self.columns[own] - first, self.values[own],
            (self.shape[0], last - first),
        )  # fmt: skip

    @property
    def transposed(self) -> Triplets:
        """Rows and columns exchanged."""
        return Triplets(self.columns, self.rows, self.values, self.shape[::-1])

    def as_casadi(self) -> ca.DM:
        """Sparse ``casadi.DM``."""
        keys, inverse = places(self.rows, self.columns, self.shape[0])
        return ca.DM(pattern(*self.shape, keys), _added(inverse, self.values, len(keys)))

    def as_scipy(self) -> Any:
        """``scipy.sparse.csc_array``."""
        from scipy.sparse import csc_array

        return csc_array((self.values, (self.rows, self.columns)), shape=self.shape)


def places(rows: Array, columns: Array, height: int) -> tuple[Array, Array]:
    """Places column * height + row without repetition, in order, and which one each entry has."""
    keys, inverse = np.unique(columns.astype(np.int64) * height + rows, return_inverse=True)
    return keys, inverse.ravel()


def pattern(height: int, width: int, keys: Array) -> ca.Sparsity:
    """CasADi's pattern of places in order."""
    starts = np.searchsorted(keys, np.arange(width + 1, dtype=np.int64) * height)
    return ca.Sparsity(height, width, starts.tolist(), (keys % max(height, 1)).tolist())


def _added(where: Array, values: Array, size: int) -> Array:
    return np.bincount(where, weights=values, minlength=size)
