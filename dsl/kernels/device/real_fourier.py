"""Fourier transforms of real numbers: those of n numbers are one of n / 2 complex ones, whose parts are neighbours.

With z[j] = x[2 j] + i x[2 j + 1], the transform Z of z holds those of the even and the odd elements: at k they are the
half sum and, times -i, the half difference of Z[k] and the conjugate of Z[n / 2 - k].
"""

from typing import Annotated

import tilewright as tw
from tilewright.kernels.device.common import load_wide, store_as
from tilewright.kernels.device.fourier import BOTH, Rows, minus, pair, plus, root, times, transforms, unpaired

# Rows of an odd number of points, of which 8 bytes are known to be aligned where the stride is a constant.
Spectra = Annotated[tw.Array, tw.ArrayAnnotation(static_shape_dims=(1, 2), static_stride_dims=(0, 1, 2))]


def conjugate(a):
    return a[0], -a[1]


def inner_times(a, k, factor):
    """A spectrum times a factor, but for its first point."""
    if factor == 1:
        return a
    by = tw.where(k == 0, 1.0, factor).astype(a[0].dtype)
    return a[0] * by, a[1] * by


def of_real(v, other, k, n, scale):
    """Points k of the spectrum of n real numbers, scaled: v has those of the half as long transform, other the ones at
    n / 2 - k."""
    even, odd = plus(v, conjugate(other)), minus(v, conjugate(other))
    turned = times((odd[1], -odd[0]), root(k, n, v[0].dtype))
    half = 0.5 * scale
    return (even[0] + turned[0]) * half, (even[1] + turned[1]) * half


def of_pairs(v, other, k, n):
    """The other way round, times 2: v has points k of the spectrum of n real numbers, other those at n / 2 - k. The
    imaginary parts of the first and the last one, which real numbers do not have, count as 0."""
    v, other = (v[0], tw.where(k == 0, 0.0, v[1])), (other[0], tw.where(k == 0, 0.0, other[1]))
    even, odd = plus(v, conjugate(other)), minus(v, conjugate(other))
    turned = times(odd, conjugate(root(k, n, v[0].dtype)))
    return even[0] - turned[1], even[1] + turned[0]


def store_last(out, at, first, scale):
    """The point behind `first`, which are the first ones of a half as long transform: its imaginary part is 0."""
    last = (first[0] - first[1]) * scale
    store_as(out, at, tw.join(last, last * 0.0).reshape((last.shape[0], 1, 2)))


@tw.tile_kernel
def real_rows(x: Rows, out: Spectra, scale: tw.Constant[float], factor: tw.Constant[float], rows: tw.Constant[int],
              radices: tw.Constant[tuple[int, ...]]):
    """x: (m, h, 2), 2 h real numbers in each row, out: (m, h + 1, 2), half of their spectra, those but the first and
    the last point times `factor`. h is the product of the radices. A block takes `rows` of them."""
    i, h = tw.bid(0), x.shape[1]
    v = transforms(pair(load_wide(x, (i, 0, 0), (rows, h, 2)), (rows, h), False), radices, 1, None)
    k = tw.arange(h, dtype=tw.int32)[None, :]
    other = tuple(tw.take(t, -tw.arange(h, dtype=tw.int32), 1) for t in tw.static_iter(v))
    found = inner_times(of_real(v, other, k, 2 * h, scale), k, factor)
    store_as(out.slice(1, 0, h), (i, 0, 0), unpaired(found, (rows, h, 2), False, 1))
    store_last(out, (i, h, 0), tuple(t.extract((0, 0), (rows, 1)) for t in tw.static_iter(v)), scale)


@tw.tile_kernel
def rows_of_spectra(x: Spectra, out: Rows, scale: tw.Constant[float], factor: tw.Constant[float],
                    rows: tw.Constant[int], radices: tw.Constant[tuple[int, ...]]):
    """x: (m, h + 1, 2), halves of spectra, of which those but the first and the last point count times `factor`,
    out: (m, h, 2), the 2 h real numbers of each."""
    i, h = tw.bid(0), out.shape[1]
    k = tw.arange(h, dtype=tw.int32)[None, :]
    v = inner_times(pair(load_wide(x.slice(1, 0, h), (i, 0, 0), (rows, h, 2)), (rows, h), False), k, factor)
    behind = pair(load_wide(x.slice(1, 1, h + 1), (i, 0, 0), (rows, h, 2)), (rows, h), False)
    other = inner_times(tuple(tw.flip(t, 1) for t in tw.static_iter(behind)), k, factor)
    z = of_pairs(v, other, k, 2 * h)
    z = transforms((z[1], z[0]), radices, 1, None)
    store_as(out, (i, 0, 0), unpaired(z, (rows, h, 2), True, scale))


def gathered(x, i, k):
    """Points k of row i, (1, length of k), wide."""
    t = tuple(tw.gather(x, (i, k, part)) for part in tw.static_iter(BOTH))
    return tuple(p.astype(t[0].dtype)[None, :] for p in tw.static_iter(t))


@tw.tile_kernel
def spectra_of_pairs(z: Rows, out: Spectra, scale: tw.Constant[float], factor: tw.Constant[float],
                     tile: tw.Constant[int]):
    """z: (m, h, 2), transforms of pairs of real numbers, out: (m, h + 1, 2), as `real_rows` gives it."""
    i, j, h = tw.bid(0), tw.bid(1), z.shape[1]
    k = j * tile + tw.arange(tile, dtype=tw.int32)
    v = pair(load_wide(z, (i, j, 0), (1, tile, 2)), (1, tile), False)
    other = gathered(z, i, (h - k) % h)
    found = inner_times(of_real(v, other, k[None, :], 2 * h, scale), k[None, :], factor)
    store_as(out.slice(1, 0, h), (i, j, 0), unpaired(found, (1, tile, 2), False, 1))
    if j == 0:
        store_last(out, (i, h, 0), tuple(t.extract((0, 0), (1, 1)) for t in tw.static_iter(v)), scale)


@tw.tile_kernel
def pairs_of_spectra(x: Spectra, z: Rows, factor: tw.Constant[float], tile: tw.Constant[int]):
    """x: (m, h + 1, 2), halves of spectra, z: (m, h, 2), the transforms of pairs of their real numbers, times 2."""
    i, j, h = tw.bid(0), tw.bid(1), z.shape[1]
    k = j * tile + tw.arange(tile, dtype=tw.int32)
    v = inner_times(pair(load_wide(x.slice(1, 0, h), (i, j, 0), (1, tile, 2)), (1, tile), False), k[None, :], factor)
    other = inner_times(gathered(x, i, h - k), k[None, :], factor)
    store_as(z, (i, j, 0), unpaired(of_pairs(v, other, k[None, :], 2 * h), (1, tile, 2), False, 1))
