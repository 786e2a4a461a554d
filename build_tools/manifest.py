"""The manifest of a generated model: all that is asked of it without SymPy.

The loader, ``bestiary list`` and ``bestiary show`` read it.  It is plain JSON,
and the same bytes on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bestiary.modeling.equations import EquationsOfMotion
from bestiary.modeling.version import __version__

FORMAT = 1
"""Raised when a key changes its meaning; the loader refuses what it cannot read."""


STATE_GROUPS = ("parameters", "q", "p", "u", "p_dot")
"""Input groups that are described by the coordinates, velocities, inputs and parameters."""


class SourceFiles(Protocol):
    """What the manifest says about the emitted C."""

    @property
    def sources(self) -> Mapping[str, Sequence[str]]:
        """Kernel sources by precision, ``"f64"`` and ``"f32"``."""

    @property
    def header(self) -> str:
        """Name of the header."""

    @property
    def defaults(self) -> Sequence[str]:
        """Names of the files with the parameter values."""


def make_manifest(equations: EquationsOfMotion, c_sources: SourceFiles) -> dict[str, Any]:
    """Everything that a user of the generated folder needs to know, as plain data.

    Parameters
    ----------
    equations:
        The derived robot.
    c_sources:
        File names of its C.

    Returns
    -------
    dict
        JSON-compatible; functions stand in the order of the program.
    """
    program = equations.program
    return {
        "format": FORMAT,
        "name": equations.name,
        "title": equations.title,
        "source": equations.source,
        "formalism": equations.formalism,
        "up": equations.up,
        "generator_version": __version__,
        "program_sha256": program.content_hash,
        **(
            {"selection": list(equations.selection), "left_out": list(equations.left_out)}
            if equations.selection
            else {}
        ),
        "options": dict(equations.options or {}),
        "coordinates": [_quantity(c) for c in equations.coordinates],
        "velocities": [_quantity(v) for v in equations.velocities],
        "inputs": [
            {"name": i.name, "unit": i.unit, "description": i.description} for i in equations.inputs
        ],
        "groups": {
            g.name: [
                {"name": s.name, "unit": s.unit, "description": s.description} for s in g.symbols
            ]
            for g in program.groups
            if g.name not in STATE_GROUPS
        },
        "controllers": {
            c.name: {
                "function": c.function,
                "kind": c.kind,
                "tracked": list(c.tracked),
                "inputs": list(c.inputs),
                "groups": list(c.groups),
            }
            for c in equations.controllers
        },
        **({"contacts": list(equations.contacts)} if equations.contacts else {}),
        **({"limits": [limit.to_dict() for limit in equations.limits]} if equations.limits else {}),
        "parameters": [
            {
                "name": p.name,
                "unit": p.unit,
                "default": p.default,
                "source": p.source,
                "description": p.description,
                **({"positive": True} if p.positive else {}),
            }
            for p in equations.parameters
        ],
        "variants": {
            name: {"note": equations.variant_notes.get(name, ""), "values": dict(values)}
            for name, values in equations.variants.items()
        },
        "nodes": [
            {"name": n.name, "body": n.body, "parent": n.parent, "description": n.description}
            for n in equations.nodes
        ],
        "functions": {
            f.name: {
                "description": f.description,
                "inputs": list(f.inputs),
                "outputs": [
                    {"name": o.name, "shape": list(o.shape), "description": o.description}
                    for o in f.outputs
                ],
                "operations": program.operation_counts(f.name),
                "guards": [g.message for g in f.guards],
            }
            for f in program.functions.values()
        },
        "sources": {precision: list(names) for precision, names in c_sources.sources.items()},
        "header": c_sources.header,
        "defaults": list(c_sources.defaults),
    }


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Canonical text of a manifest: order kept, one entry a line, ASCII, newline at the end."""
    return json.dumps(manifest, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _quantity(c: Any) -> dict[str, str]:
    return {
        "name": c.name,
        "unit": c.unit,
        "symbol": c.symbol,
        "description": c.description,
        "kind": c.kind,
    }
