"""The Mandelbrot set: a while loop that ends when every point of the tile has escaped."""

import numpy as np
from _places import places

import tilewright as tw


@tw.tile_kernel
def mandelbrot(steps, left: float, top: float, pitch: float, limit: tw.Constant[int], tile: tw.Constant[int]):
    """steps (int32): how many steps each point stays within radius 2, at most `limit`."""
    i, j = tw.bid(0), tw.bid(1)
    lane = tw.arange(tile, dtype=tw.int32)
    cx = (left + (j * tile + lane) * pitch)[None, :]
    cy = (top - (i * tile + lane) * pitch)[:, None]
    x, y = tw.zeros((tile, tile), tw.float32), tw.zeros((tile, tile), tw.float32)
    count = tw.zeros((tile, tile), tw.int32)
    step, running = 0, tile * tile
    while running > 0 and step < limit:
        inside = x * x + y * y <= 4.0
        # An escaped point stays where it is.
        x, y = tw.where(inside, x * x - y * y + cx, x), tw.where(inside, 2.0 * x * y + cy, y)
        count += inside.astype(tw.int32)
        running = tw.sum(inside)
        step += 1
    tw.store(steps, (i, j), count)


def main() -> None:
    size, tile, limit = 96, 32, 60
    left, top, pitch = np.float32(-2.0), np.float32(1.2), np.float32(2.5 / size)
    cx = (left + np.arange(size, dtype=np.float32) * pitch)[None, :]
    cy = (top - np.arange(size, dtype=np.float32) * pitch)[:, None]
    z = np.zeros((size, size), np.complex128)
    want = np.zeros((size, size), np.int32)
    for _ in range(limit):
        inside = np.abs(z) <= 2
        want += inside
        z = np.where(inside, z * z + cx + 1j * cy, z)
    for place in places():
        steps = place.put(np.empty((size, size), np.int32))
        mandelbrot[(size // tile, size // tile)](steps, float(left), float(top), float(pitch), limit, tile)
        got = place.get(steps)
        # Points on the border escape a step earlier or later in float32 than in float64: a few of them.
        share = np.mean(got != want)
        print(f"{'Mandelbrot set':<44} {place.name:<12} {100 * share:.2f} % of the points differ from float64")
        if share > 0.02:
            raise SystemExit("Mandelbrot set: too many points differ")


if __name__ == "__main__":
    main()
