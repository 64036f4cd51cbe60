"""The k largest elements of each row with their places: k times argmax, each winner removed."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def top_k(x, values, indices, k: tw.Constant[int], rows: tw.Constant[int], width: tw.Constant[int]):
    block = tw.bid(0)
    t = tw.load(x, (block, 0), (rows, width), padding_mode=tw.PaddingMode.NEG_INF)
    column = tw.arange(width, dtype=tw.int32)[None, :]
    for i in range(k):
        best = tw.max(t, axis=1, keepdims=True)
        winner = tw.argmax(t, axis=1, keepdims=True)
        tw.store(values, (block, i), best)
        tw.store(indices, (block, i), winner)
        t = tw.where(column == winner, -float("inf"), t)


def main() -> None:
    rng = np.random.default_rng(31)
    m, n, k = 30, 100, 5
    x = np.round(rng.standard_normal((m, n)) * 20).astype(np.float32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    for place in places():
        dx, values, indices = place.put(x, np.empty((m, k), np.float32), np.empty((m, k), np.int32))
        top_k[(tw.cdiv(m, 8),)](dx, values, indices, k, 8, 128)
        check(f"top {k} of {m} x {n}", place, place.get(values), np.take_along_axis(x, order, axis=1))
        check(f"top {k} of {m} x {n}: places, ties in order", place, place.get(indices), order.astype(np.int32))


if __name__ == "__main__":
    main()
