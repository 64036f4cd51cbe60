"""Loops whose iterations blocks may share, and those that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue.cluster_kernels import added_up

import tilewright as tw
from tilewright.tileir.analysis.sums_of_loops import loop_of_sums
from tilewright.tileir.analysis.unit import Unit

X, OUT = tw.spec("f32[100,64]"), tw.spec("f32[2,64]")


@tw.tile_kernel
def nested(x, out):
    total = tw.zeros((16,), tw.float32)
    for i in range(x.shape[0]):
        for j in range(tw.num_tiles(x, 1, (2, 16))):
            total += tw.sum(tw.load(x, (i, j), (2, 16)), axis=0)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def by_element(x, out):
    """A kernel's own order of float additions."""
    total = tw.zeros((1, 16), tw.float32)
    for i in range(x.shape[0]):
        total += tw.load(x, (i, 0), (1, 16))
    tw.store(out, (0, 0), total)


@tw.tile_kernel
def scaled(x, out):
    total = tw.zeros((16,), tw.float32)
    for i in range(x.shape[0]):
        total = total * 0.5 + tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def running(x, out):
    """What is stored in an iteration is a sum of all before it."""
    total = tw.zeros((16,), tw.float32)
    for i in range(tw.num_tiles(x, 0, (4, 16))):
        total += tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0)
        tw.store(out, (i, 0), total[None, :])


@tw.tile_kernel
def centred(x, out):
    """What is added depends on the sum so far."""
    total = tw.zeros((16,), tw.float32)
    for i in range(tw.num_tiles(x, 0, (4, 16))):
        total += tw.sum(tw.load(x, (i, 0), (4, 16)) - total[None, :], axis=0)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def from_one(x, out):
    total = tw.ones((16,), tw.float32)
    for i in range(tw.num_tiles(x, 0, (4, 16))):
        total += tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def far(x, out):
    """The iterations of eight blocks would end beyond 32 bits."""
    total = tw.zeros((16,), tw.float32)
    for i in range(0, x.shape[0], 1 << 28):
        total += tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def rounded_up(x, out):
    """A bound of the sum from above, which no sum to nearest keeps."""
    total = tw.zeros((16,), tw.float32)
    for i in range(tw.num_tiles(x, 0, (4, 16))):
        total = tw.add(total, tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0), rounding_mode=tw.RoundingMode.RP)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def flushed(x, out):
    total = tw.zeros((16,), tw.float32)
    for i in range(tw.num_tiles(x, 0, (4, 16))):
        total = tw.add(total, tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0), flush_to_zero=True)
    tw.store(out, (0, 0), total[None, :])


@tw.tile_kernel
def two_loops(x, out):
    for _ in range(2):
        total = tw.zeros((16,), tw.float32)
        for i in range(x.shape[0]):
            total += tw.sum(tw.load(x, (i, 0), (4, 16)), axis=0)
        tw.store(out, (0, 0), total[None, :])


def found(kernel: Any, *more: Any, most: int = 64) -> bool:
    return loop_of_sums(Unit(kernel.lower(X, OUT, *more, target="sm_90a").tile_ir()), 8, most) is not None


def test_loops_of_sums() -> None:
    assert found(added_up, 16, 32) and found(nested)
    assert not found(added_up, 16, 32, most=63)


@pytest.mark.parametrize(
    "kernel", [by_element, scaled, running, centred, from_one, far, rounded_up, flushed, two_loops],
    ids=lambda k: k.__name__)
def test_others(kernel: Any) -> None:
    assert not found(kernel)


def test_integers_may_be_added_up_by_element() -> None:
    specs = (tw.spec("i32[100,64]"), tw.spec("i32[2,64]"))

    @tw.tile_kernel
    def counted(x, out):
        total = tw.zeros((1, 16), tw.int32)
        for i in range(x.shape[0]):
            total += tw.load(x, (i, 0), (1, 16))
        tw.store(out, (0, 0), total)

    assert loop_of_sums(Unit(counted.lower(*specs, target="sm_90a").tile_ir()), 8, 64) is not None
    x, out = np.arange(6400, dtype=np.int32).reshape(100, 64), np.zeros((2, 64), np.int32)
    counted.replace_hints(num_ctas=8)[(1,)](x, out)
    np.testing.assert_array_equal(out[0, :16], x[:, :16].sum(0))
