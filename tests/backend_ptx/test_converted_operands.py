"""Operands that threads compute from narrower ones in the loop: they stay in registers as wgmma's A, whichever operand
of the product they are, and bytes are moved and added, not converted."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate
from tilewright.inspecting.decisions import decisions

BF16 = np.dtype(ml_dtypes.bfloat16)
ZERO = tw.PaddingMode.ZERO
TM, TN, TK = 64, 128, 32


@tw.tile_kernel
def columns(a, w, c):
    """Weights [K, N]."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), tw.float32)
    for k in range(tw.num_tiles(a, 1, (TM, TK))):
        x = tw.load(a, (i, k), (TM, TK), padding_mode=ZERO)
        acc = tw.mma(x, tw.load(w, (k, j), (TK, TN), padding_mode=ZERO).astype(a.dtype), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def rows(a, w, c):
    """Weights [N, K]."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), tw.float32)
    for k in range(tw.num_tiles(a, 1, (TM, TK))):
        x = tw.load(a, (i, k), (TM, TK), padding_mode=ZERO)
        acc = tw.mma(x, tw.load(w, (j, k), (TN, TK), padding_mode=ZERO).transpose().astype(a.dtype), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def halves(a, w, c):
    """Two weights of 4 bits in a byte: two products add to one sum."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), tw.float32)
    for k in range(tw.num_tiles(w, 0, (TK, TN))):
        p = tw.load(w, (k, j), (TK, TN), padding_mode=ZERO)
        acc = tw.mma(tw.load(a, (i, 2 * k), (TM, TK), padding_mode=ZERO), (p & 15).astype(a.dtype), acc)
        acc = tw.mma(tw.load(a, (i, 2 * k + 1), (TM, TK), padding_mode=ZERO), (p >> 4).astype(a.dtype), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def mixed(a, w, c):
    """A second product of the sum has no such operand: neither is a transpose."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), tw.float32)
    for k in range(tw.num_tiles(a, 1, (TM, TK))):
        x, p = tw.load(a, (i, k), (TM, TK), padding_mode=ZERO), tw.load(w, (k, j), (TK, TN), padding_mode=ZERO)
        acc = tw.mma(x, p.astype(a.dtype), acc)
        acc = tw.mma(x * 2, p.astype(a.dtype), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


def arguments(kernel: Any, dtype: Any) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Small integers, exact in every dtype, and the product."""
    rng, (m, n, k) = np.random.default_rng(3), (TM, TN, 3 * TK)
    w = rng.integers(0 if dtype == np.uint8 else -9, 10, (k, n)).astype(dtype)
    held = np.arange(k)
    if kernel is halves:
        k, w = 2 * k, rng.integers(0, 256, (k, n)).astype(np.uint8)
        held = np.arange(k) // (2 * TK) * TK + np.arange(k) % TK
    a = rng.integers(-4, 5, (m, k)).astype(BF16)
    wide = w.astype(np.float32)[held]
    if kernel is halves:
        wide = np.where((np.arange(k) // TK % 2 == 0)[:, None], wide % 16, wide // 16)
    given = np.ascontiguousarray(w.T) if kernel is rows else w
    return (a, given, np.zeros((m, n), np.float32)), a.astype(np.float32) @ wide * (3 if kernel is mixed else 1)


@pytest.mark.parametrize(("kernel", "dtype", "swapped"), [
    (columns, np.int8, True), (columns, ml_dtypes.float8_e4m3fn, True), (rows, np.int8, True),
    (halves, np.uint8, True), (mixed, np.int8, False),
], ids=lambda v: getattr(v, "__name__", str(v)))
def test_what_threads_compute_is_a(kernel: Any, dtype: Any, swapped: bool) -> None:
    arrays, want = arguments(kernel, dtype)
    shown = decisions(kernel, arrays, "sm_90a")
    sizes = f"{TN}x{TM}x{TK}" if swapped else f"{TM}x{TN}x{TK}"
    assert any(line.startswith(f"product: wgmma, bf16, {sizes}") for line in shown), shown
    assert any(line.startswith("staged:") for line in shown) is not swapped
    simulate(kernel, (1, 1), arrays, "sm_90a", schedule="random", seed=1)
    np.testing.assert_array_equal(arrays[2], want)


@tw.tile_kernel
def scores(a, w, c):
    """Sums that each iteration computes anew, whose rows it reduces."""
    i = tw.bid(0)
    x, best = tw.load(a, (i, 0), (TM, TK)), tw.full((TM,), -1000.0, tw.float32)
    for k in range(tw.num_tiles(w, 1, (TK, TN))):
        y = tw.load(w, (0, k), (TK, TN), padding_mode=ZERO).astype(a.dtype)
        found = tw.mma(x, y, tw.zeros((TM, TN), tw.float32))
        best = tw.maximum(best, tw.max(found, axis=1))
    tw.store(c, (i,), best)


def test_sums_of_an_iteration_stay_as_they_are() -> None:
    args = (tw.spec(f"bf16[{TM},{TK}]"), tw.spec(f"int8[{TK},4096]"), tw.spec(f"f32[{TM}]"))
    shown = decisions(scores, args, "sm_90a")
    assert any(line.startswith(f"product: wgmma, bf16, {TM}x{TN}x{TK}") for line in shown), shown


def test_bytes_are_read_by_ldmatrix_and_not_converted() -> None:
    """Two rows of a thread are neighbours, so that a word of the array has what a thread needs of it."""
    ptx = columns.ptx(*arguments(columns, np.int8)[0], target="sm_90a")
    assert "ldmatrix.sync.aligned.m8n8.x4.trans" in ptx
    assert "cvt.rn.bf16" not in ptx.replace("cvt.rn.bf16x2.f32", "") and "ld.shared.b8" not in ptx


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("source", ["int8", "uint8"])
@pytest.mark.parametrize("dest", ["float16", "bfloat16", "float32"])
def test_every_byte(source: str, dest: str, target: str) -> None:
    """In words, in halves of words (every other row), and one by one."""
    @tw.tile_kernel
    def kernel(x, y, z):
        t = tw.load(x, (0, 0), (16, 16))
        tw.store(y, (0, 0), t.astype(y.dtype))
        tw.store(z, (0, 0), t.transpose().astype(z.dtype))

    x = np.arange(256).astype(np.uint8).view(source).reshape(16, 16)
    y, z = (np.zeros((16, 16), getattr(ml_dtypes, dest, dest)) for _ in range(2))
    simulate(kernel, (1,), (x, y, z), target)
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(z.astype(np.float32), x.T.astype(np.float32))
