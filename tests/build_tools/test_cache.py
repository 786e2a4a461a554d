"""The object cache and the writing of files: whole or not at all."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from bestiary.build_tools import files
from bestiary.build_tools.cache import ObjectCache, content_key
from bestiary.build_tools.files import uninterrupted, write_atomically, write_if_changed
from bestiary.build_tools.locations import is_writable


def test_each_part_of_a_key_counts() -> None:
    keys = {
        content_key("a", "b"),
        content_key("ab"),
        content_key("a", "b", ""),
        content_key(["a"], "b"),
        content_key("a", ["b"]),
    }
    assert len(keys) == 5
    assert content_key("a", "b") in keys


def test_entry_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    cache = ObjectCache.open(tmp_path / "objects")
    (tmp_path / "in").write_bytes(b"\x00object")
    assert not cache.fetch("ab" * 32, ".o", tmp_path / "out")
    cache.store("ab" * 32, ".o", tmp_path / "in")
    assert cache.fetch("ab" * 32, ".o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"\x00object"
    assert cache.size() == 7


def test_unwritable_cache_gives_what_it_holds_and_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"object")
    ObjectCache.open(tmp_path / "objects").store("ab", ".o", tmp_path / "in")
    cache = ObjectCache(tmp_path / "objects", writable=False)
    cache.store("cd", ".o", tmp_path / "in")
    assert cache.fetch("ab", ".o", tmp_path / "out")
    assert not cache.fetch("cd", ".o", tmp_path / "out")
    assert cache.prune(0.0) == 0


def test_store_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ObjectCache.open(tmp_path / "objects")
    (tmp_path / "in").write_bytes(b"object")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    cache.store("ab", ".o", tmp_path / "in")
    assert [p for p in cache.folder.rglob("*") if p.is_file()] == []


def test_unused_entries_are_dropped_and_used_ones_stay(tmp_path: Path) -> None:
    cache = ObjectCache.open(tmp_path / "objects")
    (tmp_path / "in").write_bytes(b"object")
    for key in ("aa", "bb"):
        cache.store(key, ".o", tmp_path / "in")
        os.utime(cache.path(key, ".o"), (0, 0))
    cache.fetch("bb", ".o", tmp_path / "out")
    assert cache.prune() == 1
    assert not cache.path("aa", ".o").exists()
    assert cache.path("bb", ".o").exists()


def test_folder_below_a_file_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_writable(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()
    assert not is_writable(tmp_path / "file" / "folder")


def test_failed_write_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_if_changed(path, "text")
    os.utime(path, (0, 0))
    assert not write_if_changed(path, "text")
    assert path.stat().st_mtime == 0
    assert write_if_changed(path, "other")


def test_concurrent_writers_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [str(k) * 200_000 for k in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(path, t)) for t in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["file"]


def test_interrupt_is_held_back_until_the_block_is_done(
    request: pytest.FixtureRequest,
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(1)
        done.append(2)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_hash_is_of_the_utf8_text() -> None:
    assert files.sha256("é") == files.sha256("é".encode())
