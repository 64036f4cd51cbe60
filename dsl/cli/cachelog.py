"""`tilewright cache log` and `tilewright cache clear`: what the disk cache of compiled kernels holds."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.backend_ptx.runtime.cache import Entry, Stored


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


HEADINGS = ("last used", "kernel", "target", "threads", "shared bytes", "registers", "KiB", "key")


def line_of(stored: Stored) -> Line:
    """The line of one file; a file that is no whole entry says so."""
    used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(stored.used))
    size, key = f"{stored.size / 1024:.1f}", stored.key[:12]
    entry = stored.entry
    if entry is None:
        return Line(used, "(damaged; it will be made anew)", "", "", "", "", size, key)
    registers = re.search(r"[Uu]sed (\d+) registers", str(entry.meta.get("log", "")))
    return Line(used, _name(entry), _target(entry), str(entry.meta.get("threads", "")),
                str(entry.meta.get("shared_bytes", "")), registers[1] if registers else "", size, key)


def _name(entry: Entry) -> str:
    try:
        return str(json.loads(str(entry.meta["abi"]))["name"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return "(of another version)"


def _target(entry: Entry) -> str:
    found = re.search(r"^\.target (\w+)", entry.ptx, re.MULTILINE)
    return found[1] if found else ""


def show() -> None:
    """Print the cache, last used first; through a pager on a terminal."""
    from tilewright.backend_ptx.runtime.cache import describe, open_cache

    cache = open_cache()
    if cache is None:
        print("the disk cache is switched off (TILEWRIGHT_CACHE_DIR)")
        return
    lines = [line_of(stored) for stored in sorted(cache.entries(), key=lambda s: -s.used)]
    summary = describe()
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


def clear() -> None:
    """Remove every kernel of the cache."""
    from tilewright.backend_ptx.runtime.cache import open_cache

    cache = open_cache()
    if cache is None:
        print("the disk cache is switched off (TILEWRIGHT_CACHE_DIR)")
        return
    print(f"{cache.clear()} kernels removed from {cache.folder}")
