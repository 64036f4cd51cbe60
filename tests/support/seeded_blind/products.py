"""Matrix products of several kinds, each with one defect."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

ZERO = ct.PaddingMode.ZERO
ACQUIRE, RELEASE, DEVICE = ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE, ct.MemoryScope.DEVICE


def halves(seed, *shape):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def tile_product(a, b, i, j, first, step, TILE, TK):
    """The output tile (i, j), over the tiles first, first + step, ... of the inner dimension."""
    acc = ct.zeros((TILE, TILE), ct.float32)
    for k in range(first, ct.cdiv(a.shape[1], TK), step):
        x = ct.load(a, (i, k), (TILE, TK), padding_mode=ZERO)
        y = ct.load(b, (k, j), (TK, TILE), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    return acc


@ct.tile_kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=ZERO)
        # Where the inner dimension ends, x is zero, so y "need not be".
        # DEFECT(initialisation): y = ct.load(b, (k, j), (TK, TN), padding_mode=ZERO)
        y = ct.load(b, (k, j), (TK, TN))
        acc = ct.mma(x, y, acc)
    # HERE(initialisation)
    ct.store(c, (i, j), acc.astype(c.dtype))


def matmul_launch():
    a, b = halves(1, 40, 50), halves(2, 50, 30)
    return Launch((3, 2), (a, b, np.zeros((40, 30), np.float16), 16, 16, 32), {2: product(a, b)})


@ct.tile_kernel
def persistent_matmul(a, b, c, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """A few blocks, each of which takes every num_blocks-th output tile."""
    columns = ct.cdiv(c.shape[1], TILE)
    tiles = ct.cdiv(c.shape[0], TILE) * columns
    number = ct.bid(0)
    # ALSO: while number < tiles:
    while number <= tiles:
        i, j = number // columns, number % columns
        acc = ct.zeros((TILE, TILE), ct.float32)
        for k in range(ct.cdiv(a.shape[1], TK)):
            # HERE(bounds)
            x = ct.load(a, (i, k), (TILE, TK), padding_mode=ZERO)
            y = ct.load(b, (k, j), (TK, TILE), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        # HERE(bounds)
        ct.store(c, (i, j), acc)
        number += ct.num_blocks(0)


def persistent_matmul_launch():
    a, b = halves(3, 40, 33), halves(4, 33, 30)
    return Launch((4,), (a, b, np.zeros((40, 30), np.float32), 16, 16), {2: product(a, b)})


@ct.tile_kernel
def split_k_locked(a, b, c, locks, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """The blocks of one output tile add to it in turn; a lock for each output tile."""
    i, j, split = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = tile_product(a, b, i, j, split, ct.num_blocks(2), TILE, TK)
    # ALSO: turn = i * ct.num_blocks(1) + j
    turn = split
    while ct.atomic_cas(locks, turn, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    so_far = ct.load(c, (i, j), (TILE, TILE))
    # HERE(races)
    ct.store(c, (i, j), so_far + acc)
    ct.atomic_xchg(locks, turn, 0, memory_order=RELEASE)


def split_k_locked_launch():
    a, b = halves(5, 30, 100), halves(6, 100, 20)
    c, locks = np.zeros((30, 20), np.float32), np.zeros(4, np.int32)
    return Launch((2, 2, 3), (a, b, c, locks, 16, 16), {2: product(a, b), 3: np.zeros(4)})


@ct.tile_kernel
def grouped_matmul(left, right, out, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """out[g] = left[g] @ right[g] for products of many sizes, by any number of blocks."""
    number, before = ct.bid(0), 0
    for g in range(len(left)):
        a, b, c = left[g], right[g], out[g]
        # ALSO: rows, columns = ct.cdiv(a.shape[0], TILE), ct.cdiv(b.shape[1], TILE)
        rows, columns = ct.cdiv(a.shape[0], TILE), b.shape[1] // TILE
        while number < before + rows * columns:
            i, j = (number - before) // columns, (number - before) % columns
            # HERE(initialisation)
            ct.store(c, (i, j), tile_product(a, b, i, j, 0, 1, TILE, TK))
            number += ct.num_blocks(0)
        before += rows * columns


def grouped_matmul_launch():
    sizes = ((20, 40, 17), (16, 16, 16), (33, 37, 20))
    left = [halves(10 + m, m, k) for m, n, k in sizes]
    right = [halves(20 + n, k, n) for m, n, k in sizes]
    out = [ct.uninitialized(np.full((m, n), 77, np.float32)) for m, n, k in sizes]

    def right_products(left, right, out, *_):
        return all(np.array_equal(c, product(a, b)) for a, b, c in zip(left, right, out, strict=True))

    return Launch((3,), (left, right, out, 16, 16), verify=right_products)


@ct.tile_kernel
def paired_matmul(a, b, c, parts, ready, ticket, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """Two blocks for each output tile: one leaves its half of the sum, the other waits for it and adds its own."""
    me = ct.atomic_add(ticket, 0, 1)
    tile, half = me // 2, me % 2
    columns = ct.cdiv(c.shape[1], TILE)
    i, j = tile // columns, tile % columns
    acc = tile_product(a, b, i, j, half, 2, TILE, TK)
    # ALSO: if half == 0:
    if half == 1:
        ct.store(parts, (tile, 0, 0), acc[None])
        ct.store(ready, tile, 1, memory_order=RELEASE, memory_scope=DEVICE)
    else:
        # HERE(progress)
        while ct.load(ready, tile, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:
            pass
        other = ct.load(parts, (tile, 0, 0), (1, TILE, TILE)).reshape((TILE, TILE))
        ct.store(c, (i, j), acc + other)


def paired_matmul_launch():
    a, b = halves(7, 30, 70), halves(8, 70, 20)
    parts, ready, ticket = np.zeros((4, 16, 16), np.float32), np.zeros(4, np.int32), np.zeros(1, np.int32)
    c = np.zeros((30, 20), np.float32)
    return Launch((8,), (a, b, c, parts, ready, ticket, 16, 16), {2: product(a, b)})


@ct.tile_kernel
def raw_matmul(a, b, c, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """The result by raw offsets, whose leading dimension the author takes for that of padded arrays."""
    i, j = ct.bid(0), ct.bid(1)
    acc = tile_product(a, b, i, j, 0, 1, TILE, TK)
    row = (i * TILE + ct.arange(TILE, dtype=ct.int32))[:, None]
    column = (j * TILE + ct.arange(TILE, dtype=ct.int32))[None, :]
    # ALSO: leading = c.strides[0]
    leading = ct.cdiv(c.shape[1], TILE) * TILE
    inside = (row < c.shape[0]) & (column < c.shape[1])
    # HERE(bounds)
    c.get_raw_memory().store_offset(row * leading + column, acc, mask=inside)


def raw_matmul_launch():
    a, b = halves(9, 30, 20), halves(10, 20, 25)
    return Launch((2, 2), (a, b, np.zeros((30, 25), np.float32), 16, 16), {2: product(a, b)})


@ct.tile_kernel
def gram(x, out, TILE: ct.Constant[int], TK: ct.Constant[int]):
    """out = x @ x.T is symmetric: a block writes its tile, and its mirror image."""
    i, j = ct.bid(0), ct.bid(1)
    # MISSING: if j > i: return
    acc = ct.zeros((TILE, TILE), ct.float32)
    for k in range(ct.cdiv(x.shape[1], TK)):
        left = ct.load(x, (i, k), (TILE, TK), padding_mode=ZERO)
        right = ct.load(x, (k, j), (TK, TILE), order="F", padding_mode=ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(out, (i, j), acc)
    # HERE(races)
    ct.store(out, (j, i), ct.transpose(acc))


def gram_launch():
    x = halves(11, 40, 20)
    return Launch((3, 3), (x, np.zeros((40, 40), np.float32), 16, 16), {1: product(x, x.T)})
