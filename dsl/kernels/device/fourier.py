"""Fourier transforms whose length is a power of two, in registers: Stockham's steps, each of one radix.

A step takes elements that lie far apart, transforms r of them at a time, turns the results, and writes them side by
side, in the order that the next step needs. Complex numbers are pairs (real, imaginary) of tiles.
"""

import math
from typing import Annotated

import tilewright as tw
from tilewright.kernels.device.common import load_wide, store_as

# Extents and strides of all axes but the first are constants of a compilation.
Rows = Annotated[tw.Array, tw.ArrayAnnotation(static_shape_dims=(1, 2), static_stride_dims=(1, 2))]
Matrices = Annotated[tw.Array, tw.ArrayAnnotation(static_shape_dims=(1, 2, 3), static_stride_dims=(1, 2, 3))]
BOTH = 0, 1
HALF = math.sqrt(0.5)


def plus(a, b):
    return a[0] + b[0], a[1] + b[1]


def minus(a, b):
    return a[0] - b[0], a[1] - b[1]


def times(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def series(x, first, count):
    """The sum of count terms (-x)^j / (first + 2 j)!, by Horner's rule."""
    total = 1 / math.factorial(first + 2 * count - 2)
    for k in tw.static_iter(range(first + 2 * count - 4, first - 1, -2)):
        total = 1 / math.factorial(k) - total * x
    return total


def root(k, n, part, dtype):
    """exp(-2 pi i k / n) of integers k below n / part. The angle is known to be small: cosine and sine are few terms of
    their series. Where a part is more than an eighth of the circle, they are those of a fraction, squared."""
    halvings = max(0, 4 - part.bit_length())
    angle = k.astype(dtype) * dtype(-2 * math.pi / (n << halvings))
    square, terms = angle * angle, 10 if dtype == tw.float64 else 6
    w = series(square, 0, terms), angle - angle * square * series(square, 3, terms - 1)
    for _ in tw.static_iter(range(halvings)):
        w = times(w, w)
    return w


def turned(a, k, n):
    """a * exp(-2 pi i k / n) of constants."""
    if k == 0:
        return a
    if 4 * k == n:
        return a[1], -a[0]
    if 8 * k == n:
        return (a[0] + a[1]) * HALF, (a[1] - a[0]) * HALF
    if 8 * k == 3 * n:
        return (a[1] - a[0]) * HALF, (a[0] + a[1]) * -HALF
    c, s = math.cos(2 * math.pi * k / n), math.sin(2 * math.pi * k / n)
    return a[0] * c + a[1] * s, a[1] * c - a[0] * s


def every_second(v, first):
    return tuple(v[k] for k in tw.static_iter(range(first, len(v), 2)))


def merged(even, odd):
    """The transform of a sequence from those of its even and odd elements."""
    n = 2 * len(even)
    odd = tuple(turned(odd[k], k, n) for k in tw.static_iter(range(n // 2)))
    return (*tuple(plus(even[k], odd[k]) for k in tw.static_iter(range(n // 2))),
            *tuple(minus(even[k], odd[k]) for k in tw.static_iter(range(n // 2))))


def transform2(v):
    return plus(v[0], v[1]), minus(v[0], v[1])


def transform4(v):
    return merged(transform2(every_second(v, 0)), transform2(every_second(v, 1)))


def transform8(v):
    return merged(transform4(every_second(v, 0)), transform4(every_second(v, 1)))


def transform16(v):
    return merged(transform8(every_second(v, 0)), transform8(every_second(v, 1)))


def transformed(v):
    """The transform of 2, 4, 8 or 16 complex tiles, element by element."""
    if len(v) == 2:
        return transform2(v)
    if len(v) == 4:
        return transform4(v)
    if len(v) == 8:
        return transform8(v)
    return transform16(v)


def powers(w, count):
    """w to the powers 1 to count - 1, of which there are 1, 3, 7 or 15: a product of two earlier ones each."""
    found = (w,)
    for _ in tw.static_iter(range(count.bit_length() - 1)):
        found = (*found, *tuple(times(found[len(found) - 1], p) for p in tw.static_iter(found)))
    return found


def all_turned(v, w):
    """Element k of a tuple times the k-th power of w."""
    by = powers(w, len(v))
    return (v[0], *tuple(times(v[k], by[k - 1]) for k in tw.static_iter(range(1, len(v)))))


def side_by_side(v, axis):
    """1, 2, 4, 8 or 16 complex tiles along an axis."""
    for _ in tw.static_iter(range(len(v).bit_length() - 1)):
        v = tuple(tuple(tw.cat((v[k][i], v[k + 1][i]), axis) for i in tw.static_iter(BOTH))
                  for k in tw.static_iter(range(0, len(v), 2)))
    return v[0]


def step(v, radix, stride, inner, turn):
    """One step of transforms along the last axis of a pair of tiles (rows, n * inner), `inner` of them side by side.
    `stride` is the product of inner and the radices before. With `turn`, a column and a length, the last step turns
    element a of the transform that stands b places behind the first one by the root of that length to the power
    a * (column + b)."""
    rows, length = v[0].shape
    m = length // radix
    v = tuple(t.reshape((rows, radix, m)) for t in tw.static_iter(v))
    parts = transformed(tuple(tuple(t.extract((0, k, 0), (rows, 1, m)).reshape((rows, m)) for t in tw.static_iter(v))
                              for k in tw.static_iter(range(radix))))
    place = tw.arange(m, dtype=tw.int32)[None, :]
    if stride * radix < length:
        parts = all_turned(parts, root(place // stride * (stride // inner), length // inner, radix, v[0].dtype))
    elif turn is not None:
        column = turn[0] + place % inner
        first = root(place // inner * column, turn[1], radix, v[0].dtype)
        parts = all_turned(tuple(times(p, first) for p in tw.static_iter(parts)),
                           root(m // inner * column, turn[1], radix, v[0].dtype))
    shape = rows, m // stride, 1, stride
    whole = side_by_side(tuple(tuple(t.reshape(shape) for t in tw.static_iter(p)) for p in tw.static_iter(parts)), 2)
    return tuple(t.reshape((rows, length)) for t in tw.static_iter(whole))


def transforms(v, radices, inner, turn):
    """All steps."""
    stride = inner
    for radix in tw.static_iter(radices):
        v = step(v, radix, stride, inner, turn)
        stride = stride * radix
    return v


def pair(t, shape, inverse):
    """A tile whose last axis holds real and imaginary parts, as two of a shape. An inverse transform is a transform of
    numbers whose parts are exchanged, before and after."""
    real, imaginary = tw.split(t.reshape((*shape, 2)))
    return (imaginary, real) if inverse else (real, imaginary)


def unpaired(v, shape, inverse, scale):
    """The other way round, scaled, as a tile of a shape."""
    if scale != 1:
        v = v[0] * scale, v[1] * scale
    return (tw.join(v[1], v[0]) if inverse else tw.join(v[0], v[1])).reshape(shape)


@tw.tile_kernel
def fourier_rows(x: Rows, out: Rows, inverse: tw.Constant[bool], scale: tw.Constant[float], rows: tw.Constant[int],
                 radices: tw.Constant[tuple[int, ...]]):
    """x, out: (m, n, 2): transforms along n, the product of the radices. A block takes `rows` of them."""
    i, n = tw.bid(0), x.shape[1]
    v = transforms(pair(load_wide(x, (i, 0, 0), (rows, n, 2)), (rows, n), inverse), radices, 1, None)
    store_as(out, (i, 0, 0), unpaired(v, (rows, n, 2), inverse, scale))


@tw.tile_kernel
def fourier_columns(x: Matrices, out: Matrices, first, inverse: tw.Constant[bool], columns: tw.Constant[int],
                    radices: tw.Constant[tuple[int, ...]]):
    """The first pass over rows of n * k numbers. x: (m, n, k, 2), out: (some of m, n, k, 2), those from `first` on:
    transforms along n, the product of the radices; element (a, b) of the result is turned by the root of n * k to the
    power a * b. A block takes `columns` of them."""
    i, j, n = tw.bid(0), tw.bid(1), x.shape[1]
    v = pair(load_wide(x, (first + i, 0, j, 0), (1, n, columns, 2)), (1, n * columns), inverse)
    v = transforms(v, radices, columns, (j * columns, n * x.shape[2]))
    store_as(out, (i, 0, j, 0), unpaired(v, (1, n, columns, 2), inverse, 1))


@tw.tile_kernel
def fourier_turned_rows(x: Matrices, out: Matrices, first, inverse: tw.Constant[bool], scale: tw.Constant[float],
                        rows: tw.Constant[int], radices: tw.Constant[tuple[int, ...]]):
    """The second pass. x: (some of m, n, k, 2), out: (m, k, n, 2): transforms along k, the product of the radices,
    whose results are columns. A block takes `rows` of them."""
    i, j, k = tw.bid(0), tw.bid(1), x.shape[2]
    v = transforms(pair(load_wide(x, (i, j, 0, 0), (1, rows, k, 2)), (rows, k), inverse), radices, 1, None)
    t = unpaired(v, (rows, k, 2), inverse, scale).permute((1, 0, 2))
    store_as(out, (first + i, 0, j, 0), t.reshape((1, k, rows, 2)))
