"""What the environment asks to see of a compilation: a folder with every stage, printed stages, crash dumps.

TILEWRIGHT_DUMP_DIR names a folder; TILEWRIGHT_LOGS lists stages to print; with TILEWRIGHT_ENABLE_CRASH_DUMP a
compilation that fails by a defect of ours leaves its stages in TILEWRIGHT_TEMP_DIR.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.environment import switched_on

if TYPE_CHECKING:
    from tilewright.tileir.core import Function

T = TypeVar("T")

# 40-kernel.ll and 41-kernel.ptx follow the Tile IR stages, however many those are.
FIRST_TEXT = 40

LOGS = {"TILEIR": "Tile IR", "LLVM": "LLVM IR", "PTX": "PTX"}
_LOG_OF_FILE = {"kernel.ll": "LLVM", "kernel.ptx": "PTX"}

_numbers: dict[str, itertools.count[int]] = {}
_lock = threading.Lock()


class Dump:
    """Sees the stages of one compilation.

    With a folder, numbered files: 00-frontend.tile, 01-<pass>.tile, ..., 40-kernel.ll, 41-kernel.ptx. `logs` are the
    kinds of text (keys of LOGS) that go to the standard error.
    """

    def __init__(self, kernel: str, folder: Path | None, logs: frozenset[str] = frozenset()) -> None:
        self.folder = folder
        self._kernel = kernel
        self._logs = logs
        self._next = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def function(self, stage: str, function: Function) -> None:
        """The function after a pass."""
        if self.folder is not None:
            self._write(f"{stage}.tile", f"{function}\n")

    def finished(self, function: Function) -> None:
        """The Tile IR that the interpreter or the backend gets."""
        if "TILEIR" in self._logs:
            self._log("TILEIR", str(function))

    def text(self, name: str, text: str) -> None:
        """The text of a later stage."""
        self._next = max(self._next, FIRST_TEXT)
        if self.folder is not None:
            self._write(name, text)
        kind = _LOG_OF_FILE.get(name, "")
        if kind in self._logs:
            self._log(kind, text)

    def _write(self, name: str, text: str) -> None:
        assert self.folder is not None
        (self.folder / f"{self._next:02d}-{name}").write_text(text)
        self._next += 1

    def _log(self, kind: str, text: str) -> None:
        print(f"---- {LOGS[kind]} of kernel {self._kernel}\n{text.rstrip()}\n----", file=sys.stderr, flush=True)


def open_dump(kernel: str) -> Dump | None:
    """What sees one compilation of `kernel`, with a fresh subfolder; None while the environment asks for nothing."""
    root = os.environ.get("TILEWRIGHT_DUMP_DIR")
    logs = wanted_logs()
    if not root:
        return Dump(kernel, None, logs) if logs else None
    clean = _clean(kernel)
    with _lock:
        counter = _numbers.setdefault(f"{root}/{clean}", itertools.count())
    while True:
        number = next(counter)
        folder = Path(root) / (clean if number == 0 else f"{clean}-{number}")
        if not folder.exists():
            return Dump(kernel, folder, logs)


def wanted_logs() -> frozenset[str]:
    """The stages that TILEWRIGHT_LOGS lists, separated by commas. Raises RuntimeError for one that there is not."""
    names = [name.strip() for name in os.environ.get("TILEWRIGHT_LOGS", "").split(",")]
    wanted = frozenset(name.upper() for name in names if name)
    for name in sorted(wanted - set(LOGS)):
        raise RuntimeError(f"TILEWRIGHT_LOGS lists {name}, which is no stage; there are {', '.join(LOGS)}")
    return wanted


def observed(kernel: str, make: Callable[[Dump | None], T]) -> T:
    """`make(dump)`, with what the environment asks to see of it.

    Where it fails by a defect of ours and crash dumps are switched on, it runs once more to leave its stages in a
    folder, which the error then names.
    """
    dump = open_dump(kernel)
    try:
        return make(dump)
    except TileInternalError as error:
        if _crash_dumps() and (dump is None or dump.folder is None):
            import tempfile

            folder = Path(tempfile.mkdtemp(prefix=f"tilewright-{_clean(kernel)}-", dir=temporary_folder()))
            with contextlib.suppress(Exception):  # the same failure again
                make(Dump(kernel, folder))
            (folder / "error.txt").write_text(f"{error}\n")
            error.notes.append(f"every stage of this compilation was written to {folder}")
        raise


def temporary_folder() -> str | None:
    """The folder for temporary files that TILEWRIGHT_TEMP_DIR names; None for the system's own."""
    return os.environ.get("TILEWRIGHT_TEMP_DIR") or None


def _crash_dumps() -> bool:
    return switched_on("TILEWRIGHT_ENABLE_CRASH_DUMP")


def _clean(kernel: str) -> str:
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in kernel)
