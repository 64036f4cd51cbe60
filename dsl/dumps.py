"""The dump folder: with TILEWRIGHT_DUMP_DIR set, every stage of a compilation is written there as a file."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path

from tilewright.tileir.core import Function

# 40-kernel.ll and 41-kernel.ptx follow the Tile IR stages, however many those are.
FIRST_TEXT = 40

_numbers: dict[str, itertools.count[int]] = {}
_lock = threading.Lock()


class Dump:
    """Numbered files of one compilation: 00-frontend.tile, 01-<pass>.tile, ..., 40-kernel.ll, 41-kernel.ptx."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next = 0
        folder.mkdir(parents=True, exist_ok=True)

    def function(self, stage: str, function: Function) -> None:
        self._write(f"{stage}.tile", f"{function}\n")

    def text(self, name: str, text: str) -> None:
        self._next = max(self._next, FIRST_TEXT)
        self._write(name, text)

    def _write(self, name: str, text: str) -> None:
        (self.folder / f"{self._next:02d}-{name}").write_text(text)
        self._next += 1


def open_dump(kernel: str) -> Dump | None:
    """A fresh subfolder for one compilation of `kernel`; None while TILEWRIGHT_DUMP_DIR is not set."""
    root = os.environ.get("TILEWRIGHT_DUMP_DIR")
    if not root:
        return None
    clean = "".join(c if c.isalnum() or c in "_-" else "_" for c in kernel)
    with _lock:
        counter = _numbers.setdefault(f"{root}/{clean}", itertools.count())
    while True:
        number = next(counter)
        folder = Path(root) / (clean if number == 0 else f"{clean}-{number}")
        if not folder.exists():
            return Dump(folder)
