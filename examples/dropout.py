"""Dropout whose random bits come from a counter: the backward pass makes the same mask again from the seed."""

import numpy as np
from _places import check, places

import tilewright as tw

ROUNDS = 7
MULTIPLIER, WEYL = 0xD256D193, 0x9E3779B9


def high_and_low(a, b):
    """The two halves of the 64-bit product of two uint32."""
    product = tw.astype(a, tw.uint64) * b
    return (product >> 32).astype(tw.uint32), product.astype(tw.uint32)


def philox(counter, seed):
    """Philox-2x32: a bijection of (counter, 0) keyed by the seed, whose first half is used."""
    left, right, key = counter, tw.zeros(counter.shape, tw.uint32), seed.astype(tw.uint32)
    for _ in range(ROUNDS):
        high, low = high_and_low(left, MULTIPLIER)
        left, right = high ^ key ^ right, low
        key += WEYL
    return left


@tw.tile_kernel
def dropout(x, out, seed, rate: float, tile: tw.Constant[int]):
    i = tw.bid(0)
    counter = (i * tile + tw.arange(tile, dtype=tw.int32)).astype(tw.uint32)
    uniform = (philox(counter, seed) >> 8).astype(tw.float32) * 2.0**-24
    t = tw.load(x, i, tile)
    tw.store(out, i, tw.where(uniform >= rate, t / (1.0 - rate), 0.0))


def philox_numpy(counter: np.ndarray, seed: int) -> np.ndarray:
    left, right, key = counter.astype(np.uint64), np.zeros_like(counter, np.uint64), np.uint64(seed)
    low_half = np.uint64(0xFFFFFFFF)
    for _ in range(ROUNDS):
        product = left * np.uint64(MULTIPLIER)
        left, right = (product >> np.uint64(32)) ^ key ^ right, product & low_half
        key = (key + np.uint64(WEYL)) & low_half
    return left.astype(np.uint32)


def main() -> None:
    rng = np.random.default_rng(35)
    n, seed, rate = 5000, 12345, 0.25
    x = rng.standard_normal(n, dtype=np.float32)
    keep = (philox_numpy(np.arange(n), seed) >> 8).astype(np.float32) * np.float32(2.0**-24) >= np.float32(rate)
    want = np.where(keep, x / np.float32(1 - rate), np.float32(0))
    assert abs(keep.mean() - (1 - rate)) < 0.03
    for place in places():
        dx, out = place.put(x, np.empty_like(x))
        dropout[(tw.cdiv(n, 512),)](dx, out, seed, rate, 512)
        check(f"dropout of {n} elements", place, place.get(out), want)
        dropout[(tw.cdiv(n, 512),)](out := place.put(x.copy()), out, seed, rate, 512)
        check("the same in place", place, place.get(out), want)


if __name__ == "__main__":
    main()
