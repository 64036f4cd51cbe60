"""Elements that several gathers read are loaded once by each thread."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

ROWS, COLUMNS = 16, 32


def places():
    return tw.arange(ROWS, dtype=tw.int32)[:, None] + tw.bid(0) * ROWS, tw.arange(COLUMNS, dtype=tw.int32)[None, :]


@tw.tile_kernel
def edges(x, out):
    """Rows 16 + 2 of each thread, in place of 3 times 16."""
    y, z = places()
    t = tw.gather(x, (y - 1, z)) + tw.gather(x, (y, z)) * 3 + tw.gather(x, (y + 1, z)) * 5
    tw.scatter(out, (y, z), t)


@tw.tile_kernel
def torus(x, out):
    y, z = places()
    h, w = x.shape
    t = tw.gather(x, ((y + h - 1) % h, (z + 1) % w)) * 3 + tw.gather(x, ((y + h) % h, (z + 1) % w))
    tw.scatter(out, (y, z), t)


@tw.tile_kernel
def strided(x, out):
    """Row 2 y + 2 is that of the next y."""
    y, z = places()
    tw.scatter(out, (y, z), tw.gather(x, (2 * y, z)) + 7 * tw.gather(x, (2 * y + 2, z)))


@tw.tile_kernel
def clamped(x, out):
    """A row that is not above the array is the one that no maximum is taken of."""
    y, z = places()
    t = tw.zeros((ROWS, COLUMNS), tw.int32)
    for d in (-2, -1, 0, 1):
        t += (5 + d) * tw.gather(x, (tw.minimum(tw.maximum(y + d, 0), x.shape[0] - 1), z))
    tw.scatter(out, (y, z), t)


@tw.tile_kernel
def other_functions(x, out):
    y, z = places()
    h = x.shape[0]
    tw.scatter(out, (y, z), tw.gather(x, (y % h, z)) + 7 * tw.gather(x, ((y + 1) % (h - 1), z)))


@tw.tile_kernel
def other_paddings(x, out):
    y, z = places()
    tw.scatter(out, (y, z), tw.gather(x, (y, z)) + tw.gather(x, (y + 1, z), padding_value=9))


@tw.tile_kernel
def squares(x, out):
    """No linear forms."""
    y, z = places()
    tw.scatter(out, (y, z), tw.gather(x, (y * y, z)) + tw.gather(x, (y * y + 1, z)))


@tw.tile_kernel
def narrow(x, out):
    """Row 256 of a byte is row 0."""
    y, z = places()
    b = (y + 220).astype(tw.uint8)
    t = tw.gather(x, ((b + 30).astype(tw.int32), z)) + 7 * tw.gather(x, (b.astype(tw.int32) + 31, z))
    tw.scatter(out, (y, z), t)


@tw.tile_kernel
def in_a_loop(x, out):
    """What is read before the loop is known in it no more."""
    y, z = places()
    t = tw.gather(x, (y, z))
    for i in range(x.shape[0] // 16):
        t += tw.gather(x, (y + i, z)) + 3 * tw.gather(x, (y + i + 1, z))
    tw.scatter(out, (y, z), t)


@pytest.mark.parametrize(("kernel", "loads"), [
    (edges, 10), (torus, 5), (strided, 9), (clamped, 7), (other_functions, 8), (other_paddings, 16), (squares, 8),
    (in_a_loop, 17), (narrow, 8),
], ids=lambda p: getattr(p, "__name__", ""))
def test_loads(kernel: Any, loads: int) -> None:
    """`loads` of each of 128 threads, which have 4 rows of a column where that shares rows. Four that may be outside
    stand there twice: a thread asks first whether all are inside."""
    x = np.random.default_rng(5).integers(-99, 99, (37, 30)).astype(np.int32)
    want, out = np.zeros_like(x), np.zeros_like(x)
    kernel[(3,)](x, want)
    kernel.simulate((3,), x, out, target="sm_90a", schedule="random", seed=1)
    assert (want == out).all()
    array = tw.spec("i32[?,?]")
    ptx = kernel.ptx(array, array, target="sm_90a")
    assert len(re.findall(r"ld\.global", ptx)) == loads


@tw.tile_kernel
def taps(x, out):
    z = tw.arange(1024, dtype=tw.int32) + tw.bid(0) * 1024
    tw.scatter(out, z, sum(tw.gather(x, z + d) for d in (-1, 0, 1, 2)))


def test_rows_of_elements() -> None:
    """Threads have 4 neighbours, twice, and read 3 more beside each; vectors where the array does not end in one."""
    x = np.random.default_rng(6).integers(-99, 99, 1500).astype(np.int32)
    out = np.zeros_like(x)
    taps.simulate((2,), x, out, target="sm_90a")
    assert (out == np.convolve(np.pad(x, 2), np.ones(4, int), "valid")[1:1501]).all()
    array = tw.spec("i32[?]")
    assert len(re.findall(r"ld\.global", taps.ptx(array, array, target="sm_90a"))) == 26


@tw.tile_kernel
def written(x):
    y, z = places()
    tw.scatter(x, (y, z), tw.gather(x, (y, z)) + 1)
    tw.scatter(x, (y, z), tw.gather(x, (y, z)) * 2 + tw.gather(x, (y - 64, z)))


def test_arrays_that_are_written() -> None:
    x = np.arange(96, dtype=np.int32).reshape(3, 32)
    want = (x + 1) * 2
    written.simulate((1,), x, target="sm_90a")
    assert (x == want).all()
