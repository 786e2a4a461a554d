"""Files written whole or not at all, and one sentence if that cannot be done."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class WriteError(OSError):
    """A file that cannot be written where it was asked for."""


@contextmanager
def replacing(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place if nothing goes wrong.

    Parameters
    ----------
    path:
        The file; its folder exists.
    what:
        Is being written: begins the sentence of an error.

    Raises
    ------
    WriteError
        If the path is a folder, its folder is missing, or it cannot be written.
    """
    target = _file(path, what)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        reason = (error.strerror or str(error)).strip()
        raise WriteError(f"{what}: cannot write {target}: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _file(path: Any, what: str) -> Path:
    try:
        target = Path(path)
    except TypeError as error:
        raise WriteError(f"{what}: expected the path of a file, got {path!r}") from error
    if not target.name or target.is_dir():
        raise WriteError(f"{what}: {str(path)!r} is a folder; give the name of a file in it")
    if not target.absolute().parent.is_dir():
        raise WriteError(f"{what}: there is no folder {target.absolute().parent}; make it first")
    return target
