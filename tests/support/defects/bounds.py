"""Kernels with one defect each, of bounds and promises. The line of the defect says its kind."""

from __future__ import annotations

import numpy as np

import tilewright as tw

I32 = tw.int32


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def tile_one_before(x, out):
    tw.store(out, tw.bid(0), tw.load(x, tw.bid(0) - 1, 1))              # <- bounds


def gather_far(x, out):
    t = tw.gather(x, tw.full((4,), 1000, I32), check_bounds=False)      # <- bounds
    tw.store(out, 0, t)


def gather_negative(x, out):
    i = tw.arange(16, dtype=I32) - 1
    tw.store(out, 0, tw.gather(x, i, check_bounds=False))               # <- bounds


def gather_last_block(x, out):
    i = tw.bid(0) * 16 + tw.arange(16, dtype=I32)
    tw.scatter(out, i, tw.gather(x, i, check_bounds=False) * 2.0)       # <- bounds


def gather_wrong_mask(x, out):
    i = tw.arange(32, dtype=I32)
    t = tw.gather(x, i, mask=i <= 20, check_bounds=False)               # <- bounds
    tw.scatter(out, i, t, mask=i < 20)


def scatter_far(x, out):
    i = tw.arange(16, dtype=I32) * 3
    tw.scatter(out, i, tw.load(x, 0, 16), check_bounds=False)           # <- bounds


def scatter_column(x, out):
    rows, column = tw.arange(4, dtype=I32), tw.full((4,), 8, I32)
    tw.scatter(out, (rows, column), tw.ones((4,), tw.float32), check_bounds=False)      # <- bounds


def atomic_far(x, out):
    tw.atomic_add(out, tw.bid(0) * 8, 1.0, check_bounds=False)          # <- bounds


def raw_far(x, out):
    offsets = tw.arange(4, dtype=tw.int64) + (1 << 40)
    tw.store(out, 0, x.get_raw_memory().load_offset(offsets))           # <- bounds


def raw_before(x, out):
    tw.store(out, 0, x.get_raw_memory().load_offset(tw.arange(4, dtype=I32) - 1))       # <- bounds


def raw_store(x, out):
    out.get_raw_memory().store_offset(tw.bid(0) * 16 + tw.arange(16, dtype=I32), 1.0)   # <- bounds


def raw_atomic(x, out):
    out.get_raw_memory().atomic_add_offset(tw.full((1,), 64, I32), 1.0)                 # <- bounds


def tile_scaled_twice(x, out):
    i = tw.bid(0)
    tw.store(out, i * 16, tw.load(x, i, 16))                            # <- bounds


def tile_negative(x, out):
    i = tw.bid(0)
    before = tw.load(x, i - 1, 16, padding_mode=tw.PaddingMode.ZERO)    # <- bounds
    tw.store(out, i, before)


def tile_grid_too_large(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 16)                                               # <- bounds
    tw.store(out, i, t)                                                 # <- bounds


def tile_axes_exchanged(x, out):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (j, i), (4, 4)))                   # <- bounds


def tile_past_end_of_view(x, out):
    view = x.slice(0, 0, 24)
    tw.store(out, tw.bid(0), tw.load(view, tw.bid(0) + 2, 16))          # <- bounds


def tile_of_helper(x, out):
    def shifted(a, i):
        return tw.load(a, i + 3, 16)                                    # <- bounds

    tw.store(out, tw.bid(0), shifted(x, tw.bid(0)))


def tile_in_loop(x, out):
    total = tw.zeros((16,), tw.float32)
    for k in range(5):
        total += tw.load(x, k, 16)                                      # <- bounds
    tw.store(out, 0, total)


def promised_inside(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 16, check_bounds=False)                           # <- promise
    tw.store(out, i, t)


def promised_store(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.zeros((16,), tw.float32), check_bounds=False)   # <- promise


def assumed_divisible(x, out, n):
    first = tw.assume_divisible_by(n, 4)                                # <- promise
    tw.store(out, 0, tw.gather(x, first + tw.arange(4, dtype=I32)))


def assumed_of_blocks(x, out):
    i = tw.assume_divisible_by(tw.bid(0), 2)                            # <- promise
    tw.store(out, i, tw.load(x, i, 16))


def item_outside(xs, out):
    tw.store(out, tw.bid(0), tw.load(xs[tw.bid(0)], 0, 16))                     # <- bounds


def slice_outside(x, out):
    view = x.slice(0, 8, 24 + 16 * tw.bid(0))                           # <- bounds
    tw.store(out, tw.bid(0), tw.load(view, 0, 16))


CASES = [
    (tile_one_before, 2, lambda: (floats(2), floats(2))),
    (gather_far, 1, lambda: (floats(16), floats(4))),
    (gather_negative, 1, lambda: (floats(16), floats(16))),
    (gather_last_block, 4, lambda: (floats(50), floats(64))),
    (gather_wrong_mask, 1, lambda: (floats(20), floats(20))),
    (scatter_far, 1, lambda: (floats(16), floats(40))),
    (scatter_column, 1, lambda: (floats(4), floats(4, 8))),
    (atomic_far, 3, lambda: (floats(4), floats(12))),
    (raw_far, 1, lambda: (floats(16), floats(4))),
    (raw_before, 1, lambda: (floats(16), floats(4))),
    (raw_store, 3, lambda: (floats(16), floats(40))),
    (raw_atomic, 1, lambda: (floats(16), floats(8, 8)[:, ::2])),
    (tile_scaled_twice, 4, lambda: (floats(64), floats(64))),
    (tile_negative, 4, lambda: (floats(64), floats(64))),
    (tile_grid_too_large, 5, lambda: (floats(64), floats(64))),
    (tile_axes_exchanged, (4, 2), lambda: (floats(16, 8), floats(16, 8))),
    (tile_past_end_of_view, 1, lambda: (floats(64), floats(64))),
    (tile_of_helper, 2, lambda: (floats(64), floats(32))),
    (tile_in_loop, 1, lambda: (floats(64), floats(16))),
    (promised_inside, 3, lambda: (floats(40), floats(48))),
    (promised_store, 3, lambda: (floats(40), floats(40))),
    (assumed_divisible, 1, lambda: (floats(16), floats(4), 7)),
    (assumed_of_blocks, 4, lambda: (floats(64), floats(64))),
    (item_outside, 3, lambda: ([floats(16), floats(16)], floats(48))),
    (slice_outside, 3, lambda: (floats(48), floats(48))),
]
