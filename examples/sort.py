"""Bitonic sort of each row, with the places of the elements: partners meet by reshaping, not by indexing."""

import numpy as np
from _places import check, places

import tilewright as tw


def exchange(keys, origin, descending, rows, n, distance):
    """Put every pair of elements `distance` apart in order."""
    shape = (rows, n // (2 * distance), 2, distance)
    half = (rows, n // (2 * distance), 1, distance)
    k, p, d = keys.reshape(shape), origin.reshape(shape), descending.reshape(shape).extract((0, 0, 0, 0), half)
    first, second = k.extract((0, 0, 0, 0), half), k.extract((0, 0, 1, 0), half)
    here, there = p.extract((0, 0, 0, 0), half), p.extract((0, 0, 1, 0), half)
    # Equal keys stay in the order of their places, so the sort is stable.
    swap = ((first > second) | ((first == second) & (here > there))) != d
    k = tw.cat((tw.where(swap, second, first), tw.where(swap, first, second)), 2)
    p = tw.cat((tw.where(swap, there, here), tw.where(swap, here, there)), 2)
    return k.reshape((rows, n)), p.reshape((rows, n))


@tw.tile_kernel
def sort_rows(x, values, order, rows: tw.Constant[int], n: tw.Constant[int]):
    """n: a power of two, the row's length or more; what pads a row is infinite and comes last."""
    block = tw.bid(0)
    keys = tw.load(x, (block, 0), (rows, n), padding_mode=tw.PaddingMode.POS_INF)
    place = tw.broadcast_to(tw.arange(n, dtype=tw.int32), (rows, n))
    lane = place
    for stage in tw.static_iter(range(1, n.bit_length())):
        for step in tw.static_iter(reversed(range(stage))):
            descending = (lane >> stage) % 2 == 1
            keys, place = exchange(keys, place, descending, rows, n, 1 << step)
    tw.store(values, (block, 0), keys)
    tw.store(order, (block, 0), place)


def main() -> None:
    rng = np.random.default_rng(42)
    m, n = 20, 60
    x = np.round(rng.standard_normal((m, n)) * 10).astype(np.float32)
    want = np.argsort(x, axis=1, kind="stable").astype(np.int32)
    for place in places():
        dx, values, order = place.put(x, np.empty_like(x), np.empty((m, n), np.int32))
        sort_rows[(tw.cdiv(m, 4),)](dx, values, order, 4, 64)
        check(f"{m} sorted rows of {n}", place, place.get(values), np.sort(x, axis=1))
        check(f"{m} sorted rows of {n}: places", place, place.get(order), want)


if __name__ == "__main__":
    main()
