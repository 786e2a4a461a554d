"""A finished program: input groups, statements, and the functions it offers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from .builder import Builder, Node, ProgramError
from .evaluate import needed_nodes
from .scalar import Scalar

FORMAT = 1


@dataclass(frozen=True)
class ProgramSymbol:
    """One input of a program: its name, SI unit and a sentence about it."""

    name: str
    unit: str = "1"
    description: str = ""


@dataclass(frozen=True)
class InputGroup:
    """An ordered group of inputs that a function takes as one argument.

    ``is_struct`` groups become a C structure with named members (parameters);
    the others become arrays.
    """

    name: str
    symbols: tuple[ProgramSymbol, ...]
    description: str = ""
    is_struct: bool = False


@dataclass(frozen=True)
class Output:
    """A named array that a function writes, row-major."""

    name: str
    shape: tuple[int, ...]
    refs: tuple[int, ...]
    description: str = ""

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.refs)


@dataclass(frozen=True)
class Guard:
    """A value that must stay positive for the outputs to mean anything."""

    ref: int
    message: str


@dataclass(frozen=True)
class Function:
    """An entry point: which groups it reads, what it writes, when it fails."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[Output, ...]
    description: str = ""
    guards: tuple[Guard, ...] = ()

    @property
    def refs(self) -> tuple[int, ...]:
        """References of all outputs and guards."""
        return (*(r for o in self.outputs for r in o.refs), *(g.ref for g in self.guards))


@dataclass(frozen=True)
class Program:
    """Straight-line program with named functions; immutable plain data.

    A *reference* ``+(i+1)`` is statement ``i``, ``-(i+1)`` its negative.
    Statements are ``("const", value)``, ``("sym", group, name)`` or
    ``(operation, *references)``.
    """

    groups: tuple[InputGroup, ...]
    nodes: tuple[Node, ...]
    functions: Mapping[str, Function]
    names: Mapping[int, str] = field(default_factory=dict)

    # -- construction -----------------------------------------------------
    @classmethod
    def freeze(
        cls, builder: Builder, groups: Iterable[InputGroup], functions: Iterable[Function]
    ) -> Program:
        """Drop dead statements of a builder and renumber the rest.

        Raises
        ------
        ProgramError
            If a function uses an input that its groups do not declare, or a
            name is given twice.
        """
        groups, functions = tuple(groups), tuple(functions)
        _require_unique("function", [f.name for f in functions])
        _require_unique("group", [g.name for g in groups])
        for group in groups:
            _require_unique(f"symbol of {group.name}", [s.name for s in group.symbols])
        declared = {g.name: {s.name for s in g.symbols} for g in groups}
        for function in functions:
            for index in needed_nodes(builder.nodes, function.refs):
                node = builder.nodes[index]
                if node[0] != "sym":
                    continue
                group_name, name = str(node[1]), str(node[2])
                if group_name not in function.inputs or name not in declared.get(group_name, ()):
                    raise ProgramError(
                        f"function {function.name!r} uses {group_name}.{name}, "
                        f"but its inputs are {', '.join(function.inputs) or 'none'}"
                    )
        functions = tuple(_with_guards(builder, f) for f in functions)
        live = needed_nodes(builder.nodes, (r for f in functions for r in f.refs))
        named = {f.name: f for f in functions}
        return _renumbered(groups, builder.nodes, named, builder.names, live)

    def restricted(self, names: Iterable[str]) -> Program:
        """The program of some of its functions: statements that none of them needs are dropped.

        Raises
        ------
        KeyError
            For a name that is none of its functions.
        """
        kept = set(names)
        unknown = kept - set(self.functions)
        if unknown:
            raise KeyError(f"no function {', '.join(sorted(unknown))}")
        functions = {n: f for n, f in self.functions.items() if n in kept}
        live = needed_nodes(self.nodes, (r for f in functions.values() for r in f.refs))
        return _renumbered(self.groups, self.nodes, functions, self.names, live)

    # -- questions --------------------------------------------------------
    def group(self, name: str) -> InputGroup:
        """The input group of that name."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"no input group {name!r}; have {', '.join(g.name for g in self.groups)}")

    def output(self, function: str, name: str | None = None) -> Output:
        """An output of a function (its first one by default)."""
        outputs = self.functions[function].outputs
        if name is None:
            return outputs[0]
        for candidate in outputs:
            if candidate.name == name:
                return candidate
        raise KeyError(f"{function} has no output {name!r}")

    def needed(self, refs: Iterable[int]) -> list[int]:
        """Statement indices, in order, that the references depend on."""
        return needed_nodes(self.nodes, refs)

    def operation_counts(self, function: str) -> dict[str, int]:
        """How many statements of each operation a function executes."""
        counts = Counter(
            str(self.nodes[i][0])
            for i in self.needed(self.functions[function].refs)
            if self.nodes[i][0] not in ("const", "sym")
        )
        return dict(sorted(counts.items()))

    @cached_property
    def expanded_sizes(self) -> tuple[int, ...]:
        """Operations of each statement when written out as one closed form."""
        sizes: list[int] = []
        for node in self.nodes:
            if node[0] in ("const", "sym"):
                sizes.append(0)
            else:
                sizes.append(1 + sum(sizes[abs(a) - 1] for a in node[1:]))
        return tuple(sizes)

    # -- serialisation ----------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Plain data of the program (JSON-compatible, deterministic)."""
        return {
            "format": FORMAT,
            "groups": [
                {
                    "name": g.name,
                    "description": g.description,
                    "is_struct": g.is_struct,
                    "symbols": [[s.name, s.unit, s.description] for s in g.symbols],
                }
                for g in self.groups
            ],
            "nodes": [_node_to_json(n) for n in self.nodes],
            "names": [[i, n] for i, n in sorted(self.names.items())],
            "functions": [
                {
                    "name": f.name,
                    "description": f.description,
                    "inputs": list(f.inputs),
                    "outputs": [
                        {
                            "name": o.name,
                            "shape": list(o.shape),
                            "refs": list(o.refs),
                            "description": o.description,
                        }
                        for o in f.outputs
                    ],
                    "guards": [[g.ref, g.message] for g in f.guards],
                }
                for f in self.functions.values()
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Program:
        """Inverse of :meth:`to_dict`; raises :class:`ProgramError` on another format."""
        if data.get("format") != FORMAT:
            raise ProgramError(
                f"program format {data.get('format')!r} is not readable here "
                f"(expected {FORMAT}); rebuild the model"
            )
        return cls(
            tuple(
                InputGroup(
                    g["name"],
                    tuple(ProgramSymbol(*s) for s in g["symbols"]),
                    g["description"],
                    g["is_struct"],
                )
                for g in data["groups"]
            ),
            tuple(_node_from_json(n) for n in data["nodes"]),
            {
                f["name"]: Function(
                    f["name"],
                    tuple(f["inputs"]),
                    tuple(
                        Output(o["name"], tuple(o["shape"]), tuple(o["refs"]), o["description"])
                        for o in f["outputs"]
                    ),
                    f["description"],
                    tuple(Guard(*g) for g in f["guards"]),
                )
                for f in data["functions"]
            },
            {i: n for i, n in data["names"]},
        )

    def to_json(self) -> str:
        """Canonical text: one statement a line, so that a change is a readable diff."""
        data = self.to_dict()
        nodes = data.pop("nodes")
        functions = data.pop("functions")
        lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=True)}" for k, v in data.items()]
        body = ",\n".join(json.dumps(n) for n in nodes)
        calls = ",\n".join(json.dumps(f, ensure_ascii=True) for f in functions)
        lines += [f'"nodes": [\n{body}\n]', f'"functions": [\n{calls}\n]']
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Inverse of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the canonical text; the same on every machine and run."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def output(name: str, shape: Sequence[int], values: Iterable[Scalar], description: str) -> Output:
    """An :class:`Output` from scalars in row-major order."""
    refs = tuple(v.ref for v in values)
    expected = 1
    for extent in shape:
        expected *= extent
    if len(refs) != expected:
        raise ProgramError(f"output {name}: {len(refs)} values do not fill shape {tuple(shape)}")
    return Output(name, tuple(shape), refs, description)


