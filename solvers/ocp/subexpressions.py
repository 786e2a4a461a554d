"""Looking into expressions: which part is not a number, and which operations are not smooth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np

Array: TypeAlias = np.ndarray

LARGEST = 20_000
"""Expressions with more operations than this are not taken apart."""
LONGEST = 60
"""Characters of a part that is shown."""

JUMPS = {
    ca.OP_SIGN: "sign",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_LT: "<",
    ca.OP_LE: "<=",
    ca.OP_EQ: "==",
    ca.OP_NE: "!=",
    ca.OP_IF_ELSE_ZERO: "if_else",
    ca.OP_FMOD: "fmod",
    ca.OP_COPYSIGN: "copysign",
}
KINKS = {ca.OP_FABS: "fabs", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax"}


def parts(expression: ca.SX, most: int = LARGEST) -> list[ca.SX] | None:
    """All nodes of a scalar expression, arguments before what uses them; None if too many."""
    order: list[ca.SX] = []
    done: set[int] = set()
    stack: list[tuple[ca.SX, bool]] = [(expression, False)]
    while stack:
        node, ready = stack.pop()
        key = node.element_hash()
        if key in done:
            continue
        if ready or not node.n_dep():
            done.add(key)
            order.append(node)
            if len(order) > most:
                return None
            continue
        stack.append((node, True))
        stack.extend((node.dep(k), False) for k in reversed(range(node.n_dep())))
    return order


def not_smooth(expression: ca.SX) -> tuple[set[str], set[str]]:
    """Names of operations in an expression that jump, and of those that have a kink."""
    jumps: set[str] = set()
    kinks: set[str] = set()
    function = ca.Function("scan", ca.symvar(expression), [expression])
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation in JUMPS:
            jumps.add(JUMPS[operation])
        elif operation in KINKS:
            kinks.add(KINKS[operation])
    return jumps, kinks


def only_branches(jumps: set[str]) -> bool:
    """Whether operations that jump are those of branches, whose pieces may well join."""
    return "if_else" in jumps and jumps <= {"if_else", "<", "<=", "==", "!="}


@dataclass(frozen=True)
class Culprit:
    """The first operation of an expression whose result is not finite though its arguments are.

    Attributes
    ----------
    text:
        The operation as it is written, shortened.
    value:
        Its result.
    arguments:
        Its arguments, as written, with their values.
    """

    text: str
    value: float
    arguments: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        with_ = ", ".join(f"{text} = {value:.6g}" for text, value in self.arguments)
        return f"{self.text} is {self.value:g}" + (f" where {with_}" if with_ else "")


def culprit(expression: ca.SX, symbols: Sequence[ca.SX], values: Array) -> Culprit | None:
    """Which operation makes an expression NaN or infinite.

    Parameters
    ----------
    expression:
        A scalar.
    symbols, values:
        Scalar symbols and their values.

    Returns
    -------
    Culprit or None
        None if all is finite, or the expression too large.
    """
    nodes = parts(expression)
    if nodes is None:
        return None
    function = ca.Function("parts", [ca.vertcat(*symbols)], [ca.vertcat(*nodes)])
    found = np.asarray(function(values)).ravel()
    of = {node.element_hash(): value for node, value in zip(nodes, found, strict=True)}
    for node, value in zip(nodes, found, strict=True):
        arguments = [node.dep(k) for k in range(node.n_dep())]
        if np.isfinite(value) or not all(np.isfinite(of[a.element_hash()]) for a in arguments):
            continue
        shown = [(short(a), float(of[a.element_hash()])) for a in arguments if not a.is_constant()]
        return Culprit(short(node), float(value), tuple(dict.fromkeys(shown)))
    return None


def short(node: ca.SX, depth: int = 5) -> str:
    """An expression as text, with what lies deeper than ``depth`` left out."""
    for levels in range(depth, 0, -1):
        text = _written(node, levels)
        if len(text) <= LONGEST or levels == 1:
            return text
    return "..."


def _written(node: ca.SX, levels: int) -> str:
    if not node.n_dep():
        return f"{float(node):g}" if node.is_constant() else node.name()
    if levels == 0:
        return "..."
    arguments = [_written(node.dep(k), levels - 1) for k in range(node.n_dep())]
    return str(ca.print_operator(node, arguments))


def walk(expressions: Sequence[tuple[str, ca.SX]]) -> Iterator[tuple[str, set[str], set[str]]]:
    """Named expressions that are not smooth, with their operations that jump or have a kink."""
    for name, expression in expressions:
        jumps, kinks = not_smooth(expression)
        if jumps or kinks:
            yield name, jumps, kinks
