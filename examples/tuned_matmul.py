"""A matrix product from plain to tuned, a step for each kernel: docs/performance.md tells what each step changes."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


def product(a, b, i, j, tm, tn, tk):
    """Tile (i, j) of a @ b, added up in float32."""
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(a.shape[1], tk)):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    return acc


def banded(number, rows, columns, band):
    """Row and column of output tile `number`, column by column within a band of `band` rows of tiles."""
    first = number // (band * columns) * band
    height = min(rows - first, band)
    place = number % (band * columns)
    return first + place % height, place // height


@tw.tile_kernel
def plain(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """A block for each tile of c. Grid: (tiles of columns, tiles of rows)."""
    j, i = tw.bid(0), tw.bid(1)
    tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk).astype(c.dtype))


@tw.tile_kernel
def in_bands(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], band: tw.Constant[int]):
    """Blocks that run together share rows of a and columns of b, which the second-level cache then holds."""
    i, j = banded(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), band)
    tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk).astype(c.dtype))


@tw.tile_kernel
def persistent(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], band: tw.Constant[int]):
    """As many blocks as run at once; while one stores a tile, the loads of its next tile are under way."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for number in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = banded(number, rows, columns, band)
        tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk).astype(c.dtype))


def steps(m, n, processors):
    """(name, kernel, grid, constants) of each step for a result of m x n."""
    def tiles(tm, tn):
        return tw.cdiv(m, tm), tw.cdiv(n, tn)

    for tm, tn, tk in ((64, 64, 32), (128, 128, 64), (128, 256, 64)):
        rows, columns = tiles(tm, tn)
        yield f"plain, {tm}x{tn}x{tk}", plain, (columns, rows), (tm, tn, tk)
    rows, columns = tiles(128, 256)
    yield "in bands, 128x256x64", in_bands, (rows * columns,), (128, 256, 64, 8)
    yield "persistent, 128x256x64", persistent, (min(rows * columns, processors),), (128, 256, 64, 8)


def main() -> None:
    rng = np.random.default_rng(43)
    m, n, k = 300, 520, 200
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    want = a.astype(np.float64) @ b.astype(np.float64)
    bound = 2.0**-8 * np.abs(want) + k * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for place in places():
        for name, kernel, grid, constants in steps(m, n, processors=4):
            da, db, c = place.put(a, b, np.empty((m, n), ml_dtypes.bfloat16))
            kernel[grid](da, db, c, *constants)
            check(name, place, place.get(c), want, bound)


if __name__ == "__main__":
    main()
