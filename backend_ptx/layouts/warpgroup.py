"""The layouts of a wgmma's tiles in warpgroups: its fragments (PTX ISA 9.7.15.5, "Register Fragments").

A warpgroup is warps 4 g to 4 g + 3; warp w of it owns rows 16 w to 16 w + 15 of a 64-row instruction, and inside a warp
accumulators and A look as those of mma.sync m16n8 do, repeated along the columns. Warpgroups divide the rows first (64
each, then the next 64 each), then the columns.
"""

from __future__ import annotations

from functools import lru_cache

from tilewright.backend_ptx.layouts.mma import Fragment, ProductLayouts
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.bits import Bit, axis_bits, layout_of_bits, renumbered
from tilewright.tileir.layouts.flat import log2

ROWS, LEAST_COLUMNS, MOST_COLUMNS = 64, 8, 256
WARPS = 4
_OF_SUMS = {2: 8, 4: 2, 8: 4}  # the bits of k in the order in which accumulators take those of their column
_IN_PAIRS = {1: 2, 2: 4, 4: 8, 8: 1}  # the bits of m where a thread's two rows of 64 are neighbours


@lru_cache(maxsize=256)
def warpgroup_layouts(acc_shape: tuple[int, ...], k: int, fragment: Fragment, warps: int, k_of_sums: bool = False,
                      rows_in_pairs: bool = False) -> ProductLayouts:
    """Layouts for acc [M, N] and a [M, K] in registers; that of b is what a would be and is not used: b is always in
    shared memory. `fragment` is that of mma.sync with the same operands, `warps` a multiple of 4. `rows_in_pairs`: the
    two rows that a thread holds of 16 are neighbours, and registers count as without it."""
    m, n = acc_shape
    wm, wn, spare = warpgroup_grid(m, n, warps)
    m_own = axis_bits("m", 6 + wm, log2(m))
    n_own = axis_bits("n", 3, log2(n) - wn)
    warp: list[Bit] = [*axis_bits("m", 4, 6 + wm), *axis_bits("n", log2(n) - wn, log2(n)), *[None] * spare]
    of_acc, of_a = fragment.accumulator, fragment.operand("m")
    acc = layout_of_bits(acc_shape, [*of_acc.registers, *n_own, *m_own], of_acc.lanes, warp, "mn")
    k_own = axis_bits("k", log2(fragment.k), log2(k))
    a = layout_of_bits((m, k), [*of_a.registers, *k_own, *m_own], of_a.lanes, warp, "mk")
    a = in_order_of_sums(a, 1) if k_of_sums else a
    if rows_in_pairs:
        acc, a = (renumbered(layout, 0, _IN_PAIRS) for layout in (acc, a))
    return ProductLayouts(acc, a, a)


def in_order_of_sums(layout: Layout, k_axis: int) -> Layout:
    """The layout of an operand of 8 bits whose k counts as a thread's accumulators of another MMA lie, two neighbours
    and two 8 columns on, so that no other thread has what it takes: k = 0, 1, 8, 9, 2, 3, 10, ..."""
    return renumbered(layout, k_axis, _OF_SUMS)


def warpgroup_grid(m: int, n: int, warps: int) -> tuple[int, int, int]:
    """log2 of the warpgroups along M, along N, and of those that repeat the work of others."""
    groups = log2(warps // WARPS)
    wm = min(groups, log2(m // ROWS))
    wn = min(groups - wm, log2(n // LEAST_COLUMNS))
    return wm, wn, groups - wm - wn
