"""Environment variables that turn something on or off."""

from __future__ import annotations

import os


def switched_on(variable: str, *, unset: bool = False) -> bool:
    """Whether a variable turns on what it is for: all values do but 0, off and false; `unset` is the answer where it is
    empty or absent."""
    value = os.environ.get(variable, "").lower()
    return value not in ("0", "off", "false") if value else unset
