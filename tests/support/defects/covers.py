"""Kernels that leave a part of their output out, and right ones that look alike. What is reported is said of each."""

from __future__ import annotations

import numpy as np

import tilewright as tw

I32 = tw.int32


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


def rounded_down_loop(x, out):
    for k in range(tw.bid(0), x.shape[0] // 16, tw.num_blocks(0)):
        tw.store(out, k, tw.load(x, k, 16))  # <- unwritten


def rounded_down_walk(x, out):
    number = tw.bid(0)
    while number < x.shape[0] // 16:
        tw.store(out, number, tw.load(x, number, 16))  # <- unwritten
        number += tw.num_blocks(0)


def whole_tiles_only(x, out):
    i = tw.bid(0)
    if (i + 1) * 16 <= x.shape[0]:
        tw.store(out, i, tw.load(x, i, 16))  # <- unwritten


def last_columns(x, out):
    i = tw.bid(0)
    for j in range(x.shape[1] // 16):
        tw.store(out, (i, j), tw.load(x, (i, j), (4, 16)))  # <- unwritten


CASES = [
    (rounded_down_loop, 2, lambda: (floats(100), floats(100))),
    (rounded_down_walk, 2, lambda: (floats(100), floats(100))),
    (whole_tiles_only, 7, lambda: (floats(100), floats(100))),
    (last_columns, 2, lambda: (floats(8, 40), floats(8, 40))),
]


def as_long_as_memory_says(x, length, out):
    n = tw.load(length, 0, ())
    for k in range(tw.bid(0), n // 16, tw.num_blocks(0)):
        tw.store(out, k, tw.load(x, k, 16))


def where_memory_says(x, on, out):
    i = tw.bid(0)
    if tw.load(on, i, ()) == 1:
        tw.store(out, i, tw.load(x, i, 16))


def at_counted_places(x, count, out):
    i = tw.bid(0)
    tw.store(out, tw.atomic_add(count, 0, 1), tw.load(x, i, 16))


def rest_by_another_store(x, out):
    whole = x.shape[0] // 16
    for k in range(whole):
        tw.store(out, k, tw.load(x, k, 16))
    at = whole * 16 + tw.arange(16, dtype=I32)
    tw.scatter(out, at, tw.gather(x, at))


def one_tile_of_many(x, out):
    tw.store(out, 0, tw.load(x, 0, 16))


def every_other_tile(x, out):
    tw.store(out, tw.bid(0) * 2, tw.load(x, tw.bid(0), 16))


def sum_decides(x, out):
    i, acc = tw.bid(0), 0.0
    for k in range(2):
        acc += tw.sum(tw.load(x, k, 16))
    if acc > 0.0:
        tw.store(out, i, tw.load(x, i, 16))


CLEAN = [
    (as_long_as_memory_says, 2, lambda: (floats(100), np.array([96], np.int32), floats(100))),
    (where_memory_says, 7, lambda: (floats(100), np.array([1] * 6 + [0], np.int32), floats(100))),
    (at_counted_places, 6, lambda: (floats(100), np.zeros(1, np.int32), floats(100))),
    (rest_by_another_store, 1, lambda: (floats(100), floats(100))),
    (one_tile_of_many, 1, lambda: (floats(20), floats(20))),
    (every_other_tile, 3, lambda: (floats(48), floats(90))),
    (sum_decides, 6, lambda: (floats(100), floats(100))),
]
