"""Histograms are counted in shared memory, those that a loop only adds up in one buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir

import tilewright as tw
from tilewright.backend_ptx.ops.shared import SharedCount, SharedLoad
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.ops.control import For
from tilewright.tileir.passes import run_pipeline

N = 256


@tw.tile_kernel
def summed(x, out):
    high, low = tw.full((16,), 3, tw.int32), tw.zeros((32,), tw.int32)
    for i in range(3):
        t = tw.load(x, i, N)
        high, low = high + tw.histogram(t >> 4, 16), tw.histogram(t & 31, 32) + low
    tw.store(out, 0, high)
    tw.store(out, 1, tw.extract(low, 0, 16))


@tw.tile_kernel
def used_inside(x, out):
    """The sum of the iterations before is read, and so is a histogram."""
    first, second = tw.zeros((16,), tw.int32), tw.zeros((16,), tw.int32)
    for i in range(3):
        t = tw.load(x, i, N)
        first = first + tw.histogram(t & 15, 16)
        second = second + tw.max(first)
    tw.store(out, 0, first)
    tw.store(out, 1, second)


@tw.tile_kernel
def sometimes(x, out):
    found = tw.zeros((16,), tw.int32)
    for i in range(3):
        if i != 1:
            found = found + tw.histogram(tw.load(x, i, N) & 15, 16)
    tw.store(out, 0, found)
    tw.store(out, 1, tw.histogram(tw.load(x, 0, ()), 16))


@pytest.mark.parametrize(("kernel", "loads"), [(summed, 0), (used_inside, 1), (sometimes, 1)])
def test_loops(kernel: Any, loads: int) -> None:
    """`loads`: in the loop, in the interpreter and in the simulator the counts are NumPy's."""
    x = np.random.default_rng(3).integers(-20, 300, 3 * N).astype(np.int32)
    x[0] = 5
    f = ir(kernel, x, np.zeros(32, np.int32))
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="share_elements")
    [loop] = [op for op in f.walk() if isinstance(op, For)]
    inside = list(loop.inside())
    assert sum(isinstance(op, SharedLoad) for op in inside) == loads
    assert sum(isinstance(op, SharedCount) for op in inside) == (2 if kernel is summed else 1)
    want, out = np.zeros(32, np.int32), np.zeros(32, np.int32)
    kernel[(1,)](x, want)
    kernel.simulate((1,), x, out, target="sm_90a", schedule="random", seed=4)
    assert (want == out).all()
    if kernel is summed:
        assert (out[:16] == 3 + np.bincount(x[(x >= 0) & (x < 256)] >> 4, minlength=16)).all()
        assert (out[16:] == np.bincount(x & 31, minlength=32)[:16]).all()
