"""The same work in Triton, as its users write it: contenders where Triton is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, stride, TILE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, TILE)
    t = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(t - tl.max(t, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def row_sum(x, out, columns, stride, TILE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, TILE)
    tl.store(out + row, tl.sum(tl.load(x + row * stride + at, mask=at < columns, other=0.0), axis=0))


@triton.jit
def scaled_relu(x, out, n, scale, shift, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    mask = at < n
    tl.store(out + at, tl.maximum(tl.load(x + at, mask=mask), 0.0) * scale + shift, mask=mask)


@triton.jit
def norm(x, weight, bias, out, columns, stride, eps, RMS: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, TILE)
    mask = at < columns
    t = tl.load(x + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    if not RMS:
        t = tl.where(mask, t - tl.sum(t, axis=0) / columns, 0.0)
    t = t * tl.rsqrt(tl.sum(t * t, axis=0) / columns + eps) * tl.load(weight + at, mask=mask).to(tl.float32)
    if not RMS:
        t += tl.load(bias + at, mask=mask).to(tl.float32)
    tl.store(out + row * stride + at, t, mask=mask)


@triton.jit
def gemv(w, x, y, n, k, ROWS: tl.constexpr, CHUNK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS, CHUNK), tl.float32)
    for start in range(0, k, CHUNK):
        at = start + tl.arange(0, CHUNK)
        a = tl.load(w + rows[:, None].to(tl.int64) * k + at[None, :], mask=(rows[:, None] < n) & (at[None, :] < k),
                    other=0.0)
        acc += a.to(tl.float32) * tl.load(x + at, mask=at < k, other=0.0).to(tl.float32)[None, :]
    tl.store(y + rows, tl.sum(acc, axis=1), mask=rows < n)


@triton.jit
def matmul(a, b, c, m, n, k, sa, sb, sc, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr,
           TF32: tl.constexpr):
    rows, columns = tl.cdiv(m, TM), tl.cdiv(n, TN)
    block = tl.program_id(0)
    first = block // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    inside = block % (GROUP * columns)
    i, j = first + inside % height, inside // height
    r = i * TM + tl.arange(0, TM)
    s = j * TN + tl.arange(0, TN)
    z = tl.arange(0, TK)
    acc = tl.zeros((TM, TN), tl.float32)
    for step in range(0, tl.cdiv(k, TK)):
        d = step * TK + z
        ta = tl.load(a + r[:, None] * sa + d[None, :], mask=(r[:, None] < m) & (d[None, :] < k), other=0.0)
        tb = tl.load(b + d[:, None] * sb + s[None, :], mask=(d[:, None] < k) & (s[None, :] < n), other=0.0)
        acc = tl.dot(ta, tb, acc, input_precision="tf32" if TF32 else "ieee")
    tl.store(c + r[:, None] * sc + s[None, :], acc.to(c.dtype.element_ty), mask=(r[:, None] < m) & (s[None, :] < n))


def run_vector_add(x: Any, y: Any, out: Any) -> None:
    vector_add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), TILE=1024)


Choices = dict[str, Callable[[], Any]]


def _row_warps(columns: int) -> tuple[int, list[int]]:
    """The tile for a whole row, and the numbers of warps worth trying."""
    tile = triton.next_power_of_2(columns)
    most = min(32, max(1, tile // 256))
    return tile, [w for w in (1, 2, 4, 8, 16, 32) if most // 4 <= w <= most]


def softmax_choices(x: Any, out: Any) -> Choices:
    tile, warps = _row_warps(x.shape[1])
    return {f"softmax, {w} warps": lambda w=w: softmax[(x.shape[0],)](
        x, out, x.shape[1], x.stride(0), TILE=tile, num_warps=w) for w in warps}


def row_sum_choices(x: Any, out: Any) -> Choices:
    tile, warps = _row_warps(x.shape[1])
    return {f"row sum, {w} warps": lambda w=w: row_sum[(x.shape[0],)](
        x, out, x.shape[1], x.stride(0), TILE=tile, num_warps=w) for w in warps}


def norm_choices(x: Any, weight: Any, bias: Any, out: Any, eps: float) -> Choices:
    """Layer norm, or RMS norm where `bias` is None."""
    tile, warps = _row_warps(x.shape[1])
    return {f"norm, {w} warps": lambda w=w: norm[(x.shape[0],)](
        x, weight, bias, out, x.shape[1], x.stride(0), eps, RMS=bias is None, TILE=tile, num_warps=w) for w in warps}


def scaled_relu_choices(x: Any, out: Any, scale: float, shift: float) -> Choices:
    n = x.numel()
    return {f"relu, tile {t}": lambda t=t: scaled_relu[(triton.cdiv(n, t),)](
        x, out, n, scale, shift, TILE=t, num_warps=4) for t in (1024, 2048, 4096)}


def gemv_choices(w: Any, x: Any, y: Any) -> Choices:
    """w: (n, k), rows along memory."""
    n, k = w.shape
    return {f"gemv, {r}x{c}": lambda r=r, c=c, warps=warps: gemv[(triton.cdiv(n, r),)](
        w, x, y, n, k, ROWS=r, CHUNK=c, num_warps=warps) for r, c, warps in ((4, 1024, 4), (8, 512, 4), (16, 256, 4))}


def run_matmul(a: Any, b: Any, c: Any, tf32: bool) -> None:
    (m, k), n = a.shape, b.shape[1]
    tk = 32 if tf32 else 64
    matmul[(triton.cdiv(m, 128) * triton.cdiv(n, 256 if not tf32 else 128),)](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), TM=128, TN=256 if not tf32 else 128, TK=tk, GROUP=8,
        TF32=tf32, num_warps=8, num_stages=3)
