"""One Cython class per robot over its generated C, and the stub that describes it.

All functions of a robot go through one checked call path and a table of C
function pointers, so the module stays small however many functions there are.
Arrays that are already right (float64, C-contiguous, the right shape, finite)
cost a few comparisons through NumPy's C interface; everything else is handed
to the Python side of the robot, which converts it or says what is wrong.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from bestiary.modeling.equations import EquationsOfMotion
from bestiary.modeling.program import Function
from bestiary.modeling.version import __version__

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
PARAMETERS = "parameters"
ACTUATED = ("forward_dynamics", "generalized_forces", "state_rates")
NODE_KINDS = ("pose", "velocity", "jacobian")
NAMED = 3
"""Arguments of a function that the call path takes one by one; others come as a tuple."""


@dataclass(frozen=True)
class Method:
    """What the template needs to know of one function."""

    name: str
    index: int
    arguments: tuple[str, ...]
    groups: tuple[int, ...]
    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    takes_parameters: bool
    missing_inputs: bool
    is_node: bool
    help: str

    @property
    def signature(self) -> str:
        """Arguments of the Python method."""
        given = [f"{a}=None" if a == "u" else a for a in self.arguments]
        given += ["u=None"] if self.missing_inputs else []
        return ", ".join(["self", *given, "*", "out=None"])

    @property
    def padded(self) -> str:
        """The arguments of the call path: three, filled up with None, and a tuple of the rest."""
        given = ["ZEROS if u is None else u" if a == "u" else a for a in self.arguments]
        rest = f"({', '.join(given[NAMED:])},)" if len(given) > NAMED else "None"
        return ", ".join([*given[:NAMED], *["None"] * (NAMED - len(given)), rest])

    @property
    def typed_signature(self) -> str:
        """Arguments with annotations, for the stub."""
        given = [
            f"{a}: ArrayLike | None = None" if a == "u" else f"{a}: ArrayLike"
            for a in self.arguments
        ]
        given += ["u: ArrayLike | None = None"] if self.missing_inputs else []
        one = "Array | None" if len(self.shapes) == 1 else "Sequence[Array | None] | None"
        return ", ".join(["self", *given, "*", f"out: {one} = None"])

    @property
    def result(self) -> str:
        """Annotation of the result, for the stub."""
        if len(self.shapes) > 1:
            return f"tuple[{', '.join(['Array'] * len(self.shapes))}]"
        return "Array" if self.shapes[0] else "float"


def emit_cython(equations: EquationsOfMotion) -> dict[str, str]:
    """Text of ``_kernel.pyx`` and ``_kernel.pyi``.

    The module is compiled together with the f64 sources of the same folder;
    its include path must hold that folder and ``numpy.get_include()``.

    Parameters
    ----------
    equations:
        The derived robot.

    Returns
    -------
    dict
        File name to text, deterministic.
    """
    program = equations.program
    nodes = [
        n.name
        for n in equations.nodes
        if all(f"{n.name}_{kind}" in program.functions for kind in NODE_KINDS)
    ]
    node_functions = {f"{n}_{kind}" for n in nodes for kind in NODE_KINDS}
    groups = [g for g in program.groups if g.name != PARAMETERS]
    positions = {g.name: k for k, g in enumerate(groups)}
    sizes = {g.name: len(g.symbols) for g in groups}
    struct = next((g for g in program.groups if g.name == PARAMETERS and g.symbols), None)
    methods = [
        _method(f, k, positions, sizes, f.name in node_functions)
        for k, f in enumerate(program.functions.values())
    ]
    values: dict[str, Any] = {
        "name": equations.name,
        "version": __version__,
        "sha256": program.content_hash,
        "title": _plain(equations.title or equations.name),
        "methods": methods,
        "plain": [m for m in methods if not m.is_node],
        "nodes": nodes,
        "parameter_names": [s.name for s in struct.symbols] if struct else [],
        "has_inputs": "u" in positions,
        "nu": sizes.get("u", 0),
        "has_rollouts": "state_rates" in program.functions,
        "limits": _limits(equations),
        "named_inputs": NAMED,
        "positive": [_positive(m.arguments, equations) for m in methods],
        "most_inputs": max(NAMED, *(len(m.arguments) for m in methods)),
        "most_outputs": max((len(m.shapes) for m in methods), default=1),
        "most_axes": max((len(s) for m in methods for s in m.shapes), default=1) or 1,
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return {
        name: environment.get_template(f"{name}.jinja").render(**values)
        for name in ("_kernel.pyx", "_kernel.pyi")
    }


def _limits(equations: EquationsOfMotion) -> list[str]:
    """Conditions in C on ``q`` that every limit which refuses is kept."""
    position = {c.name: k for k, c in enumerate(equations.coordinates)}
    conditions = []
    for limit in equations.limits:
        entries = [f"q[{position[name]}]" for name in limit.coordinates]
        if not limit.refuse:
            continue
        if len(entries) > 1:
            assert limit.high is not None
            conditions.append(
                f"{' + '.join(f'{e} * {e}' for e in entries)} <= {limit.high!r} * {limit.high!r}"
            )
            continue
        if limit.low is not None:
            conditions.append(f"{entries[0]} >= {limit.low!r}")
        if limit.high is not None:
            conditions.append(f"{entries[0]} <= {limit.high!r}")
    return conditions


def _positive(arguments: tuple[str, ...], equations: EquationsOfMotion) -> int:
    """Bits of the arguments whose entries must be above zero: gains and limits."""
    groups = {g for c in equations.controllers for g in c.groups[1:]}
    return sum(1 << k for k, a in enumerate(arguments) if a in groups)


def _method(
    function: Function, index: int, positions: dict[str, int], sizes: dict[str, int], is_node: bool
) -> Method:
    arguments = tuple(g for g in function.inputs if g != PARAMETERS)
    shapes = tuple(o.shape for o in function.outputs)
    returned = ", ".join(
        f"{o.name} {o.shape}" + (f": {o.description}" if o.description else "")
        for o in function.outputs
    )
    given = ", ".join(f"{a} ({sizes[a]},)" for a in arguments)
    text = f"{function.description}\n\nTakes {given}; returns {returned}."
    return Method(
        name=function.name,
        index=index,
        arguments=arguments,
        groups=tuple(positions[a] for a in arguments),
        sizes=tuple(sizes[a] for a in arguments),
        shapes=shapes,
        takes_parameters=PARAMETERS in function.inputs,
        missing_inputs=function.name in ACTUATED and "u" not in arguments,
        is_node=is_node,
        help=_docstring(text),
    )


def _docstring(text: str) -> str:
    lines = []
    for paragraph in _plain(text, keep_paragraphs=True).split("\n\n"):
        lines += ["", *textwrap.wrap(paragraph, 88)]
    return f"\n{' ' * 8}".join(lines[1:]).replace(f"\n{' ' * 8}\n", "\n\n")


def _plain(text: str, keep_paragraphs: bool = False) -> str:
    r"""Text that is safe in a docstring: no backslashes or quotes that could end it."""
    text = text.replace("\\", "/").replace('"', "'")
    if keep_paragraphs:
        return "\n\n".join(" ".join(p.split()) for p in text.split("\n\n"))
    return " ".join(text.split())
