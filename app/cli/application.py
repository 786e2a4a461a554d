"""The commands put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from . import build, demo, doctor, export, listing, report, settings, show, solve
from .exit_codes import TABLE

HELP = f"Turn a robot's bodies and joints into equations, code and motion.\n\n{TABLE}"


def application() -> typer.Typer:
    """The command line as a typer application."""
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None if not sys.stdout.isatty() else "rich",
    )
    app.callback()(_common)
    for module in (build, listing, show, report, solve, demo, export, doctor):
        module.register(app)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from bestiary import __version__

        typer.echo(f"bestiary {__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    traceback: Annotated[
        bool, typer.Option(settings.TRACEBACK, help="Show Python's traceback of an error.")
    ] = False,
) -> None:
    if traceback:
        settings.show_traceback = True
