"""Blocks that become one: the bits of two, and what is left alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.compile import lower_kernel
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.interp import compile_function
from tilewright.launching.grid import make_grid
from tilewright.launching.joining import joins_of
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For
from tilewright.tileir.passes.join_blocks import join_all, join_most
from tilewright.tileir.plan import Switches
from tilewright.tileir.verifier import verify

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def attention(q, k, v, out, tm: tw.Constant[int], tn: tw.Constant[int], step: tw.Constant[int]):
    """Causal; `step`: the loop counts keys, not tiles of them."""
    i, d, tokens = tw.bid(0), q.shape[1], k.shape[0]
    query = tw.load(q, (i, 0), (tm, 16), padding_mode=ZERO)
    top, total = tw.full((tm,), -math.inf, tw.float32), tw.zeros((tm,), tw.float32)
    acc = tw.zeros((tm, 16), tw.float32)
    rows = i * tm + tw.arange(tm, dtype=tw.int32)
    stop = (i + 1) * tm - step % 16 // 2 if step > 1 else tw.cdiv(min(tokens, (i + 1) * tm), tn)
    for j in range(0, stop, step):
        n = j // step
        key = tw.load(k, (n, 0), (tn, 16), padding_mode=ZERO)
        s = tw.mma(query, key.transpose(), tw.zeros((tm, tn), tw.float32))
        columns = n * tn + tw.arange(tn, dtype=tw.int32)
        s = tw.where((columns < tokens)[None, :] & (columns[None, :] <= rows[:, None]), s, -math.inf)
        new = tw.maximum(top, tw.max(s, axis=1))
        p, alpha = tw.exp2(s - new[:, None]), tw.exp2(top - new)
        total = total * alpha + tw.sum(p, axis=1)
        acc = tw.mma(p.astype(v.dtype), tw.load(v, (n, 0), (tn, 16), padding_mode=ZERO), acc * alpha[:, None])
        top = new
    tw.store(out, (i, 0), acc / total[:, None] + (tw.num_blocks(0) + d))


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(1), tw.bid(0)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(a.shape[1], 16)):
        x, y = tw.load(a, (i, k), (tm, 16), padding_mode=ZERO), tw.load(b, (k, j), (16, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc)


def tile_ir(kernel: Any, *args: Any) -> Function:
    made: Function = kernel.lower(*args, target="sm_90a").tile_ir()
    return made


def joined(kernel: Any, counts: tuple[int, ...], *args: Any) -> Function:
    function = tile_ir(kernel, *args)
    join_all(Unit(function), counts)
    verify(function)
    return function


def random(*shape: int, seed: int = 1) -> Any:
    """Numbers whose products and their sums are exact."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


@pytest.mark.parametrize(("tn", "step", "uneven"), [
    (16, 1, True), (32, 1, False), (32, 32, False), (16, 16, True), (8, 8, True)])
