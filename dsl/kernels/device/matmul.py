"""Matrix multiplies with what follows them: bias, activation, dropout, residual, alpha and beta."""

import tilewright as tw
from tilewright.kernels.device.activations import activate, slope
from tilewright.kernels.device.common import ZERO, load_wide, store_as, wide


def grouped(block, rows, columns, group):
    """The output tile of a block: blocks that run together share rows of a and columns of b (`group` rows of tiles)."""
    first = block // (group * columns) * group
    height = min(rows - first, group)
    within = block % (group * columns)
    return first + within % height, within // height


def kept(seed, rate, i, j, shape):
    """Which elements of tile (i, j) dropout keeps. The number of an element belongs to its place, so the backward pass
    finds the same."""
    row = i * shape[0] + tw.arange(shape[0], dtype=tw.int32)[:, None]
    column = j * shape[1] + tw.arange(shape[1], dtype=tw.int32)[None, :]
    return tw.random.uniform(seed, row, column) >= rate


def dropped(t, seed, rate, i, j):
    """Dropout of tile (i, j); `rate` is None or a number."""
    if rate is None:
        return t
    return tw.where(kept(seed, rate, i, j, t.shape), t * (1.0 / (1.0 - rate)), 0.0)


def operand(x, at, shape, tf32):
    """A tile of a matrix, or of one of a batch of them: `at` begins with its number."""
    if x.ndim == 2:
        t = tw.load(x, at[1:], shape, padding_mode=ZERO)
    else:
        t = tw.load(x, at, (1, *shape), padding_mode=ZERO).reshape(shape)
    return t.astype(tw.tfloat32) if tf32 else t


def put(out, at, t):
    """Store a tile of a matrix, or of one of a batch of them."""
    if out.ndim == 2:
        store_as(out, at[1:], t)
    else:
        store_as(out, at, t.reshape((1, *t.shape)))


def product(a, b, at, tile, dtype, tf32, depth=None):
    """Tile `at` (batch, i, j) of a @ b; `tile` is (tm, tn, tk), `depth` the first tile of k and the one behind the
    last, all of them where it is None."""
    batch, i, j = at
    tm, tn, tk = tile
    acc = tw.zeros((tm, tn), dtype)
    for k in range(*((tw.cdiv(a.shape[a.ndim - 1], tk),) if depth is None else depth)):
        left = operand(a, (batch, i, k), (tm, tk), tf32)
        acc = tw.mma(left, operand(b, (batch, k, j), (tk, tn), tf32), acc)
    return acc


