"""The same work in Triton, as its users write it: contenders where Triton is installed."""

from __future__ import annotations

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


def run_softmax(x: Any, out: Any) -> None:
    rows, columns = x.shape
    tile = triton.next_power_of_2(columns)
    softmax[(rows,)](x, out, columns, x.stride(0), TILE=tile, num_warps=4 if tile <= 2048 else 8)


def run_matmul(a: Any, b: Any, c: Any, tf32: bool) -> None:
    (m, k), n = a.shape, b.shape[1]
    tk = 32 if tf32 else 64
    matmul[(triton.cdiv(m, 128) * triton.cdiv(n, 256 if not tf32 else 128),)](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), TM=128, TN=256 if not tf32 else 128, TK=tk, GROUP=8,
        TF32=tf32, num_warps=8, num_stages=3)
