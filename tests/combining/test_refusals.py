"""`fuse`: launches that stay apart, tiles that stay or are made the same, and the reasons that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.chains import add_rows
from support.fused_kernels import (
    bias_gelu,
    count,
    data,
    fill,
    layer_norm,
    linear,
    plus,
    relu,
    reverse,
    show,
    times,
)

import tilewright as tw

F32 = np.float32


def refusal(launches: Any) -> str:
    with tw.fuse() as g:
        launches(g)
    return g.explain()


def launches_on_streams(g: Any) -> None:
    x = data(16)
    relu.launcher.launch(relu[1].grid, (x, x), 0)
    relu[1](x, x)


def reads_all_rows(g: Any) -> None:
    t = g.empty((32, 64), tw.float16)
    layer_norm[2](data(32, 64, dtype=np.float16), *[data(64, dtype=np.float16)] * 2, t, 16, 64)
    linear[(4, 1)](t, data(64, 16, dtype=np.float16), np.zeros((32, 16), np.float16), 8, 16, 64)
    bias_gelu[(2, 1)](t, data(64, dtype=np.float16), np.zeros((32, 64), np.float16), 16, 64)


@tw.tile_kernel
def in_a_loop(x, out):
    for j in range(2):
        at = tw.bid(0), j
        tw.store(out, at, tw.load(x, at, (16, 16)) * 2.0)


@tw.tile_kernel
def picked(x, out):
    i, j = tw.bid(0), tw.bid(1)
    row, column = i * 8 + tw.arange(8, dtype=tw.int32)[:, None], j * 8 + tw.arange(8, dtype=tw.int32)[None, :]
    tw.store(out, (i, j), tw.gather(x, (row, column)))


def behind(g: Any, make: Any, use: Any = None) -> None:
    """A product, or what `use` launches, of what `make` writes over another grid."""
    t, out = g.empty((32, 32), tw.float32), np.zeros((32, 32), F32)
    make(t)
    if use is None:
        linear[(4, 2)](t, data(32, 32), out, 8, 16, 16)
    else:
        use(t, out)


@pytest.mark.parametrize("reason, launches", [
    ("; t1 is written in a loop or under a condition", lambda g: behind(g, lambda t: in_a_loop[2](data(32, 32), t))),
    ("; not all of t1 is written", lambda g: behind(g, lambda t: bias_gelu[1, 1](data(32, 32), data(32), t, 16, 32))),
    ("; t1 is read by single elements", lambda g: behind(
        g, lambda t: bias_gelu[2, 1](data(32, 32), data(32), t, 16, 32), lambda t, out: picked[4, 4](t, out))),
    ("times is not fused with relu: their grids are (3, 1, 1) and (2, 1, 1)",
     lambda g: (relu[3](x := data(48), x), times[2](x, x, 2.0))),
    ("blocks along axis 0 of the grid may access elements of x that another block writes",
     lambda g: (relu[3](x := data(48), x), reverse[3](x, np.zeros(48, F32)))),
    ("fill takes a list of arrays", lambda g: (relu[3](x := data(48), x), fill[3]([x], 1.0))),
    ("fill takes a list of arrays", lambda g: (fill[3]([g.empty(48, tw.float32)], 1.0), relu[3](x := data(48), x))),
    ("count has an access with a memory order",
     lambda g: (relu[3](x := data(48), x), count[3](x, np.zeros(1, F32)))),
    ("show prints or asserts", lambda g: (relu[3](x := data(48), x), show[3](x, np.zeros(48, F32)))),
    ("x and out_2 overlap in memory",
     lambda g: (relu[2](x := data(48), y := np.zeros(48, F32)), times[2](y, x[1:33], 2.0), plus[2](y, x[:32], 1.0))),
    ("arguments of relu overlap in memory",
     lambda g: (times[2](x := data(48), x, 2.0), relu[2](x[:32], x[1:33]))),
    ("they are launched on different streams", launches_on_streams),
    ("t1 is used elsewhere, too", reads_all_rows),
    ("t1 stays in memory: blocks read it where they did not store the same tile just before, or several launches use "
     "it", reads_all_rows),
    ("the grid of relu is empty", lambda g: (relu[0](x := data(48), x), times[2](x, x, 2.0))),
])
def test_refusals_have_reasons(reason: str, launches: Any) -> None:
    assert reason in refusal(launches)


def shaken(kernel: tw.tile_kernel, *more: Any) -> str:
    """A launch in tiles of 8 x 8 behind one in tiles of 4 x 16."""
    def launches(g: Any) -> None:
        t = g.empty((16, 32), tw.float32)
        add_rows[(4, 2)](data(16, 32), data(16), t, 4, 16)
        kernel[(2, 4)](t, np.zeros((16, 32), F32), *more, 8, 8)

    return refusal(launches)


@tw.tile_kernel
def number_blocks(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, tw.load(x, at, (tm, tn)) + tw.bid(1))


@tw.tile_kernel
def number_columns(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, tw.load(x, at, (tm, tn)) + (at[1] * tn + tw.arange(tn, dtype=tw.int32))[None, :])


@tw.tile_kernel
def number_in_tiles(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, tw.load(x, at, (tm, tn)) + tw.arange(tn, dtype=tw.int32)[None, :])


@tw.tile_kernel
def by_the_tile(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, tw.load(x, at, (tm, tn)) * float(tn))


@tw.tile_kernel
def center(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    t = tw.load(x, at, (tm, tn))
    tw.store(out, at, t - tw.sum(t, axis=1, keepdims=True))


@pytest.mark.parametrize("kernel, reason", [
    (number_blocks, "number_blocks cannot have other tiles: the number of a block is used as a number"),
    (number_in_tiles, "number_in_tiles cannot have other tiles: an index within a tile is used as a number"),
    (center, "center cannot have other tiles: reduce_sum takes tiles as wholes"),
    (by_the_tile, "by_the_tile is not fused with add_rows: their grids are (4, 2, 1) and (2, 4, 1)"),
])
def test_tiles_stay_where_results_depend_on_them(kernel: tw.tile_kernel, reason: str) -> None:
    """add_rows could have other tiles, but a tile of its own would not help: it is made the consumer's first."""
    for name in ("add_rows takes tiles of 8 x 8, those of ", reason):
        assert (name in shaken(kernel)) is (name != reason)


def test_tiles_are_made_the_same() -> None:
    """Also where places count: a column's number is no block's, and dropout's counters are places."""
    told = shaken(number_columns)
    assert told.startswith("2 launches became 1:") and "number_columns takes tiles of 4 x 16, those of add_rows" in told


def test_a_tile_too_large_to_stay_is_made_apart() -> None:
    """Whole rows of 1024, 128 of them: they fit no registers while the product's loop runs."""
    def launches(g: Any) -> None:
        t, half = g.empty((128, 1024), tw.float16), np.float16
        layer_norm[1](np.zeros((128, 1024), half), *[np.zeros(1024, half)] * 2, t, 128, 1024)
        linear[(1, 2)](t, np.zeros((1024, 32), half), np.zeros((128, 32), half), 128, 16, 64)

    assert ("t1 is made in tiles of 128 x 1024 and read in tiles of 128 x 64: a block would keep 512 KiB of it while "
            "it reads them, of 128 that it may") in refusal(launches)
