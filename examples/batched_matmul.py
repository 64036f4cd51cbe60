"""Products of a batch of matrices, the right one stored transposed; bias and GELU while they are in registers."""

import math

import numpy as np
from _places import check, places

import tilewright as tw


def gelu(x):
    """The tanh form of GELU."""
    return 0.5 * x * (1.0 + tw.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@tw.tile_kernel
def linear_gelu(a, b, bias, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """a: (batch, m, k), b: (batch, n, k), bias: (n,), c: (batch, m, n)."""
    i, j, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (1, tm, tk))):
        x = tw.load(a, (batch, i, k), (1, tm, tk), padding_mode=tw.PaddingMode.ZERO).reshape((tm, tk))
        # order names the array's axis for each axis of the tile: a (1, tk, tn) tile of the transposed matrix.
        y = tw.load(b, (batch, k, j), (1, tk, tn), order=(0, 2, 1), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y.reshape((tk, tn)), acc)
    acc = gelu(acc + tw.load(bias, j, tn).astype(tw.float32)[None, :])
    tw.store(c, (batch, i, j), acc.astype(c.dtype).reshape((1, tm, tn)))


def main() -> None:
    rng = np.random.default_rng(28)
    batch, m, n, k = 3, 50, 70, 90
    a = rng.standard_normal((batch, m, k)).astype(np.float16)
    b = (rng.standard_normal((batch, n, k)) / 8).astype(np.float16)
    bias = rng.standard_normal(n).astype(np.float16)
    x = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1) + bias
    want = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    # The tanh form itself is within 5e-4 of GELU.
    assert np.max(np.abs(want - 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))))) < 5e-4
    for place in places():
        da, db, dbias, c = place.put(a, b, bias, np.empty((batch, m, n), np.float16))
        linear_gelu[(tw.cdiv(m, 32), tw.cdiv(n, 64), batch)](da, db, dbias, c, 32, 64, 32)
        check(f"linear + GELU, {batch} x {m} x {k} x {n}", place, place.get(c), want,
              bound=2.0**-11 * np.abs(want) + 5e-5)


if __name__ == "__main__":
    main()
