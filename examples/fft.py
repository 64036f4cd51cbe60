"""Discrete Fourier transforms of 64 points in two steps of 8: products with a small matrix, twiddle factors between."""

import numpy as np
from _places import check, places

import tilewright as tw


def times(a, b):
    """Product of complex numbers given as (real, imaginary)."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def product(a, b):
    """Matrix product of complex tiles."""
    return a[0] @ b[0] - a[1] @ b[1], a[0] @ b[1] + a[1] @ b[0]


@tw.tile_kernel
def fft64(x, matrix, twiddle, out, rows: tw.Constant[int]):
    """x, out: (2, batch, 64), real and imaginary parts. matrix, twiddle: (2, 8, 8). A block does `rows` transforms."""
    i = tw.bid(0)
    w = tw.load(matrix, (0, 0, 0), (1, 8, 8)).reshape((8, 8)), tw.load(matrix, (1, 0, 0), (1, 8, 8)).reshape((8, 8))
    t = tw.load(twiddle, (0, 0, 0), (1, 8, 8)), tw.load(twiddle, (1, 0, 0), (1, 8, 8))
    # Element 8 a + b of a transform stands at (a, b).
    v = tuple(tw.load(x, (part, i, 0), (1, rows, 64)).reshape((rows, 8, 8)) for part in tw.static_iter((0, 1)))
    v = times(product(w, v), t)
    v = product(v, w)
    # Result k1 + 8 k2 is at (k1, k2): a transpose puts it in order.
    for part in tw.static_iter((0, 1)):
        tw.store(out, (part, i, 0), v[part].transpose(1, 2).reshape((1, rows, 64)))


def as_pair(z: np.ndarray) -> np.ndarray:
    """Complex numbers as their real and imaginary parts."""
    return np.stack([z.real, z.imag]).astype(np.float32)


def main() -> None:
    rng = np.random.default_rng(38)
    n = 100
    x = rng.standard_normal((2, n, 64)).astype(np.float32)
    power = np.outer(np.arange(8), np.arange(8))
    matrix, twiddle = np.exp(-2j * np.pi * power / 8), np.exp(-2j * np.pi * power / 64)
    want = np.fft.fft(x[0].astype(np.float64) + 1j * x[1])
    for place in places():
        dx, dm, dt, out = place.put(x, as_pair(matrix), as_pair(twiddle), np.empty_like(x))
        fft64[(tw.cdiv(n, 16),)](dx, dm, dt, out, 16)
        check(f"{n} transforms of 64 points", place, place.get(out), np.stack([want.real, want.imag]), bound=2e-5)


if __name__ == "__main__":
    main()
