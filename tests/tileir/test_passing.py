"""Which loads read what nobody reads again, and what becomes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir

import tilewright as tw
from tilewright.tileir.analysis.passing import passing_loads
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.ops.memory import Load

N = 1024


@tw.tile_kernel
def row_sum(x, v, out):
    tw.store(out, tw.bid(0), tw.sum(tw.load(x, (tw.bid(0), 0), (1, N))))


@tw.tile_kernel
def in_chunks(x, v, out):
    acc = tw.zeros((1, N), tw.float32)
    for j in range(tw.cdiv(x.shape[1], N)):
        acc = acc + tw.load(x, (tw.bid(0), j), (1, N), latency=1)
    tw.store(out, tw.bid(0), tw.sum(acc))


@tw.tile_kernel
def row_times_vector(x, v, out):
    """All blocks read the vector."""
    tw.store(out, tw.bid(0), tw.sum(tw.load(x, (tw.bid(0), 0), (1, N)) * tw.load(v, 0, N)))


@tw.tile_kernel
def rows_of_blocks(x, v, out):
    """Blocks along the second axis read the same rows."""
    tw.store(out, tw.bid(0), tw.sum(tw.load(x, (tw.bid(0), 0), (1, N))) * tw.bid(1))


@tw.tile_kernel
def doubled(x, v, out):
    tw.store(out, (tw.bid(0), 0), tw.load(x, (tw.bid(0), 0), (1, N)) * 2)


@tw.tile_kernel
def twice(x, v, out):
    most = tw.max(tw.load(x, (tw.bid(0), 0), (1, N)))
    tw.store(out, tw.bid(0), tw.sum(tw.exp(tw.load(x, (tw.bid(0), 0), (1, N)) - most)))


@tw.tile_kernel
def one_block(x, v, out):
    tw.store(out, 0, tw.sum(tw.load(x, (0, 0), (1, N))))


@pytest.mark.parametrize(("kernel", "count"), [
    (row_sum, 1), (in_chunks, 1), (row_times_vector, 1), (rows_of_blocks, 0), (doubled, 0), (twice, 0), (one_block, 0),
], ids=lambda p: getattr(p, "__name__", ""))
def test_which(kernel: Any, count: int) -> None:
    out = np.zeros((8, N), np.float32) if kernel is doubled else np.zeros(8, np.float32)
    f = ir(kernel, np.zeros((8, N), np.float32), np.zeros(N, np.float32), out)
    found = passing_loads(Unit(f))
    assert len(found) == count and all(isinstance(op, Load) and op.array.hint == "x" for op in found)


@pytest.mark.parametrize(("kernel", "text"), [(row_sum, "f32[8,1024]"), (in_chunks, "f32[8,4096]")])
def test_their_instructions(kernel: Any, text: str) -> None:
    specs = [tw.spec(text), tw.spec("f32[1024]"), tw.spec("f32[8]")]
    ptx = kernel.ptx(*specs, target="sm_80")
    assert "ld.global.nc.L1::no_allocate.v4.b32" in ptx and "ld.global.nc.v4" not in ptx
    x, out = np.arange(8 * 4096, dtype=np.float32).reshape(8, -1), np.zeros(8, np.float32)
    x = x[:, :1024].copy() if kernel is row_sum else x
    kernel.simulate((8,), x, np.zeros(N, np.float32), out, target="sm_80")
    assert np.allclose(out, x.sum(axis=1), rtol=1e-5)


def test_what_others_read_too_stays() -> None:
    ptx = rows_of_blocks.ptx(tw.spec("f32[8,1024]"), tw.spec("f32[1024]"), tw.spec("f32[8]"), target="sm_80")
    assert "no_allocate" not in ptx and "ld.global.nc.v4" in ptx
