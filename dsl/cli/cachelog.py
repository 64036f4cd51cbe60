"""`tilewright cache log` and `tilewright cache clear`: what the disk cache of compiled kernels holds."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.cli.answers import Answer

if TYPE_CHECKING:
    from tilewright.tileir.cache import DiskCache, Entry


@dataclass(frozen=True, slots=True)
class Stored:
    """One file of the cache: its size in bytes, the time of its last use (as time.time), what is in it (None: it is
    damaged)."""

    key: str
    size: int
    used: float
    entry: Entry | None


def entries(cache: DiskCache) -> Iterator[Stored]:
    """Every file of the cache, without touching its time of last use."""
    for path in cache.files():
        with contextlib.suppress(OSError):  # another process may have removed it
            facts = path.stat(follow_symlinks=False)
            yield Stored(path.stem, facts.st_size, facts.st_mtime, cache.load(path.stem, use=False))


@dataclass(frozen=True)
class Line:
    """One kernel of the cache, in words."""

    used: str
    kernel: str
    target: str
    threads: str
    shared: str
    registers: str
    size: str
    key: str


_OFF = "the disk cache is switched off (TILEWRIGHT_CACHE_DIR)"
HEADINGS = ("last used", "kernel", "target", "threads", "shared bytes", "registers", "KiB", "key")


def line_of(stored: Stored) -> Line:
    """The line of one file; a file that is no whole entry says so."""
    used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(stored.used))
    size, key = f"{stored.size / 1024:.1f}", stored.key[:12]
    entry = stored.entry
    if entry is None:
        return Line(used, "(damaged; it will be made anew)", "", "", "", "", size, key)
    return Line(used, _name(entry), _target(entry), str(entry.meta.get("threads", "")),
                str(entry.meta.get("shared_bytes", "")), str(_registers(entry) or ""), size, key)


def _name(entry: Entry) -> str:
    try:
        return str(json.loads(str(entry.meta["abi"]))["name"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return "(of another version)"


def _registers(entry: Entry) -> int | None:
    found = re.search(r"[Uu]sed (\d+) registers", str(entry.meta.get("log", "")))
    return int(found[1]) if found else None


def _target(entry: Entry) -> str:
    found = re.search(r"^\.target (\w+)", entry.ptx, re.MULTILINE)
    return found[1] if found else ""


def log() -> Answer:
    """The cache, last used first; its text goes through a pager on a terminal."""
    from tilewright.tileir.cache import open_cache

    cache = open_cache()
    if cache is None:
        return Answer({"folder": None, "limit": None, "kernels": []}, lambda: print(_OFF))
    found = sorted(entries(cache), key=lambda s: -s.used)
    summary = describe()
    data = {"folder": str(cache.folder), "limit": cache.limit, "kernels": [_facts(stored) for stored in found]}
    return Answer(data, lambda: _show([line_of(stored) for stored in found], summary))


def describe() -> str:
    """The cache in words: its folder, entries and size. Raises OSError for a folder that cannot be written."""
    from tilewright.tileir.cache import PRIVATE, open_cache

    cache = open_cache()
    if cache is None:
        return "switched off"
    if not cache.folder.exists():
        cache.folder.mkdir(mode=PRIVATE, parents=True)
    with tempfile.TemporaryFile(dir=cache.folder):
        pass
    sizes = [path.lstat().st_size for path in cache.files()]
    return f"{cache.folder}: {len(sizes)} kernels, {sum(sizes) / 2**20:.1f} of {cache.limit / 2**20:.0f} MiB"


def _facts(stored: Stored) -> dict[str, Any]:
    """What `--json` says of one file."""
    entry = stored.entry
    meta = entry.meta if entry is not None else {}
    return {"key": stored.key, "bytes": stored.size, "used": stored.used, "whole": entry is not None,
            "kernel": _name(entry) if entry is not None else None,
            "target": _target(entry) or None if entry is not None else None, "threads": meta.get("threads"),
            "shared_bytes": meta.get("shared_bytes"), "registers": _registers(entry) if entry is not None else None}


def _show(lines: list[Line], summary: str) -> None:
    try:
        from rich.console import Console
    except ImportError:
        print(_plain(lines), summary, sep="\n")
        return
    console = Console()
    if not console.is_terminal:
        print(_plain(lines), summary, sep="\n")
        return
    with console.pager(styles=True):
        console.print(_table(lines))
        console.print(summary, highlight=False)


def _plain(lines: Iterable[Line]) -> str:
    """One line per kernel, columns separated by tabs, for other programs."""
    return "\n".join("\t".join(row) for row in (HEADINGS, *(tuple(vars(line).values()) for line in lines)))


def _table(lines: Iterable[Line]) -> Any:
    from rich.table import Table

    table = Table(*HEADINGS)
    for line in lines:
        table.add_row(*vars(line).values())
    return table


def clear() -> Answer:
    """Remove every kernel of the cache, and what is noted of kernels."""
    from tilewright.launching.notes import open_notes
    from tilewright.tileir.cache import open_cache

    cache = open_cache()
    if cache is None:
        return Answer({"folder": None, "removed": 0}, lambda: print(_OFF))
    folder, removed = cache.folder, cache.clear()
    notes = open_notes()
    if notes is not None:
        notes.clear()
    data = {"folder": str(folder), "removed": removed}
    return Answer(data, lambda: print(f"{removed} kernels removed from {folder}"))
