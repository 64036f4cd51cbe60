"""Conway's Game of Life on a torus: eight gathers whose indices wrap around."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def generation(old, new, tile: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    rows, columns = old.shape
    y = (i * tile + tw.arange(tile, dtype=tw.int32))[:, None]
    x = (j * tile + tw.arange(tile, dtype=tw.int32))[None, :]
    neighbours = tw.zeros((tile, tile), tw.int8)
    # static_iter repeats the body while compiling: dy and dx are constants in it.
    for dy, dx in tw.static_iter([(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]):
        neighbours += tw.gather(old, ((y + dy) % rows, (x + dx) % columns)).astype(tw.int8)
    alive = tw.gather(old, (y, x))
    tw.scatter(new, (y, x), (neighbours == 3) | (alive & (neighbours == 2)))


def main() -> None:
    rng = np.random.default_rng(30)
    board = rng.random((50, 90)) < 0.3
    want = board
    for _ in range(4):
        around = sum(np.roll(want, (dy, dx), (0, 1)).astype(int) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - want
        want = (around == 3) | (want & (around == 2))
    for place in places():
        old, new = place.put(board.copy(), np.empty_like(board))
        for _ in range(4):
            generation[(tw.cdiv(50, 32), tw.cdiv(90, 32))](old, new, 32)
            old, new = new, old
        check("four generations of life on 50 x 90", place, place.get(old), want)


if __name__ == "__main__":
    main()
