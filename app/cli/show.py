"""``bestiary show``: a robot's sizes and parameters, or an entry of a matrix in closed form."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bestiary.build_tools.errors import TargetError
from bestiary.build_tools.targets import parse_options
from bestiary.build_tools.user_file import closest

from .expressions import Chosen, choose
from .messages import console, print_json, reporting
from .robots import Robot, find_robot
from .several import SeveralValues

LIMIT = 2_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", cls=SeveralValues)(show_command)


@reporting
def show_command(
    model: Annotated[str, typer.Argument(help="A robot's name, or a model file.")],
    expression: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPR",
            help="An entry, such as 'M[0,4]', 'C[3,3]', 'F[2]', 'V[0,1]', 'head_pose[0,3]' or "
            "'M[head_yaw_rate,head_yaw_rate]'; a whole array without index shows its pattern.",
            show_default=False,
        ),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write the entry in LaTeX.")] = False,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant", help="Parameter values of this variant; in an entry, put in as numbers."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Largest closed form, in operations.")
    ] = LIMIT,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the model; several may follow."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a robot, or an entry of its equations in closed form.

    M, C, F, V, W, B and Q stand for mass_matrix, coriolis_matrix, force_vector,
    velocity_map, rate_map, input_matrix and generalized_forces; every function
    name serves as well.  Indices count from 0, or are coordinate names.
    """
    robot = find_robot(model, parse_options(settings or []))
    if variant is not None and variant not in robot.manifest["variants"]:
        known = list(robot.manifest["variants"])
        raise TargetError(
            f"{robot.name} has no variant {variant!r}{closest(variant, known)}; "
            f"it has {', '.join(known) or 'none'}"
        )
    printer = console()
    if expression is None:
        if as_json:
            print_json(_overview(robot, variant))
        else:
            _print_robot(printer, robot, variant)
        return
    chosen = choose(robot.equations, expression)
    if chosen.index is None:
        _print_pattern(printer, robot.name, chosen, as_json)
        return
    text, size = chosen.written(limit, variant, latex)
    if as_json:
        print_json(
            {
                "model": robot.name,
                "expression": chosen.title,
                "function": chosen.function,
                "index": list(chosen.index),
                "operations": size,
                "variant": variant,
                "latex" if latex else "text": text,
            }
        )
    elif latex:
        typer.echo(text)
    else:
        typer.echo(f"{chosen.title} = {text}")


def _values(robot: Robot, variant: str | None) -> dict[str, float]:
    values = {p["name"]: p["default"] for p in robot.manifest["parameters"]}
    if variant is not None:
        values.update(robot.manifest["variants"][variant]["values"])
    return values


def _overview(robot: Robot, variant: str | None) -> dict[str, Any]:
    values = _values(robot, variant)
    return {
        **{k: v for k, v in robot.manifest.items() if k != "parameters"},
        "folder": str(robot.folder) if robot.folder else None,
        "variant": variant,
        "parameters": [{**p, "value": values[p["name"]]} for p in robot.manifest["parameters"]],
    }


def _print_robot(printer: Console, robot: Robot, variant: str | None) -> None:
    m = robot.manifest
    printer.print(robot.name, style="bold", end="  ")
    printer.print(m["title"], markup=False)
    if m["source"]:
        printer.print(m["source"], style="dim", markup=False)
    options = ", ".join(f"{k}={v}" for k, v in m["options"].items())
    printer.print(
        f"{len(m['velocities'])} degrees of freedom, {len(m['coordinates'])} coordinates, "
        f"{len(m['inputs'])} inputs, {len(m['parameters'])} parameters; up is {m['up']}; "
        f"formalism {m['formalism']}" + (f"; {options}" if options else "")
    )
    printer.print(f"program {m['program_sha256']}", style="dim")
    if m.get("selection"):
        printer.print(
            f"this build has {', '.join(m['selection'])} only; "
            f"left out: {', '.join(m['left_out'])}",
            markup=False,
        )
    printer.print()
    printer.print(_quantities("coordinates q", m["coordinates"], with_kind=True))
    printer.print(_quantities("quasi-velocities p", m["velocities"]))
    if m["inputs"]:
        printer.print(_quantities("inputs u", m["inputs"]))
    printer.print(_parameters(robot, variant))
    for name, entry in m["variants"].items():
        changed = len(entry["values"])
        note = f": {entry['note']}" if entry["note"] else ""
        printer.print(f"variant {name}{note} ({changed} values differ)", markup=False)
    printer.print(_functions(m["functions"]))


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, header_style="dim", pad_edge=False)
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in ("#", "value", "operations") else "left"
        )
    return table


def _quantities(title: str, items: list[dict[str, str]], with_kind: bool = False) -> Table:
    table = _table(title, "#", "name", "unit", "meaning")
    for number, item in enumerate(items):
        kind = item.get("kind", "") if with_kind else ""
        meaning = item["description"] or (kind if kind != "other" else "")
        table.add_row(str(number), item["name"], item["unit"], meaning)
    return table


def _parameters(robot: Robot, variant: str | None) -> Table:
    title = "parameters" if variant is None else f"parameters, variant {variant}"
    table = _table(title, "name", "value", "unit", "source", "meaning")
    values = _values(robot, variant)
    for p in robot.manifest["parameters"]:
        value = values[p["name"]]
        mark = " *" if value != p["default"] else ""
        table.add_row(p["name"] + mark, f"{value:.10g}", p["unit"], p["source"], p["description"])
    if variant is not None:
        table.caption = "* differs from the default"
        table.caption_justify = "left"
    return table


def _functions(functions: dict[str, Any]) -> Table:
    table = _table("functions", "name", "arguments", "result", "operations")
    for name, f in functions.items():
        shapes = ", ".join("×".join(map(str, o["shape"])) or "scalar" for o in f["outputs"])
        arguments = ", ".join(i for i in f["inputs"] if i != "parameters")
        table.add_row(name, arguments, shapes, f"{sum(f['operations'].values()):,}")
    return table


def _print_pattern(printer: Console, name: str, chosen: Chosen, as_json: bool) -> None:
    sizes = chosen.sizes()
    if as_json:
        print_json(
            {
                "function": chosen.function,
                "shape": list(chosen.view.shape),
                "operations_written_out": sizes,
            }
        )
        return
    count = sum(s is not None for row in sizes for s in row)
    printer.print(
        f"{chosen.title} is {'×'.join(map(str, chosen.view.shape))}, {count} entries are not zero "
        "(· zero; else the digits of its operation count as a closed form)"
    )
    for number, row in enumerate(sizes):
        marks = " ".join("·" if s is None else str(len(str(s))) for s in row)
        printer.print(f"{number:4d}  {marks}", markup=False)
    printer.print(f"one entry: bestiary show {name} '{chosen.example}'", style="dim", markup=False)
