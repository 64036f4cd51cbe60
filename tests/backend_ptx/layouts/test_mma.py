"""Fragments of mma.sync: the PTX ISA's tables, whole tiles of every size, and what is handed on in registers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layouts import check_distributed

from tilewright.backend_ptx.layouts.mma import (
    Fragment,
    ProductLayouts,
    block_layouts,
    fragment_layouts,
    warp_grid,
)
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.layouts.flat import WARP, is_plain
from tilewright.tileir.layouts.queries import registers

F64, TF32, F16, INT8 = Fragment(8, 8, 4, 1), Fragment(16, 8, 8, 1), Fragment(16, 8, 16, 2), Fragment(16, 8, 32, 4)
TF32_HALF, F16_HALF, INT8_HALF = Fragment(16, 8, 4, 1), Fragment(16, 8, 8, 2), Fragment(16, 8, 16, 4)
ALL = (F64, TF32, F16, INT8, TF32_HALF, F16_HALF, INT8_HALF)

# (row, column) of element i of lane `lane`: the formulas of the PTX ISA, section "Matrix Fragments for mma.<shape>",
# with groupID = lane >> 2 and threadID_in_group = lane % 4.
Table = Callable[[int, int], tuple[int, int]]
TABLES: dict[Fragment, tuple[Table, Table, Table]] = {
    F64: (
        lambda lane, i: (lane >> 2, lane % 4),
        lambda lane, i: (lane % 4, lane >> 2),
        lambda lane, i: (lane >> 2, lane % 4 * 2 + (i & 1)),
    ),
    TF32: (
        lambda lane, i: (lane >> 2 if i in (0, 2) else (lane >> 2) + 8, lane % 4 if i in (0, 1) else lane % 4 + 4),
        lambda lane, i: (lane % 4 if i == 0 else lane % 4 + 4, lane >> 2),
        lambda lane, i: (lane >> 2 if i < 2 else (lane >> 2) + 8, lane % 4 * 2 + (i & 1)),
    ),
    F16: (
        lambda lane, i: (lane >> 2 if 0 <= i < 2 or 4 <= i < 6 else (lane >> 2) + 8,
                         lane % 4 * 2 + (i & 1) if i < 4 else lane % 4 * 2 + (i & 1) + 8),
        lambda lane, i: (lane % 4 * 2 + (i & 1) if i < 2 else lane % 4 * 2 + (i & 1) + 8, lane >> 2),
        lambda lane, i: (lane >> 2 if i < 2 else (lane >> 2) + 8, lane % 4 * 2 + (i & 1)),
    ),
    INT8: (
        lambda lane, i: (lane >> 2 if 0 <= i < 4 or 8 <= i < 12 else (lane >> 2) + 8,
                         lane % 4 * 4 + (i & 3) if i < 8 else lane % 4 * 4 + (i & 3) + 16),
        lambda lane, i: (lane % 4 * 4 + (i & 3) if i < 4 else lane % 4 * 4 + (i & 3) + 16, lane >> 2),
        lambda lane, i: (lane >> 2 if i < 2 else (lane >> 2) + 8, lane % 4 * 2 + (i & 1)),
    ),
}
# Half the depth: the first half of the elements of A and B.
TABLES |= {half: (TABLES[whole][0], TABLES[whole][1], TABLES[whole][2])
           for half, whole in ((TF32_HALF, TF32), (F16_HALF, F16), (INT8_HALF, INT8))}


@pytest.mark.parametrize("fragment", ALL, ids=lambda f: f"m{f.m}n{f.n}k{f.k}")
def test_one_instruction_is_the_table(fragment: Fragment) -> None:
    layouts = fragment_layouts((fragment.m, fragment.n), fragment.k, fragment, 1)
    for layout, table in zip((layouts.a, layouts.b, layouts.acc), TABLES[fragment], strict=True):
        for lane, i in itertools.product(range(32), range(registers(layout))):
            assert layout.apply(register=i, lane=lane) == table(lane, i), f"element {i} of lane {lane} in {layout}"


def powers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low.bit_length() - 1, high.bit_length() - 1).map(lambda bits: 1 << bits)


@st.composite
def products(draw: st.DrawFn) -> tuple[ProductLayouts, int]:
    """Layouts of a product of any size, for any number of warps."""
    warps = draw(powers(1, 16))
    batch = tuple(draw(st.lists(powers(1, 4), max_size=2)))
    if draw(st.booleans()):
        m, n, k = draw(powers(1, 128)), draw(powers(1, 128)), draw(powers(1, 32))
        return block_layouts((*batch, m, n), k, warps), k
    fragment = draw(st.sampled_from(ALL))
    m, n, k = draw(powers(1, 256)), draw(powers(1, 256)), draw(powers(1, 128))
    if draw(st.booleans()):
        return fragment_layouts((*batch, n, m), k, fragment, warps).turned(), k
    return fragment_layouts((*batch, m, n), k, fragment, warps, draw(st.booleans())), k


def elements(layout: Layout, warp: int, lane: int) -> set[tuple[int, ...]]:
    return {layout.apply(register=r, lane=lane, warp=warp) for r in range(registers(layout))}


@settings(max_examples=60, deadline=None)
@given(products())
def test_every_element_is_held(drawn: tuple[ProductLayouts, int]) -> None:
    for layout in drawn[0]:
        check_distributed(layout)
        assert is_plain(layout)


@settings(max_examples=40, deadline=None)
@given(products(), st.data())
def test_warps_hold_what_their_sums_need(drawn: tuple[ProductLayouts, int], data: st.DataObject) -> None:
    """The rows and columns of a warp's accumulator are those of its operands, along all of k."""
    (acc, a, b), k = drawn
    warp = data.draw(st.integers(0, acc.size(WARP) - 1))

    def held(layout: Layout) -> set[tuple[int, ...]]:
        if registers(layout) > 256:
            return set()
        return set().union(*(elements(layout, warp, lane) for lane in range(32)))

    sums, left, right = held(acc), held(a), held(b)
    if not (sums and left and right):
        return
    assert left == {(*i[:-2], i[-2], x) for i in sums for x in range(k)}
    assert right == {(*i[:-2], x, i[-1]) for i in sums for x in range(k)}


