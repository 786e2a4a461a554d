"""Programs as fast Python functions, and programs taken apart for exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bestiary.modeling.program import (
    Builder,
    Function,
    InputGroup,
    Output,
    Program,
    Scalar,
    evaluate,
)
from bestiary.modeling.program.transform import replay

NUMPY = {
    **{n: getattr(np, n) for n in ("sin cos tan sinh cosh tanh exp log sqrt sign abs".split())},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "select": lambda c, a, b: np.where(c > 0, a, b),
}
FLOATS = {
    **{n: getattr(math, n) for n in NUMPY if hasattr(math, n)},
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c > 0 else b,
}
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def compiled(
    program: Program, function: str, *, vectorised: bool = False
) -> Callable[..., list[Any]]:
    """One function of a program as a Python function of its input groups' sequences.

    Returns a flat list of all outputs; a second interpreter beside
    ``bestiary.modeling.program.evaluate``.
    """
    target = program.functions[function]
    refs = [r for o in target.outputs for r in o.refs]
    position = {
        (g.name, s.name): f"{g.name}[{k}]" for g in program.groups for k, s in enumerate(g.symbols)
    }

    def term(ref: int) -> str:
        return f"z{ref - 1}" if ref > 0 else f"(-z{-ref - 1})"

    lines = [f"def {function}({', '.join(target.inputs)}):"]
    for index in program.needed(refs):
        node = program.nodes[index]
        if node[0] == "const":
            value = repr(float(node[1]))
        elif node[0] == "sym":
            value = position[str(node[1]), str(node[2])]
        elif node[0] in INFIX:
            value = f"{term(node[1])} {INFIX[node[0]]} {term(node[2])}"
        else:
            value = f"{node[0]}({', '.join(term(a) for a in node[1:])})"
        lines.append(f"    z{index} = {value}")
    lines.append(f"    return [{', '.join(term(r) for r in refs)}]")
    scope: dict[str, Any] = dict(NUMPY if vectorised else FLOATS)
    exec("\n".join(lines), scope)
    return scope[function]


class Numbers:
    """All functions of a program with NumPy results, parameters fixed.

    ``interpret`` runs the statements one by one, which pays off for large
    programs that are evaluated a few times only.
    """

    def __init__(
        self, program: Program, parameters: Mapping[str, float], *, interpret: bool = False
    ) -> None:
        self.program, self.interpret = program, interpret
        names = [s.name for g in program.groups if g.name == "parameters" for s in g.symbols]
        self.parameters = [parameters[n] for n in names]
        self._compiled: dict[str, Callable[..., list[Any]]] = {}

    def flat(self, function: str, **inputs: Sequence[Any]) -> list[Any]:
        """Flat outputs of a function for inputs named after their groups."""
        given = {"parameters": self.parameters, **inputs}
        if self.interpret:
            results = evaluate(self.program, function, given)
            return [value for values in results.values() for value in values]
        if function not in self._compiled:
            self._compiled[function] = compiled(self.program, function)
        return self._compiled[function](
            *(given[g] for g in self.program.functions[function].inputs)
        )

    def __call__(self, function: str, **inputs: Sequence[Any]) -> np.ndarray:
        """First output of a function, in its shape."""
        output = self.program.output(function)
        values = self.flat(function, **inputs)[: output.size]
        return np.array(values, dtype=float).reshape(output.shape)

    def batch(self, function: str, **inputs: np.ndarray) -> np.ndarray:
        """First output over the leading axis of the inputs (count × size)."""
        run = compiled(self.program, function, vectorised=True)
        output = self.program.output(function)
        given = {
            "parameters": self.parameters,
            **{k: [float(c[0]) if np.ndim(c) == 0 else c for c in v.T] for k, v in inputs.items()},
        }
        count = len(next(iter(inputs.values())))
        flat = run(*(given[g] for g in self.program.functions[function].inputs))[: output.size]
        columns = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in flat]
        return np.stack(columns, axis=1).reshape(count, *output.shape)


class Thawed:
    """Outputs of a frozen program as scalars of a new builder, to be differentiated."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.builder = Builder(check_dimensions=False)

    def symbol(self, group: str, name: str) -> Scalar:
        """The scalar of an input."""
        return self.builder.symbol(group, name)

    def group(self, name: str) -> list[Scalar]:
        """Scalars of a whole input group, in order."""
        return [self.symbol(name, s.name) for s in self.program.group(name).symbols]

    def output(self, function: str) -> list[Scalar]:
        """First output of a function, flat."""
        refs = self.program.output(function).refs
        return replay(self.program, self.builder, refs, self.symbol)

    def freeze(self, **results: tuple[Sequence[str], Sequence[Scalar], Sequence[int]]) -> Program:
        """A program of new functions: name = (input groups, scalars, shape)."""
        groups: Sequence[InputGroup] = self.program.groups
        functions = [
            Function(
                name, tuple(inputs), (Output(name, tuple(shape), tuple(v.ref for v in values)),)
            )
            for name, (inputs, values, shape) in results.items()
        ]
        return Program.freeze(self.builder, groups, functions)


def relative_error(got: Any, expected: Any) -> float:
    """Largest difference against the largest entry of what is expected."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    scale = float(np.max(np.abs(expected), initial=0.0))
    difference = float(np.max(np.abs(got - expected), initial=0.0))
    return difference / scale if scale > 0 else difference
