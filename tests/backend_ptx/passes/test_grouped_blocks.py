"""Which grids run in groups of blocks, in which order, and that each block still runs once."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.grouped_blocks import GROUP, chosen, function, groups_of, started, total
from support.interp_cases import full_grid

import tilewright as ct
from tilewright.backend_ptx.simulator import simulate
from tilewright.tileir.core import Function
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.rewrite import Rewriter, rewrite


@ct.tile_kernel
def plain(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def columns_first(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    j, i = ct.bid(0), ct.bid(1)
    ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def grouped_by_hand(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    number, rows = ct.bid(0) + ct.bid(1) * ct.num_blocks(0), ct.num_blocks(0)
    i, j = number % rows, number // rows
    ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def flat(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], columns):
    i, j = ct.bid(0) // columns, ct.bid(0) % columns
    ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def numbered(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Each tile of the product at the place of its block's number."""
    columns = ct.num_tiles(b, 1, (tk, tn))
    i, j = ct.bid(0) // columns, ct.bid(0) % columns
    ct.store(c, (ct.bid(0), 0), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def flat_in_groups(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    rows, columns = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn))
    first, inside = ct.bid(0) // (4 * columns) * 4, ct.bid(0) % (4 * columns)
    height = min(rows - first, 4)
    i, j = first + inside % height, inside // height
    ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def until_large(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """What is read decides how often more is read."""
    i, j, k, acc = ct.bid(0), ct.bid(1), 0, ct.zeros((tm, tn), ct.float32)
    while k < ct.num_tiles(a, 1, (tm, tk)) and ct.max(acc) < 5.0:
        acc = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), acc)
        k += 1
    ct.store(c, (i, j), acc)


