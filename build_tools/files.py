"""Writing files whole or not at all, and holding Ctrl-C back while a few of them change."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


def sha256(data: bytes | str) -> str:
    """Hexadecimal SHA-256 of bytes or of UTF-8 text."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write a file under a temporary name, then move it into place."""
    content = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_if_changed(path: Path, data: bytes | str) -> bool:
    """Write a file unless it has this content already; says whether it wrote."""
    content = data.encode() if isinstance(data, str) else data
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass
    write_atomically(path, content)
    return True


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done (in the main thread; elsewhere no change)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        pending.append(number)

    previous = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if pending:
            signal.raise_signal(signal.SIGINT)
