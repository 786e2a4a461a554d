"""The nonlinear program: linear rows and node blocks, scattered into sparse derivatives.

    g(x) = L x + sum over blocks S F(x[inputs], c),   f(x) likewise,

with constant sparse L and S.  Variables and rows are scaled here and nowhere
else: the solver sees x / variable_scale and g / row_scale, everybody else sees
physical units.  CasADi differentiates none of this: the Jacobian and Hessian of
the Lagrangian are one gather, one mapped block and one sparse matrix-vector
product each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import scipy.sparse as sp

from .blocks import Block

Array: TypeAlias = np.ndarray
Compile: TypeAlias = Callable[[ca.Function, int], ca.Function]


@dataclass(frozen=True)
class RowGroup:
    """Rows of one kind, for reports.

    Attributes
    ----------
    kind:
        "dynamics", "equation", "path", "boundary", "integral", "knot", "end value".
    phase:
        Name of the phase, or "".
    names, units:
        Of the components.
    first:
        First row; rows are ordered by place, then component.
    places:
        (n, 2) section and place in the section, or (0, 2) if the rows have no time.
    """

    kind: str
    phase: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    first: int
    places: Array

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.names) * max(1, len(self.places))


class NonlinearProgram:
    """Variables, rows and blocks in physical units, and the scaled functions of a solver.

    Attributes
    ----------
    lower, upper, guess, variable_scale:
        (n,) arrays.
    row_lower, row_upper, row_scale:
        (m,) arrays.
    linear:
        (m, n) sparse matrix.
    cost_scale:
        The solver's cost is the physical one divided by this.
    """

    def __init__(
        self, variables: int, blocks: Sequence[Block], groups: Sequence[RowGroup],
        linear: sp.csr_array, row_lower: Array, row_upper: Array, constants: int,
    ) -> None:
        self.size = variables
        self.rows = len(row_lower)
        self.blocks = tuple(blocks)
        self.groups = tuple(groups)
        self.linear = linear
        self.row_lower, self.row_upper = row_lower, row_upper
        self.lower = np.full(variables, -np.inf)
        self.upper = np.full(variables, np.inf)
        self.guess = np.zeros(variables)
        self.variable_scale = np.ones(variables)
        self.row_scale = np.ones(self.rows)
        self.cost_scale = 1.0
        self.constants = constants
        self.compile: Compile = lambda function, count: function

    # -- patterns ----------------------------------------------------------
    @cached_property
    def _jacobian_terms(self) -> tuple[sp.csc_array, sp.csc_array, Array, Array, Array]:
        """Rows and columns of the nonzeros, and the matrix from sources to nonzeros.

        Sources are the nonzeros of all block Jacobians, then one constant 1.
        """
        rows, columns, sources, weights, offset = [], [], [], [], 0
        for block in self.blocks:
            out, inp = block.function.jacobian_pattern
            ny, nnz = block.function.size_y, len(out)
            node, output = np.divmod(block.place, ny)
            order = np.argsort(output, kind="stable")
            starts = np.searchsorted(output[order], np.arange(ny + 1))
            for o in range(ny):
                picked = order[starts[o] : starts[o + 1]]
                own = np.flatnonzero(out == o)
                if not len(picked) or not len(own):
                    continue
                n = node[picked]
                rows.append(np.repeat(block.row[picked], len(own)))
                columns.append(block.inputs[n][:, inp[own]].ravel())
                sources.append((offset + n[:, None] * nnz + own[None, :]).ravel())
                weights.append(np.repeat(block.weight[picked], len(own)))
            offset += nnz * block.count
        coo = self.linear.tocoo()
        rows.append(coo.row)
        columns.append(coo.col)
        sources.append(np.full(coo.nnz, offset))
        weights.append(coo.data)
        r, c = np.concatenate(rows), np.concatenate(columns)
        s, w = np.concatenate(sources), np.concatenate(weights)
        keys, inverse = np.unique(c.astype(np.int64) * self.rows + r, return_inverse=True)
        columns_of, rows_of = np.divmod(keys, self.rows)
        matrix = sp.csc_array((w, (inverse, s)), shape=(len(keys), offset + 1))
        return matrix, rows_of, columns_of, keys, inverse

    @cached_property
    def _hessian_terms(self) -> tuple[sp.csc_array, Array, Array]:
        rows, columns, sources, weights, offset = [], [], [], [], 0
        for block in self.blocks:
            a, b = block.function.hessian_pattern
            nnz = len(a)
            first, second = block.inputs[:, a], block.inputs[:, b]
            low, high = np.minimum(first, second), np.maximum(first, second)
            rows.append(low.ravel())
            columns.append(high.ravel())
            sources.append(offset + np.arange(nnz * block.count))
            twice = (first == second) & (a != b)[None, :]
            weights.append(np.where(twice, 2.0, 1.0).ravel())
            offset += nnz * block.count
        r, c = np.concatenate(rows), np.concatenate(columns)
        keys, inverse = np.unique(c.astype(np.int64) * self.size + r, return_inverse=True)
        columns_of, rows_of = np.divmod(keys, self.size)
        matrix = sp.csc_array(
            (np.concatenate(weights), (inverse, np.concatenate(sources))), shape=(len(keys), offset)
        )
        return matrix, rows_of, columns_of

    @cached_property
    def _outputs(self) -> tuple[sp.csr_array, Array]:
        """Matrix from all block outputs to rows, and the cost's weights of the outputs."""
        rows, places, weights, offset = [], [], [], 0
        for block in self.blocks:
            rows.append(block.row)
            places.append(block.place + offset)
            weights.append(block.weight)
            offset += block.count * block.function.size_y
        cost = np.zeros(offset)
        offset = 0
        for block in self.blocks:
            np.add.at(cost, block.cost_place + offset, block.cost_weight)
            offset += block.count * block.function.size_y
        matrix = sp.csr_array(
            (np.concatenate(weights), (np.concatenate(rows), np.concatenate(places))),
            shape=(self.rows, offset),
        )
        return matrix, cost

    # -- scaled functions for the solver -----------------------------------
    def functions(self) -> dict[str, ca.Function]:
        """The functions of ``casadi.nlpsol``: "nlp", "grad_f", "jac_g", "hess_lag"."""
        x, p = ca.MX.sym("x", self.size), ca.MX.sym("p", self.constants)
        physical = x * ca.DM(self.variable_scale)
        arguments = [self._arguments(b, physical, p) for b in self.blocks]
        active = [k for k, b in enumerate(self.blocks) if len(b.row)]
        costs = [k for k, b in enumerate(self.blocks) if len(b.cost_place)]
        outputs, cost_weights = self._outputs
        offsets = np.cumsum([0, *(b.count * b.function.size_y for b in self.blocks)])

        def span(k: int) -> slice:
            return slice(int(offsets[k]), int(offsets[k + 1]))

        def values(k: int) -> ca.MX:
            function = self.compile(self.blocks[k].function.value, self.blocks[k].count)
            return ca.vec(_mapped(function, self.blocks[k].count)(*arguments[k]))

        found = {k: values(k) for k in sorted({*active, *costs})}
        by_row = sp.diags_array(1 / self.row_scale) @ outputs
        g = ca.mtimes(_dm(sp.diags_array(1 / self.row_scale) @ self.linear), physical)
        for k in active:
            g = g + ca.mtimes(_dm(by_row[:, span(k)]), found[k])
        scale = 1 / self.cost_scale
        f: Any = ca.MX(0)
        for k in costs:
            f = f + ca.mtimes(ca.DM(cost_weights[span(k)] * scale).T, found[k])

        jacobian_sources = {
            k: ca.vec(
                _mapped(
                    self.compile(self.blocks[k].function.jacobian, self.blocks[k].count),
                    self.blocks[k].count,
                )(*arguments[k])
            )
            for k in sorted({*active, *costs})
        }
        gradient = self._gradient(costs, jacobian_sources) * scale
        jacobian = self._jacobian_values(active, jacobian_sources)
        lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.rows)
        hessian = self._hessian_values(arguments, lam_f * scale, lam_g, by_row, cost_weights, span)
        names = ["x", "p"]
        return {
            "nlp": ca.Function("nlp", [x, p], [f, g], names, ["f", "g"]),
            "grad_f": ca.Function("nlp_grad_f", [x, p], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("nlp_jac_g", [x, p], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "nlp_hess_l", [x, p, lam_f, lam_g], [hessian],
                ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"],
            ),
        }

    @staticmethod
    def _arguments(block: Block, physical: ca.MX, p: ca.MX) -> tuple[Any, Any]:
        w = ca.reshape(physical[block.inputs.ravel().tolist()], block.function.size_w, block.count)
        return w, block.constant_argument(p)

    def _gradient(self, costs: Sequence[int], sources: dict[int, ca.MX]) -> Any:
        total: Any = ca.MX(self.size, 1)
        for k in costs:
            block = self.blocks[k]
            out, inp = block.function.jacobian_pattern
            node, output = np.divmod(block.cost_place, block.function.size_y)
            rows, columns, weights = [], [], []
            for o in np.unique(output):
                own = np.flatnonzero(out == o)
                picked = output == o
                n = node[picked]
                rows.append(block.inputs[n][:, inp[own]].ravel())
                columns.append((n[:, None] * len(out) + own[None, :]).ravel())
                weights.append(np.repeat(block.cost_weight[picked], len(own)))
            matrix = sp.csc_array(
                (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))),
                shape=(self.size, len(out) * block.count),
            )
            total = total + ca.mtimes(
                _dm(sp.diags_array(self.variable_scale) @ matrix), sources[k]
            )
        return ca.densify(total)

    def _jacobian_values(self, active: Sequence[int], sources: dict[int, ca.MX]) -> ca.MX:
        matrix, rows, columns, _, _ = self._jacobian_terms
        factor = self.variable_scale[columns] / self.row_scale[rows]
        scaled = (sp.diags_array(factor) @ matrix).tocsc()
        values = ca.MX(ca.DM(scaled[:, [-1]].toarray()))
        offset = 0
        for k, block in enumerate(self.blocks):
            width = len(block.function.jacobian_pattern[0]) * block.count
            if k in active and width:
                values = values + ca.mtimes(_dm(scaled[:, offset : offset + width]), sources[k])
            offset += width
        return ca.MX(_sparsity(self.rows, self.size, rows, columns), values)

    def _hessian_values(
        self, arguments: Sequence[tuple[Any, Any]], lam_f: Any, lam_g: Any,
        by_row: sp.csr_array, cost_weights: Array, span: Callable[[int], slice],
    ) -> ca.MX:
        matrix, rows, columns = self._hessian_terms
        scaled = (
            sp.diags_array(self.variable_scale[rows] * self.variable_scale[columns]) @ matrix
        ).tocsc()
        values: Any = ca.MX.zeros(len(rows), 1)
        offset = 0
        for k, block in enumerate(self.blocks):
            width = len(block.function.hessian_pattern[0]) * block.count
            if width:
                weights: Any = ca.mtimes(_dm(by_row[:, span(k)].T), lam_g)
                if len(block.cost_place):
                    weights = weights + lam_f * ca.DM(cost_weights[span(k)])
                weights = ca.reshape(
                    ca.densify(weights), block.function.size_y, block.count
                )
                function = self.compile(block.function.hessian, block.count)
                source = ca.vec(_mapped(function, block.count)(*arguments[k], weights))
                values = values + ca.mtimes(_dm(scaled[:, offset : offset + width]), source)
            offset += width
        return ca.MX(_sparsity(self.size, self.size, rows, columns), ca.densify(values))

    # -- physical values for reports ---------------------------------------
    def residuals(self, x: Array, p: Array) -> Array:
        """(m,) g(x) in physical units."""
        outputs, _ = self._outputs
        return np.asarray(self.linear @ x + outputs @ self._block_values(x, p))

    def cost(self, x: Array, p: Array) -> float:
        """The cost in physical units."""
        return float(self._outputs[1] @ self._block_values(x, p))

    def gradient(self, x: Array, p: Array) -> Array:
        """(n,) gradient of the cost in physical units."""
        slopes = np.zeros(self.size)
        for block in self.blocks:
            if not len(block.cost_place):
                continue
            out, inp = block.function.jacobian_pattern
            values = block.jacobian_values(x, p)
            weights = np.zeros((block.function.size_y, block.count))
            node, output = np.divmod(block.cost_place, block.function.size_y)
            np.add.at(weights, (output, node), block.cost_weight)
            np.add.at(slopes, block.inputs[:, inp], (weights[out] * values).T)
        return slopes

    def _block_values(self, x: Array, p: Array) -> Array:
        return np.concatenate(
            [b.values(x, p).ravel(order="F") for b in self.blocks]
        )

    def jacobian(self, x: Array, p: Array) -> sp.csc_array:
        """(m, n) Jacobian of the rows in physical units."""
        matrix, rows, columns, _, _ = self._jacobian_terms
        sources = [b.jacobian_values(x, p).ravel(order="F") for b in self.blocks]
        values = matrix @ np.append(np.concatenate(sources), 1.0)
        return sp.csc_array((values, (rows, columns)), shape=(self.rows, self.size))


def _mapped(function: ca.Function, count: int) -> ca.Function:
    return function if count == 1 else function.map(count)


def _dm(matrix: Any) -> ca.DM:
    csc = matrix.tocsc()
    csc.sort_indices()
    sparsity = ca.Sparsity(
        csc.shape[0], csc.shape[1], csc.indptr.tolist(), csc.indices.tolist()
    )
    return ca.DM(sparsity, csc.data)


def _sparsity(rows: int, columns: int, row: Array, column: Array) -> ca.Sparsity:
    """Pattern of nonzeros that are sorted by column, then row."""
    starts = np.searchsorted(column, np.arange(columns + 1))
    return ca.Sparsity(rows, columns, starts.tolist(), row.tolist())
