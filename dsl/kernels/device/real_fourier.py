"""Fourier transforms of real numbers: those of n numbers are one of n / 2 complex ones, whose parts are neighbours.

With z[j] = x[2 j] + i x[2 j + 1], the transform Z of z holds those of the even and the odd elements: at k they are the
half sum and, times -i, the half difference of Z[k] and the conjugate of Z[n / 2 - k]. So points k and n / 2 - k of the
spectrum come from the same two of Z, and a half of Z is all that threads exchange.
"""

from typing import Annotated

import tilewright as tw
from tilewright.kernels.device.common import load_wide, store_as, wide
from tilewright.kernels.device.fourier import (
    BOTH,
    Matrices,
    Rows,
    all_turned,
    minus,
    pair,
    plus,
    root,
    side_by_side,
    times,
    transforms,
    turned,
    unpaired,
)

# Rows of an odd number of points, of which 8 bytes are known to be aligned where the stride is a constant.
Spectra = Annotated[tw.Array, tw.ArrayAnnotation(static_shape_dims=(1, 2), static_stride_dims=(0, 1, 2))]


def conjugate(a):
    return a[0], -a[1]


def inner_times(a, k, factor):
    """A spectrum times a factor, but for its first point, or its last one where it is that of the other end."""
    if factor == 1:
        return a
    by = tw.where(k == 0, 1.0, factor).astype(a[0].dtype)
    return a[0] * by, a[1] * by


