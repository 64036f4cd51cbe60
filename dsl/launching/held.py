"""Whether Python shall make all launches, because somebody watches or checks them or has made a stream the current one;
machine code looks here first."""

from __future__ import annotations

from array import array

CHECKED, WATCHED, STREAMED = range(3)

HELD = array("i", [0] * 4)
"""Whether launches are checked, whether they are watched, and how many contexts of a stream are open, in any thread.
Machine code compares all of it with 0 at once."""


def hold(*, checked: bool | None = None, watched: bool | None = None) -> None:
    """Let Python make all launches, or no longer."""
    for place, wanted in ((CHECKED, checked), (WATCHED, watched)):
        if wanted is not None:
            HELD[place] = wanted


def seen() -> bool:
    """Whether somebody looks at each launch, which then may not be part of something bigger."""
    return bool(HELD[CHECKED] or HELD[WATCHED])
