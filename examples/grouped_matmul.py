"""Many matrix products of different sizes in one launch: the matrices are lists, the blocks share all output tiles."""

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def grouped_matmul(left, right, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out[g] = left[g] @ right[g]. Any number of blocks; each takes every num_blocks-th tile of the whole list."""
    number = tw.bid(0)
    # Tiles of the products before this one.
    before = 0
    for g in range(len(left)):
        a, b, c = left[g], right[g], out[g]
        tiles_m, tiles_n = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
        while number < before + tiles_m * tiles_n:
            i, j = (number - before) // tiles_n, (number - before) % tiles_n
            acc = tw.zeros((tm, tn), tw.float32)
            for k in range(tw.cdiv(a.shape[1], tk)):
                x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
                y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
                acc = tw.mma(x, y, acc)
            tw.store(c, (i, j), acc.astype(c.dtype))
            number += tw.num_blocks(0)
        before += tiles_m * tiles_n


def main() -> None:
    rng = np.random.default_rng(43)
    sizes = ((100, 70, 33), (1, 1, 1), (64, 130, 96), (17, 40, 200))
    left = [rng.standard_normal((m, k)).astype(np.float16) for m, n, k in sizes]
    right = [rng.standard_normal((k, n)).astype(np.float16) for m, n, k in sizes]
    for place in places():
        out = [place.put(np.empty((m, n), np.float16)) for m, n, k in sizes]
        grouped_matmul[(5,)]([place.put(a) for a in left], [place.put(b) for b in right], out, 32, 64, 32)
        for (m, n, k), a, b, c in zip(sizes, left, right, out, strict=True):
            want = a.astype(np.float64) @ b.astype(np.float64)
            size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
            check(f"grouped product of {m} x {k} x {n}", place, place.get(c), want,
                  bound=2.0**-11 * np.abs(want) * 1.01 + k * 2.0**-23 * size)


if __name__ == "__main__":
    main()
