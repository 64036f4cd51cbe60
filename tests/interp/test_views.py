"""Arrays of any strides: accesses of all kinds to views that go backwards, skip elements or repeat them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

I32 = tw.int32
M, N = 6, 8


def base() -> Any:
    return np.arange(4 * M * N, dtype=np.int32).reshape(2 * M, 2 * N)


VIEWS: dict[str, Any] = {
    "whole": lambda b: b[:M, :N], "backwards": lambda b: b[M - 1::-1, N - 1::-1], "every second": lambda b: b[::2, ::2],
    "turned": lambda b: b[:N, :M].T, "from the middle": lambda b: b[3:3 + M, 5:5 + N],
    "rows backwards": lambda b: b[2 * M - 1:M - 1:-1, 1::2],
}
REPEATED: dict[str, Any] = {
    "one row": lambda b: np.broadcast_to(b[0, :N], (M, N)), "one column": lambda b: np.broadcast_to(b[:M, :1], (M, N)),
    "one element": lambda b: np.broadcast_to(b[3, 4], (M, N)),
}
MODES = pytest.mark.parametrize("mode", ["chunked", "single"])


@tw.tile_kernel
def loads(x, out):
    tw.store(out, (tw.bid(0), tw.bid(1)), tw.load(x, (tw.bid(0), tw.bid(1)), (4, 4)))


@tw.tile_kernel
def gathers(x, out, check: tw.Constant[bool]):
    rows = tw.bid(0) * 2 + tw.arange(2, dtype=I32)[:, None]
    columns = tw.arange(8, dtype=I32)[None, :]
    tw.store(out, (tw.bid(0), 0), tw.gather(x, (rows, 7 - columns), check_bounds=check))


@tw.tile_kernel
def picks(x, at, out):
    i = tw.load(at, (tw.bid(0), 0), (1, 4))
    tw.store(out, (tw.bid(0), 0), tw.gather(x, (i, (i * 3) % 8)))


@tw.tile_kernel
def slices(x, out):
    tw.store(out, (tw.bid(0), 0), tw.load(x.slice(0, 1, 5).slice(1, 2, 8), (tw.bid(0), 0), (2, 4)))


@MODES
@pytest.mark.parametrize("name", [*VIEWS, *REPEATED])
def test_reads(name: str, mode: str) -> None:
    x = {**VIEWS, **REPEATED}[name](base())
    out = np.zeros((8, 8), np.int32)
    loads.interpret((2, 2), x, out, mode=mode)
    assert np.array_equal(out[:M], x)
    for check in (True, False):
        out = np.zeros((M, N), np.int32)
        gathers.interpret(3, x, out, check, mode=mode)
        assert np.array_equal(out, x[:, ::-1])
    at, out = np.array([[0, 5, 2, 2], [1, 1, 4, 3]], np.int32), np.zeros((2, 4), np.int32)
    picks.interpret(2, x, at, out, mode=mode)
    assert np.array_equal(out, x[at, at * 3 % 8])
    out = np.zeros((4, 4), np.int32)
    slices.interpret(2, x, out, mode=mode)
    assert np.array_equal(out, x[1:5, 2:6])


@tw.tile_kernel
def stores(out, value):
    tw.store(out, (tw.bid(0), tw.bid(1)), tw.load(value, (tw.bid(0), tw.bid(1)), (4, 4)))


@tw.tile_kernel
def scatters(out, value, check: tw.Constant[bool]):
    rows = tw.bid(0) * 2 + tw.arange(2, dtype=I32)[:, None]
    columns = tw.arange(8, dtype=I32)[None, :]
    tw.scatter(out, (rows, 7 - columns), tw.load(value, (tw.bid(0), 0), (2, 8)), check_bounds=check)


@tw.tile_kernel
def adds(out, value):
    rows = tw.bid(0) * 2 + tw.arange(2, dtype=I32)[:, None]
    columns = tw.arange(8, dtype=I32)[None, :]
    tw.atomic_add(out, (rows, columns), tw.load(value, (tw.bid(0), 0), (2, 8)))
    tw.atomic_max(out, (0, 0), tw.bid(0) * 1000)


@tw.tile_kernel
def stores_to_slices(out, value):
    tw.store(out.slice(0, 1, 5).slice(1, 2, 8), (tw.bid(0), 0), tw.load(value, (tw.bid(0), 0), (2, 4)))


@MODES
@pytest.mark.parametrize("name", VIEWS)
def test_writes(name: str, mode: str) -> None:
    value = -1 - np.arange(8 * 8, dtype=np.int32).reshape(8, 8)

    def after(kernel: Any, grid: Any, *args: Any, change: Any) -> None:
        got, want = base(), base()
        kernel.interpret(grid, VIEWS[name](got), *args, mode=mode)
        change(VIEWS[name](want))
        assert np.array_equal(got, want), kernel

    after(stores, (2, 2), value, change=lambda v: v.__setitem__(..., value[:M]))
    for check in (True, False):
        after(scatters, 3, value, check, change=lambda v: v.__setitem__(..., value[:M, ::-1]))

    def add(v: Any) -> None:
        v += value[:M]
        v[0, 0] = max(v[0, 0], 2000)
    after(adds, 3, value, change=add)
    after(stores_to_slices, 2, value, change=lambda v: v.__setitem__((slice(1, 5), slice(2, 6)), value[:4, :4]))


@MODES
@pytest.mark.parametrize("grid, wrong", [((5,), (3, 0, 0)), ((2, 3), (1, 2, 0)), ((2, 2, 2), (0, 1, 1))])
def test_a_failed_assertion_names_its_block(grid: tuple[int, ...], wrong: tuple[int, int, int], mode: str) -> None:
    a, b, c = wrong

    @tw.tile_kernel
    def asserts(out):
        tw.assert_((tw.bid(0) != a) | (tw.bid(1) != b) | (tw.bid(2) != c), "no")
        tw.store(out, tw.bid(0), 1)

    with pytest.raises(Exception, match=rf"block \({a}, {b}, {c}\)"):
        asserts.interpret(grid, np.zeros(8, np.int32), mode=mode)


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 2, 3], [0, 1, 1, 3], [3, 2, 1, 0]])
def test_indices_that_end_as_a_row_would(order: list[int]) -> None:
    """First and last of them are as far apart as there are indices, whether those between count up or not."""
    @tw.tile_kernel
    def kernel(x, at, out, back, total):
        i = tw.load(at, 0, 4)
        t = tw.gather(x, i)
        tw.store(out, 0, t)
        tw.scatter(back, i, t + 1)
        tw.store(out, 1, tw.atomic_add(total, i, t + 2))  # its old values are asked for

    x, out, back, total, want, wanted = np.arange(8, dtype=np.int32) * 10, *np.zeros((5, 8), np.int32)
    kernel.interpret(1, x, np.array(order, np.int32), out, back, total)
    want[order] = x[order] + 1
    np.add.at(wanted, order, x[order] + 2)
    assert out[:4].tolist() == x[order].tolist() and out[4:].any() == (len(set(order)) < 4)
    assert (back.tolist(), total.tolist()) == (want.tolist(), wanted.tolist())
