"""What a loop only accumulates is combined between threads after it: which loops, and that results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir
from support.interp_cases import full_grid

import tilewright as tw
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function, Op
from tilewright.tileir.machine_ops.reduce import ReduceBits
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.passes import run_pipeline

ROWS, WIDTH = 4, 256


@tw.tile_kernel
def total(x, out):
    acc = tw.zeros((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def scalar(x, out):
    acc = 0.0
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc = acc * 0.5 + tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)))
    tw.store(out, (0,), tw.full((ROWS,), acc, tw.float32))


@tw.tile_kernel
def online(x, out):
    """Of the two carried values, only the sum has no other use in the loop."""
    top, acc = tw.full((ROWS, 1), -1e30, tw.float32), tw.zeros((ROWS, 1), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        t = tw.load(x, (0, j), (ROWS, WIDTH))
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        acc = acc * tw.exp2(top - higher) + tw.sum(tw.exp2(t - higher), axis=1, keepdims=True)
        top = higher
    tw.store(out, (0,), (top + tw.log2(acc)).reshape((ROWS,)))


@tw.tile_kernel
def extremes(x, out):
    """They start from any value."""
    top, low = tw.full((ROWS,), 0.25, tw.float32), tw.load(out, (0,), (ROWS,))
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        t = tw.load(x, (0, j), (ROWS, WIDTH))
        top, low = tw.maximum(top, tw.max(t, axis=1)), tw.minimum(low, tw.min(t, axis=1))
    tw.store(out, (0,), top - low)


@tw.tile_kernel
def parts(x, out):
    """The second loop takes the partial results of the first, the third starts from a sum that is needed elsewhere."""
    acc = tw.zeros((ROWS,), tw.float32)
    for j in range(2):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
    for j in range(2, 4):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)) * 2.0, axis=1)
    before = acc
    for j in range(4, tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
    tw.store(out, (0,), acc * before)


@tw.tile_kernel
def turned(x, out):
    """What becomes of a carried value need not be a sum."""
    sign, acc = tw.ones((ROWS,), tw.float32), tw.zeros((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        sign = -sign
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
    tw.store(out, (0,), acc * sign)


@tw.tile_kernel
def looked_at(x, out):
    acc, peak = tw.zeros((ROWS,), tw.float32), tw.zeros((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
        peak = tw.maximum(peak, acc)
    tw.store(out, (0,), acc + peak)


@tw.tile_kernel
def from_one(x, out):
    acc = tw.ones((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc += tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def scaled_after(x, out):
    """The last addend is the carried value, which no factor of the other scales."""
    acc = tw.zeros((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc = tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1) * 0.5 + acc
    tw.store(out, (0,), acc)


@tw.tile_kernel
def rounded_up(x, out):
    """The step rounds in another way than the reduction."""
    acc = tw.zeros((ROWS,), tw.float32)
    for j in range(tw.num_tiles(x, axis=1, shape=(ROWS, WIDTH))):
        acc = tw.add(acc, tw.sum(tw.load(x, (0, j), (ROWS, WIDTH)), axis=1), rounding_mode=tw.RoundingMode.RP)
    tw.store(out, (0,), acc)


def arrays() -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=(ROWS, 5 * WIDTH)).astype(np.float32), np.full(ROWS, 0.125, np.float32)]


def counts(kernel: Any) -> tuple[Function, int, int, int]:
    """The function after the pass; reductions in its loops that leave partial results, others there, those behind."""
    f = ir(kernel, *arrays())
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="defer_reductions")
    inside = {op for loop in f.walk() if isinstance(loop, For) for op in loop.inside()}

    def count(kind: type[Op], place: bool) -> int:
        return sum(isinstance(op, kind) and (op in inside) is place for op in f.walk())

    return f, count(ReduceBits, True), count(Reduction, True), count(Reduction, False)


@pytest.mark.parametrize(("kernel", "wanted"), [
    (total, (1, 0, 1)), (scalar, (1, 0, 1)), (online, (1, 1, 1)), (extremes, (2, 0, 2)), (parts, (3, 0, 2)),
    (turned, (1, 0, 1)), (looked_at, (0, 1, 0)), (from_one, (0, 1, 0)), (scaled_after, (0, 1, 0)),
    (rounded_up, (0, 1, 0)),
], ids=lambda p: getattr(p, "__name__", ""))
def test_what_is_deferred(kernel: Any, wanted: tuple[int, int, int]) -> None:
    f, *found = counts(kernel)
    assert tuple(found) == wanted
    expected, got = arrays(), arrays()
    kernel[(1,)](*expected)
    compile_function(f).run(full_grid((1,)), got)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)
