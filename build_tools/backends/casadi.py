"""CasADi functions from a program: the statements become one SX graph, entry by entry.

CasADi stores matrices column-major and the program writes them row-major; the
functions made here have every entry where it belongs, and keep the structural
zeros of the program out of their sparsity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi

from bestiary.modeling.program import Output, Program
from bestiary.modeling.program.evaluate import evaluate_refs, operations

PARAMETERS = "parameters"

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(casadi, name)
        for name in "sin cos tan asin acos atan sinh cosh tanh exp log sqrt atan2 sign".split()
    },
    "abs": casadi.fabs,
    "min": casadi.fmin,
    "max": casadi.fmax,
    "pow": casadi.power,
    "select": lambda c, a, b: casadi.if_else(c > 0, a, b),
    "const": lambda value: casadi.SX(float(value)),
}


def casadi_function(
    program: Program,
    function: str,
    parameters: Mapping[str, float] | None = None,
    name: str | None = None,
) -> casadi.Function:
    """One function of a program as a ``casadi.Function``.

    Parameters
    ----------
    program, function:
        The program and the function in it.
    parameters:
        Values by name.  Parameters that are given become constants; the others
        stay symbolic and are gathered, in program order, in one last input
        called ``parameters``.  None: all symbolic.
    name:
        Name of the CasADi function; the program's function by default.

    Returns
    -------
    casadi.Function
        Inputs are named after the input groups (``q``, ``p``, ``u`` … as
        columns), outputs after the program's outputs, with their 2-D shape
        (vectors are columns, scalars 1x1); structural zeros are not stored.

    Raises
    ------
    KeyError
        If the program has no such function, or a parameter is unknown.
    """
    if function not in program.functions:
        raise KeyError(f"no function {function!r}; have {', '.join(program.functions)}")
    target = program.functions[function]
    fixed = dict(parameters or {})
    groups = {g.name: g for g in program.groups}
    known = {s.name for s in groups[PARAMETERS].symbols} if PARAMETERS in groups else set()
    unknown = sorted(set(fixed) - known)
    if unknown:
        raise KeyError(f"not parameters of this program: {', '.join(unknown)}")

    table: dict[tuple[str, str], Any] = {}
    arguments: list[tuple[str, Any]] = []
    for group_name in sorted(target.inputs, key=lambda g: g == PARAMETERS):
        symbols = groups[group_name].symbols
        if group_name == PARAMETERS:
            table.update({(group_name, n): casadi.SX(v) for n, v in fixed.items()})
            symbols = tuple(s for s in symbols if s.name not in fixed)
            if not symbols:
                continue
        scalars = [casadi.SX.sym(s.name) for s in symbols]
        table.update({(group_name, s.name): x for s, x in zip(symbols, scalars, strict=True)})
        arguments.append((group_name, casadi.vertcat(*scalars)))

    refs = [ref for output in target.outputs for ref in output.refs]
    values = evaluate_refs(program.nodes, refs, lambda g, n: table[g, n], operations(_FUNCTIONS))
    results, start = [], 0
    for output in target.outputs:
        results.append(_matrix(program, output, values[start : start + output.size]))
        start += output.size
    return casadi.Function(
        name or function,
        [value for _, value in arguments],
        results,
        [argument for argument, _ in arguments],
        [output.name for output in target.outputs],
    )


def _matrix(program: Program, output: Output, values: Sequence[Any]) -> Any:
    """SX matrix of row-major values without the structural zeros."""
    rows, columns = (*output.shape, 1, 1)[:2]
    if len(output.shape) > 2:
        raise ValueError(f"{output.name}: CasADi has matrices only, got shape {output.shape}")
    places = [
        (k % columns, k // columns, value)  # column first: CasADi's storage order
        for k, (ref, value) in enumerate(zip(output.refs, values, strict=True))
        if program.nodes[abs(ref) - 1] != ("const", 0)
    ]
    places.sort(key=lambda item: item[:2])
    sparsity = casadi.Sparsity.triplet(
        rows, columns, [row for _, row, _ in places], [column for column, _, _ in places]
    )
    return casadi.SX(sparsity, casadi.vertcat(*(value for *_, value in places)))
