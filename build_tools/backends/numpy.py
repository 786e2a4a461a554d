"""NumPy functions from a program, for one state or for a batch along the leading axis.

The statements of a function are written out as one Python function and
compiled once.  A single state runs through the :mod:`math` module, a batch
through NumPy, both over the same code.  Temporaries are reused as soon as
they are dead, so a batch needs the memory of the live values only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestiary.modeling.program import Function, Program

Array: TypeAlias = NDArray[np.float64]

CHUNK = 1024
"""Rows of a batch that are worked on at a time, so that temporaries stay small."""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_MATH_NAMES = "sin cos tan asin acos atan sinh cosh tanh exp log pow sqrt atan2".split()
_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}

_SCALAR_NAMESPACE: dict[str, Any] = {
    **{name: getattr(math, name) for name in _MATH_NAMES},
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c > 0 else b,
}
_ARRAY_NAMESPACE: dict[str, Any] = {
    **{name: getattr(np, _NUMPY_NAMES.get(name, name)) for name in _MATH_NAMES},
    "abs": np.abs,
    "sign": np.sign,
    "min": np.minimum,
    "max": np.maximum,
    "select": lambda c, a, b: np.where(c > 0, a, b),
}


class NumpyFunction:
    """One function of a program, callable on NumPy arrays.

    Parameters
    ----------
    program, name:
        The program and the function in it.

    Raises
    ------
    KeyError
        If the program has no such function.
    """

    def __init__(self, program: Program, name: str) -> None:
        if name not in program.functions:
            raise KeyError(f"no function {name!r}; have {', '.join(program.functions)}")
        self.program = program
        self.function: Function = program.functions[name]
        self.groups = tuple(program.group(g) for g in self.function.inputs)
        self._layout = _Layout(program, self.function)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.name

    def __call__(self, **inputs: ArrayLike | Mapping[str, float]) -> dict[str, Array]:
        """Evaluate the function.

        Parameters
        ----------
        inputs:
            One argument per input group: shape (size,) or (N, size), float64;
            ``parameters`` also as a mapping from name to value.

        Returns
        -------
        dict
            Output name to array, with the leading axis N if any input has one.

        Raises
        ------
        ValueError
            For a missing or unknown group, a wrong size, or batches of unequal length.
        """
        names = [g.name for g in self.groups]
        if sorted(inputs) != sorted(names):
            raise ValueError(f"{self.name} takes {', '.join(names)}; got {', '.join(inputs)}")
        columns, rows = [], set()
        for group in self.groups:
            value: Any = inputs[group.name]
            if isinstance(value, Mapping):
                value = [value[s.name] for s in group.symbols]
            array = np.asarray(value, dtype=np.float64)
            if array.ndim not in (1, 2) or array.shape[-1] != len(group.symbols):
                raise ValueError(
                    f"{self.name}: {group.name} must have shape ({len(group.symbols)},) or "
                    f"(N, {len(group.symbols)}), got {array.shape}"
                )
            rows |= {array.shape[0]} if array.ndim == 2 else set()
            columns.append(array)
        if len(rows) > 1:
            raise ValueError(f"{self.name}: batches of unequal length {sorted(rows)}")
        lead = tuple(rows)
        results = [np.empty((*lead, *o.shape)) for o in self.function.outputs]
        (self.run_batch if lead else self.run)(columns, results)
        return {o.name: r for o, r in zip(self.function.outputs, results, strict=True)}

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Evaluate one state into ``outputs``.

        Returns 0, 1 if a guard is not positive, 2 if a guarded output is not
        finite: the status of the generated C.
        """
        arguments = [a.tolist() for a in inputs]
        try:
            values = self._scalar_code(*arguments)
        except (ZeroDivisionError, ValueError, OverflowError):
            with np.errstate(all="ignore"):
                values = self._array_code(*([np.float64(v) for v in a] for a in arguments))
        self._layout.scatter(np.array(values, dtype=np.float64), outputs)
        return self._layout.status(values, outputs)

    def run_batch(
        self, inputs: Sequence[Array], outputs: Sequence[Array], start: int = 0, stop: int = -1
    ) -> tuple[int, int]:
        """Evaluate the rows ``start:stop`` of a batch; 1-D inputs serve every row.

        Returns the first row with a status other than 0, and that status;
        (-1, 0) if there is none.
        """
        stop = outputs[0].shape[0] if stop < 0 else stop
        for first in range(start, stop, CHUNK):
            rows = slice(first, min(first + CHUNK, stop))
            count = rows.stop - first
            columns = [
                list(a[rows].T) if a.ndim == 2 else [np.float64(v) for v in a] for a in inputs
            ]
            with np.errstate(all="ignore"):
                values = self._array_code(*columns)
            table = np.empty((len(values), count))
            for k, value in enumerate(values):
                table[k] = value
            parts = [o[rows] for o in outputs]
            self._layout.scatter(table, parts)
            bad, status = self._layout.first_failure(table, parts)
            if status:
                return first + bad, status
        return -1, 0

    def guard_values(self, inputs: Sequence[Array]) -> list[float]:
        """Values of the guards, in the order of ``function.guards``, at one state."""
        with np.errstate(all="ignore"):
            values = self._array_code(*([np.float64(v) for v in a] for a in inputs))
        return [float(values[k]) * sign for k, sign in self._layout.guards]

    @cached_property
    def source(self) -> str:
        """The Python text of the statements."""
        return _write(self.program, self.function, self._layout.wanted)

    @cached_property
    def _scalar_code(self) -> Callable[..., list[float]]:
        return self._compile(_SCALAR_NAMESPACE)

    @cached_property
    def _array_code(self) -> Callable[..., list[Any]]:
        return self._compile(_ARRAY_NAMESPACE)

    def _compile(self, namespace: Mapping[str, Any]) -> Callable[..., list[Any]]:
        scope = {"__builtins__": {}, **namespace}
        exec(compile(self.source, f"<program function {self.name}>", "exec"), scope)
        function: Callable[..., list[Any]] = scope["function"]
        return function


