"""Whether Python shall make all launches, because somebody watches or checks them or has made a stream the current one;
machine code looks here first."""

from __future__ import annotations

from array import array

CHECKED, WATCHED, STREAMED = range(3)
RECORDED = 2  # of WATCHED: by one profile and nobody else, for which machine code records the launches that it makes

HELD = array("i", [0] * 4)
"""Whether launches are checked, whether they are watched (1, or RECORDED), and how many contexts of a stream are open,
in any thread. Machine code looks at all of it at once."""


def hold(*, checked: bool | None = None, watched: int | None = None) -> None:
    """Let Python make all launches, or no longer."""
    for place, wanted in ((CHECKED, checked), (WATCHED, watched)):
        if wanted is not None:
            HELD[place] = wanted


def seen() -> bool:
    """Whether somebody looks at each launch, which then may not be part of something bigger."""
    return bool(HELD[CHECKED] or HELD[WATCHED])
