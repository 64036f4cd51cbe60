"""Fourier transforms of 4096 points in registers: six steps of radix 4, a block for each transform.

Stockham's algorithm: each step leaves its results in the order that the next one needs, so no bits are reversed at the
end. Reshapes say which elements meet; only the twiddle factors, which turn elements between steps, need an index.
"""

import numpy as np
from _places import check, places
from fft import as_pair, times

import tilewright as tw

N = 4096
STRIDES = 1, 4, 16, 64, 256, 1024


def quarter(v, r):
    """Elements 1024 r to 1024 r + 1023 of a complex tile."""
    return tuple(t.reshape((4, N // 4)).extract((r, 0), (1, N // 4)).reshape((N // 4,)) for t in v)


def plus(a, b):
    return a[0] + b[0], a[1] + b[1]


def minus(a, b):
    return a[0] - b[0], a[1] - b[1]


def joined(parts, stride):
    """Element q + stride * (4 p + r) of the result is element q + stride * p of part r."""
    shape = N // 4 // stride, 1, stride
    a, b, c, d = (tuple(t.reshape(shape) for t in part) for part in parts)
    return tuple(tw.cat((tw.cat((a[i], b[i]), 1), tw.cat((c[i], d[i]), 1)), 1).reshape((N,)) for i in (0, 1))


def step(v, roots, stride):
    """1024 transforms of 4 points, an element of each quarter, and their twiddle factors."""
    a, b, c, d = quarter(v, 0), quarter(v, 1), quarter(v, 2), quarter(v, 3)
    even, odd, sums, turned = plus(a, c), minus(a, c), plus(b, d), minus(b, d)
    turned = turned[1], -turned[0]  # times -i
    at = tw.arange(N // 4, dtype=tw.int32) // stride * stride
    w = tw.gather(roots, (0, at)), tw.gather(roots, (1, at))
    squared = times(w, w)
    return joined((plus(even, sums), times(plus(odd, turned), w), times(minus(even, sums), squared),
                   times(minus(odd, turned), times(squared, w))), stride)


@tw.tile_kernel(num_worker_warps=8)
def fft4096(x, roots, out):
    """x, out: (2, batch, 4096), real and imaginary parts; roots: (2, 1024), powers of the 4096th root of 1."""
    i = tw.bid(0)
    v = tuple(tw.load(x, (part, i, 0), (1, 1, N)).reshape((N,)) for part in tw.static_iter((0, 1)))
    for stride in tw.static_iter(STRIDES):
        v = step(v, roots, stride)
    for part in tw.static_iter((0, 1)):
        tw.store(out, (part, i, 0), v[part].reshape((1, 1, N)))


def main() -> None:
    rng = np.random.default_rng(55)
    batch = 6
    x = rng.standard_normal((2, batch, N)).astype(np.float32)
    want = np.fft.fft(x[0].astype(np.float64) + 1j * x[1])
    for place in places():
        dx, roots, out = place.put(x, as_pair(np.exp(-2j * np.pi * np.arange(N // 4) / N)), np.empty_like(x))
        fft4096[(batch,)](dx, roots, out)
        check(f"{batch} transforms of {N} points", place, place.get(out), np.stack([want.real, want.imag]), bound=3e-4)


if __name__ == "__main__":
    main()
