"""Rank and conditioning of the active constraints, and valleys that are flat.

Rows are scaled, columns of variables at their bounds are left out.  The
smallest singular values of J are found from the augmented matrix

    [ I   J' ]
    [ J  -d  ]

which stays sparse where J J' would not; flat directions are eigenvectors of the
Hessian of the Lagrangian on the null space of J, found alike.  Small problems
are treated as dense matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .backend import Outcome
from .labels import Labels, listed
from .transcription import Transcription

Array: TypeAlias = np.ndarray

DENSE = 350
"""Programs with fewer rows and variables than this are treated as dense."""
LARGEST = 60_000
SMALLEST_VALUES = 8
DEPENDENT = 1e-7
"""Singular values below this part of the largest count as zero."""
FLAT = 1e-7
"""Curvatures below this part of the largest are flat."""
NAMED = 0.15
"""Parts of a singular vector that are named, relative to its largest."""
ACTIVE = 1e-7
LARGEST_DENSE = 800
"""Programs up to this size are treated as dense where there is no sparse way."""


@dataclass(frozen=True)
class Conditioning:
    """Of the scaled constraints that are active, at the last iterate.

    Attributes
    ----------
    rows, variables:
        Numbers of active rows and of variables off their bounds.
    defect:
        How many rows depend on others (at least, for large programs).
    condition:
        Largest over smallest singular value that is not zero.
    dependent:
        Names of the rows that depend on each other.
    flat:
        Names of variables that can be moved without changing cost or constraints.
    flat_count:
        Number of such directions (at least, for large programs).
    """

    rows: int
    variables: int
    defect: int
    condition: float
    dependent: tuple[str, ...]
    flat: tuple[str, ...]
    flat_count: int

    def sentences(self) -> list[str]:
        """What was found, in words."""
        told = [
            f"{self.rows} active constraints on {self.variables} free variables, "
            f"condition number {self.condition:.1e}"
        ]
        if self.defect:
            told.append(
                f"{_some(self.defect)} active constraint(s) depend on others: "
                f"{listed(list(self.dependent), 6)}"
            )
        if self.flat_count:
            told.append(
                f"the solution is not unique: {_some(self.flat_count)} direction(s) in "
                f"{listed(list(self.flat), 6)} change neither cost nor constraints"
            )
        return told


def _some(count: int) -> str:
    return f"at least {count}" if count >= SMALLEST_VALUES else str(count)


def conditioning(transcription: Transcription, outcome: Outcome, p: Array) -> Conditioning | None:
    """Rank, condition and flat directions at the end of a solve.

    Parameters
    ----------
    transcription, outcome:
        The program and where its solve ended.
    p:
        Values of the problem's constants.

    Returns
    -------
    Conditioning or None
        None if the program is too large, or not a number there.
    """
    program, x = transcription.program, outcome.x
    if max(program.size, program.rows) > LARGEST or not np.all(np.isfinite(x)):
        return None
    active = _active(transcription, x, p)
    if active is None:
        return None
    rows, columns, jacobian = active
    labels = Labels(transcription, x)
    values, vectors, largest = _small_singular(jacobian)
    zero = values <= DEPENDENT * largest
    weights = np.sum(vectors[:, zero] ** 2, axis=1)
    dependent = _ranked(weights, [str(labels.of_row(int(k))) for k in rows])
    rest = values[~zero]
    smallest = float(np.min(rest)) if len(rest) else DEPENDENT * largest
    flat = _flat(transcription, outcome, p, columns, jacobian)
    names: tuple[str, ...] = ()
    if flat is not None and flat.shape[1]:
        words = [str(labels.of_variable(int(k))) for k in columns]
        names = _ranked(np.sum(flat**2, axis=1), words)
    return Conditioning(
        len(rows),
        len(columns),
        int(np.count_nonzero(zero)),
        largest / smallest if smallest > 0 else float("inf"),
        dependent,
        names,
        0 if flat is None else flat.shape[1],
    )


def _active(transcription: Transcription, x: Array, p: Array) -> tuple[Array, Array, Any] | None:
    """Active rows, variables off their bounds, and the scaled Jacobian of these by those."""
    program = transcription.program
    sx, sg = program.variable_scale, program.row_scale
    with np.errstate(all="ignore"):
        g = program.residuals(x, p)
        at_bound = (x - program.lower <= ACTIVE * sx) | (program.upper - x <= ACTIVE * sx)
        fixed = program.row_lower == program.row_upper
        near = (g - program.row_lower <= ACTIVE * sg) | (program.row_upper - g <= ACTIVE * sg)
    rows, columns = np.flatnonzero(fixed | near), np.flatnonzero(~at_bound)
    entries = program.jacobian_entries(x, p).scaled(rows=1 / sg, columns=sx)
    if not len(rows) or not len(columns) or not np.all(np.isfinite(entries.values)):
        return None
    return rows, columns, entries.as_scipy().tocsr()[rows][:, columns]


def lowest_curvature(transcription: Transcription, outcome: Outcome, p: Array) -> float | None:
    """Least curvature of the Lagrangian along the active constraints, relative to the largest.

    Negative: the point is no minimum.  None if the program is too large, or not a number there.
    """
    program = transcription.program
    if max(program.size, program.rows) > LARGEST_DENSE or not np.all(np.isfinite(outcome.x)):
        return None
    active = _active(transcription, outcome.x, p)
    hessian = _hessian(transcription, outcome, p)
    if active is None or hessian is None:
        return None
    _, columns, jacobian = active
    own = hessian[columns][:, columns].toarray()
    size = float(np.max(np.abs(own), initial=0.0))
    _, values, right = np.linalg.svd(jacobian.toarray(), full_matrices=True)
    basis = right[int(np.count_nonzero(values > DEPENDENT * values[0])) :].T
    if size == 0.0 or not basis.shape[1]:
        return 0.0
    return float(np.linalg.eigvalsh(basis.T @ own @ basis)[0]) / size


def _ranked(weights: Array, words: list[str]) -> tuple[str, ...]:
    """Names by the weight of their entries, those with next to none left out."""
    total: dict[str, float] = {}
    for weight, word in zip(weights, words, strict=True):
        total[word] = total.get(word, 0.0) + float(weight)
    most = max(total.values(), default=0.0)
    if most < 1e-6:
        return ()
    kept = [w for w in total if total[w] > NAMED**2 * most]
    return tuple(sorted(kept, key=lambda w: -total[w]))


def _small_singular(jacobian: Any) -> tuple[Array, Array, float]:
    """Smallest singular values with left vectors, and the largest value."""
    m, n = jacobian.shape
    if max(m, n) <= DENSE:
        left, values, _ = np.linalg.svd(jacobian.toarray(), full_matrices=True)
        padded = np.concatenate([values, np.zeros(max(0, m - len(values)))])
        return padded, left, float(values[0])
    from scipy.sparse import bmat, eye_array
    from scipy.sparse.linalg import LinearOperator, eigsh, splu, svds

    start = np.random.default_rng(0).normal(size=min(m, n))
    largest = float(svds(jacobian, k=1, return_singular_vectors=False, v0=start, tol=1e-3)[0])
    shift = (1e-9 * largest) ** 2 + 1e-18
    matrix = bmat([[eye_array(n), jacobian.T], [jacobian, -shift * eye_array(m)]], format="csc")
    solve = splu(matrix).solve

    def inverse(b: Array) -> Array:  # (J J' + shift)^-1 b
        return np.asarray(-solve(np.concatenate([np.zeros(n), np.ravel(b)]))[n:])

    operator = LinearOperator((m, m), matvec=inverse, dtype=float)
    count = min(SMALLEST_VALUES, m - 1)
    v0 = np.random.default_rng(0).normal(size=m)
    values, vectors = eigsh(operator, k=count, which="LA", v0=v0, tol=1e-6)
    return np.sqrt(np.maximum(1 / values - shift, 0.0)), vectors, largest


def _flat(
    transcription: Transcription, outcome: Outcome, p: Array, columns: Array, jacobian: Any
) -> Array | None:
    """(columns, k) directions without curvature that keep the active constraints."""
    hessian = _hessian(transcription, outcome, p)
    if hessian is None:
        return None
    hessian = hessian[columns][:, columns]
    m, n = jacobian.shape
    size = float(np.max(np.abs(hessian.data), initial=0.0))
    if size == 0.0:
        return None  # a linear program: its solution is at bounds
    if max(m, n) <= DENSE:
        _, values, right = np.linalg.svd(jacobian.toarray(), full_matrices=True)
        rank = int(np.count_nonzero(values > DEPENDENT * values[0]))
        basis = right[rank:].T
        if not basis.shape[1]:
            return np.empty((n, 0))
        curvature, vectors = np.linalg.eigh(basis.T @ hessian.toarray() @ basis)
        return np.asarray(basis @ vectors[:, np.abs(curvature) <= FLAT * size])
    if n - m <= SMALLEST_VALUES:
        return np.empty((n, 0))
    from scipy.sparse import bmat, eye_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

    shift = 1e-3 * FLAT * size
    matrix = bmat(
        [[hessian + shift * eye_array(n), jacobian.T], [jacobian, -1e-12 * eye_array(m)]],
        format="csc",
    )
    solve = splu(matrix).solve

    def inverse(b: Array) -> Array:
        return np.asarray(solve(np.concatenate([np.ravel(b), np.zeros(m)]))[:n])

    operator = LinearOperator((n, n), matvec=inverse, dtype=float)
    v0 = np.random.default_rng(0).normal(size=n)
    try:
        values, vectors = eigsh(operator, k=SMALLEST_VALUES, which="LM", v0=v0, tol=1e-4)
    except ArpackNoConvergence:
        return None
    return np.asarray(vectors[:, np.abs(1 / values - shift) <= FLAT * size])


def _hessian(transcription: Transcription, outcome: Outcome, p: Array) -> Any:
    """Scaled Hessian of the Lagrangian, symmetric; None if it is not a number."""
    from scipy.sparse import csc_array, triu

    program = transcription.program
    function = program.functions()["hess_lag"]
    multipliers = outcome.row_multipliers * program.row_scale / program.cost_scale
    if not np.all(np.isfinite(multipliers)):
        return None
    found = function(outcome.x / program.variable_scale, p, 1.0, multipliers)
    rows, columns = (np.array(k, dtype=int) for k in found.sparsity().get_triplet())
    values = np.array(found.nonzeros())
    if not np.all(np.isfinite(values)):
        return None
    upper = csc_array((values, (rows, columns)), shape=found.shape)
    return (upper + triu(upper, 1).T).tocsr()
