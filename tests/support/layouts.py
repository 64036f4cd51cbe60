"""What every layout of a tile in registers must be."""

from __future__ import annotations

from tilewright.tileir.f2 import echelon
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE_BITS, log2, parts


def check_distributed(layout: Layout) -> None:
    """Raise ValueError unless registers, lanes and warps together hold every element of the tile.

    Register bases are never zero: a thread does not hold an element twice.
    """
    register, lane, warp = parts(layout)
    if len(lane) != LANE_BITS:
        raise ValueError(f"{layout} has {len(lane)} lane bits, a warp has {LANE_BITS}")
    if echelon(register).rank != len(register):
        raise ValueError(f"{layout} holds an element twice in one thread")
    bits = sum(log2(n) for n in layout.shape)
    if echelon(register + lane + warp).rank != bits:
        raise ValueError(f"{layout} does not hold every element of the tile")
