"""Reuse of compiled objects by content: what was compiled once is never compiled again.

An entry is named after a SHA-256 of everything that decides its bytes: the
source text and the headers, the compiler and its version, the flags, and for
modules Cython's version and Python's ABI.  So nothing is ever out of date;
entries that have not been used for some weeks are dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .files import sha256
from .locations import cache_root, is_writable

FORMAT = 1
UNUSED_SECONDS = 45 * 24 * 3600.0


def content_key(*parts: str | Sequence[str]) -> str:
    """Key of an entry from everything that decides its content."""
    return sha256(json.dumps([FORMAT, *parts]))


@dataclass(frozen=True)
class ObjectCache:
    """A folder of compiled objects by key; safe for several builds at once.

    A cache that cannot be written still gives what it holds, and keeps nothing.
    """

    folder: Path
    writable: bool

    @classmethod
    def open(cls, folder: Path | None = None) -> ObjectCache:
        """The cache of the user (or another folder)."""
        where = folder if folder is not None else cache_root() / "objects"
        return cls(where, is_writable(where))

    def path(self, key: str, suffix: str) -> Path:
        """Where an entry is, or would be."""
        return self.folder / key[:2] / f"{key}{suffix}"

    def fetch(self, key: str, suffix: str, target: Path) -> bool:
        """Copy an entry to a file, if there is one; says whether there was."""
        entry = self.path(key, suffix)
        try:
            shutil.copyfile(entry, target)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            os.utime(entry)
        return True

    def store(self, key: str, suffix: str, source: Path) -> None:
        """Keep a copy of a file as an entry (whole or not at all)."""
        if not self.writable:
            return
        entry = self.path(key, suffix)
        temporary = entry.with_name(f".{entry.name}.{os.getpid()}.tmp")
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, temporary)
            os.replace(temporary, entry)
        except OSError:  # a full disk costs the reuse, not the build
            with contextlib.suppress(OSError):
                temporary.unlink()

    def prune(self, unused_seconds: float = UNUSED_SECONDS) -> int:
        """Drop entries that were not used for so long; returns how many."""
        if not self.writable:
            return 0
        oldest, dropped = time.time() - unused_seconds, 0
        for entry in self.folder.glob("*/*"):
            with contextlib.suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    entry.unlink()
                    dropped += 1
        return dropped

    def size(self) -> int:
        """Bytes of all entries."""
        total = 0
        for entry in self.folder.glob("*/*"):
            with contextlib.suppress(OSError):
                total += entry.stat().st_size
        return total
