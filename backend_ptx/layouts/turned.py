"""Layouts in which threads turn a tile on its way from one buffer to another that is dense along another axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from tilewright.backend_ptx.layouts.matrices import movement
from tilewright.backend_ptx.layouts.shared import WORD_BYTES, bank_conflicts
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import VECTOR_BYTES, access_vector
from tilewright.tileir.layouts.flat import LANE_BITS, OFFSET, distributed, flat_bases, index_bits, log2
from tilewright.tileir.layouts.queries import registers


@lru_cache(maxsize=256)
def turning_layout(source: Layout, target: Layout, axes: tuple[int, int], element_bytes: int, warps: int) -> Layout:
    """The layout of a tile that is read from `source`, a buffer dense along the first of the `axes`, and written to
    `target`, dense along the other: with the fewest wavefronts, of such layouts that with the fewest accesses.

    A thread holds a block of vectors along both axes. Its lane's bits count along the first axis, and those of the
    second one are added to them: where lanes of one row would meet in the target's banks, they are in different rows.
    Bytes go by matrices where neither side has conflicts and lanes need not load these in different orders: ldmatrix
    transposes pairs of bytes, and a thread exchanges those of two pairs, half as many instructions.
    """
    columns, rows = (index_bits(source.shape, [axis]) for axis in axes)
    rows = [bit for bit in flat_bases(target, OFFSET) if bit in rows]  # as they count there
    if element_bytes == 1 and min(len(columns), len(rows)) >= 4:
        rest = [*rows[:2], columns[0], *columns[4:], *rows[4:]]
        found = distributed(source.shape, rest[:-log2(warps)], [*rows[2:4], *columns[1:4]], rest[-log2(warps):])
        load, store = (movement(shared, found, 1) for shared in (source, target))
        if load.plan and not load.turn and store.plan and not any(
                bank_conflicts(shared, how.rows, 1) for shared, how in ((source, load), (target, store))):
            return found
    every = _layouts(source.shape, columns, rows, max(0, log2(VECTOR_BYTES // element_bytes)), warps)
    return min(every, key=lambda layout: tuple(map(sum, zip(*(
        _cost(shared, layout, element_bytes) for shared in (source, target)), strict=True))))


def _layouts(shape: tuple[int, ...], columns: list[int], rows: list[int], widest: int, warps: int) -> Iterator[Layout]:
    for across, along, shift in product(range(widest + 1), range(widest + 1), range(LANE_BITS)):
        held, left, others = [*rows[:across], *columns[:along]], columns[along:], rows[across:]
        rest = [*left[LANE_BITS:], *others]
        added = [0] * shift + others
        lanes = [bit ^ row for bit, row in zip(left[:LANE_BITS], [*added, *[0] * LANE_BITS], strict=False)]
        lanes, rest = [*lanes, *rest[:LANE_BITS - len(lanes)]], rest[LANE_BITS - len(lanes):]
        warp, rest = rest[:log2(warps)], rest[log2(warps):]
        yield distributed(shape, [*held, *rest], lanes, warp + [0] * (log2(warps) - len(warp)))


def _cost(shared: Layout, layout: Layout, element_bytes: int) -> tuple[int, int]:
    """Wavefronts of a warp's accesses, and how many accesses these are."""
    vector, _ = access_vector(shared, layout, element_bytes)
    count, words = registers(layout) // vector, max(1, vector * element_bytes // WORD_BYTES)
    return count * words * (1 + bank_conflicts(shared, layout, element_bytes)), count
