"""2-D transpose: tiles are read row by row and written row by row, turned in between."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def transpose(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (tm, tn))))


def main() -> None:
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.int8, np.float64):
        x = (100 * rng.standard_normal((1000, 531))).astype(dtype)
        for place in places():
            dx, out = place.put(x, np.empty((531, 1000), dtype))
            transpose[(tw.cdiv(1000, 64), tw.cdiv(531, 64))](dx, out, 64, 64)
            check(f"transpose of {np.dtype(dtype).name}", place, place.get(out), x.T)


if __name__ == "__main__":
    main()
