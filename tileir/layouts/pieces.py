"""Layout conversions of tiles that are too large for shared memory: sub-tile by sub-tile, in one hop or two.

A sub-tile here holds the elements with given values of some bits of the index. If each thread holds those bits in
registers, before and after, a sub-tile is a subset of the registers of every thread: it can be converted alone. Where
the threads of the two layouts take up too many bits together (a transposed tile, say), there is a layout between them
whose threads are half those of the one and half those of the other, and each of the two hops has bits to spare.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE_BITS, distributed, is_plain, log2, parts


@dataclass(frozen=True, slots=True)
class Hop:
    """A conversion to `layout` in sub-tiles: `cut` are the bits of the flat index (as numbers) that choose the
    sub-tile."""

    layout: Layout
    cut: tuple[int, ...]

    def _axes(self, size: int) -> list[tuple[int, bool]]:
        """(length, whether it chooses the sub-tile): an axis of 2 for each cut bit, one axis for each run of others."""
        axes: list[tuple[int, bool]] = []
        for bit in reversed(range(log2(size))):
            if 1 << bit in self.cut:
                axes.append((2, True))
            elif axes and not axes[-1][1]:
                axes[-1] = 2 * axes[-1][0], False
            else:
                axes.append((2, False))
        return axes

    def shape(self, size: int) -> tuple[int, ...]:
        """The tile of `size` elements with these axes."""
        return tuple(length for length, _ in self._axes(size))

    def cut_axes(self, size: int) -> tuple[int, ...]:
        """The axes of that shape that choose the sub-tile."""
        return tuple(axis for axis, (_, cut) in enumerate(self._axes(size)) if cut)


def hops(source: Layout, target: Layout, bits: int) -> tuple[Hop, ...]:
    """The way from `source` to `target` in sub-tiles of 1 / 2**bits of the tile, or as small as possible; one hop with
    nothing cut for layouts that are not plain."""
    if not (is_plain(source) and is_plain(target)):
        return (Hop(target, ()),)
    free = _spare(source, target)
    if len(free) >= bits:
        return (Hop(target, free[:bits]),)
    middle = _between(source, target)
    first, second = _spare(source, middle), _spare(middle, target)
    if min(len(first), len(second)) <= len(free):
        return (Hop(target, free),)
    return Hop(middle, first[:bits]), Hop(target, second[:bits])


def _spare(source: Layout, target: Layout) -> tuple[int, ...]:
    """The bits that are registers of both, the highest first."""
    kept = set(parts(target)[0])
    return tuple(sorted((b for b in parts(source)[0] if b in kept), reverse=True))


def _between(source: Layout, target: Layout) -> Layout:
    """A layout whose threads are those that both have, and of the others half of the one's and half of the other's."""
    (_, lane, warp), (_, *of_target) = parts(source), parts(target)
    mine = [b for b in (*lane, *warp) if b]
    theirs = [b for part in of_target for b in part if b]
    both = [b for b in mine if b in theirs]
    only, other = ([b for b in these if b not in both] for these in (mine, theirs))
    threads = [*both, *only[: (len(only) + 1) // 2]]
    threads += other[: len(lane) + len(warp) - len(threads)]
    threads += [0] * (len(lane) + len(warp) - len(threads))
    everything = (1 << bit for bit in range(sum(log2(n) for n in source.shape)))
    return distributed(source.shape, [b for b in everything if b not in threads], threads[:LANE_BITS],
                       threads[LANE_BITS:])