def test_rows_that_see_more_keys(tn: int, step: int, uneven: bool) -> None:
    """One block of two has an iteration more, of keys that the other one must not see, even if they are no numbers."""
    tokens = 90  # of 6 tiles the last is cut by the edge
    q, k, v = (random(tokens, 16, seed=seed) for seed in range(3))
    v[48:64, 3] = np.inf
    whole, parts = (np.zeros((tokens, 16), np.float32) for _ in range(2))
    args = 16, tn, step
    compile_function(tile_ir(attention, q, k, v, whole, *args)).run((6, 1, 1), [q, k, v, whole])
    function = joined(attention, (2,), q, k, v, parts, *args)
    assert sum(isinstance(op, For) for op in function.walk()) == 1 + uneven
    compile_function(function).run((3, 1, 1), [q, k, v, parts])
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("counts", [(2, 1), (1, 4), (4, 2)])
def test_products(counts: tuple[int, ...]) -> None:
    a, b = random(120, 40), random(40, 60, seed=2)
    c = np.zeros((120, 60), np.float32)
    function = joined(product, counts, a, b, c, 16, 8)
    compile_function(function).run((8 // counts[0], 8 // counts[1], 1), [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def simulated(kernel: Any, counts: tuple[int, ...], blocks: tuple[int, ...], *args: Any) -> Lowered:
    """Run the code of joined blocks, as a launch has it, for the grid of the single ones; gives it."""
    stages = kernel.lower(*args, target="sm_90a")
    function = joined(kernel, counts, *args)
    function.switches = Switches(loop_over_blocks=True, pack_blocks=True)
    lowered = lower_kernel(function, stages.target)
    grid = make_grid(blocks).joined(counts)
    simulate_lowered(lowered, grid.size, stages.values, schedule="random", seed=1)
    return lowered


@pytest.mark.parametrize(("rows", "columns", "depth", "blocks", "looped"), [
    (250, 112, 48, (2, 4), True),  # cut by two edges
    (100, 61, 24, (2, 4), False),  # a joined block begins behind the last row; rows of b and c that TMA cannot bring
    (64, 64, 16, (2, 2), True),  # of four blocks three are outside
])
def test_joined_products_in_the_simulator(
    rows: int, columns: int, depth: int, blocks: tuple[int, int], looped: bool,
) -> None:
    a, b = random(rows, depth), random(depth, columns, seed=2)
    c = np.zeros((rows, columns), np.float32)
    made = simulated(product, (2, 2), blocks, a, b, c, 64, 64)
    assert "wgmma" in made.llvm_text and made.looped is looped
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize(("tokens", "blocks", "tn", "step"), [(200, 4, 64, 1), (70, 4, 64, 64)])
def test_joined_attention_in_the_simulator(tokens: int, blocks: int, tn: int, step: int) -> None:
    """The blocks end at different times, and the last rows and keys are outside."""
    q, k, v = (random(tokens, 16, seed=seed) for seed in range(3))
    wanted, found = (np.zeros((tokens, 16), np.float32) for _ in range(2))
    args = 64, tn, step
    compile_function(tile_ir(attention, q, k, v, wanted, *args)).run((blocks, 1, 1), [q, k, v, wanted])
    made = simulated(attention, (2, 1), (blocks,), q, k, v, found, *args)
    assert "wgmma" in made.llvm_text
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize(("kernel", "tiles", "counts"), [
    (product, (64, 128), (1, 2)), (product, (64, 64), (2, 2)), (product, (64, 256), ()), (product, (128, 128), ()),
    (product, (32, 128), ()), (product.replace_hints(occupancy=2), (64, 64), ()),
    (attention, (64, 128, 1), (2,)), (attention, (64, 64, 1), ()), (attention, (128, 128, 1), ())])
def test_what_pays(kernel: Any, tiles: tuple[int, ...], counts: tuple[int, ...]) -> None:
    """Where operands take longer than the tensor cores; and where threads take as long and blocks end at the same
    time."""
    half, full = tw.spec("f16[4096,4096]"), tw.spec("f32[4096,4096]")
    stages = kernel.lower(*([half] * (3 if kernel is attention else 2)), full, *tiles, target="sm_90a")
    found = joins_of(stages.tile_ir(), stages.target, stages.hints)
    assert found[:len(counts)] == counts and max(found, default=1) == max(counts, default=1)


def moved(x, out):
    """Row by row, from the place after its own."""
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i + 1, 0), (8, 4), padding_mode=ZERO))


def doubled(x, out):
    """Every other tile."""
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (2 * i, 0), (8, 4), padding_mode=ZERO))


def numbered(x, out):
    """With the row's number within its block."""
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)) + tw.arange(8, dtype=tw.int32)[:, None].astype(tw.float32))


def scaled(x, out):
    """By the block's number."""
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)) * i)


def summed(x, out):
    """All rows of a block in one."""
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.sum(tw.load(x, (i, 0), (8, 4)), axis=0, keepdims=True))


def scanned(x, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.cumsum(tw.load(x, (i, 0), (8, 4)), axis=0))


def walked(x, out):
    for i in range(tw.bid(0), tw.num_tiles(x, 0, (8, 4)), tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)))


def branched(x, out):
    i = tw.bid(0)
    if i > 2:
        tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)))


def counted(x, out):
    i = tw.bid(0)
    tw.atomic_add(out, (0, 0), 1.0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)))


def overlapping(x, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (8, 4)) + tw.load(x, (0, i), (8, 4)))


def stored_in_turns(x, out):
    """A loop that stores, and ends sooner in one block."""
    i = tw.bid(0)
    for j in range(i):
        tw.store(out, (i, j), tw.load(x, (i, j), (8, 4)))


def told(x, out):
    i = tw.bid(0)
    n = tw.gather(x, (i, 0)).astype(tw.int32)
    acc = tw.zeros((8, 4), tw.float32)
    for j in range(n):
        acc += tw.load(x, (i, j), (8, 4))
    tw.store(out, (i, 0), acc)


@pytest.mark.parametrize("body", [
    moved, doubled, numbered, scaled, summed, scanned, walked, branched, counted, overlapping, stored_in_turns, told])
def test_what_stays_alone(body: Callable[..., None]) -> None:
    x = tw.spec("f32[64,64]")
    assert join_most(Unit(tile_ir(tw.tile_kernel(body), x, x)), lambda join: True) == ()
