"""Node blocks: one small function with sparse derivatives, mapped over all nodes of a phase.

A block is y = F(w, c): ``w`` are entries of the decision vector, ``c`` numbers of
the node (times, constants).  Its Jacobian and Hessian are derived once as SX;
the program as a whole is never differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from .node_forms import NodeForm, Pattern

Array: TypeAlias = np.ndarray


class NodeFunction:
    """y = F(w, c) with sparse first and second derivatives in w.

    Parameters
    ----------
    name:
        For messages and compiled files.
    w, c, y:
        SX columns.
    """

    def __init__(self, name: str, w: ca.SX, c: ca.SX, y: ca.SX) -> None:
        self.name = name
        self.size_w, self.size_c, self.size_y = w.numel(), c.numel(), y.numel()
        self._w, self._c, self._y = w, c, ca.densify(y)

    @cached_property
    def value_form(self) -> NodeForm:
        """(w, c) -> y."""
        return NodeForm.of(ca.Function(f"{self.name}_value", [self._w, self._c], [self._y], _NAMED))

    @cached_property
    def jacobian_form(self) -> NodeForm:
        """(w, c) -> the nonzeros of dy/dw as a column."""
        name = f"{self.name}_jacobian"

        def derive() -> tuple[ca.Function, Pattern]:
            slopes = ca.jacobian(self._y, self._w)
            function = ca.Function(name, [self._w, self._c], [_nonzeros(slopes)], _NAMED)
            return function, _triplets(slopes.sparsity())

        return NodeForm(name, derive, (self.value_form, "jacobian"))

    @cached_property
    def hessian_form(self) -> NodeForm:
        """(w, c, weights) -> nonzeros of the upper triangle of the Hessian of weights . y."""
        name = f"{self.name}_hessian"

        def derive() -> tuple[ca.Function, Pattern]:
            weights = ca.SX.sym("weights", self.size_y)
            upper = ca.triu(ca.hessian(ca.dot(weights, self._y), self._w)[0])
            arguments = [self._w, self._c, weights]
            function = ca.Function(name, arguments, [_nonzeros(upper)], _NAMED)
            return function, _triplets(upper.sparsity())

        return NodeForm(name, derive, (self.value_form, "hessian"))

    @property
    def value(self) -> ca.Function:
        """(w, c) -> y."""
        return self.value_form.function

    @property
    def jacobian(self) -> ca.Function:
        """(w, c) -> the nonzeros of dy/dw as a column."""
        return self.jacobian_form.function

    @property
    def jacobian_pattern(self) -> Pattern:
        """(rows, columns) of the structural nonzeros of dy/dw, in CasADi's order."""
        return self.jacobian_form.pattern

    @property
    def hessian(self) -> ca.Function:
        """(w, c, weights) -> nonzeros of the upper triangle of the Hessian of weights . y."""
        return self.hessian_form.function

    @property
    def hessian_pattern(self) -> Pattern:
        """(rows, columns) of the upper triangle's structural nonzeros."""
        return self.hessian_form.pattern


_NAMED = {"cse": True}


def _nonzeros(matrix: ca.SX) -> ca.SX:
    return ca.vec(matrix.nz[:]) if matrix.nnz() else ca.SX(0, 1)


def _triplets(sparsity: ca.Sparsity) -> Pattern:
    rows, columns = sparsity.get_triplet()
    return np.array(rows, dtype=int), np.array(columns, dtype=int)


class Block:
    """A node function at many nodes, and where its outputs go in the program.

    Parameters
    ----------
    function:
        The node function.
    inputs:
        (n, size_w) entries of the decision vector.
    constants:
        (n, size_c) numbers, or NaN where ``constant_places`` names an entry of the
        vector of the problem's constants.
    row, place, weight:
        Outputs are added to rows of the program: entry k adds
        ``weight[k]`` times output number ``place[k]`` (node * size_y + output) to
        row ``row[k]``; row -1 is the cost.
    """

    def __init__(
        self,
        function: NodeFunction,
        inputs: Array,
        constants: Array,
        row: Array,
        place: Array,
        weight: Array,
        constant_places: Array | None = None,
    ) -> None:
        self.function = function
        self.inputs = inputs
        self.constants = constants
        self.constant_places = constant_places
        cost = row < 0
        self.row, self.place, self.weight = row[~cost], place[~cost], weight[~cost]
        self.cost_place, self.cost_weight = place[cost], weight[cost]
        self._mapped: dict[str, ca.Function] = {}

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.inputs)

    def constant_argument(self, p: Any) -> Any:
        """(size_c, n) matrix of the node constants, with the problem's constants put in."""
        table = np.ascontiguousarray(self.constants.T)
        if self.constant_places is None or not np.any(self.constant_places >= 0):
            return ca.DM(table)
        flat = table.T.ravel()  # column-major order of the (size_c, n) matrix
        own = self.constant_places.ravel()
        order = np.where(own >= 0, own + len(flat), np.arange(len(flat)))
        together = ca.vertcat(ca.DM(np.where(own >= 0, 0.0, flat)), p)
        return ca.reshape(together[order.tolist()], self.function.size_c, self.count)

    def constant_values(self, p: Array) -> ca.DM:
        """The matrix of :meth:`constant_argument` for values of the problem's constants."""
        if self.constant_places is None:
            return ca.DM(np.ascontiguousarray(self.constants.T))
        filled = self.constants.copy()
        own = self.constant_places >= 0
        filled[own] = np.asarray(p, dtype=float)[self.constant_places[own]]
        return ca.DM(np.ascontiguousarray(filled.T))

    def use(self, forms: Mapping[str, ca.Function]) -> None:
        """Evaluate "value", "jacobian", "hessian" by these functions of one node."""
        self._mapped = {kind: self._map(function) for kind, function in forms.items()}

    def mapped(self, kind: str) -> ca.Function:
        """The "value", "jacobian" or "hessian" at all nodes at once."""
        if kind not in self._mapped:
            self._mapped[kind] = self._map(getattr(self.function, kind))
        return self._mapped[kind]

    def _map(self, function: ca.Function) -> ca.Function:
        return function if self.count == 1 else function.map(self.count)

    def values(self, x: Array, p: Array) -> Array:
        """(size_y, n) outputs at a decision vector."""
        return self._evaluate("value", x, p)

    def jacobian_values(self, x: Array, p: Array) -> Array:
        """(nonzeros, n) entries of dy/dw at a decision vector."""
        return self._evaluate("jacobian", x, p)

    def hessian_values(self, x: Array, p: Array, weights: Array) -> Array:
        """(nonzeros, n) entries of the Hessian's upper triangle for (size_y, n) weights."""
        return self._evaluate("hessian", x, p, ca.DM(weights))

    def _evaluate(self, kind: str, x: Array, p: Array, *more: ca.DM) -> Array:
        w = ca.DM(np.ascontiguousarray(x[self.inputs].T))
        found = self.mapped(kind)(w, self.constant_values(p), *more)
        return np.asarray(found).reshape(-1, self.count)
