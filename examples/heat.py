"""Heat on a plate, a five-point stencil: loads from shifted views of the array."""

import numpy as np
from _places import check, places

import tilewright as tw


def inner(a, dy, dx):
    """The inner points of `a`, shifted: a view, whose bounds are its own."""
    return a.slice(0, 1 + dy, a.shape[0] - 1 + dy).slice(1, 1 + dx, a.shape[1] - 1 + dx)


@tw.tile_kernel
def heat_step(old, new, share: float, tile: tw.Constant[int]):
    """One explicit step of the inner points; the rim keeps its temperature."""
    at = tw.bid(0), tw.bid(1)
    here = tw.load(inner(old, 0, 0), at, (tile, tile))
    around = tw.zeros((tile, tile), old.dtype)
    for dy, dx in tw.static_iter(((-1, 0), (1, 0), (0, -1), (0, 1))):
        around += tw.load(inner(old, dy, dx), at, (tile, tile))
    tw.store(inner(new, 0, 0), at, here + share * (around - 4.0 * here))


def main() -> None:
    rng = np.random.default_rng(34)
    rows, columns, share = 70, 100, 0.2
    plate = rng.random((rows, columns)).astype(np.float32)
    want = plate.astype(np.float64)
    for _ in range(5):
        middle = want[1:-1, 1:-1]
        around = want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:]
        want = np.pad(middle + share * (around - 4 * middle), 1)
        want[[0, -1]], want[:, [0, -1]] = plate[[0, -1]], plate[:, [0, -1]]
    for place in places():
        old, new = place.put(plate.copy(), plate.copy())
        for _ in range(5):
            heat_step[(tw.cdiv(rows - 2, 32), tw.cdiv(columns - 2, 32))](old, new, share, 32)
            old, new = new, old
        check(f"five steps of heat on {rows} x {columns}", place, place.get(old), want, bound=2e-6)


if __name__ == "__main__":
    main()
