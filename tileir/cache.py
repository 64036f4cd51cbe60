"""The disk cache of compiled kernels, notes of launches and tuned choices: survives concurrent and killed writers, and
corrupt or foreign entries.

An entry is one file: magic, SHA-256 of the rest, then JSON meta data and PTX, if any; the driver keeps the machine code
in a cache of its own. Writers make a temporary file and rename it, so a reader sees a whole entry or none. Whatever
does not check out is ignored and written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from tilewright.tileir.records import record

MAGIC = b"TWKERN2\n"
SUFFIX = ".twk"
DEFAULT_SIZE = 1 << 30
STALE_SECONDS = 3600.0  # a temporary file this old has lost its writer
# A look at all entries takes tens of milliseconds where there are thousands: one for so great a part of the limit.
LOOKS = 64
PRIVATE = 0o700
_OFF = ("0", "off", "none", "")


@record
class Entry:
    """One compiled kernel as stored."""

    meta: Mapping[str, object]
    ptx: str


class DiskCache:
    """Entries by hexadecimal key under one folder, in files with one suffix, the least recently used removed above
    `limit` bytes."""

    def __init__(self, folder: Path, limit: int = DEFAULT_SIZE, suffix: str = SUFFIX) -> None:
        self.folder, self.limit, self._suffix = folder, limit, suffix
        self._unseen = limit  # bytes written since this process last looked at all entries
        self._lock = threading.Lock()
        self._warned = False

    def load(self, key: str, use: bool = True) -> Entry | None:
        """The entry, or None where there is none that is whole and its own. Without `use`, its time of use stays."""
        path = self._path(key)
        try:
            if not self._trusted(path.parent):
                return None
            entry = decode(_read(path), key)
        except OSError:
            return None
        if entry is not None and use:
            with contextlib.suppress(OSError):
                os.utime(path)  # the time of last use, for eviction
        return entry

    def store(self, key: str, entry: Entry) -> None:
        """Write or replace; a folder that cannot be written costs one warning and nothing else."""
        import tempfile  # what only reads does without

        path = self._path(key)
        try:
            self._make(path.parent)
            handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    self._unseen += file.write(encode(entry, key))
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
            if self._unseen > self.limit // LOOKS:
                self._unseen = 0
                self._evict()
        except OSError as error:
            self._warn(error)

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        removed = 0
        for path in self.files():
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        return removed

    def files(self) -> Iterator[Path]:
        """The files of all shards. A shard that is a link leads out of the cache: what is there is not ours."""
        for shard in _shards(self.folder):
            yield from Path(shard).glob(f"*{self._suffix}")

    def _make(self, shard: Path) -> None:
        """The folder of a shard, for this user alone whatever the umask says."""
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=PRIVATE, exist_ok=True)
        shard.mkdir(mode=PRIVATE, exist_ok=True)
        if not self._trusted(shard):
            raise PermissionError(f"{shard} is a link, or others may write to it; chmod go-w makes it usable")

    def _trusted(self, shard: Path) -> bool:
        """Whether only this user (or root) may have put something into a shard: its content is run on the GPU."""
        inside = shard.lstat()
        return stat.S_ISDIR(inside.st_mode) and _safe(inside) and _safe(self.folder.stat())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{self._suffix}"

    def _warn(self, error: OSError) -> None:
        with self._lock:
            first, self._warned = not self._warned, True
        if first:
            warnings.warn(
                f"Tilewright's kernel cache {self.folder} cannot be written ({error}); kernels are compiled anew in "
                "each process. Set TILEWRIGHT_CACHE_DIR to another folder, or to 0 for no cache.",
                RuntimeWarning, stacklevel=2)

    def _evict(self) -> None:
        """Remove the least recently used entries above the limit, and temporary files whose writer died."""
        entries: list[tuple[float, int, str]] = []
        now = time.time()
        for shard in _shards(self.folder):
            for file in os.scandir(shard):
                with contextlib.suppress(OSError):  # another process may have removed it
                    facts = file.stat(follow_symlinks=False)
                    if file.name.startswith(".tmp-") and now - facts.st_mtime > STALE_SECONDS:
                        os.unlink(file.path)
                    elif file.name.endswith(self._suffix):
                        entries.append((facts.st_mtime, facts.st_size, file.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


def _shards(folder: Path) -> list[str]:
    """The folders of a cache that are no links; none where there is no cache."""
    try:
        return [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _safe(facts: os.stat_result) -> bool:
    """Whether a file or folder is this user's or root's and nobody else may change it, as ssh asks of its keys."""
    if not hasattr(os, "geteuid"):
        return True
    return facts.st_uid in (os.geteuid(), 0) and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path) -> bytes:
    """The bytes of an entry. PermissionError for what is no file of ours: a link, a pipe (which is not waited for), a
    file that others own or may change."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or not _safe(facts):
            raise PermissionError(f"{path} is no file of this user alone")
        return file.read()


def encode(entry: Entry, key: str) -> bytes:
    meta = json.dumps({**entry.meta, "key": key}).encode()
    ptx = entry.ptx.encode()
    body = struct.pack("<II", len(meta), len(ptx)) + meta + ptx
    return MAGIC + hashlib.sha256(body).digest() + body


def decode(data: bytes, key: str) -> Entry | None:
    """The inverse of encode; None for anything that encode(…, key) did not make."""
    head = len(MAGIC) + 32
    body = data[head:]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : head] != hashlib.sha256(body).digest():
        return None
    # The digest proves that nothing was lost, not who wrote it; a wrong key is a file that was moved.
    try:
        size, rest = struct.unpack_from("<II", body)
        if len(body) != 8 + size + rest:
            return None
        meta = json.loads(body[8 : 8 + size])
        ptx = body[8 + size :].decode()
    except (struct.error, ValueError, RecursionError):
        return None
    return Entry(meta, ptx) if isinstance(meta, dict) and meta.get("key") == key else None


def default_folder() -> Path | None:
    """Where TILEWRIGHT_CACHE_DIR or the platform puts caches; None when caching is switched off."""
    chosen = os.environ.get("TILEWRIGHT_CACHE_DIR")
    if chosen is not None:
        return None if chosen.strip().lower() in _OFF else Path(chosen).expanduser()
    if sys.platform != "linux":  # there it takes a while to say what is known
        with contextlib.suppress(ImportError):
            from platformdirs import user_cache_path

            return user_cache_path("tilewright", appauthor=False)
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "tilewright"
    except RuntimeError:  # no home directory
        return None


_open_caches: dict[tuple[Path, int], DiskCache] = {}


def open_cache() -> DiskCache | None:
    """The cache that the environment names at this moment, None when switched off. ValueError for a size that is no
    number."""
    folder = default_folder()
    if folder is None:
        return None
    given = os.environ.get("TILEWRIGHT_CACHE_SIZE") or str(DEFAULT_SIZE)
    if not given.isdecimal():
        raise ValueError(f"TILEWRIGHT_CACHE_SIZE must be a number of bytes, not {given!r}")
    limit = int(given)
    return _open_caches.setdefault((folder, limit), DiskCache(folder, limit))
