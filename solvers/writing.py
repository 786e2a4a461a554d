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
        If the path is a folder or a device, its folder is missing, or it cannot be written.
    """
    target = writable(path, what)
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


def writable(path: Any, what: str) -> Path:
    """Where a file goes: the path, with links followed; refused if a file cannot be there.

    Raises
    ------
    WriteError
        Saying what is there instead.
    """
    try:
        target = Path(path)
        # a link stays one: what it leads to is written
        target = target.resolve() if target.is_symlink() else target
        if "\0" in str(target):
            raise ValueError("it has a NUL character")
        here, folder, name = target.exists(), target.is_dir(), target.name
    except TypeError as error:
        raise WriteError(f"{what}: expected the path of a file, got {path!r}") from error
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, links in a circle
        reason = getattr(error, "strerror", None) or str(error)
        raise WriteError(f"{what}: {str(path)[:60]!r} is no path of a file: {reason}") from error
    if not name or folder:
        raise WriteError(f"{what}: {str(path)!r} is a folder; give the name of a file in it")
    if here and not target.is_file():  # os.replace would put a file in place of the device
        raise WriteError(f"{what}: {str(path)!r} is a device or a pipe, not a file; name a file")
    if not target.absolute().parent.is_dir():
        raise WriteError(f"{what}: there is no folder {target.absolute().parent}; make it first")
    return target
