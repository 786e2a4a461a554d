"""Entry point of ``bestiary``: the quick answer first, then the full command line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from . import settings
from .exit_codes import FAILED, INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code.

    Parameters
    ----------
    arguments:
        Words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if settings.TRACEBACK in words:  # allowed anywhere
        words.remove(settings.TRACEBACK)
        settings.show_traceback = True
    signal.signal(signal.SIGTERM, _terminate)
    try:
        from .quick import answer

        code = answer(words)
        if code is None:
            from .application import application

            application()(words, prog_name="bestiary")
            code = 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:  # the reader (``| head``) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    sys.exit(code)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """End as asked, temporary files removed on the way."""
    raise SystemExit(128 + number)