def _renumbered(
    groups: tuple[InputGroup, ...],
    nodes: Sequence[Node],
    functions: Mapping[str, Function],
    names: Mapping[int, str],
    live: Sequence[int],
) -> Program:
    """The program of the ``live`` statements alone."""
    position = {old: new for new, old in enumerate(live)}

    def moved(ref: int) -> int:
        return position[ref - 1] + 1 if ref > 0 else -(position[-ref - 1] + 1)

    kept = tuple(
        node if node[0] in ("const", "sym") else (node[0], *(moved(a) for a in node[1:]))
        for node in (nodes[old] for old in live)
    )
    frozen = {
        f.name: Function(
            f.name,
            f.inputs,
            tuple(
                Output(o.name, o.shape, tuple(moved(r) for r in o.refs), o.description)
                for o in f.outputs
            ),
            f.description,
            tuple(Guard(moved(g.ref), g.message) for g in f.guards),
        )
        for f in functions.values()
    }
    return Program(
        groups, kept, frozen, {position[i]: n for i, n in names.items() if i in position}
    )


def _with_guards(builder: Builder, function: Function) -> Function:
    """Add the builder's guards of every statement that the function executes."""
    if not builder.guards:
        return function
    guards = {g.ref: g for g in function.guards}
    for index in needed_nodes(builder.nodes, function.refs):
        if index in builder.guards:
            ref, message = builder.guards[index]
            guards.setdefault(ref, Guard(ref, message))
    return replace(function, guards=tuple(guards.values()))


def _require_unique(kind: str, names: Sequence[str]) -> None:
    repeated = [n for n, count in Counter(names).items() if count > 1]
    if repeated:
        raise ProgramError(f"{kind} name given twice: {', '.join(repeated)}")


def _node_to_json(node: Node) -> list[Any]:
    if node[0] == "const" and isinstance(node[1], Fraction):
        return ["const", f"{node[1].numerator}/{node[1].denominator}"]
    return list(node)


def _node_from_json(item: list[Any]) -> Node:
    if item[0] == "const" and isinstance(item[1], str):
        return ("const", Fraction(item[1]))
    return tuple(item)
