"""Element-wise kernels, stencils and copies, each with the defect that its marked lines show."""

from __future__ import annotations

from support.seeded.inputs import empty, floats, zeros

import tilewright as tw

I32, F32 = tw.int32, tw.float32
ZERO = tw.PaddingMode.ZERO


def index_in_elements(x, y, out):  # <- unwritten
    i = tw.bid(0)
    tw.store(out, i * 16, tw.load(x, i, 16) + tw.load(y, i, 16))  # <- bounds


def last_part_forgotten(x, out):  # <- unwritten
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) * 2.0)


def number_of_blocks_rounded_down(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.sqrt(tw.load(x, i, 16)))  # <- unwritten


def columns_rounded_down(x, out):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (8, 8))))  # <- unwritten


def left_neighbour_of_the_first(x, out):
    i = tw.bid(0)
    left = tw.load(x, i - 1, 16, padding_mode=ZERO)  # <- bounds
    tw.store(out, i, left + tw.load(x, i, 16))


def heat_in_place(u):
    i = tw.bid(0)
    at = i * 16 + tw.arange(16, dtype=I32)
    t = tw.gather(u, at - 1) + tw.gather(u, at + 1) - 2.0 * tw.gather(u, at)  # <- race
    tw.scatter(u, at, tw.gather(u, at) + 0.1 * t)  # <- race


def life_wraps_too_late(board, out):
    i = tw.bid(0)
    column = tw.arange(16, dtype=I32)
    below = tw.gather(board, ((i + 1) % (board.shape[0] + 1), column), check_bounds=False)  # <- bounds
    tw.scatter(out, (i, column), below)


def filter_with_the_wrong_pitch(image, out):
    y = tw.bid(0)
    x = tw.arange(8, dtype=I32)
    memory = image.get_raw_memory()
    acc = tw.zeros((8,), F32)
    for dy in range(3):
        for dx in range(3):
            acc += memory.load_offset((y + dy) * 16 + x + dx)  # <- bounds
    tw.store(out, (y, 0), acc[None, :])


def twice_as_large(x, out):
    at = tw.bid(0) * 16 + tw.arange(16, dtype=I32)
    v = tw.gather(x, at)
    tw.scatter(out, at * 2, v, check_bounds=False)  # <- race
    tw.scatter(out, at * 2 + 2, v, check_bounds=False)  # <- bounds, race


def second_axis_taken_for_third(x, out):  # <- unwritten
    i, j = tw.bid(0), tw.bid(2)
    tw.store(out, (i, j), tw.load(x, (i, j), (8, 8)))  # <- race


def reversed_off_by_one(x, out):
    at = tw.bid(0) * 16 + tw.arange(16, dtype=I32)
    tw.scatter(out, at, tw.gather(x, x.shape[0] - at, check_bounds=False))  # <- bounds


def windows_overlap(x, out):
    i = tw.bid(0)
    out.tiled_view(16, traversal_steps=12).store(i, tw.load(x, i, 16))  # <- race


def slice_past_the_end(x, out):
    i = tw.bid(0)
    part = x.slice(0, i * 12, i * 12 + 16)  # <- bounds
    tw.store(out, i, tw.load(part, 0, 16))


def half_of_the_table(x, cosines, out):
    at = tw.arange(16, dtype=I32)
    c = tw.gather(cosines, at, check_bounds=False)  # <- bounds
    tw.store(out, (tw.bid(0), 0), tw.load(x, (tw.bid(0), 0), (1, 16)) * c[None, :])


def fifth_quarter(x, out):
    i = tw.bid(0)
    t = tw.load(x, 0, 16)
    tw.store(out, i, tw.extract(t, (i,), (4,)))  # <- undefined


def result_read_too_early(x, tmp, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    tw.store(tmp, i, tw.load(x, i, 16) * 2.0)  # <- race
    tw.store(out, i, tw.load(tmp, n - 1 - i, 16))  # <- race, undefined


def shifted_view_in_place(x, y):
    i = tw.bid(0)
    t = tw.load(x, i, 16)  # <- race
    tw.store(y, i, t)  # <- race


def scratch_never_filled(x, scratch, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) + tw.load(scratch, i, 16))  # <- undefined


def border_left_out(x, out):  # <- unwritten
    at = tw.bid(0) * 16 + tw.arange(16, dtype=I32)
    inner = (at > 0) & (at < x.shape[0] - 1)
    v = tw.gather(x, at - 1, mask=inner) + tw.gather(x, at + 1, mask=inner)
    tw.scatter(out, at, v, mask=inner)


def odd_elements_left_out(x, y, out):  # <- unwritten
    at = (tw.bid(0) * 16 + tw.arange(16, dtype=I32)) * 2
    tw.scatter(out, at, tw.gather(x, at) * tw.gather(y, at))


CASES = [
    (index_in_elements, (4,), lambda: (floats(64), floats(64), empty(64))),
    (last_part_forgotten, (50 // 16,), lambda: (floats(50), empty(50))),
    (number_of_blocks_rounded_down, (50 // 16,), lambda: (floats(50), zeros(50))),
    (columns_rounded_down, (2, 30 // 8), lambda: (floats(16, 30), zeros(30, 16))),
    (left_neighbour_of_the_first, (4,), lambda: (floats(64), empty(64))),
    (heat_in_place, (4,), lambda: (floats(64),)),
    (life_wraps_too_late, (8,), lambda: (floats(8, 16), empty(8, 16))),
    (filter_with_the_wrong_pitch, (8,), lambda: (floats(10, 10), empty(8, 8))),
    (twice_as_large, (2,), lambda: (floats(32), zeros(64))),
    (second_axis_taken_for_third, (2, 4), lambda: (floats(16, 32), empty(16, 32))),
    (reversed_off_by_one, (2,), lambda: (floats(32), empty(32))),
    (windows_overlap, (3,), lambda: (floats(48), empty(40))),
    (slice_past_the_end, (4,), lambda: (floats(48), empty(64))),
    (half_of_the_table, (3,), lambda: (floats(3, 16), floats(8), empty(3, 16))),
    (fifth_quarter, (5,), lambda: (floats(16), empty(20))),
    (result_read_too_early, (4,), lambda: (floats(64), empty(64), empty(64))),
    (shifted_view_in_place, (4,), lambda: (lambda a: (a[:64], a[8:72]))(floats(80))),
    (scratch_never_filled, (2,), lambda: (floats(32), empty(32), empty(32))),
    (border_left_out, (4,), lambda: (floats(64), empty(64))),
    (odd_elements_left_out, (2,), lambda: (floats(64), floats(64), empty(64))),
]
