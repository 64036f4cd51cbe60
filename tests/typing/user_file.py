"""Kernels as users write them; type checkers must find nothing wrong in this file."""

from dataclasses import dataclass

import numpy as np

import tilewright as ct


@dataclass(frozen=True)
class Scale:
    """A pair of constants that helpers take as one value."""

    factor: float
    offset: float


@ct.tile_kernel
def add(x: ct.Array, y: ct.Array, z: ct.Array) -> None:
    i = ct.bid(0)
    a = ct.load(x, (i,), (256,))
    b = ct.load(y, i, 256)
    ct.store(z, (i,), a + 2.0 * b)


@ct.kernel(occupancy=2, num_ctas=ct.ByTarget(default=1, sm_100=2))
def softmax(x: ct.Array, out: ct.Array, COLS: ct.Constant[int]) -> None:
    row = ct.load(x, (ct.bid(0), 0), (1, COLS), padding_mode=ct.PaddingMode.NEG_INF)
    top = ct.max(row, axis=1, keepdims=True)
    e = ct.exp(row - top)
    ct.store(out, (ct.bid(0), 0), ct.astype(e / ct.sum(e, 1, keepdims=True), out.dtype))


@ct.tile_kernel
def matmul(a: ct.Array, b: ct.Array, c: ct.Array, TM: ct.Constant[int], TK: ct.Constant[int]) -> None:
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TM), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        p = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        q = ct.load(b, (k, j), (TK, TM), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(p, q, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


def scaled(t: ct.Tile, s: Scale) -> ct.Tile:
    return t * s.factor + s.offset


@ct.tile_kernel
def clipped(x: ct.Array, out: ct.Array, low: float, n: int) -> None:
    t = scaled(ct.load(x, (ct.bid(0),), (64,)), Scale(2.0, 1.0))
    position = ct.arange(64, dtype=ct.int32) + ct.bid(0) * 64
    kept = ct.where((position < n) & (t > low), t, 0.0)
    if n > 3:
        kept = -kept
    ct.scatter(out, position, kept[:, None].reshape((64,)))
    ct.atomic_add(out, 0, 1.0)


def main() -> None:
    x = np.ones(1024, np.float32)
    z = np.zeros_like(x)
    add[(4,)](x, x, z)
    ct.launch(0, (ct.cdiv(1024, 64),), clipped, (x, z, 0.5, 1024)) if ct.gpu_available() else None
    assert z.shape == x.shape
