"""Matrix products and what stands around them, each with the defect that its marked lines show."""

from __future__ import annotations

from support.seeded.inputs import empty, floats, zeros

import tilewright as tw

F32 = tw.float32
ZERO = tw.PaddingMode.ZERO


def one_step_too_many(a, b, c):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.cdiv(a.shape[1], 16) + 1):
        left = tw.load(a, (i, k), (16, 16), padding_mode=ZERO)  # <- bounds
        right = tw.load(b, (k, j), (16, 16), padding_mode=ZERO)  # <- bounds
        acc = tw.mma(left, right, acc)
    tw.store(c, (i, j), acc)


def right_operand_transposed(a, b, c):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (j, k), (16, 16)), acc)  # <- bounds
    tw.store(c, (i, j), acc)


def ragged_depth(a, b, c):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (k, j), (16, 16)), acc)
    tw.store(c, (i, j), tw.maximum(acc, 0.0))  # <- undefined


def depth_padded_on_one_side(a, b, bias, c):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16), padding_mode=ZERO), tw.load(b, (k, j), (16, 16)), acc)
    tw.store(c, (i, j), acc + tw.load(bias, j, 16))  # <- undefined


def columns_without_blocks(a, b, c):  # <- unwritten
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (k, j), (16, 16)), acc)
    tw.store(c, (i, j), acc)


def grid_axes_exchanged(a, b, c):  # <- unwritten
    j, i = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(tw.num_tiles(a, 1, (16, 16))):
        acc = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (k, j), (16, 16)), acc)  # <- bounds
    tw.store(c, (i, j), acc)  # <- bounds


def row_of_tiles_in_elements(a, b, c):  # <- unwritten
    i = tw.bid(0)
    p = tw.mma(tw.load(a, (i, 0), (16, 16)), tw.load(b, (0, 0), (16, 16)), tw.zeros((16, 16), F32))
    tw.store(c, (i * 16, 0), p)  # <- bounds


def split_depth_added_plainly(a, b, c):
    i, s = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), F32)
    for k in range(s * 2, s * 2 + 2):
        acc = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (k, 0), (16, 16)), acc)
    so_far = tw.load(c, (i, 0), (16, 16))  # <- race
    tw.store(c, (i, 0), so_far + acc)  # <- race


def split_depth_zeroed_by_one(a, b, c):
    s = tw.bid(0)
    rows = tw.arange(16, dtype=tw.int32)[:, None]
    columns = tw.arange(16, dtype=tw.int32)[None, :]
    if s == 0:
        tw.store(c, (0, 0), tw.zeros((16, 16), F32))  # <- race
    p = tw.mma(tw.load(a, (0, s), (16, 16)), tw.load(b, (s, 0), (16, 16)), tw.zeros((16, 16), F32))
    tw.atomic_add(c, (rows, columns), p)  # <- race


def batch_from_the_wrong_axis(a, b, c):  # <- unwritten
    i, n = tw.bid(0), tw.bid(0)
    left = tw.load(a, (n, i, 0), (1, 16, 16)).reshape((16, 16))  # <- bounds
    right = tw.load(b, (n, 0, 0), (1, 16, 16)).reshape((16, 16))  # <- bounds
    p = tw.mma(left, right, tw.zeros((16, 16), F32))
    tw.store(c, (n, i, 0), p.reshape((1, 16, 16)))  # <- bounds, race


def transposed_to_the_old_place(x, out):  # <- unwritten
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.transpose(tw.load(x, (i, j), (8, 8))))  # <- bounds


def transposed_in_place(x):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (8, 8))  # <- race
    tw.store(x, (j, i), tw.transpose(t))  # <- race


def scales_of_ragged_groups(q, scales, x, out):
    acc = tw.zeros((16,), F32)
    for k in range(tw.num_tiles(q, 1, (16, 16))):
        w = tw.load(q, (tw.bid(0), k), (16, 16)).astype(F32)
        s = tw.load(scales, (tw.bid(0), k), (16, 1))
        acc += tw.sum(w * s * tw.load(x, k, 16)[None, :], axis=1)
    tw.store(out, tw.bid(0), acc)  # <- undefined


