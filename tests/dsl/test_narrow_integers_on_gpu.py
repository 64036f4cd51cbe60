"""16-bit integers on a GPU: sums with constants, and absolute values of the least number (see ptxas_defects.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N = 256
EXTREMES = np.array([-32768, 32767, -1, 0, 1, 7, -7, 12345], np.int16)


@tw.tile_kernel
def one_more(x, out):
    """A constant that both halves of a packed addition need, or only one of them."""
    t = tw.load(x, (0,), (N,))
    one = tw.load(x, (3,), (1,)) - tw.load(x, (5,), (1,))
    tw.store(out, (0,), t + tw.maximum(~tw.full((1,), 32767, tw.int16), tw.full((N,), 1, tw.int16)) + one)


@tw.tile_kernel
def negated(x, out):
    t = tw.load(x, (0,), (N,))
    tw.store(out, (0,), (tw.minimum(t, 3) - (~t)) ^ (7 - t))


@tw.tile_kernel
def indexed(x, out):
    """Index arithmetic in 16 bits."""
    tw.store(out, (0,), tw.load(x, (0,), (N,)))
    where = tw.arange(N, dtype=tw.int16)
    tw.scatter(out, (where + 33).astype(tw.int32) % N, (where ^ 1) + 5)


@tw.tile_kernel
def magnitudes(x, out):
    tw.store(out, (0,), abs(tw.load(x, (0,), (64,))) >> 2)


@tw.tile_kernel
def thirds(x, out):
    tw.store(out, (0,), (-tw.load(x, (0,), (64,))) // 3)


@tw.tile_kernel
def compared(x, out):
    t = abs(tw.load(x, (0,), (N,)))
    tw.store(out, (0,), tw.where(t >= 7, t >> 2, t // 3) - (t >> 3))


@pytest.mark.parametrize("kernel", [one_more, negated, indexed, magnitudes, thirds], ids=lambda k: k.__name__)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_their_instructions_are_not_used(kernel: Any, target: str) -> None:
    ptx = kernel.ptx(tw.spec(f"i16[{N}]"), tw.spec(f"i16[{N}]"), target=target)
    assert "s16x2 \t" not in ptx.replace("max.s16x2", "").replace("min.s16x2", "") and "abs.s16" not in ptx
    assert "neg.s16" not in ptx and ("add.s16 a, a, c" in ptx or ".s32 wide" in ptx)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", [one_more, negated, indexed, magnitudes, thirds, compared], ids=lambda k: k.__name__)
def test_a_gpu_computes_what_the_interpreter_does(kernel: Any) -> None:
    x = np.resize(EXTREMES, N)
    want, out = np.zeros(N, np.int16), tw.to_device(np.zeros(N, np.int16))
    kernel[(1,)](x, want)
    kernel[(1,)](tw.to_device(x), out)
    np.testing.assert_array_equal(out.to_host(), want)
