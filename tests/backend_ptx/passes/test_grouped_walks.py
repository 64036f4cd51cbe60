"""Which blocks that walk over tiles take them in groups, in which order, and that each tile is still computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.grouped_blocks import GROUP, Shapes, chosen, function, groups_of, total

import tilewright as ct
from tilewright.backend_ptx.simulator import simulate
from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Scatter, Store
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.types import ArrayType
from tilewright.tileir.verifier import verify


@ct.tile_kernel
def walked(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    rows, columns = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def walked_part(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], tiles):
    """The last row may lack tiles."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        i, j = tile // ct.num_tiles(b, 1, (tk, tn)), tile % ct.num_tiles(b, 1, (tk, tn))
        ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def walked_by_number(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    rows, columns = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        ct.store(c, (tile, 0), total(a, b, tile // columns, tile % columns, tm, tn, tk))


@ct.tile_kernel
def walked_in_order(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """The last tile of each row stays."""
    rows, columns = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        ct.store(c, (tile // columns, 0), total(a, b, tile // columns, tile % columns, tm, tn, tk))


@ct.tile_kernel
def walked_with_sums(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Adds to what is there."""
    rows, columns = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        ct.store(c, (i, j), ct.load(c, (i, j), (tm, tn)) + total(a, b, i, j, tm, tn, tk))


@ct.tile_kernel
def walked_carrying(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    rows, columns, largest = ct.num_tiles(a, 0, (tm, tk)), ct.num_tiles(b, 1, (tk, tn)), ct.float32(0)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        largest = max(largest, ct.max(total(a, b, i, j, tm, tn, tk)))
        ct.store(c, (i, j), ct.full((tm, tn), largest, ct.float32))


@ct.tile_kernel
def persistent(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    j = ct.bid(1)
    for i in range(ct.bid(0), ct.num_tiles(a, 0, (tm, tk)), ct.num_blocks(0)):
        ct.store(c, (i, j), total(a, b, i, j, tm, tn, tk))


KEPT = (persistent, walked_by_number, walked_in_order, walked_with_sums, walked_carrying)


@pytest.mark.parametrize("kernel", KEPT, ids=lambda kernel: str(kernel.__name__))
def test_other_walks_keep_their_order(kernel: Any) -> None:
    """Those over rows alone, that use a tile's number for more, or depend on each other."""
    assert chosen(function(kernel, 128, 128, 64)) is None


def walk(f: Function, blocks: int, shapes: Shapes, *scalars: int) -> list[list[tuple[int, ...]]]:
    """The indices of the tiles that each block stores, in its order."""
    [(loop, store)] = [(loop, op) for loop in f.body.ops if isinstance(loop, For)
                       for op in loop.loop.ops if isinstance(op, Store)]
    out = f.body.add_param(ArrayType(int32, (None,) * 2, (None,) * 2), "places")
    b = Builder(Block())
    for k, value in enumerate(store.index):
        b.emit(Scatter(array=out, indices=(loop.loop.params[0], b.number(k)), value=value, mask=None, shape=()))
    loop.loop.ops[:] = [*(op for op in loop.loop.ops[:-1] if op is not store), *b.block.ops, loop.loop.ops[-1]]
    verify(f)
    dce(Unit(f))
    places = np.full((4096, 2), -1, np.int32)
    arrays = [np.zeros(shape, dtype) for shape, dtype in zip(shapes, (np.float16, np.float16, np.float32), strict=True)]
    compile_function(f).run((blocks, 1, 1), [*arrays, *scalars, places])
    tiles = [tuple(map(int, place)) for place in places if place[0] >= 0]
    return [tiles[first::blocks] for first in range(blocks)]


@pytest.mark.parametrize("rows, columns, blocks", [(1, 40, 7), (5, 1, 2), (3, 16, 200), (7, 20, 1), (40, 33, 7)])
def test_blocks_that_walk_over_tiles_take_them_in_groups(rows: int, columns: int, blocks: int) -> None:
    f = function(walked, 128, 128, 64)
    found = chosen(f)
    assert found is not None and found[:3] == (0, GROUP, 1)
    want = [(i, j) for j, i in groups_of(columns, rows, GROUP)]
    got = walk(f, blocks, [(128 * rows, 512), (512, 128 * columns), (0, 0)])
    assert got == [want[first::blocks] for first in range(blocks)]


@pytest.mark.parametrize("tiles", [0, 59, 60])
def test_walks_over_a_part_of_a_row_keep_their_order(tiles: int) -> None:
    f = function(walked_part, 128, 128, 64, ct.spec("i32"))
    assert chosen(f) is not None
    got = walk(f, 3, [(128 * 3, 512), (512, 128 * 20), (0, 0)], tiles)
    if tiles % 20:
        assert got == [[divmod(n, 20) for n in range(first, tiles, 3)] for first in range(3)]
    assert sorted(place for places in got for place in places) == [divmod(n, 20) for n in range(tiles)]


def test_walks_over_nothing() -> None:
    """No tile has a row."""
    f = function(walked, 128, 128, 64)
    assert chosen(f) is not None
    assert walk(f, 2, [(128, 64), (64, 0), (0, 0)]) == [[], []]


def test_walked_products_on_the_simulated_gpu() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3 * 64, 32)).astype(np.float16), rng.standard_normal((32, 18 * 32)).astype(np.float16)
    c = np.zeros((3 * 64, 18 * 32), np.float32)
    simulate(walked, (5, 1), (a, b, c, 64, 32, 32), "sm_90a")
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)
