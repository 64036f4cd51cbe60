"""Softmax of rows of any length; maximum and sum are corrected chunk by chunk, so one pass finds both."""

import numpy as np
from _places import check, places

import tilewright as tw

LOG2E = 1.4426950408889634


@tw.tile_kernel
def online_softmax(x, out, chunk: tw.Constant[int]):
    row = tw.bid(0)
    chunks = tw.num_tiles(x, axis=1, shape=(1, chunk))
    # Each lane keeps its own maximum and sum, so the loop has no reduction in it.
    # A finite start: -inf - (-inf) would be NaN.
    top = tw.full((1, chunk), -3.0e38, tw.float32)
    total = tw.zeros((1, chunk), tw.float32)
    for j in range(chunks):
        t = tw.load(x, (row, j), (1, chunk), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
        # The sum counts in shares of e ** top. Of the old maximum and the new element the smaller one is scaled down.
        share = tw.exp2(tw.abs(t - top) * -LOG2E, flush_to_zero=True)
        total = tw.where(t > top, total * share + 1.0, total + share)
        top = tw.maximum(top, t)
    row_top = tw.max(top)
    scale = 1.0 / tw.sum(total * tw.exp2((top - row_top) * LOG2E, flush_to_zero=True))
    for j in range(chunks):
        t = tw.load(x, (row, j), (1, chunk)).astype(tw.float32)
        e = tw.exp2(t * LOG2E - row_top * LOG2E, flush_to_zero=True)
        tw.store(out, (row, j), (e * scale).astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(21)
    for m, n, dtype in ((8, 5000, np.float32), (5, 77, np.float16)):
        x = (4 * rng.standard_normal((m, n))).astype(dtype)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        want = e / e.sum(axis=1, keepdims=True)
        half_ulp = 2.0**-11 if dtype == np.float16 else 2.0**-24
        for place in places():
            dx, out = place.put(x, np.empty_like(x))
            online_softmax[(m,)](dx, out, 1024)
            check(f"online softmax of {m} x {n} {x.dtype}", place, place.get(out), want,
                  bound=(4e-6 + half_ulp) * want + 1e-7)


if __name__ == "__main__":
    main()
