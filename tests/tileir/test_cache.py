"""The disk cache: killed and concurrent writers, corrupt and foreign entries, unwritable folders, the size limit."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import struct
import sys
import time
import warnings
from pathlib import Path

import pytest

from tilewright.cli.cachelog import entries
from tilewright.tileir import cache as module
from tilewright.tileir.cache import DiskCache, Entry, decode, encode, open_cache

ENTRY = Entry({"threads": 128, "abi": "{}"}, ".version 8.0\n" * 80)


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


KEY = key_of("kernel")


def test_round_trip(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "new" / "folder")
    assert cache.load(KEY) is None
    cache.store(KEY, ENTRY)
    found = cache.load(KEY)
    assert found is not None
    assert (found.ptx, found.meta["threads"]) == (ENTRY.ptx, 128)
    assert cache.load(key_of("other")) is None


def test_every_damaged_byte_and_every_truncation_is_noticed() -> None:
    data = encode(ENTRY, KEY)
    assert decode(data, KEY) is not None
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        assert decode(bytes(damaged), KEY) is None, position
    for length in range(0, len(data), 11):
        assert decode(data[:length], KEY) is None, length


def test_moved_entry_is_foreign(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(KEY, ENTRY)
    other = key_of("other")
    cache._path(other).parent.mkdir(parents=True, exist_ok=True)
    cache._path(other).write_bytes(cache._path(KEY).read_bytes())
    assert cache.load(other) is None


@pytest.mark.parametrize("rubbish", [b"", b"\0" * 100, b"TWKERN1\n", b"#!/bin/sh\n"])
def test_rubbish_is_rewritten(tmp_path: Path, rubbish: bytes) -> None:
    cache = DiskCache(tmp_path)
    cache.store(KEY, ENTRY)
    cache._path(KEY).write_bytes(rubbish)
    assert cache.load(KEY) is None
    cache.store(KEY, ENTRY)
    assert cache.load(KEY) is not None


def test_least_recently_used_goes_first(tmp_path: Path) -> None:
    size = len(encode(ENTRY, KEY))
    cache = DiskCache(tmp_path, limit=3 * size + size // 2)
    keys = [key_of(str(i)) for i in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.store(key, ENTRY)
        os.utime(cache._path(key), (1000 + age, 1000 + age))
    assert cache.load(keys[0]) is not None  # used: now the youngest
    cache.store(keys[3], ENTRY)
    assert [cache.load(k) is not None for k in keys] == [True, False, True, True]


def test_leftovers_of_killed_writers_go(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(KEY, ENTRY)
    old, young = cache._path(KEY).parent / ".tmp-old", cache._path(KEY).parent / ".tmp-young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * module.STALE_SECONDS,) * 2)
    DiskCache(tmp_path).store(key_of("next"), ENTRY)  # another process
    assert not old.exists() and young.exists()


def test_entries_are_looked_at_once_for_a_part_of_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    stores = 0
    monkeypatch.setattr(DiskCache, "_evict", lambda self: looks.append(stores))
    cache = DiskCache(tmp_path, limit=module.LOOKS * 5 * len(encode(ENTRY, KEY)))
    for stores in range(13):
        cache.store(key_of(str(stores)), ENTRY)
    assert looks == [0, 6, 12]


def test_unwritable_folder_warns_once_and_works_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = DiskCache(blocked / "cache")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        cache.store(KEY, ENTRY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store(KEY, ENTRY)
    assert cache.load(KEY) is None


@pytest.mark.parametrize("value", ["0", "off", "none", "OFF", ""])
def test_switched_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", value)
    assert open_cache() is None


def test_chosen_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "2 GiB")
    with pytest.raises(ValueError, match="TILEWRIGHT_CACHE_SIZE must be a number of bytes, not '2 GiB'"):
        open_cache()
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "12345")
    cache = open_cache()
    assert cache is not None and (cache.folder, cache.limit) == (tmp_path, 12345)


@pytest.mark.parametrize("body", [b"", b"short", struct.pack("<II", 2**31, 5), struct.pack("<II", 2, 0) + b"[]",
                                  struct.pack("<II", 4, 0) + b"null", struct.pack("<II", 3, 1) + b"{\xff}\xff",
                                  struct.pack("<II", 40000, 0) + b"[" * 20000 + b"]" * 20000,
                                  struct.pack("<II", 12, 9) + b'{"key": "a"}'])
def test_odd_content_under_a_right_digest_is_no_entry(body: bytes, tmp_path: Path) -> None:
    data = module.MAGIC + hashlib.sha256(body).digest() + body
    assert decode(data, KEY) is None
    cache = DiskCache(tmp_path)
    cache.store(KEY, ENTRY)
    next(cache.files()).write_bytes(data)
    assert cache.load(KEY) is None and [stored.entry for stored in entries(cache)] == [None]
    cache.store(KEY, ENTRY)
    assert cache.load(KEY) == Entry({**ENTRY.meta, "key": KEY}, ENTRY.ptx)


def test_a_pipe_in_the_cache_is_not_waited_for(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store(KEY, ENTRY)
    path = next(cache.files())
    path.unlink()
    os.mkfifo(path)
    assert cache.load(KEY) is None and [stored.entry for stored in entries(cache)] == [None]
    assert cache.clear() == 1 and not path.exists()


def test_linked_shards_are_left_alone(tmp_path: Path) -> None:
    """Clearing and eviction followed a link and deleted what it led to."""
    outside, folder = tmp_path / "outside", tmp_path / "cache"
    outside.mkdir()
    cache = DiskCache(folder, limit=1)
    cache.store(KEY, ENTRY)
    (folder / KEY[:2]).rename(outside / "shard")
    (folder / KEY[:2]).symlink_to(outside / "shard", target_is_directory=True)
    precious = outside / "shard" / f"{KEY}{module.SUFFIX}"
    precious.write_bytes(encode(ENTRY, KEY))
    assert cache.load(KEY) is None and cache.clear() == 0
    cache.store(key_of("another"), ENTRY)  # looks at all entries, as the limit is passed
    with pytest.warns(RuntimeWarning, match="is a link, or others may write"):
        cache.store(KEY, ENTRY)
    assert precious.exists()


@pytest.mark.parametrize("which", ["folder", "shard", "file"])
def test_what_others_may_change_is_not_believed(which: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    before = os.umask(0o002)  # groups may write, as on many systems
    try:
        cache = DiskCache(folder)
        cache.store(KEY, ENTRY)
    finally:
        os.umask(before)
    assert cache.load(KEY) is not None
    path = {"folder": folder, "shard": folder / KEY[:2], "file": next(cache.files())}[which]
    path.chmod(path.stat().st_mode | 0o020)
    assert cache.load(KEY) is None
    path.chmod(path.stat().st_mode & ~0o022)
    assert cache.load(KEY) is not None


def test_entries_of_other_owners_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path / "cache")
    cache.store(KEY, ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    believed = cache.load(KEY) is not None
    assert believed == (os.stat(tmp_path).st_uid == 0)  # what root has put there is root's


def _write_for_ever(folder: str, salt: int) -> None:
    cache = DiskCache(Path(folder))
    number = 0
    while True:
        cache.store(KEY, Entry({"salt": salt}, f"{salt}" * (1000 + number % 5000)))
        number += 1


def test_readers_see_whole_entries_while_writers_are_killed(tmp_path: Path) -> None:
    start = multiprocessing.get_context("spawn")
    writers = [start.Process(target=_write_for_ever, args=(str(tmp_path), salt), daemon=True) for salt in (1, 2)]
    for writer in writers:
        writer.start()
    cache = DiskCache(tmp_path)
    try:
        deadline = time.monotonic() + 30
        while not cache._path(KEY).exists():
            assert time.monotonic() < deadline, "the writers wrote nothing"
            time.sleep(0.01)
        for _ in range(500):
            found = cache.load(KEY)
            assert found is not None
            salt = found.meta["salt"]
            assert isinstance(salt, int) and set(found.ptx) == {str(salt)} and len(found.ptx) >= 1000
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    found = cache.load(KEY)
    assert found is not None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs is asked")
@pytest.mark.parametrize("given", [None, "", "relative", "/somewhere"])
def test_the_folder_is_the_one_that_platformdirs_names(monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert module.default_folder() == platformdirs.user_cache_path("tilewright", appauthor=False)