@ct.tile_kernel
def added(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    rows, columns = i * tm + ct.arange(tm, dtype=ct.int32), j * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(c, (rows[:, None], columns[None, :]), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def sums(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Each block reads few elements beside those that it writes."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(c, (i, j), ct.load(a, (i, 0), (tm, 1)) + ct.load(b, (0, j), (1, tn)))


@ct.tile_kernel
def biased(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Only what is read along one axis is shared."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(c, (i, j), ct.load(a, (i, j), (tm, tn)) + ct.load(b, (0, j), (1, tn)))


@ct.tile_kernel
def batched(a, b, c, axes: ct.Constant[tuple[int, ...]]):
    n, i, j = ct.bid(axes[0]), ct.bid(axes[1]), ct.bid(axes[2])
    acc = ct.zeros((16, 16), ct.float32)
    for k in range(ct.num_tiles(a, 2, (1, 16, 16))):
        x, y = (ct.load(a, (n, i, k), (1, 16, 16)), ct.load(b, (n, k, j), (1, 16, 16)))
        acc = ct.mma(x.reshape((16, 16)), y.reshape((16, 16)), acc)
    ct.store(c, (n, i, j), acc.reshape((1, 16, 16)))


@ct.tile_kernel
def listed(a, b, c, experts, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Which columns a block reads is listed in memory."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(c, (i, j), total(a, b, i, ct.gather(experts, j), tm, tn, tk))


SIZES = {(128, 128, 64): 8, (128, 256, 64): 16, (256, 128, 64): 8, (32, 256, 64): 32, (16, 16, 16): 8}


@pytest.mark.parametrize("tile", SIZES, ids=str)
def test_a_wave_reads_as_many_bytes_of_one_operand_as_of_the_other(tile: tuple[int, int, int]) -> None:
    found = chosen(function(plain, *tile))
    assert found is not None and found[:3] == (0, SIZES[tile], 1)


def test_the_order_in_which_a_kernel_names_its_axes_does_not_matter() -> None:
    found = chosen(function(columns_first, 128, 256, 64))
    assert found is not None and found[:3] == (0, 8, 1)


KEPT = (grouped_by_hand, numbered, flat_in_groups, until_large, added, sums, biased)


@pytest.mark.parametrize("kernel", KEPT, ids=lambda kernel: str(kernel.__name__))
def test_other_grids_keep_their_order(kernel: Any) -> None:
    """Those that choose an order, use a block's number for more, may wait for each other, or share little."""
    assert chosen(function(kernel, 128, 128, 64)) is None


def test_blocks_whose_tiles_are_listed_in_memory_keep_their_order() -> None:
    assert chosen(function(listed, ct.spec("i32[?]"), 128, 128, 64)) is None


GRIDS = [(1, 1), (4, 3), (8, 2), (17, 3), (31, 1), (32, 2), (33, 2), (40, 5), (1, 40), (3, 2, 2), (20, 3, 2)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_groups_of_rows_one_column_after_another(grid: tuple[int, ...]) -> None:
    f = function(plain, 128, 128, 64)
    assert chosen(f) is not None
    rows, columns, repeated = full_grid(grid)
    assert started(f, full_grid(grid)) == repeated * groups_of(rows, columns)


WIDE, DEEP, LARGE = (128, 256, 64), (128, 128, 128), (256, 256, 64)


@pytest.mark.parametrize("tile, k, size", [
    (WIDE, 512, 64), (WIDE, 1024, 32), (WIDE, 4096, 8), (WIDE, 8192, 8), (DEEP, 512, 64), (LARGE, 512, 32)])
def test_groups_are_as_large_as_their_lines_stay_in_l2(tile: tuple[int, int, int], k: int, size: int) -> None:
    """Of as many rows of a as a tile has, while all of b is larger (70 tiles of columns)."""
    f, grid = function(plain, *tile), (70, 70, 1)
    assert chosen(f) is not None
    want = [(i, j) for first in range(0, 70, size) for j in range(70) for i in range(first, min(first + size, 70))]
    assert started(f, grid, shapes=[(0, k), (k, 0), (0, 0)]) == want


def test_groups_are_small_where_all_of_the_other_operand_stays_in_l2() -> None:
    f, grid = function(plain, 128, 256, 64), (70, 20, 1)
    assert chosen(f) is not None
    want = [(i, j) for first in range(0, 70, 16) for j in range(20) for i in range(first, min(first + 16, 70))]
    assert started(f, grid, shapes=[(0, 512), (512, 0), (0, 0)]) == want


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("grid", [(2, 3, 20), (20, 2, 3), (5, 4, 3), (1, 4, 3), (4, 1, 3), (4, 3, 1)], ids=str)
def test_a_third_axis_is_the_slowest(axes: tuple[int, int, int], grid: tuple[int, int, int]) -> None:
    """One matrix after another, whichever axis of the grid counts them."""
    f = function(batched, axes, rank=3)
    found = chosen(f)
    assert found is not None and {found.first, found.second} == set(axes[1:]) and found.size == GROUP
    got = started(f, grid)
    counts = [grid[axis] for axis in axes]
    assert sorted(got) == list(product(*map(range, counts)))
    assert [n for n, _, _ in got] == sorted(n for n, _, _ in got)
    first_is_rows = found.first == axes[1]
    rows, columns = counts[1:] if first_is_rows else counts[:0:-1]
    assert [(i, j) if first_is_rows else (j, i) for n, i, j in got if n == 0] == groups_of(rows, columns)


@pytest.mark.parametrize("columns", [1, 3, 8, 20, 33])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_rows_that_a_kernel_makes_of_one_axis(rows: int, columns: int) -> None:
    f = function(flat, 128, 128, 64, ct.spec("i32"))
    found = chosen(f)
    assert found is not None and found[:3] == (0, GROUP, 1)
    want = [(i, j) for j, i in groups_of(columns, rows, GROUP)]
    assert started(f, (rows * columns, 1, 1), columns) == want


def test_rows_that_are_not_complete_keep_their_order() -> None:
    f = function(flat, 128, 128, 64, ct.spec("i32"))
    assert chosen(f) is not None
    assert started(f, (59, 1, 1), 20) == [divmod(n, 20) for n in range(59)]


def place_of(f: Function, block: tuple[int, int], counts: tuple[int, int]) -> tuple[int, ...]:
    """The index of the tile that one block of a large grid stores."""
    numbers = {BlockId: (*block, 0), NumBlocks: (*counts, 1)}

    def rule(b: Rewriter, op: Any) -> None:
        b.replace(op.result, b.number(numbers[type(op)][op.axis]))

    rewrite(f, dict.fromkeys(numbers, rule))
    [place] = started(f, (1, 1, 1))
    return place


@pytest.mark.parametrize("block", [(0, 0), (65534, 16383), (65519, 16383), (40000, 7), (17, 16000)], ids=str)
def test_numbers_of_blocks_fit_32_bits(block: tuple[int, int]) -> None:
    f, counts = function(plain, 128, 128, 64), (65535, 16384)
    assert chosen(f) is not None
    number = block[0] + block[1] * counts[0]
    size = GROUP // 2
    first, inside = number // (size * counts[1]) * size, number % (size * counts[1])
    rows = min(size, counts[0] - first)
    assert place_of(f, block, counts) == (first + inside % rows, inside // rows)


@pytest.mark.parametrize("counts", [(65535, 16385), (65535, 65535), ((1 << 24) - 1, 65535)], ids=str)
def test_larger_grids_keep_their_order(counts: tuple[int, int]) -> None:
    f, block = function(plain, 128, 128, 64), (counts[0] - 1, counts[1] - 2)
    assert chosen(f) is not None and place_of(f, block, counts) == block


@pytest.mark.parametrize("hints", [{}, {"num_ctas": 2}], ids=str)
def test_products_in_groups_on_the_simulated_gpu(hints: dict[str, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((18 * 64, 32)).astype(np.float16), rng.standard_normal((32, 100)).astype(np.float16)
    c = np.zeros((18 * 64, 100), np.float32)
    simulate(plain.replace_hints(**hints), (18, 2), (a, b, c, 64, 64, 32), "sm_90a")
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


def test_divisions_stay_before_the_loop() -> None:
    """LLVM would sink those of the consumers to the store, which would wait for them."""
    half, full = ct.spec("f16[512,512]"), ct.spec("f32[512,512]")
    ptx = plain.lower(half, half, full, 128, 256, 64, target="sm_90a").compiled.ptx
    assert ptx.index("div.u32") < ptx.index("wgmma.mma")
