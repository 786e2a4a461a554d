"""Running the statements of a program in any algebra.

One interpreter serves every consumer: floats, NumPy arrays, CasADi symbols,
SymPy expressions and other program builders only differ in the table of
operations that they bring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .operations import FLOAT_FUNCTIONS

if TYPE_CHECKING:
    from .builder import Node
    from .program import Program

Operations = Mapping[str, Callable[..., Any]]

_BASIC: dict[str, Callable[..., Any]] = {
    "const": lambda value: value,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}

FLOAT_OPERATIONS: Operations = {**_BASIC, "const": float, **FLOAT_FUNCTIONS}


def operations(functions: Mapping[str, Callable[..., Any]]) -> Operations:
    """The four arithmetic operators plus the given functions (may override ``const``)."""
    return {**_BASIC, **functions}


def needed_nodes(nodes: Sequence[Node], refs: Iterable[int]) -> list[int]:
    """Indices, in program order, of the statements that the references depend on."""
    needed: set[int] = set()
    stack = [abs(r) - 1 for r in refs]
    while stack:
        index = stack.pop()
        if index in needed:
            continue
        needed.add(index)
        node = nodes[index]
        if node[0] not in ("const", "sym"):
            stack.extend(abs(a) - 1 for a in node[1:])
    return sorted(needed)


def evaluate_refs(
    nodes: Sequence[Node],
    refs: Sequence[int],
    symbol: Callable[[str, str], Any],
    table: Operations,
) -> list[Any]:
    """Values of the given references.

    Parameters
    ----------
    nodes:
        The statements.
    refs:
        Signed references to evaluate.
    symbol:
        Called with (group, name) for each input symbol that is needed.
    table:
        The algebra, see :func:`operations`.
    """
    values: dict[int, Any] = {}
    for index in needed_nodes(nodes, refs):
        node = nodes[index]
        operation = node[0]
        if operation == "sym":
            values[index] = symbol(str(node[1]), str(node[2]))
        elif operation == "const":
            values[index] = table["const"](node[1])
        else:
            arguments = [values[a - 1] if a > 0 else -values[-a - 1] for a in node[1:]]
            values[index] = table[str(operation)](*arguments)
    return [values[r - 1] if r > 0 else -values[-r - 1] for r in refs]


def evaluate(
    program: Program,
    function: str,
    inputs: Mapping[str, Mapping[str, Any] | Sequence[Any]],
    table: Operations = FLOAT_OPERATIONS,
) -> dict[str, list[Any]]:
    """Evaluate one function of a program.

    Parameters
    ----------
    program, function:
        What to run.
    inputs:
        Per input group either a mapping from symbol name to value or a
        sequence in the order of the group.
    table:
        The algebra; floats by default.

    Returns
    -------
    dict
        Output name to flat row-major list of values.
    """
    by_name: dict[tuple[str, str], Any] = {}
    for group in program.groups:
        values = inputs.get(group.name)
        if values is None:
            continue
        if isinstance(values, Mapping):
            by_name.update(((group.name, name), value) for name, value in values.items())
        else:
            by_name.update(
                ((group.name, s.name), v) for s, v in zip(group.symbols, values, strict=True)
            )
    target = program.functions[function]
    refs = [ref for output in target.outputs for ref in output.refs]
    flat = evaluate_refs(program.nodes, refs, lambda g, n: by_name[g, n], table)
    result, start = {}, 0
    for output in target.outputs:
        result[output.name] = flat[start : start + len(output.refs)]
        start += len(output.refs)
    return result
