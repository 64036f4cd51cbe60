"""Sparse matrix (CSR) times vector: each block walks over the entries of one row, whose number it reads from memory."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def csr_times_vector(starts, columns, values, x, y, tile: tw.Constant[int]):
    """Row r has the entries starts[r] to starts[r + 1] of `columns` and `values`."""
    row = tw.bid(0)
    first, last = tw.gather(starts, row), tw.gather(starts, row + 1)
    acc = tw.zeros(tile, tw.float32)
    for k in range(first, last, tile):
        at = k + tw.arange(tile, dtype=tw.int32)
        # Lanes past the row's end read nothing and add the padding, 0.
        mine = at < last
        column = tw.gather(columns, at, mask=mine)
        acc += tw.gather(values, at, mask=mine) * tw.gather(x, column, mask=mine)
    tw.store(y, row, tw.sum(acc))


def main() -> None:
    rng = np.random.default_rng(41)
    rows, width = 60, 300
    dense = np.where(rng.random((rows, width)) < rng.random((rows, 1)) / 2, rng.standard_normal((rows, width)), 0)
    dense[7] = 0
    x = rng.standard_normal(width, dtype=np.float32)
    at = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))]).astype(np.int32)
    values = dense[at].astype(np.float32)
    dense[at] = values
    for place in places():
        ds, dc, dv, dx, y = place.put(starts, at[1].astype(np.int32), values, x, np.empty(rows, np.float32))
        csr_times_vector[(rows,)](ds, dc, dv, dx, y, 32)
        check(f"{len(values)} entries of {rows} x {width}", place, place.get(y), dense @ x,
              bound=2.0**-20 * (np.abs(dense) @ np.abs(x)))


if __name__ == "__main__":
    main()
