"""Lists of entries against SciPy's matrices, and what stays out of the import path."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from bestiary.solvers.ocp.sparse import Triplets, pattern, places


@pytest.fixture
def entries() -> Triplets:
    """A matrix with entries that repeat, an empty row and an empty column."""
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 6, 40), rng.integers(1, 9, 40)
    return Triplets(rows, columns, rng.normal(size=40), (7, 9))


def _dense(matrix: Triplets) -> np.ndarray:
    own = (matrix.values, (matrix.rows, matrix.columns))
    return np.asarray(sp.coo_array(own, shape=matrix.shape).toarray())


def test_products_are_scipys(entries: Triplets) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=9), rng.normal(size=7)
    dense = _dense(entries)
    np.testing.assert_allclose(entries.times(x), dense @ x, atol=1e-14)
    np.testing.assert_allclose(entries.transposed_times(y), dense.T @ y, atol=1e-14)
    np.testing.assert_allclose(entries.transposed.times(y), dense.T @ y, atol=1e-14)
    scaled = _dense(entries.scaled(y, x))
    np.testing.assert_allclose(scaled, y[:, None] * dense * x, atol=1e-14)


def test_repeated_entries_add_up_in_casadis_matrix(entries: Triplets) -> None:
    matrix = entries.as_casadi()
    dense = _dense(entries)
    np.testing.assert_allclose(np.asarray(matrix), dense, atol=1e-15)
    assert matrix.nnz() == np.count_nonzero(dense)
    np.testing.assert_allclose(entries.as_scipy().toarray(), dense, atol=1e-15)
    part = entries.part(2, 5)
    np.testing.assert_allclose(np.asarray(part.as_casadi()), dense[:, 2:5], atol=1e-15)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_matrices_keep_their_shape(shape: tuple[int, int]) -> None:
    none = np.empty(0, dtype=int)
    matrix = Triplets(none, none, np.empty(0), shape)
    assert matrix.as_casadi().shape == shape
    assert matrix.times(np.ones(shape[1])).shape == (shape[0],)


def test_pattern_is_in_casadis_order() -> None:
    keys, inverse = places(np.array([2, 0, 2, 1]), np.array([1, 0, 1, 1]), 3)
    np.testing.assert_array_equal(inverse, [2, 0, 2, 1])
    assert pattern(3, 2, keys).get_triplet() == ([0, 1, 2], [0, 1, 1])


def test_stating_a_problem_imports_no_heavy_library() -> None:
    """What a small problem never needs would cost more than solving it."""
    code = (
        "import sys, bestiary.solvers.ocp\n"
        "heavy = ('scipy', 'sympy', 'xarray', 'pandas', 'matplotlib', 'h5py', 'filelock')\n"
        "sys.exit(' '.join(m for m in heavy if m in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
