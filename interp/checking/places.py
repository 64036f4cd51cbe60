"""Which element of which array in which block: the words of a report for a lane of a region."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.elements import ElementRegion
from tilewright.interp.memory import Region

Coordinates = tuple[int, ...]


def called(op: Any) -> str:
    """The user's word for an op."""
    return f"atomic_{op.kind}" if op.opcode == "atomic_rmw" else str(op.opcode).removeprefix("reduce_")


def block_of(region: Region, lane: Any) -> Coordinates:
    """The coordinates in the grid of the block of a lane (an index in `region.shape`)."""
    return block_coordinates(region.chunk, _number(region, lane))


def block_coordinates(chunk: Any, number: int) -> Coordinates:
    """The place in the grid of a block of a chunk."""
    return tuple(int(i[number]) if np.ndim(i) else int(i) for i in chunk.ids)


def _number(region: Region, lane: Any) -> int:
    """The number in its chunk of the block of a lane."""
    first = int(lane[0]) if region.varies and len(lane) else 0
    return first if region.blocks is None else int(region.blocks[first])


def element_of(region: Any, lane: Any) -> Coordinates:
    """The position along each axis of the array of a lane."""
    block, inner = (lane[0], tuple(lane[1:])) if region.varies else (0, tuple(lane))
    if isinstance(region, ElementRegion):
        return tuple(int(np.broadcast_to(i, region.shape)[tuple(lane)]) for i in region.index)
    out = [0] * len(inner)
    for axis, start, offset in zip(region.grid.order, region.index, inner, strict=True):
        out[axis] = int(start[block] if np.ndim(start) else start) + int(offset)
    return tuple(out)


def extents_of(region: Any, lane: Any) -> Coordinates:
    """The shape of the array that a lane's block accesses."""
    block = int(lane[0]) if region.varies and len(lane) else 0
    return tuple(int(n[block]) if np.ndim(n) else int(n) for n in region.array.extents)


def first_lane(found: Any) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(found)), found.shape))
