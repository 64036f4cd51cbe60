"""What was put in the place of something else, each said once on the standard error."""

from __future__ import annotations

import sys

_said: set[str] = set()


def substituted(what: str, instead: str) -> None:
    if what not in _said:
        _said.add(what)
        print(f"tilewright.cutile: {what} -> {instead}", file=sys.stderr)
