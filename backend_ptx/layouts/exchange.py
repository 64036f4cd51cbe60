"""Layout conversions through shared memory: the buffer's layout for both sides, and layouts of stores within a warp."""

from __future__ import annotations

from functools import lru_cache

from tilewright.backend_ptx.layouts.matrices import matrix_plan, matrix_rows
from tilewright.backend_ptx.layouts.shared import ROW_BYTES, bank_conflicts, swizzled_shared
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import access_vector
from tilewright.tileir.layouts.flat import LANE_BITS, distributed, index_bits, is_plain, log2, parts
from tilewright.tileir.layouts.queries import registers


@lru_cache(maxsize=512)
def exchange_layout(source: Layout, target: Layout, element_bytes: int, stmatrix: bool) -> Layout:
    """The layout of a buffer for a conversion from `source` to `target` with the fewest instructions and wavefronts of
    shared memory. `stmatrix`: whether the target stores matrices."""
    candidates = [swizzled_shared(source, target, element_bytes)]
    # One side moves rows of 16 bytes; the other counts as one whose lanes hold such rows, which is what an instruction
    # for matrices asks of it. Where it has none, its single words find no bank conflicts either.
    if is_plain(source) and is_plain(target):
        if (rows := matrix_rows(target, source, element_bytes)) is not None:
            candidates.append(swizzled_shared(rows, target, element_bytes))
        if (rows := matrix_rows(source, target, element_bytes)) is not None:
            candidates.append(swizzled_shared(source, rows, element_bytes))

    def cost(shared: Layout) -> int:
        return side_cost(shared, source, element_bytes, stmatrix) + side_cost(shared, target, element_bytes, True)

    return min(candidates, key=cost)


def side_cost(shared: Layout, layout: Layout, element_bytes: int, matrices: bool) -> int:
    """Instructions of a warp that moves its part of a tile from or to a buffer, and wavefronts of the banks."""
    plan = matrix_plan(shared, layout, element_bytes) if matrices else None
    if plan is not None:
        count = registers(layout) // (plan.per_word * plan.per_instruction)
        rounds = plan.per_instruction * (1 + bank_conflicts(shared, plan.rows, element_bytes))
        return count * (1 + rounds)
    vector, _ = access_vector(shared, layout, element_bytes)
    rounds = max(1, 32 * vector * element_bytes // ROW_BYTES) * (1 + bank_conflicts(shared, layout, element_bytes))
    return registers(layout) // vector * (1 + rounds)


@lru_cache(maxsize=512)
def within_warp(source: Layout, order: tuple[int, ...], vector: int) -> Layout | None:
    """The layout with the widest accesses of memory for which no element of `source` leaves its warp: up to `vector`
    neighbours along axis order[0] a thread, then lanes and registers along the axes from the fastest. None for layouts
    that are not plain."""
    if not is_plain(source):
        return None
    register, lane, warp = parts(source)
    own = {b for b in (*register, *lane) if b}
    bits, along = [b for b in index_bits(source.shape, order) if b in own], index_bits(source.shape, order[:1])
    inner = 0
    while inner < min(log2(vector), len(bits), len(along)) and bits[inner] == along[inner]:
        inner += 1
    lanes = bits[inner : inner + LANE_BITS]
    return distributed(source.shape, [*bits[:inner], *bits[inner + LANE_BITS :]], lanes, warp)
