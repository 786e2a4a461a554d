"""One build at a time in one folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import FolderError
from .files import sha256
from .locations import cache_root, is_writable


def lock_file(folder: Path) -> Path:
    """File of a folder's lock: in the user's cache, or among temporary files."""
    name = f"{folder.name}-{sha256(os.path.realpath(folder))[:16]}.lock"
    locks = cache_root() / "locks"
    if not is_writable(locks):
        locks = Path(tempfile.gettempdir()) / "bestiary-locks"
    return locks / name


@contextlib.contextmanager
def folder_lock(folder: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder (which need not exist); ``waiting`` is called if another does.

    Raises
    ------
    FolderError
        If the lock cannot be made.
    """
    from filelock import FileLock, Timeout

    path = lock_file(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(path))
        try:
            lock.acquire(timeout=0.05)
        except Timeout:
            if waiting is not None:
                waiting()
            lock.acquire()
    except OSError as error:
        raise FolderError(
            f"cannot lock {folder}: {path} cannot be written ({error.strerror or error}); set "
            "BESTIARY_CACHE_DIR to a folder of your own"
        ) from error
    try:
        yield
    finally:
        lock.release()
