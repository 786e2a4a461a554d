"""README.md and CMakeLists.txt of the generated folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bestiary.modeling.program import Function, InputGroup
from bestiary.modeling.program.operations import ARITHMETIC

from .c_defaults import default_function
from .c_header import rollout_values, sizes
from .c_names import rate_groups
from .c_plan import FunctionPlan
from .c_printer import F64
from .c_project import CProject, shape_text
from .c_text import render

_BY_TERNARY = frozenset({"min", "max", "sign", "select"})


def readme(project: CProject, sources: Mapping[str, Sequence[str]], defaults: Sequence[str]) -> str:
    """Text of ``README.md``."""
    groups = project.groups
    return render(
        "README.md.jinja",
        {
            **project.common,
            "sources": sources,
            "selection": project.equations.selection,
            "left_out": project.equations.left_out,
            "defaults": defaults,
            "example": example(project),
            "coordinates": _listing(groups.get("q")),
            "velocities": _listing(groups.get("p")),
            "inputs": _listing(groups["u"]) if "u" in groups else "",
            "index_example": _index_example(project),
            "rollout": rollout_values(project),
            "functions": [_row(plan) for plan in project.plans],
        },
    )


def cmake_lists(
    project: CProject, sources: Mapping[str, Sequence[str]], defaults: Sequence[str]
) -> str:
    """Text of ``CMakeLists.txt``."""
    prefix = project.names.prefix
    headers = [f"{prefix}.h", *(f for f in defaults if f.endswith(".h"))]
    return render(
        "CMakeLists.txt.jinja",
        {
            **project.common,
            "sources": sources,
            "defaults": [f for f in defaults if f.endswith(".c")],
            "headers": headers,
        },
    )


def example(project: CProject) -> str:
    """A C program that calls one function: forward dynamics where there is one."""
    functions = project.program.functions
    function = functions.get("forward_dynamics") or next(iter(functions.values()))
    prefix, macro = project.names.prefix, project.names.macro
    lines = ["#include <stdio.h>", "", f'#include "{prefix}.h"']
    lines += [f'#include "{prefix}_defaults.h"'] if project.has_defaults else []
    lines += ["", "int main(void)", "{"]
    body, arguments, setup = _declarations(project, function)
    output = function.outputs[0]
    first = project.names.arguments[function.name, output.name]
    symbol = project.writer(F64).symbol_of(function.name)
    body += ["int status;", "int i;", "", *setup]
    body += [f"status = {symbol}({', '.join(arguments)});"]
    body += [f"if (status != {macro}_OK) {{", "    return status;", "}"]
    body += [f"for (i = 0; i < {output.size}; ++i) {{"]
    body += [f'    printf("{output.name}[%d] = %g\\n", i, {first}[i]);', "}", "return 0;"]
    lines += [f"    {line}" if line else "" for line in body]
    return "\n".join([*lines, "}"]) + "\n"


def _declarations(project: CProject, function: Function) -> tuple[list[str], list[str], list[str]]:
    """Declarations, call arguments and initial values for the example."""
    body: list[str] = []
    arguments: list[str] = []
    setup: list[str] = []
    shared = rate_groups(list(project.groups.values()))
    prefix = project.names.prefix
    size_macros = {s.macro for s in sizes(project)}
    for name in function.inputs:
        if name not in project.groups:
            continue
        group = project.groups[name]
        if group.is_struct:
            filled = name == "parameters" and project.has_defaults
            body.append(f"{prefix}_{name}_f64 {name}{'' if filled else ' = {0.0}'};")
            arguments.append(f"&{name}")
            if filled:
                setup.append(f"{default_function(project, F64)}(&{name});")
            continue
        macro = f"{project.names.macro}_N{shared.get(name, name).upper()}"
        length = macro if macro in size_macros else str(len(group.symbols))
        body.append(f"double {name}[{length}] = {{0.0}};")
        arguments.append(name)
        setup += _start_values(project, name)
    for output in function.outputs:
        name = project.names.arguments[function.name, output.name]
        body.append(f"double {name}[{output.size}];")
        arguments.append(name)
    return body, arguments, setup


def _start_values(project: CProject, group: str) -> list[str]:
    """Unit quaternions, and one coordinate away from zero."""
    if group != "q":
        return []
    enums = project.names.enums["q"]
    lines = [f"q[{enums[k]}] = 1.0; /* no rotation */" for k in project.quaternions]
    return lines or [f"q[{enums[0]}] = 0.1;"]


def _index_example(project: CProject) -> str:
    group = project.groups.get("q") or next(iter(project.groups.values()))
    enum = project.names.enums[group.name][0]
    return f"{group.name}[{enum}]"


def _listing(group: InputGroup | None) -> str:
    if group is None:
        return "none"
    return ", ".join(s.name if s.unit == "1" else f"{s.name} [{s.unit}]" for s in group.symbols)


def _row(plan: FunctionPlan) -> dict[str, Any]:
    return {
        "name": plan.function.name,
        "outputs": ", ".join(f"{o.name} {shape_text(o.shape)}" for o in plan.function.outputs),
        "operations": f"{plan.size:,}",
        "calls": sum(n for op, n in plan.operations.items() if op not in ARITHMETIC | _BY_TERNARY),
        "work": plan.work_size,
    }
