"""Gathers that start some rounds early: random sizes in the simulator, warps in random order, and what is decided."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalogue.hopper_kernels import gathered
from support.decisions import told
from support.thorough import part

import tilewright as tw
from tilewright.backend_ptx.ops.async_copy import AsyncWait
from tilewright.backend_ptx.passes.barriers import hazards
from tilewright.backend_ptx.passes.pipelining import carriers, transfers
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.simulator.errors import SimError

ZERO = tw.PaddingMode.ZERO
Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16


@tw.tile_kernel
def left(table, rows, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = table[rows] @ b, blocks walk over tiles."""
    columns = tw.num_tiles(b, 1, (tk, tn))
    for tile in range(tw.bid(0), tw.num_tiles(c, 0, (tm, tn)) * columns, tw.num_blocks(0)):
        i, j = tile // columns, tile % columns
        row = tw.load(rows, (i,), (tm,), padding_mode=ZERO)[:, None]
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(b, 0, (tk, tn))):
            column = k * tk + tw.arange(tk, dtype=tw.int32)[None, :]
            acc = tw.mma(tw.gather(table, (row, column)), tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        tw.store(c, (i, j), acc)


@tw.tile_kernel
def turned(a, table, rows, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ table[rows].T: the numbers of rows stay, the columns move on."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(rows, (j,), (tn,), padding_mode=ZERO)[:, None]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        column = k * tk + tw.arange(tk, dtype=tw.int32)[None, :]
        taken = tw.gather(table, (row, column), mask=row < table.shape[0] - 1)
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), taken.transpose(), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def listed(arrays, c, turn: tw.Constant[bool], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = arrays[0] @ arrays[1], copied by threads."""
    a, b = arrays[0], arrays[1]
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        if turn:
            tb = tw.load(b, (j, k), (tn, tk), padding_mode=ZERO, allow_tma=False).transpose()
        else:
            tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO, allow_tma=False)
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO, allow_tma=False), tb, acc)
    tw.store(c, (i, j), acc, allow_tma=False)


@tw.tile_kernel
def paged(q, keys, values, rows, out, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    """Attention over keys and values in the order of a table: products are waited for in every round."""
    column = tw.arange(d, dtype=tw.int32)[None, :]
    query = tw.load(q, (tw.bid(0), 0), (tm, d), padding_mode=ZERO)
    top, total = tw.full((tm, 1), -1e30, tw.float32), tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.num_tiles(rows, 0, (tn,))):
        row = tw.load(rows, (j,), (tn,), padding_mode=ZERO)[:, None]
        score = tw.mma(query, tw.gather(keys, (row, column)).transpose(), tw.zeros((tm, tn), tw.float32))
        known = j * tn + tw.arange(tn, dtype=tw.int32)[None, :] < rows.shape[0]
        score = tw.where(known, score, -1e30)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight, shrink = tw.exp(score - higher), tw.exp(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        acc = tw.mma(weight.astype(q.dtype), tw.gather(values, (row, column)), acc * shrink)
        top = higher
    tw.store(out, (tw.bid(0), 0), acc / total)


@tw.tile_kernel
def pages(table, rows, out, scale: float, tr: tw.Constant[int], tc: tw.Constant[int]):
    """out[j] = sum over i of scale * table[rows[i]]: no product, each thread needs its own part."""
    j = tw.bid(0)
    column = j * tc + tw.arange(tc, dtype=tw.int32)[None, :]
    acc = tw.zeros((tr, tc), tw.float32)
    for i in range(tw.num_tiles(rows, 0, (tr,))):
        row = tw.load(rows, (i,), (tr,), padding_mode=tw.PaddingMode.UNDETERMINED)[:, None]
        known = i * tr + tw.arange(tr, dtype=tw.int32)[:, None] < rows.shape[0]
        acc += scale * tw.gather(table, (row, column), mask=known)
    tw.store(out, (0, j), tw.sum(acc, axis=0, keepdims=True))


@tw.tile_kernel
def whole_pages(table, pages, out, tr: tw.Constant[int], tc: tw.Constant[int]):
    """out[:, j] = sum over i of table[pages[i]]: loads whose index comes from an array."""
    j = tw.bid(0)
    acc = tw.zeros((tr, tc), tw.float32)
    for i in range(pages.shape[0]):
        acc += tw.load(table, (tw.load(pages, i, ()), 0, j), (1, tr, tc), padding_mode=ZERO).reshape((tr, tc))
    tw.store(out, (0, j), acc)


@tw.tile_kernel
def paged_products(a, table, pages, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ table[pages], pages of tk rows; threads copy, as TMA has no map of an array in a list."""
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(pages.shape[0]):
        page = tw.load(table[0], (tw.load(pages, k, ()), 0, tw.bid(1)), (1, tk, tn), padding_mode=ZERO)
        acc = tw.mma(tw.load(a, (tw.bid(0), k), (tm, tk), padding_mode=ZERO), page.reshape((tk, tn)), acc)
    tw.store(c, (tw.bid(0), tw.bid(1)), acc)


class Draw:
    """Sizes and arrays of one run; small integers, so that every sum is exact."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.dtype = self.r.choice([np.float16, BF16])
        self.tile = self.r.choice([(64, 64, 32), (64, 32, 16), (128, 64, 32), (64, 128, 64)])
        tm, tn, tk = self.tile
        self.m, self.n = self.r.randint(1, tm + 20), self.r.choice([tn, tn + 8, 2 * tn, tn + 16, tn - 3])
        self.k = self.r.choice([0, 1, tk, 2 * tk - 5, 3 * tk, 5 * tk + 8, 7 * tk])

    def numbers(self, *shape: int) -> Array:
        """Rows with a pitch of 16 bytes, most often."""
        pitch = -(-shape[1] // 8) * 8 if self.r.random() < 0.8 else shape[1]
        return self.rng.integers(-2, 3, (shape[0], pitch)).astype(self.dtype)[:, : shape[1]]

    def rows(self, count: int, length: int) -> Array:
        """Some of them before or behind the table."""
        return self.rng.integers(-2, length + 2, count).astype(self.r.choice([np.int32, np.int64]))


def taken(table: Array, rows: Array) -> Array:
    out = table.astype(np.float32)[np.clip(rows, 0, len(table) - 1)]
    out[(rows < 0) | (rows >= len(table))] = 0
    return out


def check_right(draw: Draw) -> tuple[Any, tuple[int, ...], list[Any], Array]:
    a, table, rows = draw.numbers(draw.m, draw.k), draw.numbers(50, draw.n), draw.rows(draw.k, 50)
    c = np.zeros((draw.m, draw.n), np.float32)
    grid = tw.cdiv(draw.m, draw.tile[0]), tw.cdiv(draw.n, draw.tile[1])
    return gathered, grid, [a, table, rows, c, *draw.tile], a.astype(np.float32) @ taken(table, rows)


def check_left(draw: Draw) -> tuple[Any, tuple[int, ...], list[Any], Array]:
    table, rows, b = draw.numbers(40, draw.k), draw.rows(draw.m, 40), draw.numbers(draw.k, draw.n)
    c = np.zeros((draw.m, draw.n), np.float32)
    return left, (2,), [table, rows, b, c, *draw.tile], taken(table, rows) @ b.astype(np.float32)


def check_turned(draw: Draw) -> tuple[Any, tuple[int, ...], list[Any], Array]:
    a, table, rows = draw.numbers(draw.m, draw.k), draw.numbers(50, draw.k), draw.rows(draw.n, 50)
    c = np.zeros((draw.m, draw.n), np.float32)
    grid = tw.cdiv(draw.m, draw.tile[0]), tw.cdiv(draw.n, draw.tile[1])
    return turned, grid, [a, table, rows, c, *draw.tile], a.astype(np.float32) @ taken(table[:-1], rows).T


@pytest.mark.parametrize("check", [check_right, check_left, check_turned], ids=lambda f: f.__name__[6:])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("seed", part(range(8), 3))
def test_products(check: Callable[[Draw], Any], target: str, seed: int) -> None:
    kernel, grid, args, want = check(Draw(seed))
    simulate(kernel, grid, args, target, schedule="random", seed=seed)
    assert np.array_equal(args[3], want)


@pytest.mark.parametrize("seed", range(6))
def test_paged_attention(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    tile = r.choice([(64, 64, 64), (128, 64, 64), (64, 32, 128)])
    q, keys, values = (rng.normal(size=(n, tile[2])).astype(np.float16) for n in (100, 300, 300))
    rows = rng.permutation(300)[: r.choice([1, 64, 100, 300])].astype(np.int32)
    out = np.zeros((100, tile[2]), np.float32)
    args = [q, keys, values, rows, out, *tile]
    simulate(paged, (tw.cdiv(100, tile[0]),), args, r.choice(["sm_80", "sm_90a", "sm_90a"]), schedule="random",
               seed=seed)
    score = q.astype(np.float64) @ keys[rows].astype(np.float64).T
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    want = weight / weight.sum(axis=1, keepdims=True) @ values[rows].astype(np.float64)
    assert np.allclose(out, want, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_loads_without_tma(seed: int, turn: bool) -> None:
    draw = Draw(seed)
    a, b = draw.numbers(draw.m, draw.k or 8), draw.numbers(draw.k or 8, draw.n)
    stored = np.ascontiguousarray(b.T) if turn else b
    c = np.zeros((draw.m, draw.n), np.float32)
    grid = tw.cdiv(draw.m, draw.tile[0]), tw.cdiv(draw.n, draw.tile[1])
    simulate(listed, grid, [[a, stored], c, turn, *draw.tile], "sm_90a", schedule="random", seed=seed)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("seed", range(6))
def test_own_parts(seed: int) -> None:
    r = random.Random(seed)
    rng = np.random.default_rng(seed)
    table = rng.integers(-9, 9, (30, 2 * 256)).astype(np.float32)
    rows = rng.integers(-2, 33, r.choice([1, 16, 40, 100])).astype(np.int32)
    out = np.zeros((1, 512), np.float32)
    args = [table, rows, out, 2.0, 16, 256]
    simulate(pages, (2,), args, r.choice(["sm_80", "sm_90a"]), schedule="random", seed=seed)
    assert np.array_equal(out[0], 2 * taken(table, rows).sum(axis=0))


@pytest.mark.parametrize("seed", range(4))
def test_whole_pages(seed: int) -> None:
    """Pages before and behind the table are zeros; the number of a page that is never read may be anything."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    table = rng.integers(-9, 9, (5, 16, 500)).astype(np.float32)
    pages = rng.integers(-2, 7, r.choice([1, 4, 6, 11])).astype(r.choice([np.int32, np.int64]))
    out = np.zeros((16, 500), np.float32)
    args = [table, pages, out, 16, 256]
    simulate(whole_pages, (2,), args, r.choice(["sm_80", "sm_90a"]), schedule="random", seed=seed)
    assert np.array_equal(out, taken(table, pages).sum(axis=0))


@pytest.mark.parametrize("seed", range(4))
def test_paged_products(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    tm, tn, tk = r.choice([(64, 64, 32), (128, 64, 64), (16, 64, 64)])
    pages = rng.integers(-1, 6, r.choice([1, 3, 7])).astype(np.int32)
    a = rng.integers(-2, 3, (tm + 5, len(pages) * tk)).astype(BF16)
    table, c = rng.integers(-2, 3, (5, tk, 2 * tn)).astype(BF16), np.zeros((tm + 5, 2 * tn), np.float32)
    simulate(paged_products, (2, 2), [a, [table], pages, c, tm, tn, tk], "sm_90a", schedule="random", seed=seed)
    assert np.array_equal(c, a.astype(np.float32) @ taken(table, pages).reshape(-1, 2 * tn))


# ---- what is decided -----------------------------------------------------------------------------------------------


def option(kernel: Any, args: list[Any], target: str = "sm_90a") -> str:
    """What pipeline_loops says."""
    stages = kernel.lower(*args, target=target)
    seen: dict[str, str] = {}
    stages.machine_ir(lambda name, f: seen.update({name: told(f, "pipeline")}))
    return seen["pipeline_loops"]


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 256, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + size].view(dtype).reshape(shape)


def large(kernel: Any, tile: tuple[int, int, int]) -> list[Any]:
    matrix, rows = lambda: aligned((1024, 1024), BF16), aligned((1024,), np.int32)
    c = aligned((1024, 1024), np.float32)
    return [matrix(), rows, matrix(), c, *tile] if kernel is left else [matrix(), matrix(), rows, c, *tile]


@pytest.mark.parametrize("kernel", [gathered, left, turned], ids=lambda k: k.__name__)
@pytest.mark.parametrize("tile", [(128, 128, 64), (128, 256, 64)], ids=str)
def test_large_products(kernel: Any, tile: tuple[int, int, int]) -> None:
    """Straight from memory to where tensor cores read, one barrier a round, nothing spilled."""
    args = large(kernel, tile)
    assert re.match("(table|taken) in", option(kernel, args))
    text = kernel.ptx(*args, target="sm_90a")
    assert assemble(text, "sm_90a").spills == 0
    assert "cp.async.cg.shared.global" in text and "wgmma.mma_async" in text
    assert "ld.global.nc.b16" not in text and "st.shared.b16" not in text


@pytest.mark.parametrize("turn", [False, True])
def test_large_products_without_tma(turn: bool) -> None:
    """No operand passes registers."""
    matrix = aligned((1024, 1024), BF16)
    args = [[matrix, matrix], aligned((1024, 1024), np.float32), turn, 128, 128, 64]
    assert re.match(r"\w+ and \w+ in", option(listed, args))
    text = listed.ptx(*args, target="sm_90a")
    assert assemble(text, "sm_90a").spills == 0
    assert "cp.async.cg.shared.global" in text and "wgmma.mma_async" in text and "st.shared" not in text


@pytest.mark.parametrize("kernel", [gathered, left, turned], ids=lambda k: k.__name__)
def test_other_targets(kernel: Any) -> None:
    args = large(kernel, (128, 128, 32))
    assert re.match("(table|taken) and", option(kernel, args, "sm_80"))
    assert "cp.async.cg" in kernel.lower(*args, target="sm_80").lowered.llvm_text


def test_refusals() -> None:
    """A gather that cannot be early says why."""
    @tw.tile_kernel
    def padded(table, rows, out, tr: tw.Constant[int], tc: tw.Constant[int]):
        column = tw.arange(tc, dtype=tw.int32)[None, :]
        acc = tw.zeros((tr, tc), tw.float32)
        for i in range(tw.num_tiles(rows, 0, (tr,))):
            row = tw.load(rows, (i,), (tr,))[:, None]
            acc += tw.gather(table, (row, column), padding_value=1)
        tw.store(out, (0, 0), acc)

    @tw.tile_kernel
    def written(table, rows, out, tr: tw.Constant[int], tc: tw.Constant[int]):
        column = tw.arange(tc, dtype=tw.int32)[None, :]
        for i in range(tw.num_tiles(rows, 0, (tr,))):
            row = tw.load(rows, (i,), (tr,))[:, None]
            tw.store(table, (i, 0), tw.gather(table, (row, column)) + 1.0)

    @tw.tile_kernel
    def chased(table, rows, out, tr: tw.Constant[int], tc: tw.Constant[int]):
        column = tw.arange(tc, dtype=tw.int32)[None, :]
        row = tw.load(rows, (0,), (tr,))
        acc = tw.zeros((tr, tc), tw.float32)
        for _ in range(tw.num_tiles(rows, 0, (tr,))):
            acc += tw.gather(table, (row[:, None], column))
            row = tw.gather(rows, row)
        tw.store(out, (0, 0), acc)

    @tw.tile_kernel
    def masked(table, rows, out, tr: tw.Constant[int], tc: tw.Constant[int]):
        column = tw.arange(tc, dtype=tw.int32)[None, :]
        acc = tw.zeros((tr, tc), tw.float32)
        for i in range(tw.num_tiles(rows, 0, (tr,))):
            row = tw.load(rows, (i,), (tr,))[:, None]
            acc += tw.gather(table, (row, column), mask=column < 77)
        tw.store(out, (0, 0), acc)

    args = [aligned((64, 256), np.float32), aligned((64,), np.int32), aligned((64, 256), np.float32), 16, 256]
    assert "stays a gather (its mask may end within" in option(masked, args)
    assert "stays a gather (padding" in option(padded, args)
    assert "stays a gather (the loop writes its array" in option(written, args)
    assert "stays a gather (its index is not known early" in option(chased, args)


def test_loads_at_fetched_indices() -> None:
    """They are pipelined for other threads; of its own part ptxas keeps as many loads in flight in an unrolled loop."""
    @tw.tile_kernel
    def counted(a, table, pages, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(pages.shape[0]):
            page = tw.load(pages, k, ())
            tile = tw.load(table[0], (page, 0, 0), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
            acc = tw.mma(tw.load(a, (0, k), (tm, tk), padding_mode=ZERO), tile, acc)
            tw.store(pages, k, page + 1)
        tw.store(c, (0, 0), acc)

    rows = [aligned((64, 16, 256), np.float32), aligned((64,), np.int32), aligned((16, 256), np.float32), 16, 256]
    assert "stays a load (its index comes from an array" in option(whole_pages, rows)
    args = [aligned((16, 4096), BF16), [aligned((64, 64, 128), BF16)], rows[1], aligned((16, 128), np.float32)]
    assert re.match("page and a in", option(paged_products, [*args, 16, 128, 64]))
    assert "stays a load (its index is not known early" in option(counted, [*args, 16, 128, 64])


# ---- what keeps it right -------------------------------------------------------------------------------------------


def run_all(seeds: range) -> None:
    for seed in seeds:
        kernel, grid, args, want = check_right(Draw(seed))
        simulate(kernel, grid, args, "sm_90a", schedule="random", seed=seed)
        assert np.array_equal(args[3], want)


def test_the_simulator_sees_a_slot_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that goes to the slot of products in flight."""
    monkeypatch.setattr(hazards, "SPARE_SLOTS", 1)
    monkeypatch.setattr(transfers, "SPARE_SLOTS", 1)
    with pytest.raises(SimError):
        run_all(range(12))


def test_the_simulator_sees_a_missing_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensor cores do not see what cp.async has written before a fence of the proxies."""
    monkeypatch.setattr(carriers, "proxy_fences", lambda writer, readers: [AsyncWait(pending=15)])
    with pytest.raises(SimError):
        run_all(range(12))
