"""Bulk copies into rings and products of warpgroups, as text: parsed, printed again and run by the interpreter."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright.backend_ptx.ops  # noqa: F401  (registers the machine ops)
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

# Two loads of a round fill rings of two slots; B is [N, K] in memory and read as its transpose.
GEMM = """
func @gemm(%a: array<?x?xbf16, strides=?x1>, %b: array<?x?xbf16, strides=?x1>, %c: array<?x?xf32, strides=?x1>,
          %n: i32) {
  %i: i32 = block_id(axis=0)
  %j: i32 = block_id(axis=1)
  %zero: tile<64x16xf32> = constant(value=0x0p+0, type=tile<64x16xf32>)
  %0: i32 = constant(value=0, type=tile<i32>)
  %1: i32 = constant(value=1, type=tile<i32>)
  %2: i32 = constant(value=2, type=tile<i32>)
  %sa: shared<2, 64x32xbf16> = shared_alloc(type=shared<2, 64x32xbf16>)
  %sb: shared<2, 16x32xbf16> = shared_alloc(type=shared<2, 16x32xbf16>)
  %full: shared<2, i64> = shared_alloc(type=shared<2, i64>)
  %empty: shared<2, i64> = shared_alloc(type=shared<2, i64>)
  mbarrier_init(barriers=%full, count=1)
  mbarrier_init(barriers=%empty, count=4)
  %acc: tile<64x16xf32> = for(lower=%0, upper=%n, step=%1, init=(%zero)) .loop(%k: i32, %before: tile<64x16xf32>) {
    %s: i32 = mod(lhs=%k, rhs=%2)
    mbarrier_wait(barriers=%empty, slot=%s, parity=%1, role="producer")
    mbarrier_expect(barriers=%full, slot=%s, bytes=5120)
    tma_load(buffer=%sa, barriers=%full, slot=%s, array=%a, index=(%i, %k), steps=(64, 32), order=(0, 1))
    tma_load(buffer=%sb, barriers=%full, slot=%s, array=%b, index=(%j, %k), steps=(16, 32), order=(0, 1))
    mbarrier_wait(barriers=%full, slot=%s, parity=%0)
    %va: shared<64x32xbf16> = shared_view(buffer=%sa, slot=%s, axes=(0, 1), shape=(64, 32))
    %vb: shared<32x16xbf16> = shared_view(buffer=%sb, slot=%s, axes=(1, 0), shape=(32, 16))
    %after: tile<64x16xf32> = wgmma(a=%va, b=%vb, acc=%before, kind="bf16")
    %done: tile<64x16xf32> = wgmma_wait(accs=(%after))
    mbarrier_arrive(barriers=%empty, slot=%s)
    yield(values=(%done))
  }
  store(array=%c, index=(%i, %j), value=%acc, steps=(64, 16), order=(0, 1))
  return()
}
"""

# A tile goes to shared memory and is multiplied with the transpose of another one, which a view splits.
STAGED = """
func @staged(%a: array<?x?xf16, strides=?x1>, %b: array<?x?xf16, strides=?x1>, %c: array<?x?xf32, strides=?x1>) {
  %i: i32 = block_id(axis=0)
  %0: i32 = constant(value=0, type=tile<i32>)
  %zero: tile<64x8xf32> = constant(value=0x0p+0, type=tile<64x8xf32>)
  %ta: tile<64x16xf16> = load(array=%a, index=(%i, %0), shape=(64, 16), steps=(64, 16), order=(0, 1), padding="zero")
  %tb: tile<8x16xf16> = load(array=%b, index=(%0, %0), shape=(8, 16), steps=(8, 16), order=(0, 1), padding="zero")
  %flat: tile<128xf16> = reshape(src=%tb, shape=(128))
  %sb: shared<128xf16> = stage(src=%flat)
  %rows: shared<8x16xf16> = shared_view(buffer=%sb, axes=(0), shape=(8, 16))
  %vb: shared<16x8xf16> = shared_view(buffer=%rows, axes=(1, 0), shape=(16, 8))
  proxy_fence()
  %p: tile<64x8xf32> = wgmma(a=%ta, b=%vb, acc=%zero, kind="f16")
  %q: tile<64x8xf32> = wgmma_wait(accs=(%p))
  store(array=%c, index=(%i, %0), value=%q, steps=(64, 8), order=(0, 1))
  return()
}
"""


def run(text: str, grid: tuple[int, int, int], mode: str, *args: object) -> None:
    function = parse(text)
    assert to_text(parse(to_text(function))) == to_text(function)
    compile_function(function).run(grid, list(args), ExecutionOptions(mode=mode))


@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_ragged_product_through_rings(mode: str) -> None:
    rng = np.random.default_rng(1)
    m, n, k = 150, 40, 72
    a, b = (rng.normal(size=(rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    run(GEMM, (3, 3, 1), mode, a, b, c, 3)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_staged_operands(mode: str) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=(rows, 16)).astype(np.float16) for rows in (100, 8))
    c = np.zeros((100, 8), np.float32)
    run(STAGED, (2, 1, 1), mode, a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-5, atol=1e-5)