def one_group_too_many(xs, ys, out):
    g = tw.bid(0)
    p = tw.mma(tw.load(xs[g], (0, 0), (16, 16)), tw.load(ys[g], (0, 0), (16, 16)),  # <- bounds
               tw.zeros((16, 16), F32))
    tw.store(out, (g, 0, 0), p.reshape((1, 16, 16)))


def depth_taken_for_divisible(a, b, c, depth):
    k16 = tw.assume_divisible_by(depth, 16)  # <- promise
    acc = tw.zeros((16, 16), F32)
    for k in range(k16 // 16):
        acc = tw.mma(tw.load(a, (0, k), (16, 16)), tw.load(b, (k, 0), (16, 16)), acc)
    tw.store(c, (0, 0), acc)


def edge_promised_away(a, b, c):
    i = tw.bid(0)
    left = tw.load(a, (i, 0), (16, 16), check_bounds=False)  # <- promise
    p = tw.mma(left, tw.load(b, (0, 0), (16, 16)), tw.zeros((16, 16), F32))
    tw.store(c, (i, 0), p)


def causal_mask_of_the_wrong_side(q, k, out):
    i, j = tw.bid(0), tw.bid(1)
    rows = i * 16 + tw.arange(16, dtype=tw.int32)[:, None]
    columns = j * 16 + tw.arange(16, dtype=tw.int32)[None, :]
    s = tw.mma(tw.load(q, (i, 0), (16, 16)), tw.transpose(tw.load(k, (j, 0), (16, 16))), tw.zeros((16, 16), F32))
    s = tw.where(columns >= rows, s, -1e30)
    tw.store(out, (i, j), tw.max(s, axis=1, keepdims=True))  # <- undefined


CASES = [
    (one_step_too_many, (2, 2), lambda: (floats(32, 48), floats(48, 32), empty(32, 32))),
    (right_operand_transposed, (2, 3), lambda: (floats(32, 64), floats(64, 48), empty(32, 48))),
    (ragged_depth, (2, 2), lambda: (floats(32, 40), floats(40, 32), empty(32, 32))),
    (depth_padded_on_one_side, (1, 2), lambda: (floats(16, 40), floats(40, 32), floats(32), empty(16, 32))),
    (columns_without_blocks, (2, 50 // 16), lambda: (floats(32, 32), floats(32, 50), empty(32, 50))),
    (grid_axes_exchanged, (2, 4), lambda: (floats(32, 32), floats(32, 64), empty(32, 64))),
    (row_of_tiles_in_elements, (3,), lambda: (floats(48, 16), floats(16, 16), empty(48, 16))),
    (split_depth_added_plainly, (2, 3), lambda: (floats(32, 96), floats(96, 16), zeros(32, 16))),
    (split_depth_zeroed_by_one, (3,), lambda: (floats(16, 48), floats(48, 16), empty(16, 16))),
    (batch_from_the_wrong_axis, (3, 1, 2), lambda: (floats(2, 48, 16), floats(2, 16, 16), empty(2, 48, 16))),
    (transposed_to_the_old_place, (2, 4), lambda: (floats(16, 32), empty(32, 16))),
    (transposed_in_place, (3, 3), lambda: (floats(24, 24),)),
    (scales_of_ragged_groups, (2,), lambda: (
        floats(32, 40).astype("int8"), floats(32, 3), floats(40), empty(32))),
    (one_group_too_many, (4,), lambda: ([floats(16, 16)] * 3, [floats(16, 16)] * 3, empty(4, 16, 16))),
    (depth_taken_for_divisible, (1,), lambda: (floats(16, 40), floats(40, 16), empty(16, 16), 40)),
    (edge_promised_away, (3,), lambda: (floats(40, 16), floats(16, 16), empty(40, 16))),
    (causal_mask_of_the_wrong_side, (3, 3), lambda: (floats(40, 16), floats(40, 16), empty(40, 3))),
]
