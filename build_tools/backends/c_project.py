"""What all files of one generated C project share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bestiary.modeling.equations import EquationsOfMotion
from bestiary.modeling.program import Function, InputGroup, Program
from bestiary.modeling.version import __version__

from .c_functions import FunctionWriter
from .c_names import ProgramNames, program_names
from .c_plan import COptions, FunctionPlan, Planner
from .c_printer import PRECISIONS, Precision

_VERBS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide",
}  # fmt: skip


@dataclass(frozen=True)
class CProject:
    """The equations together with names and plans of their C functions."""

    equations: EquationsOfMotion
    options: COptions

    @property
    def program(self) -> Program:
        return self.equations.program

    @cached_property
    def names(self) -> ProgramNames:
        return program_names(self.program, self.equations.name)

    @cached_property
    def groups(self) -> dict[str, InputGroup]:
        """Input groups that have symbols, by name."""
        return {g.name: g for g in self.program.groups if g.symbols}

    @cached_property
    def plans(self) -> tuple[FunctionPlan, ...]:
        """One plan per function, in the order of the program."""
        names, nodes = self.names, self.program.nodes

        def width(index: int) -> int:
            node = nodes[index]
            if node[0] == "const":
                return len(PRECISIONS[0].literal(node[1]))
            if node[0] == "sym":
                return max(len(names.symbols[index]), len(names.places[index]))
            return len(names.statements[index])

        planner = Planner(self.program, width, self.options)
        return tuple(planner.plan(name) for name in self.program.functions)

    def writer(self, precision: Precision) -> FunctionWriter:
        """A writer of this program's functions."""
        return FunctionWriter(self.program, self.names, precision)

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """Position in q of the first of every four quaternion coordinates.

        Raises
        ------
        ValueError
            If quaternion coordinates do not come in fours.
        """
        starts: list[int] = []
        run = 0
        for k, coordinate in enumerate([*self.equations.coordinates, None]):
            if coordinate is not None and coordinate.kind == "quaternion":
                starts += [k] if run % 4 == 0 else []
                run += 1
            elif run % 4:
                first = self.equations.coordinates[starts[-1]].name
                raise ValueError(
                    f"model {self.equations.name!r}: the four quaternion coordinates from "
                    f"{first!r} on must follow each other in q"
                )
            else:
                run = 0
        return tuple(starts)

    @cached_property
    def state_rates(self) -> Function | None:
        """The function that integrators call, if the program has one of the right form."""
        function = self.program.functions.get("state_rates")
        if function is None or not {"q", "p"} <= set(self.groups):
            return None
        if not set(function.inputs) & set(self.groups) <= {"parameters", "q", "p", "u"}:
            return None
        sizes = [o.size for o in function.outputs]
        expected = [len(self.groups[g].symbols) for g in ("q", "p")]
        return function if sizes == expected and {"q", "p"} <= set(function.inputs) else None

    @cached_property
    def has_defaults(self) -> bool:
        """Whether there are parameters and all of them have a default value."""
        known = {p.name for p in self.equations.parameters}
        group = self.groups.get("parameters")
        return group is not None and all(s.name in known for s in group.symbols)

    def takes(self, function: Function, group: str) -> bool:
        """Whether a C function has an argument for this group."""
        return group in function.inputs and group in self.groups

    @cached_property
    def common(self) -> dict[str, Any]:
        """Values that every template may use."""
        equations = self.equations
        return {
            "name": self.names.prefix,
            "macro": self.names.macro,
            "title": equations.title or f"equations of motion of {equations.name}",
            "source": equations.source,
            "formalism": equations.formalism,
            "up": equations.up,
            "version": __version__,
            "sha256": self.program.content_hash,
            "precisions": PRECISIONS,
        }


def count_text(operations: dict[str, int] | Any) -> str:
    """``680 (194 add, 125 subtract, …)``."""
    total = sum(operations.values())
    parts = ", ".join(f"{operations[k]} {_VERBS.get(k, k)}" for k in _sorted_operations(operations))
    return f"{total} ({parts})" if parts else "0"


def _sorted_operations(operations: Any) -> list[str]:
    first = [k for k in _VERBS if k in operations]
    return [*first, *sorted(set(operations) - set(first))]


def shape_text(shape: tuple[int, ...]) -> str:
    """``[20 x 20]``; a scalar is ``[1]``."""
    return f"[{' x '.join(map(str, shape)) or 1}]"


def layout_text(name: str, shape: tuple[int, ...]) -> str:
    """The formula of a row-major entry, empty for vectors and scalars."""
    if len(shape) != 2:
        return ""
    return f"entry (i, j) at {name}[i*{shape[1]} + j]"
