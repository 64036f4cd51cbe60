"""Blocks that share one output tile and add to it in place: by atomic additions, or in turn under a lock."""

import numpy as np
from _places import check, places

import tilewright as tw

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED


def partial_product(a, b, i, j, tile, tk):
    """Output tile (i, j), summed over every num_blocks(2)-th tile of the inner dimension, from tile bid(2) on."""
    acc = tw.zeros((tile, tile), tw.float32)
    for k in range(tw.bid(2), tw.cdiv(a.shape[1], tk), tw.num_blocks(2)):
        x = tw.load(a, (i, k), (tile, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tile), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    return acc


@tw.tile_kernel
def split_k_atomic(a, b, c, tile: tw.Constant[int], tk: tw.Constant[int]):
    """c: float32, zeros before. The order of the additions differs from run to run."""
    i, j = tw.bid(0), tw.bid(1)
    row = i * tile + tw.arange(tile, dtype=tw.int32)[:, None]
    column = j * tile + tw.arange(tile, dtype=tw.int32)[None, :]
    tw.atomic_add(c, (row, column), partial_product(a, b, i, j, tile, tk), memory_order=RELAXED)


@tw.tile_kernel
def split_k_locked(a, b, c, locks, tile: tw.Constant[int], tk: tw.Constant[int]):
    """c: any float dtype, zeros before, read and written under the lock. locks: an int32 0 per output tile."""
    i, j = tw.bid(0), tw.bid(1)
    acc = partial_product(a, b, i, j, tile, tk)
    while tw.atomic_cas(locks, (i, j), 0, 1, memory_order=ACQUIRE) == 1:
        pass
    # What the holder before wrote is visible here: its release came before our acquire.
    sum_so_far = tw.load(c, (i, j), (tile, tile)).astype(tw.float32)
    tw.store(c, (i, j), (sum_so_far + acc).astype(c.dtype))
    tw.atomic_xchg(locks, (i, j), 0, memory_order=RELEASE)


def main() -> None:
    rng = np.random.default_rng(44)
    m, n, k, splits, tile = 48, 40, 1500, 6, 32
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    want = a.astype(np.float64) @ b.astype(np.float64)
    bound = k * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    grid = tw.cdiv(m, tile), tw.cdiv(n, tile), splits
    for place in places():
        da, db, c, d = place.put(a, b, *np.zeros((2, m, n), np.float32))
        split_k_atomic[grid](da, db, c, tile, 64)
        check(f"split-K by atomics, {m} x {k} x {n}", place, place.get(c), want, bound)
        locks = place.put(np.zeros(grid[:2], np.int32))
        split_k_locked[grid](da, db, d, locks, tile, 64)
        check(f"split-K under a lock, {m} x {k} x {n}", place, place.get(d), want, bound)
        check("locks are free again", place, place.get(locks), np.zeros(grid[:2]))


if __name__ == "__main__":
    main()
