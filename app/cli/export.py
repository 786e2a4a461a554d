"""``bestiary export``: the C project of a robot, on its own, for firmware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestiary.build_tools.errors import FolderError
from bestiary.build_tools.files import uninterrupted, write_if_changed
from bestiary.build_tools.locations import normal_selection
from bestiary.build_tools.targets import parse_options

from .build import display_path
from .messages import console, print_json, reporting
from .robots import Robot, find_robot
from .several import SeveralValues

PROJECT = ("README.md", "CMakeLists.txt")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", cls=SeveralValues)(export_command)


@reporting
def export_command(
    model: Annotated[str, typer.Argument(help="A robot's name, or a model file.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", file_okay=False, help="Folder to write into.")
    ],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a robot's C99 project: sources in both precisions, header, defaults, CMake, README.

    Nothing else is needed to compile it: no Python, no heap, only libm.
    """
    robot = find_robot(model, parse_options(settings or []), normal_selection(functions or ()))
    names = project_files(robot)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with uninterrupted():
            written = [n for n in names if write_if_changed(out / n, robot.files[n])]
    except OSError as error:
        raise FolderError(f"cannot write in {out}: {error.strerror or error}") from error
    if as_json:
        print_json({"model": robot.name, "folder": str(out), "files": names, "written": written})
        return
    console().print(
        f"{robot.name}: {len(names)} files in {display_path(out.absolute())}, "
        f"{len(written)} of them new or changed",
        markup=False,
    )


def project_files(robot: Robot) -> list[str]:
    """Names of the files that make up a robot's C project."""
    m = robot.manifest
    names = [m["header"], *(n for sources in m["sources"].values() for n in sources)]
    return sorted({*names, *m["defaults"], *(n for n in PROJECT if n in robot.files)})
