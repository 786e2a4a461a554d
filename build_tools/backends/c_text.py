"""Templates and comments of the generated C."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).parent.parent / "templates"

_PLAIN = str.maketrans(
    {
        "²": "^2", "³": "^3", "·": "*", "×": "x", "°": " deg", "µ": "u", "μ": "u",
        "–": "-", "—": "-", "−": "-", "…": "...", "’": "'", "‘": "'", "“": '"', "”": '"',
        "∞": "inf", "≤": "<=", "≥": ">=", "→": "->", "ω": "omega", "θ": "theta", "φ": "phi",
        "ψ": "psi", "ρ": "rho", "Σ": "sum", "∂": "d", "é": "e", "ü": "u", "ö": "o", "ä": "a",
    }
)  # fmt: skip


def comment(text: object) -> str:
    """Text that is safe in a C comment: one line, ASCII, without comment marks."""
    line = " ".join(str(text).translate(_PLAIN).split())
    line = line.encode("ascii", "backslashreplace").decode()
    line = re.sub(r"\?(?=\?)", "? ", line)  # no trigraphs
    while "*/" in line or "/*" in line:
        line = line.replace("*/", "* /").replace("/*", "/ *")
    return line.rstrip("\\")


def wrapped(text: object, indent: str, width: int = 96) -> str:
    """A comment text broken into lines, later ones behind ``indent``."""
    lines = [""]
    for word in comment(text).split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width - len(indent):
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return f"\n{indent}".join(lines)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(comment=comment, wrapped=wrapped)
    return environment


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template of ``build_tools/templates``; a missing value is an error."""
    return _environment().get_template(template).render(**values)
