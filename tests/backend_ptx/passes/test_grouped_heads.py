"""In which order blocks run that read the keys of their head."""

from __future__ import annotations

from itertools import product

import pytest
from support.grouped_blocks import chosen, function, started
from support.interp_cases import full_grid

import tilewright as ct


@ct.tile_kernel
def keys_of_heads(a, b, c, axes: ct.Constant[tuple[int, ...]]):
    """All blocks of a head read its keys b; c = the sums of a @ b.T."""
    head, i = ct.bid(axes[0]), ct.bid(axes[1])
    queries, acc = ct.load(a, (head, i, 0), (1, 16, 16)).reshape((16, 16)), ct.zeros((16, 16), ct.float32)
    for j in range(ct.num_tiles(b, 1, (1, 16, 16))):
        acc = ct.mma(queries, ct.load(b, (head, j, 0), (1, 16, 16)).reshape((16, 16)).transpose(), acc)
    ct.store(c, (head, i, 0), acc.reshape((1, 16, 16)))


@ct.tile_kernel
def later_keys(a, b, c, axes: ct.Constant[tuple[int, ...]]):
    """A block reads the keys b of its head from its own place on."""
    head, i = ct.bid(axes[0]), ct.bid(axes[1])
    queries, acc = ct.load(a, (head, i, 0), (1, 16, 16)).reshape((16, 16)), ct.zeros((16, 16), ct.float32)
    for j in range(i, ct.num_tiles(b, 1, (1, 16, 16))):
        acc = ct.mma(queries, ct.load(b, (head, j, 0), (1, 16, 16)).reshape((16, 16)).transpose(), acc)
    ct.store(c, (head, i, 0), acc.reshape((1, 16, 16)))


@ct.tile_kernel
def later_keys_of_batches(a, b, c):
    """The same where heads lie along two axes."""
    head, i = ct.bid(2) * ct.num_blocks(1) + ct.bid(1), ct.bid(0)
    queries, acc = ct.load(a, (head, i, 0), (1, 16, 16)).reshape((16, 16)), ct.zeros((16, 16), ct.float32)
    for j in range(i, ct.num_tiles(b, 1, (1, 16, 16))):
        acc = ct.mma(queries, ct.load(b, (head, j, 0), (1, 16, 16)).reshape((16, 16)).transpose(), acc)
    ct.store(c, (head, i, 0), acc.reshape((1, 16, 16)))


@ct.tile_kernel
def keys_around(a, b, c):
    """As many for each block, but at the ends."""
    head, i = ct.bid(1), ct.bid(0)
    queries, acc = ct.load(a, (head, i, 0), (1, 16, 16)).reshape((16, 16)), ct.zeros((16, 16), ct.float32)
    for j in range(max(i - 1, 0), min(i + 2, ct.num_tiles(b, 1, (1, 16, 16)))):
        acc = ct.mma(queries, ct.load(b, (head, j, 0), (1, 16, 16)).reshape((16, 16)).transpose(), acc)
    ct.store(c, (head, i, 0), acc.reshape((1, 16, 16)))


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)], ids=str)
@pytest.mark.parametrize("grid", [(2, 3, 20), (20, 2, 3), (5, 4, 1), (1, 4, 3), (4, 1, 3)], ids=str)
def test_blocks_that_read_the_same_keys_run_together(axes: tuple[int, int], grid: tuple[int, int, int]) -> None:
    f = function(keys_of_heads, axes, rank=3)
    found = chosen(f)
    assert found is not None and found[:3] == (axes[1], None, None)
    slower = [axis for axis in range(axes[1] + 1) if axis != axes[1]]
    order = [*range(axes[1] + 1, 3), *reversed(slower), axes[1]]
    places = [dict(zip(order, place, strict=True)) for place in product(*(range(grid[axis]) for axis in order))]
    assert started(f, grid) == [(place[axes[0]], place[axes[1]], 0) for place in places]


@pytest.mark.parametrize("axes", [(1, 0), (2, 0), (2, 1)], ids=str)
def test_blocks_that_already_read_the_same_keys_together_keep_their_order(axes: tuple[int, int]) -> None:
    assert chosen(function(keys_of_heads, axes, rank=3)) is None


@pytest.mark.parametrize("axes", [(1, 0), (2, 0), (2, 1)], ids=str)
@pytest.mark.parametrize(("heads", "tiles", "size"), [(3, 5, 16), (20, 9, 8), (5, 64, 2), (6, 65, 1), (2, 200, 1)])
def test_the_longest_blocks_of_the_heads_that_fit_a_wave_come_first(
    axes: tuple[int, int], heads: int, tiles: int, size: int) -> None:
    f, grid = function(later_keys, axes, rank=3), [1, 1, 1]
    found = chosen(f)
    assert found is not None and (found.first, found.second, found.share) == (*axes, None)
    grid[axes[0]], grid[axes[1]] = heads, tiles
    want = [(head, i, 0) for first in range(0, heads, size) for i in range(tiles)
            for head in range(first, min(first + size, heads))]
    assert started(f, full_grid(tuple(grid))) == want


@pytest.mark.parametrize(("grid", "size"), [((16, 4, 4), 8), ((5, 3, 2), 16), ((9, 2, 7), 8), ((65, 2, 2), 1)], ids=str)
def test_heads_of_several_batches_fill_a_wave(grid: tuple[int, int, int], size: int) -> None:
    """A batch whose last blocks are short is not ended before the next one begins."""
    f = function(later_keys_of_batches, rank=3)
    found = chosen(f)
    assert found is not None and (found.first, found.second, found.share) == (1, 0, None)
    heads = grid[1] * grid[2]
    want = [(head, i, 0) for first in range(0, heads, size) for i in range(grid[0])
            for head in range(first, min(first + size, heads))]
    assert started(f, grid) == want


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)], ids=str)
def test_the_longest_blocks_of_heads_along_a_faster_axis_are_first_already(axes: tuple[int, int]) -> None:
    assert chosen(function(later_keys, axes, rank=3)) is None


def test_blocks_with_as_many_iterations_keep_their_order() -> None:
    assert chosen(function(keys_around, rank=3)) is None
