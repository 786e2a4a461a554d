"""The nonlinear program: linear rows and node blocks, scattered into sparse derivatives.

    g(x) = L x + sum over blocks S F(x[inputs], c),   f(x) likewise,

with constant sparse L and S.  Variables and rows are scaled here and nowhere
else: the solver sees x / variable_scale and g / row_scale, everybody else sees
physical units.  CasADi differentiates none of this: the Jacobian and Hessian of
the Lagrangian are one gather, one mapped block and one sparse matrix-vector
product each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import casadi as ca
import numpy as np

from .blocks import Block
from .node_forms import NodeForm
from .sparse import Triplets, pattern, places

Array: TypeAlias = np.ndarray


class Compiler(Protocol):
    """Gives the functions to use for forms at so many nodes each: compiled, or themselves."""

    def prepare(self, forms: Sequence[tuple[NodeForm, int]]) -> list[ca.Function]: ...


@dataclass(frozen=True)
class RowGroup:
    """Rows of one kind, for reports.

    Attributes
    ----------
    kind:
        "dynamics", "equation", "path", "boundary", "integral", "knot", "end value",
        "fence", "join".
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
        The linear part, (m, n).
    cost_scale:
        The solver's cost is the physical one divided by this.
    """

    def __init__(
        self,
        variables: int,
        blocks: Sequence[Block],
        groups: Sequence[RowGroup],
        linear: Triplets,
        row_lower: Array,
        row_upper: Array,
        constants: int,
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
        self._compiler: Compiler | None = None
        self._prepared = False

    @property
    def compile(self) -> Compiler | None:
        """What compiles the functions of blocks; None: they stay as they are."""
        return self._compiler

    @compile.setter
    def compile(self, compiler: Compiler | None) -> None:
        self._compiler = compiler
        self._prepared = False

    # -- patterns ----------------------------------------------------------
    @cached_property
    def _jacobian_terms(self) -> tuple[Array, Triplets]:
        """Places of the nonzeros, and the matrix from sources to nonzeros.

        Sources are the nonzeros of all block Jacobians, then one constant 1.
        """
        rows, columns, sources, weights, offset = [], [], [], [], 0
        for block in self.blocks:
            out, inp = block.function.jacobian_pattern
            pick, own = _matching(block.place % block.function.size_y, out)
            node = block.place[pick] // block.function.size_y
            rows.append(block.row[pick])
            columns.append(block.inputs[node, inp[own]])
            sources.append(offset + node * len(out) + own)
            weights.append(block.weight[pick])
            offset += len(out) * block.count
        linear = self.linear
        rows.append(linear.rows)
        columns.append(linear.columns)
        sources.append(np.full(len(linear.rows), offset))
        weights.append(linear.values)
        keys, inverse = places(np.concatenate(rows), np.concatenate(columns), self.rows)
        return keys, Triplets(
            inverse, np.concatenate(sources), np.concatenate(weights), (len(keys), offset + 1)
        )

    @cached_property
    def _hessian_terms(self) -> tuple[Array, Triplets]:
        """Places in the upper triangle, and the matrix from block Hessians to them."""
        rows, columns, sources, weights, offset = [], [], [], [], 0
        for block in self.blocks:
            a, b = block.function.hessian_pattern
            first, second = block.inputs[:, a], block.inputs[:, b]
            rows.append(np.minimum(first, second).ravel())
            columns.append(np.maximum(first, second).ravel())
            sources.append(offset + np.arange(len(a) * block.count))
            twice = (first == second) & (a != b)[None, :]
            weights.append(np.where(twice, 2.0, 1.0).ravel())
            offset += len(a) * block.count
        keys, inverse = places(np.concatenate(rows), np.concatenate(columns), self.size)
        return keys, Triplets(
            inverse, np.concatenate(sources), np.concatenate(weights), (len(keys), offset)
        )

    @cached_property
    def _outputs(self) -> tuple[Triplets, Array]:
        """Matrix from all block outputs to rows, and the cost's weights of the outputs."""
        offsets = self._offsets
        cost = np.zeros(offsets[-1])
        for block, offset in zip(self.blocks, offsets[:-1], strict=True):
            np.add.at(cost, block.cost_place + offset, block.cost_weight)
        matrix = Triplets(
            np.concatenate([b.row for b in self.blocks]),
            np.concatenate([b.place + k for b, k in zip(self.blocks, offsets[:-1], strict=True)]),
            np.concatenate([b.weight for b in self.blocks]),
            (self.rows, int(offsets[-1])),
        )
        return matrix, cost

    @cached_property
    def _offsets(self) -> Array:
        """Where the outputs of each block begin, and their number."""
        return np.cumsum([0, *(b.count * b.function.size_y for b in self.blocks)])

    # -- scaled functions for the solver -----------------------------------
    def functions(self) -> dict[str, ca.Function]:
        """The functions of ``casadi.nlpsol``: "nlp", "grad_f", "jac_g", "hess_lag"."""
        x, p = ca.MX.sym("x", self.size), ca.MX.sym("p", self.constants)
        physical = x * ca.DM(self.variable_scale)
        arguments = [self._arguments(b, physical, p) for b in self.blocks]
        used = self._used()
        self.prepare()
        outputs, cost_weights = self._outputs
        by_row = outputs.scaled(rows=1 / self.row_scale)
        spans = [slice(*map(int, s)) for s in itertools.pairwise(self._offsets)]
        scale = 1 / self.cost_scale

        linear = self.linear.scaled(rows=1 / self.row_scale)
        g: Any = ca.mac(linear.as_casadi(), physical, ca.MX(ca.DM.zeros(self.rows, 1)))
        f: Any = ca.MX(0)
        slopes: dict[int, ca.MX] = {}
        for k, block in enumerate(self.blocks):
            if block not in used:
                continue
            span = spans[k]
            found = ca.vec(block.mapped("value")(*arguments[k]))
            if len(block.row):
                g = ca.mac(by_row.part(span.start, span.stop).as_casadi(), found, g)
            if len(block.cost_place):
                f = f + ca.dot(ca.DM(cost_weights[span] * scale), found)
            slopes[k] = ca.vec(block.mapped("jacobian")(*arguments[k]))
        gradient = self._gradient(slopes, scale)
        jacobian = self._jacobian_values(slopes)
        lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.rows)
        keys, matrix = self._hessian_terms
        low, high = keys % self.size, keys // self.size
        matrix = matrix.scaled(rows=self.variable_scale[low] * self.variable_scale[high])
        hessian: Any = ca.MX(ca.DM.zeros(len(keys), 1))
        offset = 0
        for k, block in enumerate(self.blocks):
            width = len(block.function.hessian_pattern[0]) * block.count
            if width and block in used:
                span = spans[k]
                weights: Any = ca.MX(ca.DM.zeros(span.stop - span.start, 1))
                if len(block.row):
                    back = by_row.part(span.start, span.stop).transposed
                    weights = ca.mac(back.as_casadi(), lam_g, weights)
                if len(block.cost_place):
                    weights = weights + lam_f * ca.DM(cost_weights[span] * scale)
                weights = ca.reshape(weights, block.function.size_y, block.count)
                source = ca.vec(block.mapped("hessian")(*arguments[k], weights))
                own = matrix.part(offset, offset + width)
                hessian = ca.mac(own.as_casadi(), source, hessian)
            offset += width
        hessian = _with_pattern(hessian, pattern(self.size, self.size, keys))
        names = ["x", "p"]
        return {
            "nlp": ca.Function("nlp", [x, p], [f, g], names, ["f", "g"]),
            "grad_f": ca.Function("nlp_grad_f", [x, p], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("nlp_jac_g", [x, p], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "nlp_hess_l",
                [x, p, lam_f, lam_g],
                [hessian],
                ["x", "p", "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        }

    def prepare(self) -> None:
        """Let the blocks use compiled functions, as far as there are any by now."""
        wanted: list[tuple[Block, str, NodeForm]] = []
        for block in self._used():
            function = block.function
            wanted += [
                (block, "value", function.value_form),
                (block, "jacobian", function.jacobian_form),
            ]
            if len(function.hessian_pattern[0]):
                wanted.append((block, "hessian", function.hessian_form))
        if self._compiler is None:
            made = [form.function for _, _, form in wanted]
        else:
            made = self._compiler.prepare([(form, block.count) for block, _, form in wanted])
        for block in self._used():
            own = zip(wanted, made, strict=True)
            block.use({kind: function for (b, kind, _), function in own if b is block})
        self._prepared = True

    def _used(self) -> list[Block]:
        """Blocks that rows or the cost need."""
        return [b for b in self.blocks if len(b.row) or len(b.cost_place)]

    @staticmethod
    def _arguments(block: Block, physical: ca.MX, p: ca.MX) -> tuple[Any, Any]:
        w = ca.reshape(physical[block.inputs.ravel().tolist()], block.function.size_w, block.count)
        return w, block.constant_argument(p)

    def _gradient(self, slopes: dict[int, ca.MX], scale: float) -> Any:
        total: Any = ca.MX(ca.DM.zeros(self.size, 1))
        for k, source in slopes.items():
            block = self.blocks[k]
            out, inp = block.function.jacobian_pattern
            pick, own = _matching(block.cost_place % block.function.size_y, out)
            if not len(pick):
                continue
            node = block.cost_place[pick] // block.function.size_y
            matrix = Triplets(
                block.inputs[node, inp[own]],
                node * len(out) + own,
                block.cost_weight[pick] * scale,
                (self.size, len(out) * block.count),
            )
            total = ca.mac(matrix.scaled(rows=self.variable_scale).as_casadi(), source, total)
        return total

    def _jacobian_values(self, slopes: dict[int, ca.MX]) -> ca.MX:
        keys, matrix = self._jacobian_terms
        row, column = keys % max(self.rows, 1), keys // max(self.rows, 1)
        matrix = matrix.scaled(rows=self.variable_scale[column] / self.row_scale[row])
        one = matrix.shape[1] - 1
        values = ca.MX(ca.DM(matrix.part(one, one + 1).times(np.ones(1))))
        offset = 0
        for k, block in enumerate(self.blocks):
            width = len(block.function.jacobian_pattern[0]) * block.count
            if len(block.row) and width:
                own = matrix.part(offset, offset + width)
                values = ca.mac(own.as_casadi(), slopes[k], values)
            offset += width
        return _with_pattern(values, pattern(self.rows, self.size, keys))

    # -- physical values for reports ---------------------------------------
    def residuals(self, x: Array, p: Array) -> Array:
        """(m,) g(x) in physical units."""
        outputs, _ = self._outputs
        return np.asarray(self.linear.times(x) + outputs.times(self._block_values(x, p)))

    def cost(self, x: Array, p: Array) -> float:
        """The cost in physical units."""
        return float(self._outputs[1] @ self._block_values(x, p))

    def gradient(self, x: Array, p: Array) -> Array:
        """(n,) gradient of the cost in physical units."""
        slopes = np.zeros(self.size)
        self._prepare_once()
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

    def _prepare_once(self) -> None:
        if not self._prepared:
            self.prepare()

    def _block_values(self, x: Array, p: Array) -> Array:
        self._prepare_once()
        return np.concatenate([b.values(x, p).ravel(order="F") for b in self.blocks])

    def jacobian_entries(self, x: Array, p: Array) -> Triplets:
        """The nonzeros of the (m, n) Jacobian of the rows in physical units."""
        keys, matrix = self._jacobian_terms
        self._prepare_once()
        sources = [b.jacobian_values(x, p).ravel(order="F") for b in self.blocks]
        values = matrix.times(np.append(np.concatenate(sources), 1.0))
        height = max(self.rows, 1)
        return Triplets(keys % height, keys // height, values, (self.rows, self.size))

    def jacobian(self, x: Array, p: Array) -> Any:
        """(m, n) Jacobian of the rows in physical units, a ``scipy.sparse.csc_array``."""
        return self.jacobian_entries(x, p).as_scipy()


def _matching(output: Array, out: Array) -> tuple[Array, Array]:
    """All pairs of an entry of ``output`` and one of ``out`` that are equal: their numbers."""
    order = np.argsort(out, kind="stable")
    first = np.searchsorted(out[order], output, side="left")
    many = np.searchsorted(out[order], output, side="right") - first
    pick = np.repeat(np.arange(len(output)), many)
    step = np.arange(len(pick)) - np.repeat(np.cumsum(many) - many, many)
    return pick, order[np.repeat(first, many) + step]


def _with_pattern(values: ca.MX, sparsity: ca.Sparsity) -> ca.MX:
    """The column of values as the nonzeros of a matrix."""
    return ca.sparsity_cast(values, sparsity)
