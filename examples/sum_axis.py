"""Sum over any axis. Every such sum is one over the middle axis of a three-dimensional view."""

import math

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def sum_middle(x, out, tn: tw.Constant[int], ti: tw.Constant[int]):
    o, i = tw.bid(0), tw.bid(1)
    acc = tw.zeros((ti,), tw.float32)
    for k in range(tw.num_tiles(x, 1, (1, tn, ti))):
        part = tw.load(x, (o, k, i), (1, tn, ti), padding_mode=tw.PaddingMode.ZERO)
        acc += tw.sum(part, axis=(0, 1))
    tw.store(out, (o, i), acc[None, :])


def tiles(n: int, inner: int) -> tuple[int, int]:
    """Tile lengths along the summed and the inner axis: wide where memory is contiguous."""
    if inner == 1:
        return min(1024, 1 << max(0, (n - 1).bit_length())), 1
    return 16, 64


def main() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((37, 130, 65), dtype=np.float32)
    for axis in range(x.ndim):
        outer, n, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
        view = x.reshape(outer, n, inner)
        exact = view.astype(np.float64).sum(axis=1)
        bound = n * np.finfo(np.float32).eps * np.abs(view).astype(np.float64).sum(axis=1)
        tn, ti = tiles(n, inner)
        for place in places():
            dx, out = place.put(view, np.empty((outer, inner), np.float32))
            sum_middle[(outer, tw.cdiv(inner, ti))](dx, out, tn, ti)
            check(f"sum over axis {axis} of {x.shape}", place, place.get(out), exact, bound)


if __name__ == "__main__":
    main()
