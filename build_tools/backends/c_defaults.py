"""Parameter values as C: one function for the defaults and one per variant."""

from __future__ import annotations

from typing import Any

from .c_names import Namer
from .c_printer import PRECISIONS, Precision
from .c_project import CProject
from .c_text import comment, render


def defaults_files(project: CProject) -> dict[str, str]:
    """``<model>_defaults.h`` and ``.c``; nothing for a program without default values."""
    if not project.has_defaults:
        return {}
    values = {**project.common, "sets": _sets(project)}
    prefix = project.names.prefix
    return {
        f"{prefix}_defaults.h": render("defaults.h.jinja", values),
        f"{prefix}_defaults.c": render("defaults.c.jinja", values),
    }


def default_function(project: CProject, precision: Precision) -> str:
    """Name of the function that sets the default values."""
    return f"{project.names.prefix}_default_parameters_{precision.tag}"


def _sets(project: CProject) -> list[dict[str, Any]]:
    equations, prefix = project.equations, project.names.prefix
    group = project.groups["parameters"]
    members = dict(
        zip((s.name for s in group.symbols), project.names.members["parameters"], strict=True)
    )
    sources = {p.name: p.source for p in equations.parameters}
    units = {p.name: p.unit for p in equations.parameters}

    def rows(values: dict[str, float]) -> list[dict[str, Any]]:
        return [
            {
                "member": members[name],
                "literals": {p.tag: _signed(p, value) for p in PRECISIONS},
                "comment": f" /* {comment(_origin(units[name], sources[name]))} */",
            }
            for name, value in values.items()
            if name in members
        ]

    namer = Namer([f"{prefix}_default_parameters"])
    sets = [
        {
            "function": f"{prefix}_default_parameters",
            "description": "Default values",
            "is_default": True,
            "rows": rows({p.name: p.default for p in equations.parameters}),
        }
    ]
    for name, changes in equations.variants.items():
        note = equations.variant_notes.get(name, "")
        ordered = {p.name: changes[p.name] for p in equations.parameters if p.name in changes}
        sets.append(
            {
                "function": namer.take(f"{prefix}_{name}_parameters"),
                "description": f"Values of variant {name}" + (f": {note}" if note else ""),
                "is_default": False,
                "rows": rows(ordered),
            }
        )
    return sets


def _signed(precision: Precision, value: float) -> str:
    return f"-{precision.literal(-value)}" if value < 0 else precision.literal(value)


def _origin(unit: str, source: str) -> str:
    return f"[{unit}]" + (f" {source}" if source else "")
