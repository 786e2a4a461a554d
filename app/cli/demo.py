"""``bestiary demo``: robots from their descriptions to motions and figures, in one go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import FAILED
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
    """Build the sea lion and a rat; a mass matrix, a swing, and a turn in the air.

    The sea lion's mass matrix is compared with the published one and its body rolls by
    swinging head and tail; the falling rat turns over by the best motion of its tail.
    Writes figures, animations and motions (NetCDF) and prints a summary.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from bestiary import load
    from bestiary.demo import run_demo
    from bestiary.demo_righting import OPTIONS, ROBOT, run_righting

    start = time.perf_counter()
    for name in ROBOTS:
        load(name)
    load(ROBOT, **OPTIONS)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task("simulating the free swing", total=1.0)
        outcome = run_demo(out, lambda fraction: bar.update(task, completed=fraction))
        bar.update(task, completed=1.0)
        task = bar.add_task("righting", total=None)
        righted = run_righting(out, lambda words: bar.update(task, description=words))
    printer = console()
    for line in (*outcome.lines(), *righted.lines()):
        printer.print(line, markup=False)
    names = ", ".join(f.name for f in (*outcome.files, *righted.files))
    printer.print(f"written to {out}/: {names}", markup=False)
    printer.print(f"done in {time.perf_counter() - start:.1f} s")
    if not righted.plan.success:
        raise typer.Exit(FAILED)
