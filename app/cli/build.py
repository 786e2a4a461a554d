"""``bestiary build``: derive, emit and compile robots, or check that nothing differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bestiary.build_tools.pipeline import (
    FRESH,
    NOT_COMPILED,
    BuildResult,
    CheckResult,
    build,
    check,
)
from bestiary.build_tools.targets import Target, parse_options, parse_target
from bestiary.modeling.animals import BUILT_IN

from .exit_codes import FAILED, OK
from .messages import (
    console,
    error_console,
    print_json,
    reporting,
    say_error,
    say_warning,
)
from .progress import Display
from .several import SeveralValues


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("build", cls=SeveralValues)(build_command)


@reporting
def build_command(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Built-in robots, or model files (my_robot.py). All built-in robots by default.",
            show_default=False,
        ),
    ] = None,
    check_only: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Write nothing; fail (exit code 1) if a generated folder differs from its model.",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, help="Compilers at once; as many as processors by default."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            file_okay=False,
            help="Make the robots' folders in this folder, instead of generated/ or the cache.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the model; several may follow."
        ),
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option(
            "--functions",
            metavar="NAMES",
            help="Only these functions, groups (kinematics, matrices, dynamics, totals, contact, "
            "control, nodes) or nodes; several names may follow.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Derive and emit even if nothing seems to be new.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Build robots: derive their equations, write C and Cython, and compile.

    A built-in robot lands in generated/ of a source checkout; everything else
    in the user's cache folder, where bestiary.load(name) finds it.  Only what
    changed is written and compiled.

    Exit codes: 0 all is well; 1 a build or check failed; 2 wrong usage or a bad
    model; 130 interrupted.
    """
    options = parse_options(settings or [])
    targets = [parse_target(name, options, functions or ()) for name in models or BUILT_IN]
    if check_only:
        raise typer.Exit(_check(targets, out, as_json, quiet))
    results: list[BuildResult] = []
    printer = console()
    with Display(error_console(), quiet or as_json) as display:
        for target in targets:
            result = build(target, out=out, jobs=jobs, progress=display, force=force)
            results.append(result)
            display.close()
            for text in (*result.warnings, *result.notes):
                say_warning(text)
            if not (quiet or as_json):
                _print_result(printer, result)
    if as_json:
        print_json([r.to_dict() for r in results])
    incomplete = [r for r in results if r.status == NOT_COMPILED]
    for result in incomplete:
        say_error(
            f"{result.name} is written but not compiled: {result.problem}. "
            "Until then its NumPy form serves, which is slower."
        )
    raise typer.Exit(FAILED if incomplete else OK)


def _print_result(printer: Console, result: BuildResult) -> None:
    printer.print(result.name, style="bold", end="  ")
    if result.status == FRESH:
        printer.print("nothing to do, up to date")
        return
    printer.print(
        ("built" if result.status != NOT_COMPILED else "written, not compiled")
        + f" in {result.seconds:.1f} s",
        end="  ",
    )
    steps = [f"{name} {seconds:.2f} s" for name, seconds in result.steps.items()]
    printer.print(", ".join(steps), style="dim")
    details = [f"{len(result.written)} files written" if result.written else "no file changed"]
    if result.removed:
        details.append(f"{len(result.removed)} removed")
    if result.objects:
        peak = f", at most {result.peak_bytes / 1e6:.0f} MB" if result.peak_bytes else ""
        reused = sum(o.reused for o in result.objects)
        details.append(f"{result.compiled} objects compiled{peak}, {reused} reused")
    printer.print(f"  {'; '.join(details)}")
    printer.print(f"  {display_path(result.folder)}", style="cyan")


def display_path(path: Path) -> str:
    """A path relative to the working folder where it lies below it."""
    here = Path.cwd()
    return os.path.relpath(path, here) if path.is_relative_to(here) else str(path)


def _check(targets: list[Target], out: Path | None, as_json: bool, quiet: bool) -> int:
    results = [check(target, out=out) for target in targets]
    if as_json:
        print_json([r.to_dict() for r in results])
    elif not quiet:
        for result in results:
            _print_check(result)
    return OK if all(r.ok for r in results) else FAILED


def _print_check(result: CheckResult) -> None:
    printer = console()
    printer.print(result.name, style="bold", end="  ")
    if result.ok:
        printer.print("is what its model gives", style="green")
        return
    printer.print(
        f"differs from its model in {len(result.differences)} files "
        f"({display_path(result.folder)}); run: bestiary build {result.name}",
        style="red",
    )
    for difference in result.differences:
        printer.print(f"  {difference.kind}: {difference.file}", markup=False)
        for line in difference.lines:
            printer.print(f"    {line}", markup=False, style="dim")
