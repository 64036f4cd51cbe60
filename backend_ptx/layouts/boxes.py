"""The layout of a buffer from which TMA stores a tile: box after box, each copied by one thread.

A box is a part of the tile with a range of each axis. Inside it elements lie as `bulk.py` has them; boxes of one warp
follow each other, then come those of the next warp. So each warp can fill and store its own boxes without the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.tileir.layout import Basis, Layout
from tilewright.tileir.layouts import flat


@dataclass(frozen=True, slots=True)
class Boxes:
    """`shape`: elements of a box along each axis; `warps`: how many warps store boxes of their own, as many each (one:
    the CTA's first); `layout` of the buffer (dimension "offset")."""

    shape: tuple[int, ...]
    warps: int
    layout: Layout


@lru_cache(maxsize=256)
def block_boxes(shape: tuple[int, ...], inner: int, element_bytes: int) -> Boxes:
    """The whole tile as the box of one warp; `inner` is the axis that lies side by side in global memory."""
    return Boxes(shape, 1, bulk_layout(shape, inner, element_bytes))


@lru_cache(maxsize=256)
def warp_boxes(source: Layout, inner: int, element_bytes: int) -> Boxes | None:
    """The boxes that hold what each warp has of a tile in registers; None where two warps hold the same."""
    register, lane, warp = flat.parts(source)
    if not flat.is_plain(source) or 0 in warp:
        return None
    own = {bit for bit in (*register, *lane) if bit}
    shifts = flat.axis_shifts(source.shape)
    shape = tuple(_low_bits(own, shift, n) for shift, n in zip(shifts, source.shape, strict=True))
    inside = {1 << shift + k for shift, n in zip(shifts, shape, strict=True) for k in range(flat.log2(n))}
    bases: list[Basis] = list(bulk_layout(shape, inner, element_bytes).bases(flat.OFFSET))
    bases += [flat.unflatten(bit, source.shape) for bit in (*sorted(own - inside), *warp)]
    return Boxes(shape, 1 << len(warp), Layout([(flat.OFFSET, bases)], source.shape))


def _low_bits(own: set[int], shift: int, length: int) -> int:
    """The length of the range of an axis, from index 0, whose bits are all among `own`."""
    out = 1
    while out < length and out << shift in own:
        out *= 2
    return out


@lru_cache(maxsize=256)
def box_starts(layout: Layout, box: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The tile index of the first element of each box of a buffer, in the order in which they lie there."""
    return tuple(layout.apply(**{flat.OFFSET: number}) for number in range(0, layout.size(flat.OFFSET), prod(box)))


def boxes_of_warps(buffer: Layout, shape: tuple[int, ...], warps: int) -> Layout:
    """A layout of registers in which each warp has the elements of the boxes that its first lane stores."""
    bases = flat.flat_bases(buffer, flat.OFFSET)
    own = len(bases) - flat.log2(warps)
    return flat.distributed(shape, bases[:own][flat.LANE_BITS:], bases[:own][:flat.LANE_BITS], bases[own:])
