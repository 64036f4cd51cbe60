"""Gather rows of a table by index (an embedding look-up), and scatter them back in another order."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def gather_rows(table, rows, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(rows, (i,), (tm,))
    column = j * tn + tw.arange(tn, dtype=tw.int32)
    # Rows outside the table, negative ones too, read as 0.
    tw.store(out, (i, j), tw.gather(table, (row[:, None], column[None, :])))


@tw.tile_kernel
def scatter_rows(x, rows, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    # A row of tm indices may reach past the end: those lanes get -1, which is outside and so skipped.
    at = i * tm + tw.arange(tm, dtype=tw.int32)
    row = tw.gather(rows, at, padding_value=-1)
    column = j * tn + tw.arange(tn, dtype=tw.int32)
    tw.scatter(out, (row[:, None], column[None, :]), tw.load(x, (i, j), (tm, tn)))


def main() -> None:
    rng = np.random.default_rng(8)
    count, width, n = 500, 100, 333
    table = rng.standard_normal((count, width), dtype=np.float32)
    rows = rng.integers(-3, count + 3, n).astype(np.int32)
    inside = (rows >= 0) & (rows < count)
    want = np.where(inside[:, None], table[np.clip(rows, 0, count - 1)], np.float32(0))
    grid = (tw.cdiv(n, 16), tw.cdiv(width, 32))
    for place in places():
        dt, dr, out = place.put(table, rows, np.empty((n, width), np.float32))
        gather_rows[grid](dt, dr, out, 16, 32)
        check("gather rows", place, place.get(out), want)

    order = rng.permutation(n).astype(np.int32)
    x = rng.standard_normal((n, width), dtype=np.float32)
    back = np.empty_like(x)
    back[order] = x
    for place in places():
        dx, do, out = place.put(x, order, np.zeros((n, width), np.float32))
        scatter_rows[grid](dx, do, out, 16, 32)
        check("scatter rows", place, place.get(out), back)


if __name__ == "__main__":
    main()
