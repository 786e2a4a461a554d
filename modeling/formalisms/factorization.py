"""Solving M x = b by M = LᵀDL, emitted as statements.

The elimination runs from the last velocity to the first.  Where velocities are
numbered from the root to the tips this creates no fill: the structural zeros of
a branched M stay zeros (Featherstone, *Rigid Body Dynamics Algorithms*, 2008,
section 6.5).  Used for robots whose joints share velocities, which the
articulated-body recursion cannot treat; no inverse of M is ever formed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ModelError
from ..program import Scalar

NOT_POSITIVE = "mass matrix is not positive definite at velocity {!r}"


METHOD = "factoring M = L^T D L"
"""How forward dynamics by :func:`solve_symmetric` is described."""


def solve_symmetric(
    matrix: Sequence[Sequence[Scalar]],
    rhs: Sequence[Scalar],
    names: Sequence[str],
    margins: Sequence[Scalar] | None = None,
    message: str = NOT_POSITIVE,
) -> list[Scalar]:
    """Solution x of M x = b for a symmetric positive definite n×n matrix of scalars.

    ``names`` are the n velocities, for the message if a pivot is not positive, or
    not above its margin where ``margins`` are given.
    """
    n = len(rhs)
    work = [list(row) for row in matrix]
    x = list(rhs)
    reciprocals: list[Scalar] = []
    for k in reversed(range(n)):
        pivot = work[k][k]
        if pivot.is_zero:
            raise ModelError(f"velocity {names[k]!r} moves no inertia: the mass matrix is singular")
        builder = pivot.builder
        excess = pivot if margins is None else pivot - margins[k]
        reciprocal = builder.guard(1 / pivot, excess, message.format(names[k]))
        reciprocals.append(reciprocal)
        for i in range(k):
            if work[k][i].is_zero:
                continue
            factor = work[k][i] * reciprocal
            x[i] = x[i] - factor * x[k]
            for j in range(i + 1):
                work[i][j] = work[i][j] - factor * work[k][j]
    solution: list[Scalar] = []
    for k, reciprocal in enumerate(reversed(reciprocals)):
        total = x[k]
        for j in range(k):
            total = total - work[k][j] * solution[j]
        solution.append(total * reciprocal)
    return solution
