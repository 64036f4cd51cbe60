"""Softmax of each row. A block holds its whole row in registers, so memory is read once."""

import numpy as np
from _places import check, places

import tilewright as tw

LOG2E = 1.4426950408889634


@tw.tile_kernel
def softmax(x, out, columns: tw.Constant[int]):
    row = tw.bid(0)
    # Columns past the end read as -inf: they take no part in the maximum and add exp(-inf) = 0 to the sum.
    t = tw.load(x, (row, 0), (1, columns), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
    # e ** (t - max) as a power of 2: the product and the difference are one fused multiply-add.
    e = tw.exp2(t * LOG2E - tw.max(t, axis=1, keepdims=True) * LOG2E, flush_to_zero=True)
    # One division a row and a product per element: an IEEE division costs ten instructions.
    share = 1.0 / tw.sum(e, axis=1, keepdims=True)
    tw.store(out, (row, 0), (e * share).astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(6)
    for m, n in ((256, 1024), (100, 1000), (7, 1)):
        x = rng.standard_normal((m, n), dtype=np.float32)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        want = e / e.sum(axis=1, keepdims=True)
        for place in places():
            dx, out = place.put(x, np.empty_like(x))
            softmax[(m,)](dx, out, 1 << (n - 1).bit_length())
            bound = n * 2.0**-24 * want + 1e-6 * want + 2.0**-126
            check(f"softmax of {m} x {n}", place, place.get(out), want, bound=bound)


if __name__ == "__main__":
    main()
