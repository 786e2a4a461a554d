"""``bestiary list``: the robots there are, their sizes, and whether they are up to date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bestiary.build_tools.freshness import FRESH
from bestiary.modeling.animals import BUILT_IN

from .build import display_path
from .messages import console, print_json, reporting
from .robots import Entry, all_robots

CAPTION = (
    "dof degrees of freedom, q coordinates, u inputs; operations of M, C and F together and of the "
    "forward dynamics; hash of the program"
)
COLORS = {FRESH: "green", "missing": "red"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_command)


@reporting
def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List robots: degrees of freedom, operations, program hash, fresh or stale.

    Built-in robots come first, then those that were built otherwise, by name.  Columns:
    dof, degrees of freedom; q, coordinates; u, inputs; operations of one evaluation of M, C
    and F together, and of the forward dynamics; the first digits of the program's SHA-256;
    and whether the generated files are fresh, stale, not compiled or missing.
    """
    rows = [_row(entry) for entry in all_robots()]
    known = len(BUILT_IN)
    rows[known:] = sorted(rows[known:], key=lambda row: _digits_as_numbers(row["label"]))
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, justify in (
        ("robot", "left"),
        ("dof", "right"),
        ("q", "right"),
        ("u", "right"),
        ("M, C, F", "right"),
        ("forward dynamics", "right"),
        ("program", "left"),
        ("state", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        state = f"[{COLORS.get(row['state'], 'yellow')}]{row['state']}[/]"
        operations = row["operations"]
        table.add_row(
            row["label"],
            *(_number(row[k]) for k in ("degrees_of_freedom", "coordinates", "inputs")),
            *(_number(operations.get(k)) for k in ("equations_of_motion", "forward_dynamics")),
            (row["program_sha256"] or "")[:10],
            state,
        )
    console().print(table)
    console().print(CAPTION, style="dim", markup=False)
    for state, reason, labels in _reasons(rows):
        console().print(f"{state}, {reason}: {listed(labels)}", style="dim", markup=False)


def _reasons(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """State, reason and the robots that it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["reason"]:
            path, _, rest = row["reason"].partition(" ")
            told = (
                f"{display_path(Path(path))} {rest}" if Path(path).is_absolute() else row["reason"]
            )
            found.setdefault((row["state"], told), []).append(row["label"])
    return [(state, told, labels) for (state, told), labels in found.items()]


def listed(labels: list[str], most: int = 4) -> str:
    """Names one after another; only the number of many."""
    if len(labels) > most:
        return f"{len(labels)} robots"
    return ", ".join(labels)


def _digits_as_numbers(label: str) -> list[tuple[int, str]]:
    """So that 16 links come after 8."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", label)]


def _row(entry: Entry) -> dict[str, Any]:
    robot, target = entry.robot, entry.target
    manifest = robot.manifest if robot is not None else {}
    # the name of a built-in robot says its options and functions already
    own = target.path is not None
    options = " ".join(f"{k}={v}" for k, v in target.options) if own else ""
    only = f"only {', '.join(target.functions)}" if target.functions and own else ""
    places = [display_path(target.path)] if target.path is not None else []
    places += [f"in {display_path(entry.out)}"] if entry.out is not None else []
    place = f"({', '.join(places)})" if places else ""
    return {
        "name": entry.state.name or target.label,
        "label": " ".join(w for w in (entry.state.name or target.label, options, only, place) if w),
        "built_in": target.path is None,
        "model_file": str(target.path) if target.path else None,
        "options": dict(target.options),
        "functions": list(target.functions),
        "degrees_of_freedom": len(manifest["velocities"]) if manifest else None,
        "coordinates": len(manifest["coordinates"]) if manifest else None,
        "inputs": len(manifest["inputs"]) if manifest else None,
        "operations": {
            name: robot.operations(name)
            for name in (robot.manifest["functions"] if robot is not None else ())
            if robot is not None
        },
        "program_sha256": manifest.get("program_sha256"),
        "variants": list(manifest.get("variants", ())),
        "state": entry.state.state,
        "reason": entry.state.reason,
        "folder": str(entry.state.folder) if entry.state.folder else None,
    }


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
