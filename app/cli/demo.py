"""``bestiary demo``: the sea lion from its description to figures, in one go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .messages import console, error_console, reporting

ROBOTS = ("sea_lion", "sea_lion_quaternion")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)


@reporting
def demo_command(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for figures and results.", file_okay=False)
    ] = Path("figures"),
) -> None:
    """Build the sea lion, reproduce its published mass matrix, and let it swing.

    Writes figures, an animation and the motion (NetCDF) and prints a summary.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from bestiary import load
    from bestiary.demo import run_demo

    start = time.perf_counter()
    for name in ROBOTS:
        load(name)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task("simulating the free swing", total=1.0)
        outcome = run_demo(out, lambda fraction: bar.update(task, completed=fraction))
    printer = console()
    for line in outcome.lines():
        printer.print(line, markup=False)
    names = ", ".join(f.name for f in outcome.files)
    printer.print(f"written to {out}/: {names}", markup=False)
    printer.print(f"done in {time.perf_counter() - start:.1f} s")
