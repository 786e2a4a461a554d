"""``bestiary report``: a robot's numbers beside the published ones, entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from bestiary.build_tools.errors import TargetError

from .exit_codes import FAILED
from .messages import console, print_json, reporting

if TYPE_CHECKING:
    from bestiary.modeling.animals.sea_lion_published import Comparison

REPORTS = ("sea_lion",)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_command)


@reporting
def report_command(
    model: Annotated[str, typer.Argument(help="The robot; a report exists for sea_lion.")],
    variant: Annotated[str, typer.Option("--variant", help="Parameter values to use.")] = "paper",
    zeros: Annotated[
        bool, typer.Option("--all", help="Also list the entries that are printed as 0.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the mass matrix in the neutral pose with the published one, eqs (16)-(19).

    Each entry must round to the printed value.  Entries in which the paper
    contradicts itself are named with the reason.  Exit code 1 if another entry
    disagrees.
    """
    if model not in REPORTS:
        raise TargetError(f"no report for {model!r}; there is one for {', '.join(REPORTS)}")
    entries = sea_lion_comparison(variant)
    wrong = [e for e in entries if not e.agrees and not e.note]
    if as_json:
        print_json([_plain(e) for e in entries])
    else:
        printer = console()
        table = Table(title=f"{model}, variant {variant}: mass matrix in the neutral pose")
        for heading in ("entry", "row", "column", "printed", "computed", "", ""):
            table.add_column(heading, justify="right" if heading in NUMERIC else "left")
        for e in entries:
            if e.printed == "0" and e.agrees and not zeros:
                continue
            mark = "ok" if e.agrees else ("paper differs" if e.note else "DIFFERS")
            place = f"{e.block}({e.row},{e.column})"
            note = e.note if not e.agrees else ""
            cells = (e.row_name, e.column_name, e.printed, f"{e.computed:.4g}", mark, note)
            table.add_row(place, *cells)
        printer.print(table)
        printer.print(summary(entries))
    if wrong:
        raise typer.Exit(FAILED)


NUMERIC = ("printed", "computed")


def sea_lion_comparison(variant: str) -> list[Comparison]:
    """The 400 printed entries beside those of the generated robot in its neutral pose."""
    from bestiary import load
    from bestiary.modeling.animals.sea_lion_published import compare

    robot = load("sea_lion", variant=variant)
    matrix = robot.mass_matrix(robot.neutral)
    return compare(lambda i, j: float(matrix[i, j]), [v.name for v in robot.velocities])


def summary(entries: list[Comparison]) -> str:
    """One sentence on how many entries agree."""
    agreeing = sum(e.agrees for e in entries)
    named = [e for e in entries if not e.agrees and e.note]
    wrong = len(entries) - agreeing - len(named)
    text = (
        f"{agreeing} of {len(entries)} printed entries agree within half a unit of the last digit"
    )
    if named:
        places = ", ".join(f"{e.block}({e.row},{e.column})" for e in named)
        text += f"; the paper contradicts itself at {places}"
    return text + (f"; {wrong} others differ" if wrong else "")


def _plain(e: Comparison) -> dict[str, object]:
    return {
        "entry": f"{e.block}({e.row},{e.column})",
        "row": e.row_name,
        "column": e.column_name,
        "printed": e.printed,
        "computed": e.computed,
        "tolerance": e.tolerance,
        "agrees": e.agrees,
        "note": e.note,
    }
