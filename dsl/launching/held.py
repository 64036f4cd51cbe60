"""Whether Python shall make all launches, because somebody watches or checks them; machine code looks here first."""

from __future__ import annotations

from array import array

HELD = array("q", [False, False])
"""Whether launches are checked, and whether they are watched."""


def hold(*, checked: bool | None = None, watched: bool | None = None) -> None:
    """Let Python make all launches, or no longer."""
    for place, wanted in enumerate((checked, watched)):
        if wanted is not None:
            HELD[place] = wanted