@tw.tile_kernel
def multiply(a, b, out, tf32: tw.Constant[bool], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out = a @ b, a tile for each block: the compiler orders blocks and loops over them, by two teams of warps where
    that pays.

    a: (m, k), b: (k, n), out: (m, n), all with a first axis of batches or none. Grid: rows of tiles, columns, batches.
    """
    at = tw.bid(2), tw.bid(0), tw.bid(1)
    put(out, at, product(a, b, at, (tm, tn, tk), wide(out.dtype), tf32))


@tw.tile_kernel
def multiply_walking(a, b, out, tf32: tw.Constant[bool], tm: tw.Constant[int], tn: tw.Constant[int],
                     tk: tw.Constant[int], group: tw.Constant[int]):
    """The same of matrices alone, each block walks over tiles of out: where two CTAs share a tile, over which the
    compiler does not loop."""
    rows, columns = tw.cdiv(out.shape[0], tm), tw.cdiv(out.shape[1], tn)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = grouped(tile, rows, columns, group)
        put(out, (0, i, j), product(a, b, (0, i, j), (tm, tn, tk), wide(out.dtype), tf32))


@tw.tile_kernel
def multiply_with_rest(a, b, out, tf32: tw.Constant[bool], tm: tw.Constant[int], tn: tw.Constant[int],
                       tk: tw.Constant[int], rest: tw.Constant[int], group: tw.Constant[int], columns):
    """out = a @ b, where the last of the `columns` tiles of a row has up to `rest` more columns: a tile of its own for
    these would take as long as a whole one.

    a: (m, k), b: (k, n), out: (m, n), all with a first axis of batches or none. Grid: all tiles.
    """
    rows = tw.cdiv(out.shape[out.ndim - 2], tm)
    batch, tile = tw.bid(0) // (rows * columns), tw.bid(0) % (rows * columns)
    i, j = grouped(tile, rows, columns, group)
    if j < columns - 1:
        put(out, (batch, i, j), product(a, b, (batch, i, j), (tm, tn, tk), wide(out.dtype), tf32))
    else:
        beside = columns * (tn // rest)
        acc, more = tw.zeros((tm, tn), wide(out.dtype)), tw.zeros((tm, rest), wide(out.dtype))
        for k in range(tw.cdiv(a.shape[a.ndim - 1], tk)):
            left = operand(a, (batch, i, k), (tm, tk), tf32)
            acc = tw.mma(left, operand(b, (batch, k, j), (tk, tn), tf32), acc)
            more = tw.mma(left, operand(b, (batch, k, beside), (tk, rest), tf32), more)
        put(out, (batch, i, j), acc)
        put(out, (batch, i, beside), more)


def with_columns(x, tile, step):
    """A matrix, or the last two axes of an array, in tiles (rows, columns) that begin `step` columns apart."""
    more = (1,) * (x.ndim - 2)
    return x.tiled_view((*more, *tile), padding_mode=ZERO, traversal_steps=(*more, tile[0], step))


def beside(a, b, at, tile, more, depth, dtype):
    """Tile `at` (i, j) of a @ b, of tn + more columns: as one of tn, and one of `more`. `depth`: the first tile of k,
    and the one behind the last."""
    i, j = at
    tm, tn, tk = tile
    step = tn + more
    acc, rest = tw.zeros((tm, tn), dtype), tw.zeros((tm, more), dtype)
    first = with_columns(b, (tk, tn), step)
    for k in range(*depth):
        left = operand(a, (0, i, k), (tm, tk), False)
        acc = tw.mma(left, first.load((k, j)), acc)
        rest = tw.mma(left, operand(b, (0, k, j * (step // more) + tn // more), (tk, more), False), rest)
    return acc, rest


def put_beside(out, at, acc, rest):
    """Store both at tile `at` of the last two axes, which has as many columns as both."""
    (tm, tn), more, before = acc.shape, rest.shape[1], (1,) * (out.ndim - 2)
    *_, j = at
    with_columns(out, (tm, tn), tn + more).store(at, acc.astype(out.dtype).reshape((*before, tm, tn)))
    put(out, (*((0,) if out.ndim == 2 else ()), *at[:-1], j * (tn // more + 1) + tn // more), rest)


@tw.tile_kernel
def multiply_beside(a, b, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                    more: tw.Constant[int], group: tw.Constant[int]):
    """out = a @ b of matrices alone, by tiles of tn + more columns, each block walks over tiles of out."""
    rows, columns = tw.cdiv(out.shape[0], tm), tw.cdiv(out.shape[1], tn + more)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        at = grouped(tile, rows, columns, group)
        put_beside(out, at, *beside(a, b, at, (tm, tn, tk), more, (0, tw.cdiv(a.shape[1], tk)), wide(out.dtype)))


@tw.tile_kernel
def multiply_parts(a, b, sums, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                   more: tw.Constant[int], steps):
    """sums[p] = a @ b over part p of k, which has `steps` tiles of tk, by tiles of tn + more columns.

    a: (m, k), b: (k, n), sums: (parts, m, n). Grid: rows of tiles, columns, parts.
    """
    i, j, part = tw.bid(0), tw.bid(1), tw.bid(2)
    depth = part * steps, min((part + 1) * steps, tw.cdiv(a.shape[1], tk))
    if more:
        put_beside(sums, (part, i, j), *beside(a, b, (i, j), (tm, tn, tk), more, depth, sums.dtype))
    else:
        put(sums, (part, i, j), product(a, b, (0, i, j), (tm, tn, tk), sums.dtype, False, depth))


@tw.tile_kernel
def add_parts(sums, out, most: tw.Constant[int], rows: tw.Constant[int], width: tw.Constant[int]):
    """out = the sum of sums, (parts, m, n) with at most so many parts, added up in one order."""
    i, j = tw.bid(0), tw.bid(1)
    store_as(out, (i, j), tw.sum(tw.load(sums, (0, i, j), (most, rows, width), padding_mode=ZERO), axis=0))


@tw.tile_kernel
def multiply_then(a, b, c, bias, residual, out, alpha, beta, activation: tw.Constant[str], rate, seed,
                  tf32: tw.Constant[bool], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                  group: tw.Constant[int]):
    """out = residual + dropout(activation(alpha * a @ b + beta * c + bias)), each block walks over tiles of out.

    a: (m, k), b: (k, n), c, residual and out: (m, n), all with a first axis of batches or none; bias: (n,). What is
    None takes no part; c is not read where beta is None.
    """
    rows, columns = tw.cdiv(out.shape[out.ndim - 2], tm), tw.cdiv(out.shape[out.ndim - 1], tn)
    batches = 1 if out.ndim == 2 else out.shape[0]
    for tile in range(tw.bid(0), batches * rows * columns, tw.num_blocks(0)):
        batch = tile // (rows * columns)
        i, j = grouped(tile % (rows * columns), rows, columns, group)
        acc = product(a, b, (batch, i, j), (tm, tn, tk), wide(out.dtype), tf32)
        if alpha is not None:
            acc *= alpha
        if beta is not None:
            acc += beta * operand(c, (batch, i, j), (tm, tn), False).astype(acc.dtype)
        if bias is not None:
            acc += load_wide(bias, j, tn)
        acc = dropped(activate(acc, activation), seed, rate, i, j)
        if residual is not None:
            acc += operand(residual, (batch, i, j), (tm, tn), False).astype(acc.dtype)
        put(out, (batch, i, j), acc)


@tw.tile_kernel
def epilogue_backward(grad, z, dz, activation: tw.Constant[str], rate, seed, rows: tw.Constant[int],
                      width: tw.Constant[int]):
    """dz = dropout(grad) * activation'(z), all (m, n); z may be None where there is no activation."""
    j, i = tw.bid(0), tw.bid(1)
    above = dropped(load_wide(grad, (i, j), (rows, width)), seed, rate, i, j)
    if z is not None:
        above = above * slope(load_wide(z, (i, j), (rows, width)), activation)
    store_as(dz, (i, j), above)


@tw.tile_kernel
def kept_tiles(keep, seed, rate, tile: tw.Constant[int]):
    """keep: (m, n) becomes 1 where dropout keeps an element, else 0."""
    i, j = tw.bid(0), tw.bid(1)
    tw.store(keep, (i, j), tw.where(kept(seed, rate, i, j, (tile, tile)), 1.0, 0.0))
