"""The header: sizes, enumerations, parameter structures, prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bestiary.modeling.program import Function, InputGroup

from .c_names import Namer, group_prefix, identifier, rate_groups
from .c_plan import FunctionPlan
from .c_printer import PRECISIONS
from .c_project import CProject, count_text, layout_text, shape_text
from .c_text import comment, render, wrapped


@dataclass(frozen=True)
class Size:
    """A ``#define`` of an array's length."""

    macro: str
    value: int
    description: str


def header(project: CProject) -> str:
    """Text of ``<model>.h``."""
    return render(
        "header.h.jinja",
        {
            **project.common,
            "sizes": sizes(project),
            "enums": [_enum(project, g) for g in _enumerated(project)],
            "structs": [_struct(project, g) for g in project.groups.values() if g.is_struct],
            "functions": [_prototypes(project, plan) for plan in project.plans],
            "rollout": rollout_values(project),
        },
    )


def sizes(project: CProject) -> list[Size]:
    """Lengths of all arguments: ``SEA_LION_NQ``, ``SEA_LION_MASS_MATRIX_SIZE`` and so on."""
    macro = project.names.macro
    namer = Namer()
    shared = rate_groups(list(project.groups.values()))
    found = [
        Size(
            namer.take(f"{macro}_N{identifier(g.name).upper()}"),
            len(g.symbols),
            g.description or g.name,
        )
        for g in project.groups.values()
        if g.name not in shared
    ]
    seen: dict[str, int] = {}
    for function in project.program.functions.values():
        for output in function.outputs:
            if seen.setdefault(output.name, output.size) == output.size:
                continue
            seen[output.name] = -1  # two sizes under one name: no macro
    shapes = {o.name: o.shape for f in project.program.functions.values() for o in f.outputs}
    for name, size in seen.items():
        if size > 1:
            wanted = f"{macro}_{identifier(name).upper()}_SIZE"
            found.append(Size(namer.take(wanted), size, shape_text(shapes[name])))
    return found


def _enumerated(project: CProject) -> list[InputGroup]:
    shared = rate_groups(list(project.groups.values()))
    return [g for g in project.groups.values() if g.name not in shared]


def _enum(project: CProject, group: InputGroup) -> dict[str, Any]:
    enumerators = project.names.enums[group.name]
    lines = []
    for k, (constant, symbol) in enumerate(zip(enumerators, group.symbols, strict=True)):
        comma = "," if k + 1 < len(group.symbols) else ""
        lines.append(f"{constant} = {k}{comma} /* {_meaning(symbol.unit, symbol.description)} */")
    return {
        "tag": f"{project.names.prefix}_{group_prefix(group).lower()}_index",
        "description": comment(group.description or group.name),
        "lines": lines,
    }


def _meaning(unit: str, description: str) -> str:
    return comment(f"[{unit}] {description}".strip())


def _struct(project: CProject, group: InputGroup) -> dict[str, Any]:
    members = project.names.members[group.name]
    width = max(map(len, members)) + 1
    return {
        "types": [
            (precision.type, f"{project.names.prefix}_{group.name}_{precision.tag}")
            for precision in PRECISIONS
        ],
        "description": comment(group.description or group.name),
        "members": [
            (f"{member};".ljust(width), _meaning(symbol.unit, symbol.description))
            for member, symbol in zip(members, group.symbols, strict=True)
        ],
    }


def _prototypes(project: CProject, plan: FunctionPlan) -> dict[str, Any]:
    return {
        "comment": _function_comment(project, plan),
        "prototypes": [project.writer(p).prototype(plan.function) for p in PRECISIONS],
    }


def _function_comment(project: CProject, plan: FunctionPlan) -> str:
    function = plan.function
    rows = [*_input_rows(project, function), *_output_rows(project, function)]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [wrapped(function.description or function.name, " * "), ""]
    indent = " * " + " " * (width + 4)
    lines += [f"  {name.ljust(width)}  {wrapped(text, indent)}" for name, text in rows]
    lines += ["", *(wrapped(text, " *   ") for text in _status_lines(project, function))]
    work = f"; {plan.work_size} values on the stack" if plan.work_size else ""
    lines.append(wrapped(f"Operations: {count_text(plan.operations)}{work}.", " *   "))
    if plan.called:
        called = ", ".join(p.function.name for p in plan.called)
        lines.append(wrapped(f"Calls {called}.", " *   "))
    return "/* " + "\n * ".join(lines).replace(" * \n", " *\n") + "\n */"


def _input_rows(project: CProject, function: Function) -> list[tuple[str, str]]:
    rows = []
    shared = rate_groups(list(project.groups.values()))
    for name in function.inputs:
        if name not in project.groups:
            continue
        group = project.groups[name]
        text = group.description or name
        if group.is_struct:
            rows.append((name, f"in: {text}"))
            continue
        base = project.groups[shared.get(name, name)]
        tag = f"{project.names.prefix}_{group_prefix(base).lower()}_index"
        units = sorted({s.unit for s in group.symbols})
        rows.append(
            (name, f"in [{len(group.symbols)}]: {text}, order of enum {tag} [{', '.join(units)}]")
        )
    return rows


def _output_rows(project: CProject, function: Function) -> list[tuple[str, str]]:
    rows = []
    for output in function.outputs:
        name = project.names.arguments[function.name, output.name]
        layout = layout_text(name, output.shape)
        text = f"out {shape_text(output.shape)}: {output.description or output.name}"
        rows.append((name, f"{text}; {layout}" if layout else text))
    return rows


def _status_lines(project: CProject, function: Function) -> list[str]:
    macro = project.names.macro
    if not function.guards:
        return [f"Returns {macro}_OK."]
    messages = list(dict.fromkeys(g.message for g in function.guards))
    return [
        f"Returns {macro}_OK, {macro}_NOT_FINITE, or {macro}_SINGULAR if one of these holds:",
        *(f"- {message}" for message in messages),
    ]


def rollout_values(project: CProject) -> dict[str, Any] | None:
    """What the rollout templates need, or None for a program without ``state_rates``."""
    function = project.state_rates
    if function is None:
        return None
    return {
        "parameters": project.takes(function, "parameters"),
        "u": project.takes(function, "u"),
        "nq": len(project.groups["q"].symbols),
        "np": len(project.groups["p"].symbols),
        "nu": len(project.groups["u"].symbols) if project.takes(function, "u") else 0,
        "quaternions": project.quaternions,
    }
