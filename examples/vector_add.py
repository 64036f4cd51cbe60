"""Vector add: the smallest kernel. One block adds one tile of the vectors."""

import numpy as np
from _places import check, places

import tilewright as tw

TILE = 1024


@tw.tile_kernel
def vector_add(x, y, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    a = tw.load(x, (i,), (tile,))
    b = tw.load(y, (i,), (tile,))
    tw.store(out, (i,), a + b)


def main() -> None:
    rng = np.random.default_rng(0)
    for n in (1 << 20, 1_000_003):  # a multiple of the tile, and one that is not
        x = rng.standard_normal(n, dtype=np.float32)
        y = rng.standard_normal(n, dtype=np.float32)
        for place in places():
            dx, dy, out = place.put(x, y, np.empty_like(x))
            vector_add[(tw.cdiv(n, TILE),)](dx, dy, out, TILE)
            check(f"vector add of {n} floats", place, place.get(out), x + y)


if __name__ == "__main__":
    main()
