"""What the commands share: consoles, and errors told in a sentence with an exit code."""

from __future__ import annotations

import functools
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.console import Console

from bestiary.build_tools.errors import BuildError, TargetError

from . import settings
from .exit_codes import FAILED, INTERRUPTED, USAGE

UNBROKEN = 200

Command = TypeVar("Command", bound=Callable[..., Any])


def console() -> Console:
    """Console of the results (standard output); as wide as need be where it is no terminal."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, soft_wrap=True, width=UNBROKEN)


def error_console() -> Console:
    """Console of progress, warnings and errors (standard error)."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """Machine-readable results."""
    typer.echo(json.dumps(data, indent=2))


def say_error(text: str) -> None:
    """An error, in full, on standard error."""
    printer = error_console()
    printer.print("error: ", style="bold red", end="")
    printer.print(text, markup=False)


def say_warning(text: str) -> None:
    """A warning on standard error."""
    printer = error_console()
    printer.print("warning: ", style="yellow", end="")
    printer.print(text, markup=False)


def reporting(command: Command) -> Command:
    """Turn what a command raises into a sentence and an exit code."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        error: Exception | None = None
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            error_console().print("interrupted; nothing is half-written")
            code = INTERRUPTED
        except TargetError as caught:
            code, error = USAGE, caught
            say_error(str(caught))
        except BuildError as caught:
            code, error = FAILED, caught
            say_error(str(caught))
        except (BrokenPipeError, typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as caught:
            if type(caught).__module__.startswith("bestiary."):  # said in a sentence already
                say_error(str(caught))
                if settings.show_traceback:
                    traceback.print_exception(caught)
                raise typer.Exit(USAGE) from caught
            code, error = FAILED, caught
            say_error(
                f"unexpected {type(caught).__name__}: {caught} "
                f"(run again with {settings.TRACEBACK} to see where)"
            )
        if error is not None and settings.show_traceback:
            traceback.print_exception(error)
        raise typer.Exit(code)

    return wrapped  # type: ignore[return-value]
