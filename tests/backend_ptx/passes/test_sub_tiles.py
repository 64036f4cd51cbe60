"""Sub-tiles of one tile: threads hold their part of each where that costs one conversion, else all read one buffer."""

from __future__ import annotations

import re

import numpy as np

import tilewright as tw


@tw.tile_kernel
def turned(x, out):
    """Two steps of sums and differences, of elements that lie 64 apart, and then of neighbours."""
    t = tw.load(x, (0,), (128,))
    for stride in tw.static_iter((1, 4)):
        a, b, c, d = (t.reshape((4, 32)).extract((k, 0), (1, 32)).reshape((32 // stride, 1, stride))
                      for k in tw.static_iter(range(4)))
        t = tw.cat((tw.cat((a + c, a - c), 1), tw.cat((b + d, b - d), 1)), 1).reshape((128,))
    tw.store(out, (0,), t)


@tw.tile_kernel
def picked(x, out):
    """Single elements, more than a thread has registers for."""
    t = tw.cumsum(tw.load(x, (0,), (1024,)), 0)
    total = tw.zeros((), tw.float32)
    for k in tw.static_iter(range(0, 1024, 64)):
        total += t.extract((k,), ())
    tw.store(out, (0,), total.reshape((1,)))


def stores(kernel: tw.tile_kernel, *specs: str) -> int:
    return len(re.findall("st(?:matrix)?[.a-z0-9]*[.]shared", kernel.ptx(*map(tw.spec, specs), target="sm_90a")))


def check(kernel: tw.tile_kernel, x: np.ndarray, size: int) -> None:
    want, got = np.zeros(size, np.float32), np.zeros(size, np.float32)
    kernel.interpret((1,), x, want)
    kernel.simulate((1,), x, got, target="sm_90a")
    np.testing.assert_array_equal(got, want)


def test_a_tile_is_converted_once_for_all_of_its_sub_tiles() -> None:
    # Between the steps and for the store, in few words a thread: not once for each of four sub-tiles.
    assert stores(turned, "f32[128]", "f32[128]") <= 3
    check(turned, np.arange(128, dtype=np.float32), 128)


def test_sub_tiles_that_cross_threads_are_read_from_one_buffer() -> None:
    # The tile is stored once, as eight vectors of a thread; not once for each of sixteen elements.
    assert stores(picked, "f32[1024]", "f32[1]") <= 8
    check(picked, np.ones(1024, np.float32), 1)