def numpy_function(program: Program, function: str) -> NumpyFunction:
    """NumPy form of one function of a program; see :class:`NumpyFunction`."""
    return NumpyFunction(program, function)


class _Layout:
    """Where the computed values of a function go, with which sign; constants are kept apart."""

    def __init__(self, program: Program, function: Function) -> None:
        slot: dict[int, int] = {}
        self.outputs: list[tuple[Array, NDArray[np.intp], NDArray[np.intp], Array]] = []
        for output in function.outputs:
            fixed = np.zeros(len(output.refs))
            places, sources, signs = [], [], []
            for k, ref in enumerate(output.refs):
                node = program.nodes[abs(ref) - 1]
                sign = 1.0 if ref > 0 else -1.0
                if node[0] == "const":
                    fixed[k] = sign * float(node[1])
                    continue
                places.append(k)
                sources.append(slot.setdefault(abs(ref) - 1, len(slot)))
                signs.append(sign)
            self.outputs.append(
                (
                    fixed,
                    np.array(places, dtype=np.intp),
                    np.array(sources, dtype=np.intp),
                    np.array(signs),
                )
            )
        self.guards = [
            (slot.setdefault(abs(g.ref) - 1, len(slot)), 1.0 if g.ref > 0 else -1.0)
            for g in function.guards
        ]
        self.wanted = tuple(slot)

    def scatter(self, values: Array, outputs: Sequence[Array]) -> None:
        """Write values, shape (count,) or (count, rows), to outputs (rows first)."""
        for (fixed, places, sources, signs), out in zip(self.outputs, outputs, strict=True):
            flat = out.reshape(-1) if values.ndim == 1 else out.reshape(out.shape[0], -1)
            flat[...] = fixed
            flat[..., places] = values[sources].T * signs

    def status(self, values: Sequence[float], outputs: Sequence[Array]) -> int:
        if not self.guards:
            return 0
        if not all(sign * values[k] > 0 for k, sign in self.guards):
            return 1
        return 0 if all(np.isfinite(o).all() for o in outputs) else 2

    def first_failure(self, values: Array, outputs: Sequence[Array]) -> tuple[int, int]:
        if not self.guards:
            return -1, 0
        singular = np.zeros(values.shape[1], dtype=bool)
        for k, sign in self.guards:
            singular |= ~(sign * values[k] > 0)
        wild = np.zeros_like(singular)
        for out in outputs:
            wild |= ~np.isfinite(out.reshape(out.shape[0], -1)).all(axis=1)
        bad = np.flatnonzero(singular | wild)
        if not bad.size:
            return -1, 0
        return int(bad[0]), 1 if singular[bad[0]] else 2


def _write(program: Program, function: Function, wanted: Sequence[int]) -> str:
    """Python text: one assignment a statement, names reused after their last use."""
    nodes = program.nodes
    live = program.needed(i + 1 for i in wanted)
    last_use: dict[int, int] = {}
    for index in live:
        if nodes[index][0] not in ("const", "sym"):
            for a in nodes[index][1:]:
                last_use[abs(int(a)) - 1] = index
    keep = set(wanted)
    place = {
        (g, s.name): f"{g}[{k}]"
        for g in function.inputs
        for k, s in enumerate(program.group(g).symbols)
    }
    text: dict[int, str] = {}
    free: list[str] = []
    count = 0
    lines = [f"def function({', '.join(function.inputs)}):"]
    for index in live:
        node = nodes[index]
        operation = str(node[0])
        if operation == "const":
            text[index] = repr(float(node[1]))
            continue
        if operation == "sym":
            text[index] = place[str(node[1]), str(node[2])]
            continue
        references = [int(a) for a in node[1:]]
        terms = [text[a - 1] if a > 0 else f"(-{text[-a - 1]})" for a in references]
        if operation in _INFIX:
            value = f"{terms[0]} {_INFIX[operation]} {terms[1]}"
        else:
            value = f"{operation}({', '.join(terms)})"
        for a in {abs(r) - 1 for r in references}:
            if last_use[a] == index and a not in keep and nodes[a][0] not in ("const", "sym"):
                free.append(text[a])
        if free:
            name = free.pop()
        else:
            name, count = f"t{count}", count + 1
        text[index] = name
        lines.append(f"    {name} = {value}")
    lines.append(f"    return [{', '.join(text[i] for i in wanted)}]")
    return "\n".join(lines) + "\n"
