"""A line on the standard error while a long launch runs: the kernel, and how many of its blocks are done."""

from __future__ import annotations

import os
import sys
import threading
import time

AFTER = 3.0
"""Seconds of a launch before the first line."""

EVERY = 0.5
"""Seconds between two lines on a terminal; elsewhere ten times as many."""


class Progress:
    """That of one launch. On a terminal the line overwrites itself, and goes at the end; TILEWRIGHT_PROGRESS=1 shows
    lines elsewhere too, and 0 shows none."""

    def __init__(self, name: str, blocks: int, terminal: bool) -> None:
        self._name = name
        self._blocks = blocks
        self._terminal = terminal
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._next = self._start + AFTER
        self._done = 0
        self._width = 0

    def ran(self, blocks: int) -> None:
        """So many blocks more are done; from any thread."""
        with self._lock:
            self._done += blocks
            now = time.monotonic()
            if now >= self._next:
                self._next = now + EVERY * (1 if self._terminal else 10)
                self._show(now - self._start)

    def _show(self, seconds: float) -> None:
        left = seconds / self._done * (self._blocks - self._done)
        text = (f"tilewright: {self._name}: {self._done} of {self._blocks} blocks in {seconds:.0f} s, "
                f"about {left:.0f} s left")
        if self._terminal:
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """The launch is over, or has failed."""
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


def progress(name: str, blocks: int) -> Progress | None:
    """For a launch of so many blocks; None where nobody looks."""
    asked = os.environ.get("TILEWRIGHT_PROGRESS", "").lower()
    if asked in ("0", "off", "false"):
        return None
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return Progress(name, blocks, terminal) if terminal or asked else None