@settings(max_examples=60, deadline=None)
@given(powers(16, 256), powers(16, 256), powers(8, 128), powers(1, 8), st.sampled_from((TF32, F16)))
def test_a_sum_is_the_next_operand(m: int, k: int, n: int, warps: int, fragment: Fragment) -> None:
    """acc [m, k] of one product as A of the next: 16-bit elements move within each thread where warps own whole rows;
    tf32 words lie in other lanes."""
    first = fragment_layouts((m, k), 64, fragment, warps, rows_only=True)
    second = fragment_layouts((m, n), k, fragment, warps, rows_only=True)
    whole_rows = m >= 16 * warps
    kind = plan_conversion(first.acc, second.a).kind
    if fragment is F16 and whole_rows:
        assert kind in ("none", "registers")
    else:
        assert kind in (("warp",) if whole_rows else ("none", "registers", "warp", "block"))


@pytest.mark.parametrize(("m", "n", "warps", "grid"), [
    (128, 128, 4, (2, 2)), (128, 256, 8, (2, 4)), (256, 128, 8, (4, 2)), (16, 128, 4, (1, 4)), (64, 8, 4, (4, 1)),
    (16, 8, 4, (1, 1)),
])
def test_warps_tile_what_reads_least(m: int, n: int, warps: int, grid: tuple[int, int]) -> None:
    wm, wn = warp_grid(m, n, F16, warps)
    assert (1 << wm, 1 << wn) == grid


@pytest.mark.parametrize("m", [8, 16, 64])
def test_warps_divide_the_batch_first(m: int) -> None:
    """They share no operands there, and a product that another one reads stays in its warp."""
    first, second = fragment_layouts((4, m, 32), 64, F16, 4), fragment_layouts((4, m, 64), 32, F16, 4)
    assert all(any(basis[0] for basis in layout.bases(WARP)) and not any(any(basis[1:]) for basis in layout.bases(WARP))
               for layout in (*first, *second))
    assert plan_conversion(first.acc, second.a).kind in ("none", "registers")