def part(v, k, count):
    """Part k of a pair of tiles that is cut into so many along its last axis."""
    rows, length = v[0].shape
    return tuple(t.extract((0, k), (rows, length // count)) for t in tw.static_iter(v))


def roots(n, length, parts, dtype):
    """exp(-2 pi i k / n) for k below a length, the first part by cosine and sine, and the others from it."""
    first = root(tw.arange(length // parts, dtype=tw.int32)[None, :], n, n * parts // length, dtype)
    return side_by_side(tuple(turned(first, k * (length // parts), n) for k in tw.static_iter(range(parts))), 1)


def mirrored(v, inner):
    """The first half of spectra Z of n points along the last axis, `inner` of them side by side: (Z[k], Z[n - k]), and
    Z[n / 2]."""
    lower, upper = part(v, 0, 2), part(v, 1, 2)
    place = tw.arange(lower[0].shape[1], dtype=tw.int32)
    index = place % inner * 2 - place
    other = tuple(tw.where((place < inner)[None, :], lower[i], tw.take(upper[i], index, 1))
                  for i in tw.static_iter(BOTH))
    return lower, other, part(upper, 0, lower[0].shape[1] // inner)


def of_parts(v, other, by):
    """The spectra of the real and of the imaginary parts, times a number, at k, of Z[k] and Z[n - k]."""
    real, imaginary = plus(v, conjugate(other)), minus(v, conjugate(other))
    return (real[0] * by, real[1] * by), (imaginary[1] * by, imaginary[0] * -by)


def of_pairs(v, other, k, by):
    """z times 2 at k, of points k of the spectrum of n real numbers, and those at n / 2 - k; `by` is the root of n to
    the power k. The imaginary parts of the first and the last point, which real numbers do not have, count as 0."""
    v, other = (v[0], tw.where(k == 0, 0.0, v[1])), (other[0], tw.where(k == 0, 0.0, other[1]))
    even, odd = plus(v, conjugate(other)), minus(v, conjugate(other))
    turn = times(odd, conjugate(by))
    return even[0] - turn[1], even[1] + turn[0]


def columns_of(sides, shape):
    """Two complex tiles as a tile of a shape that takes a column of one, and a column of the other."""
    return tw.join(*tuple(tw.join(sides[0][i], sides[1][i]) for i in tw.static_iter(BOTH))).reshape(shape)


def positions(row, point):
    """The indices of complex numbers, of rows and points that broadcast."""
    return row[:, :, None], point[:, :, None], tw.arange(2, dtype=tw.int32)[None, None, :]


def gather_points(x, row, point):
    """Complex numbers at rows and points, wide."""
    return tw.split(tw.gather(x, positions(row, point)).astype(wide(x.dtype)))


def scatter_points(out, row, point, v, mask):
    """Write complex numbers to rows and points."""
    tw.scatter(out, positions(row, point), tw.join(v[0], v[1]).astype(out.dtype), mask=mask)


@tw.tile_kernel
def real_rows(x: Rows, out: Spectra, scale: tw.Constant[float], factor: tw.Constant[float], rows: tw.Constant[int],
              radices: tw.Constant[tuple[int, ...]]):
    """x: (m, h, 2), 2 h real numbers in each row, out: (m, h + 1, 2), half of their spectra, those but the first and
    the last point times `factor`. h is the product of the radices. A block takes `rows` of them."""
    i, h = tw.bid(0), x.shape[1]
    v = transforms(pair(load_wide(x, (i, 0, 0), (rows, h, 2)), (rows, h), False), radices, 1, None)
    if h == 1:
        ends = tw.cat((v[0] + v[1], v[0] - v[1]), 1) * scale
        store_as(out, (i, 0, 0), tw.join(ends, tw.zeros((rows, 2), ends.dtype)))
    else:
        lower, other, middle = mirrored(v, 1)
        even, odd = of_parts(lower, other, 0.5 * scale)
        turn = times(odd, roots(2 * h, h // 2, radices[len(radices) - 1] // 2, v[0].dtype))
        k = tw.arange(h // 2, dtype=tw.int32)[None, :]
        row = i * rows + tw.arange(rows, dtype=tw.int32)[:, None]
        first, last = inner_times(plus(even, turn), k, factor), inner_times(conjugate(minus(even, turn)), k, factor)
        store_as(out.slice(1, 0, h // 2), (i, 0, 0), unpaired(first, (rows, h // 2, 2), False, 1))
        scatter_points(out, row, h - k, last, None)
        store_as(out, (i, h // 2, 0), unpaired(conjugate(middle), (rows, 1, 2), False, scale * factor))


@tw.tile_kernel
def rows_of_spectra(x: Spectra, out: Rows, scale: tw.Constant[float], factor: tw.Constant[float],
                    rows: tw.Constant[int], radices: tw.Constant[tuple[int, ...]]):
    """x: (m, h + 1, 2), halves of spectra, of which those but the first and the last point count times `factor`,
    out: (m, h, 2), the 2 h real numbers of each."""
    i, h = tw.bid(0), out.shape[1]
    k = tw.arange(h, dtype=tw.int32)[None, :]
    row = i * rows + tw.arange(rows, dtype=tw.int32)[:, None]
    v = inner_times(pair(load_wide(x.slice(1, 0, h), (i, 0, 0), (rows, h, 2)), (rows, h), False), k, factor)
    other = inner_times(gather_points(x, row, h - k), k, factor)
    by = roots(2 * h, h, radices[0] if h > 1 else 1, v[0].dtype)
    z = of_pairs(v, other, k, by)
    z = transforms((z[1], z[0]), radices, 1, None)
    store_as(out, (i, 0, 0), unpaired(z, (rows, h, 2), True, scale))


@tw.tile_kernel
def real_columns(x: Matrices, out: Matrices, first, columns: tw.Constant[int], radices: tw.Constant[tuple[int, ...]]):
    """The first pass over rows of n * k real numbers. x: (m, n, k / 2, 2), out: (some of m, n / 2 + 1, k, 2), those
    from `first` on: half of the spectra along n, the product of the radices; element (a, b) is turned by the root of
    n * k to the power a * b. A block takes `columns` pairs of neighbouring columns."""
    i, j, n = tw.bid(0), tw.bid(1), x.shape[1]
    k, radix, dtype = 2 * x.shape[2], radices[len(radices) - 1], wide(x.dtype)
    v = pair(load_wide(x, (first + i, 0, j, 0), (1, n, columns, 2)), (1, n * columns), False)
    lower, other, middle = mirrored(transforms(v, radices, columns, None), columns)
    # A step gives the results of a radix with m others between them: place a * columns + b is row a, pair of columns b.
    m, count = n // radix, radix // 2
    place = tw.arange(m * columns, dtype=tw.int32)[None, :]
    row, column = place // columns, 2 * (j * columns + place % columns)
    start, apart = root(row * column, n * k, radix, dtype), root(m * column, n * k, radix, dtype)
    beside = root(row, n * k, radix * k, dtype)
    sides = of_parts(lower, other, 0.5)
    even = tuple(times(part(sides[0], p, count), start) for p in tw.static_iter(range(count)))
    odd = tuple(times(times(part(sides[1], p, count), turned(beside, p * m, n * k)), start)
                for p in tw.static_iter(range(count)))
    found = side_by_side(all_turned(even, apart), 1), side_by_side(all_turned(odd, apart), 1)
    store_as(out, (i, 0, j, 0), columns_of(found, (1, n // 2, 2 * columns, 2)))
    column = 2 * (j * columns + tw.arange(columns, dtype=tw.int32))[None, :]
    turns = tuple(root(column + side, 2 * k, 2, dtype) for side in tw.static_iter(BOTH))
    found = tuple((middle[side] * turns[side][0], middle[side] * turns[side][1]) for side in tw.static_iter(BOTH))
    store_as(out, (i, n // 2, j, 0), columns_of(found, (1, 1, 2 * columns, 2)))


@tw.tile_kernel
def real_turned_rows(x: Matrices, out: Spectra, first, scale: tw.Constant[float], factor: tw.Constant[float],
                     rows: tw.Constant[int], radices: tw.Constant[tuple[int, ...]]):
    """The second pass. x: (some of m, n / 2 + 1, k, 2), out: (m, n * k / 2 + 1, 2): transforms along k, the product of
    the radices, whose results are columns; those behind the last point are conjugates of the others. A block takes
    `rows` of them."""
    i, j, half, k = tw.bid(0), tw.bid(1), x.shape[1] - 1, x.shape[2]
    v = transforms(pair(load_wide(x, (i, j, 0, 0), (1, rows, k, 2)), (rows, k), False), radices, 1, None)
    row = (j * rows + tw.arange(rows, dtype=tw.int32))[None, :]
    column = tw.arange(k // 2, dtype=tw.int32)[:, None]
    at = row + 2 * half * column
    for side in tw.static_iter(BOTH):
        t = part(v, side, 2)
        t = t[0].permute((1, 0)) * scale, t[1].permute((1, 0)) * scale
        keep = row <= half
        if side == 1:
            # The first and the last row mirror themselves: they are written once, with the last point.
            t, keep = conjugate(t), (row < half) & ((row > 0) | (column == 0))
            at = half * k - at
        t = inner_times(t, at % (half * k), factor)
        scatter_points(out, at * 0 + first + i, at, t, keep[:, :, None])


@tw.tile_kernel
def pairs_of_spectra(x: Spectra, z: Rows, factor: tw.Constant[float], tile: tw.Constant[int]):
    """x: (m, h + 1, 2), halves of spectra, z: (m, h, 2), the transforms of pairs of their real numbers, times 2."""
    i, j, h = tw.bid(0), tw.bid(1), z.shape[1]
    k = (j * tile + tw.arange(tile, dtype=tw.int32))[None, :]
    v = inner_times(pair(load_wide(x.slice(1, 0, h), (i, j, 0), (1, tile, 2)), (1, tile), False), k, factor)
    other = inner_times(gather_points(x, k * 0 + i, h - k), k, factor)
    store_as(z, (i, j, 0), unpaired(of_pairs(v, other, k, root(k, 2 * h, 2, v[0].dtype)), (1, tile, 2), False, 1))
