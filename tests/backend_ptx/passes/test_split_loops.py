"""Loops are split where a branch or a mask no longer changes: how many parts they get, and that every part does what
the loop did, for bounds and limits of all sorts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.decisions import told
from support.frontend import ir
from support.interp_cases import full_grid

import tilewright as tw
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.iterations import edges
from tilewright.tileir.ops.control import For, If
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.rewrite import constant_value

T = 512
MOST = 1000  # loop variables that, times the factors here, are within 32 bits
Int = tw.Constant[int]


@tw.tile_kernel
def branch(out, low: int, high: int, limit: int, step: Int):
    acc = tw.zeros((T,), tw.int32)
    for j in range(low, high, step):
        if j >= limit:
            acc = acc * 3 + j
        acc = acc * 5 + 1
    tw.store(out, (0,), acc)


@tw.tile_kernel
def turned_branch(out, low: int, high: int, limit: int, step: Int):
    """The condition is known from some iteration on, by a loop variable of a negative factor."""
    acc = tw.zeros((T,), tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        if 7 - 2 * j > limit:
            acc = acc * 3 + j
        acc = acc * 5 + 1
    tw.store(out, (0,), acc)


@tw.tile_kernel
def mask(out, low: int, high: int, limit: int, step: Int):
    acc = tw.zeros((T,), tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        columns = j * T + tw.arange(T, dtype=tw.int32)
        acc = acc * 3 + tw.where(columns < limit * 100, acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def window(out, low: int, high: int, limit: int, step: Int):
    """A mask that is true in between: three parts."""
    acc = tw.zeros((T,), tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        columns = j * 64 + tw.arange(T, dtype=tw.int32)
        kept = (columns <= limit * 64 + 300) & (columns > limit * 64 - 700)
        acc = acc * 3 + tw.where(kept, acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def first(out, low: int, high: int, limit: int, step: Int):
    acc = tw.zeros((T,), tw.int32)
    for j in range(low, high, step):
        acc = (acc + 7) * limit if j == low else acc * 3 + j
    tw.store(out, (0,), acc)


@tw.tile_kernel
def last(out, low: int, high: int, limit: int, step: Int):
    acc, end = tw.zeros((T,), tw.int32), min(max(high, -MOST), MOST)
    for j in range(max(low, -MOST), end, step):
        acc = acc * 3 + j
        if j == end - 1:
            acc = (acc + 7) * limit
    tw.store(out, (0,), acc)


@tw.tile_kernel
def left_alone(out, low: int, high: int, limit: int, step: Int):
    """A condition that changes back and forth, one that only the data decide, and one that may wrap around."""
    acc = tw.zeros((T,), tw.int32)
    for j in range(low, high, step):
        if j % 3 == 0:
            acc = acc * 3 + j
        if tw.max(acc) > limit:
            acc = acc * 5
        if j * 1000003 < limit:
            acc = acc + 11
    tw.store(out, (0,), acc)


@tw.tile_kernel
def hand_split(out, low: int, high: int, limit: int, step: Int):
    """The second loop has no part that could do without the mask."""
    acc, end = tw.zeros((T,), tw.int32), min(max(high, 0), MOST)
    full = min(limit * 100, end * T) // T
    for j in range(full):
        acc = acc * 3 + acc + j
    for j in range(full, end):
        columns = j * T + tw.arange(T, dtype=tw.int32)
        acc = acc * 3 + tw.where(columns < limit * 100, acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def two_limits(out, low: int, high: int, limit: int, step: Int):
    acc = tw.zeros((T,), tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        if j > limit:
            acc = acc * 3 + j
        if j >= 7 - limit:
            acc = acc * 5 - j
    tw.store(out, (0,), acc)


@tw.tile_kernel
def scaled(out, low: int, high: int, limit: int, step: Int):
    """The limit lies between two values of the loop variable."""
    acc, near = tw.zeros((T,), tw.int32), min(max(limit, -MOST), MOST)
    for j in range(max(low, -MOST), min(high, MOST), step):
        if 3 * j <= 2 * near + 1:
            acc = acc * 3 + j
        acc = acc * 5 + 1
    tw.store(out, (0,), acc)


@tw.tile_kernel
def outside(out, low: int, high: int, limit: int, step: Int):
    """A mask that is false in between, and turned round."""
    acc = tw.zeros((T,), tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        columns = j * 64 + tw.arange(T, dtype=tw.int32)
        left = (columns <= limit * 64 - 300) | ~(columns < limit * 64 + 700)
        acc = acc * 3 + tw.where(left, 0, acc + j)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def may_wrap(out, low: int, high: int, limit: int, step: Int):
    """Masks of sums that the limit may take beyond int32: there no iteration may do without them."""
    acc, rows = tw.zeros((T,), tw.int32), limit + tw.arange(T, dtype=tw.int32)
    for j in range(max(low, -MOST), min(high, MOST), step):
        columns = j * 64 + tw.arange(T, dtype=tw.int32)
        acc = acc * 3 + tw.where((columns <= rows + 300) & (columns > rows - 700), acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def may_wrap_above(out, low: int, high: int, limit: int, step: Int):
    acc, rows = tw.zeros((T,), tw.int32), tw.arange(T, dtype=tw.int32) - limit
    for j in range(max(low, -MOST), min(high, MOST), step):
        acc = acc * 3 + tw.where(j * T >= rows, acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def quotients(out, low: int, high: int, limit: int, step: Int):
    """Rows of several heads: numbers that are no positions in the tile, but lie between two known ones."""
    acc, rows = tw.zeros((T,), tw.int32), limit * 64 + tw.arange(T, dtype=tw.int32) // 4
    for j in range(max(low, -MOST), min(high, MOST), step):
        columns = j * 64 + tw.arange(T, dtype=tw.int32) % 64
        acc = acc * 3 + tw.where((columns <= rows + 300) & (columns > rows - 700), acc + j, 0)
    tw.store(out, (0,), acc)


@tw.tile_kernel
def from_a_tile(out, low: int, high: int, limit: int, step: Int):
    """A bound that is the only element of a tile is a number like any other."""
    acc, bound = tw.zeros((T,), tw.int32), ((tw.load(out, 0, 1) + high) % 100).reshape(())
    for j in range(0, bound, step):
        columns = j * T + tw.arange(T, dtype=tw.int32)
        acc = acc * 3 + tw.where(columns < bound * 100, acc + j, 0)
    tw.store(out, (0,), acc)


PARTS = {branch: 2, turned_branch: 2, mask: 2, window: 3, first: 2, last: 2, left_alone: 1, hand_split: 2,
         two_limits: 2, scaled: 2, outside: 3, may_wrap: 3, may_wrap_above: 2, quotients: 3,
         from_a_tile: 2}


def before_and_after(kernel: Any, step: int) -> tuple[Function, Function]:
    before = ir(kernel, np.zeros(T, np.int32), 1, 1, 1, step)
    run_pipeline(before)
    after = clone_function(before)
    run_passes(after, get_target("sm_90a"), until="split_loops")
    return before, after


@pytest.mark.parametrize("kernel, which", [(mask, [1]), (window, [0, 2]), (hand_split, [1])])
def test_edges_are_the_parts_with_more_to_do(kernel: Any, which: list[int]) -> None:
    loops = [op for op in before_and_after(kernel, 1)[1].walk() if isinstance(op, For)]
    assert edges(loops) == {loops[i] for i in which}


@pytest.mark.parametrize("kernel, step", [
    (kernel, step) for kernel in PARTS for step in (1, 3) if step > 1 or kernel not in (two_limits, scaled, outside)])
def test_every_part_does_what_the_loop_did(kernel: Any, step: int) -> None:
    before, after = before_and_after(kernel, step)
    loops = [op for op in after.walk() if isinstance(op, For)]
    assert len(loops) == PARTS[kernel]
    runs = [compile_function(f) for f in (before, after)]
    bounds = st.integers(-20, 20)

    @settings(max_examples=60, deadline=None)
    @example(0, 0, 0)
    @example(5, -5, 2)
    @example(-(1 << 31), -(1 << 31) + 4, -(1 << 31) + 2)
    @example((1 << 31) - 9, (1 << 31) - 1, (1 << 31) - 5)
    @example(-20, 20, (1 << 31) - 300)
    @example(-20, 20, (1 << 31) - 800)
    @example(-20, 20, -(1 << 31))
    @example(-20, 20, 256 - (1 << 31))
    @given(bounds, bounds, bounds)
    def same(low: int, high: int, limit: int) -> None:
        outs = []
        for run in runs:
            outs.append(np.zeros(T, np.int32))
            run.run(full_grid((1,)), [outs[-1], np.int32(low), np.int32(high), np.int32(limit)])
        np.testing.assert_array_equal(outs[0], outs[1])

    same()


@tw.tile_kernel
def long_sums(out, n: int, c: int, count: Int):
    acc, columns = tw.zeros((T,), tw.int32), tw.arange(T, dtype=tw.int32)
    for k in tw.static_iter(range(count)):
        columns = columns + columns if k < 30 else columns + c
    for j in range(n):
        acc = acc * 3 + tw.where(j * T + columns < n * T - 7, acc + j, 0)
    tw.store(out, (0,), acc)


def test_long_sums_are_looked_at_once() -> None:
    """Of sums that are doubled again and again, and of chains of hundreds, neither time nor the stack runs out."""
    assert "add.s32" in long_sums.ptx(tw.spec("i32[512]"), 9, 1, 400, target="sm_90a")


@tw.tile_kernel
def mixed(x, out):
    place = tw.arange(T, dtype=tw.int32)
    for _ in tw.static_iter(range(30)):
        place = place ^ (place << 3)
    both = tw.load(x, 0, T) + tw.sum(place) + place
    tw.store(out, 0, both + tw.max(both))


def test_bits_that_are_mixed_again_and_again_are_looked_at_once() -> None:
    assert "xor.b32" in mixed.ptx(tw.spec("i32[512]"), tw.spec("i32[512]"), target="sm_90a")


def test_no_part_tests_what_it_knows() -> None:
    """Of a branch on the loop variable nothing is left, of a mask the iterations in which it changes."""
    _, split = before_and_after(branch, 1)
    assert not any(isinstance(op, If) for op in split.walk())
    _, masked = before_and_after(mask, 1)
    selects = [sum(op.opcode == "select" for op in loop.loop.walk()) for loop in masked.walk() if isinstance(loop, For)]
    assert selects == [0, 1]


@tw.tile_kernel
def gathered(x, out, n: int):
    acc = tw.zeros((T,), tw.float32)
    for j in range(tw.cdiv(n, T)):
        at = j * T + tw.arange(T, dtype=tw.int32)
        acc += tw.gather(x, at, mask=at < n, padding_value=0)
    tw.store(out, (0,), acc)


def test_masks_of_gathers() -> None:
    f = ir(gathered, np.zeros(5000, np.float32), np.zeros(T, np.float32), 5000)
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="split_loops")
    masks = [op.mask for op in f.walk() if isinstance(op, Gather)]
    assert [mask is None or constant_value(mask) is True for mask in masks] == [True, False]


@tw.tile_kernel
def from_the_far_end(x, out):
    i = tw.num_blocks(0) - 1 - tw.bid(0)
    rows = i * 64 + tw.arange(64, dtype=tw.int32)[:, None]
    acc = tw.zeros((64, 64), tw.int32)
    for j in range(tw.cdiv(x.shape[0], 64)):
        columns = j * 64 + tw.arange(64, dtype=tw.int32)[None, :]
        acc = acc * 3 + tw.where(rows - columns < 200, j, 7)
    tw.store(out, (i, 0), acc)


def test_blocks_in_reverse_are_not_below_zero() -> None:
    """So that the difference of a row and a column does not wrap, and the window over columns has a first one."""
    f = ir(from_the_far_end, np.zeros(5000, np.float32), np.zeros((5000, 64), np.int32))
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="split_loops")
    selects = [sum(op.opcode == "select" for op in loop.loop.walk()) for loop in f.walk() if isinstance(loop, For)]
    assert selects == [1, 0]


def test_diagonals_of_square_tiles_are_numbers_of_blocks() -> None:
    """A threshold is a quotient in the smallest numbers that give it, in 32 bits where these hold it."""
    f = ir(attention, *(np.zeros((500, 32), dtype) for dtype in (*[np.float16] * 3, np.float32)), True)
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="split_loops")
    made = [op for op in f.walk() for value in op.results if str(value.type) == "i64"]
    assert not made, "no op computes in 64 bits"
    assert sum(op.opcode == "floordiv" for op in f.walk()) == 1, "of the tokens, not of a row"
    _, wide = before_and_after(window, 1)
    assert any(op.opcode == "floordiv" and str(op.result.type) == "i64" for op in wide.walk())


def test_decisions_name_the_line() -> None:
    line = mask.__wrapped__.__code__.co_firstlineno + 5
    words = told(before_and_after(mask, 1)[1], "loops")
    assert words == f"split (one part has the condition of line {line} always true)"


@tw.tile_kernel
def attention(q, k, v, out, causal: tw.Constant[bool]):
    """The mask as a plain `where`, in every iteration."""
    i = tw.bid(0)
    query = tw.load(q, (i, 0), (64, 32))
    rows = i * 64 + tw.arange(64, dtype=tw.int32)[:, None]
    top, total = tw.full((64, 1), -1e30, tw.float32), tw.zeros((64, 1), tw.float32)
    acc = tw.zeros((64, 32), tw.float32)
    for j in range(tw.cdiv(k.shape[0], 64)):
        score = tw.mma(query, tw.load(k, (j, 0), (64, 32)).transpose(), tw.zeros((64, 64), tw.float32))
        columns = j * 64 + tw.arange(64, dtype=tw.int32)[None, :]
        kept = columns < k.shape[0]
        if causal:
            kept = kept & (columns <= rows)
        score = tw.where(kept, score, -1e30)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight, shrink = tw.exp2(score - higher), tw.exp2(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        acc = tw.mma(weight.astype(tw.float16), tw.load(v, (j, 0), (64, 32)), acc * shrink)
        top = higher
    tw.store(out, (i, 0), acc / total)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [64, 200])
def test_attention_with_a_mask_in_every_iteration(causal: bool, tokens: int) -> None:
    """Simulated: the code for the GPU, both parts of it pipelined."""
    from tilewright.backend_ptx.simulator import simulate

    rng = np.random.default_rng(tokens)
    q, k, v = (rng.normal(size=(tokens, 32)).astype(np.float16) for _ in range(3))
    out, wanted = np.zeros((tokens, 32), np.float32), np.zeros((tokens, 32), np.float32)
    grid = (-(-tokens // 64),)
    attention.interpret(grid, q, k, v, wanted, causal)
    simulate(attention, grid, [q, k, v, out, causal], target="sm_80")
    np.testing.assert_allclose(out, wanted, rtol=2e-3, atol=2e-3)
