"""Pieces that leave by TMA: which stores do, that waits and meetings stand and are needed, that results are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from matmul import matmul
from sim import SimError, run_lowered, run_optimised
from sim.lowered import runtime_arguments

import tilewright as tw
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import TmaStore, TmaStoreWait
from tilewright.backend_ptx.ops.shared import Barrier, SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import ProxyFence
from tilewright.backend_ptx.passes.plan_shared_memory import buffer_bytes
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import get_target
from tilewright.bind import bind
from tilewright.interp import compile_function
from tilewright.tileir.core import Block, Function, Op, clone_function
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

ZERO = tw.PaddingMode.ZERO
BF16, F16, F32, E4M3 = ml_dtypes.bfloat16, np.float16, np.float32, ml_dtypes.float8_e4m3fn
TARGET = get_target("sm_90a")
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
Array = np.ndarray[Any, Any]


@tw.tile_kernel
def product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, j), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def turned_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c[j, i] is the product's element (i, j): a column of accumulators is a row of memory."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, j), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (j, i), tw.transpose(acc.astype(c.dtype)))


@tw.tile_kernel
def persistent_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    columns = tw.cdiv(c.shape[1], n)
    for t in range(tw.bid(0), columns * tw.cdiv(c.shape[0], m), tw.num_blocks(0)):
        acc = tw.zeros((m, n), dtype=tw.float32)
        for s in range(tw.cdiv(a.shape[1], k)):
            left = tw.load(a, (t // columns, s), (m, k), padding_mode=ZERO)
            acc = tw.mma(left, tw.load(b, (s, t % columns), (k, n), padding_mode=ZERO), acc)
        tw.store(c, (t // columns, t % columns), acc.astype(c.dtype))


@tw.tile_kernel
def batched_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c[0] and c[1] are one product each."""
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (tw.bid(2), tw.bid(0), tw.bid(1)), tw.reshape(acc.astype(c.dtype), (1, m, n)))


@tw.tile_kernel
def repeated_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Every round stores the same tile: the last one stays."""
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
        tw.store(c, (tw.bid(0), tw.bid(1)), acc.astype(c.dtype))


@tw.tile_kernel
def two_products(a, b, c, d, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Two arrays of one tile shape, in rounds and under a condition."""
    for i in range(tw.bid(0), tw.cdiv(c.shape[0], m), tw.num_blocks(0)):
        acc = tw.zeros((m, n), dtype=tw.float32)
        for s in range(tw.cdiv(a.shape[1], k)):
            left = tw.load(a, (i, s), (m, k), padding_mode=ZERO)
            acc = tw.mma(left, tw.load(b, (s, 0), (k, n), padding_mode=ZERO), acc)
        tw.store(c, (i, 0), acc.astype(c.dtype))
        if i % 2 == 0:
            tw.store(d, (i, 0), (acc * 2).astype(d.dtype))


@tw.tile_kernel
def added_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    old = tw.load(c, (tw.bid(0), tw.bid(1)), (m, n), padding_mode=ZERO)
    tw.store(c, (tw.bid(0), tw.bid(1)), (acc + old).astype(c.dtype))


@tw.tile_kernel
def hinted_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (tw.bid(0), tw.bid(1)), acc.astype(c.dtype), allow_tma=False)


@tw.tile_kernel
def mixed_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Two stores to one place, of which threads do the second."""
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (tw.bid(0), tw.bid(1)), (2 * acc).astype(c.dtype))
    tw.store(c, (tw.bid(0), tw.bid(1)), acc.astype(c.dtype), allow_tma=False)


@tw.tile_kernel
def announced_product(a, b, c, flags, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Other blocks may read the tile once they have seen the flag."""
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    tw.store(c, (tw.bid(0), tw.bid(1)), acc.astype(c.dtype))
    tw.atomic_add(flags, tw.bid(0), 1, memory_order=tw.MemoryOrder.RELEASE)


@tw.tile_kernel
def halved_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c is stored in tiles of two widths."""
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (tw.bid(0), s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, tw.bid(1)), (k, n), padding_mode=ZERO), acc)
    out = acc.astype(c.dtype)
    tw.store(c, (tw.bid(0), tw.bid(1)), out)
    tw.store(c, (tw.bid(0), 2 * tw.bid(1)), tw.extract(out, (0, 0), (m, n // 2)))


@dataclass(frozen=True)
class Program:
    """A kernel on a [rows, depth] and b [depth, columns], stored as `dtype`; `outputs`: how many arrays."""

    kernel: Any
    grid: tuple[int, ...]
    rows: int = 120
    columns: int = 248
    depth: int = 72
    tile: tuple[int, int, int] = (64, 128, 32)
    dtype: Any = BF16
    outputs: int = 1

    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(3)
        a, b = (np.round(rng.standard_normal(s) * 2) for s in ((self.rows, self.depth), (self.depth, self.columns)))
        return [windowed(a.astype(F16)), windowed(b.astype(F16)), *(self._output(n) for n in range(self.outputs))]

    def _output(self, number: int) -> Array:
        if number and self.kernel is announced_product:
            return np.zeros(8, np.int32)
        shape = (self.columns, self.rows) if self.kernel is turned_product else (self.rows, self.columns)
        return windowed(np.full(shape, 7, self.dtype))

    def wanted(self, arrays: Sequence[Array]) -> list[Array]:
        """What the outputs shall hold."""
        c = arrays[0].astype(F32) @ arrays[1].astype(F32)
        if self.kernel is turned_product:
            c = c.T
        out = [c.astype(self.dtype).astype(F32)]
        if self.kernel is two_products:
            even = np.arange(self.rows)[:, None] // self.tile[0] % 2 == 0
            out.append(np.where(even, (2 * c).astype(self.dtype).astype(F32), 7))
        return out


def windowed(x: Array) -> Array:
    """The same elements in an array whose rows begin at multiples of 16 bytes."""
    per = 16 // x.itemsize
    wide = np.zeros((x.shape[0], -(-x.shape[1] // per) * per), x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


def function_of(program: Program, arrays: Sequence[Array], **options: Any) -> Function:
    arguments = bind(program.kernel._params, (*arrays, *program.tile), program.kernel.__name__)
    function: Function = program.kernel._launcher.specialiser.make_tile_ir(arguments, facts=True)
    function.options.update(options)
    return function


def passed(program: Program, **options: Any) -> Function:
    """The function after the backend's passes."""
    function = function_of(program, program.arrays(), **options)
    run_passes(function, TARGET)
    return function


def result_of(program: Program, function: Function, run: Callable[..., Any] = run_lowered, **how: Any) -> list[Array]:
    arrays = program.arrays()
    given = runtime_arguments(program.kernel, (*arrays, *program.tile))
    run(emit_function(function, TARGET), program.grid, given, **how)
    return [x.astype(F32) for x in arrays[2 : 2 + program.outputs]]


def stores_of(function: Function) -> list[TmaStore]:
    return [op for op in function.walk() if isinstance(op, TmaStore)]


PROGRAMS = {
    "plain": Program(product, (2, 2)),
    "four pieces": Program(product, (2, 1), tile=(64, 256, 32)),
    "two warpgroups": Program(product, (1, 1), tile=(128, 256, 32)),
    "float32": Program(product, (2, 2), dtype=F32),
    "float16": Program(product, (2, 2), dtype=F16),
    "float8": Program(product, (2, 1), tile=(64, 256, 32), columns=240, dtype=E4M3),
    "odd edges": Program(product, (2, 2), rows=101, columns=203),
    "turned": Program(turned_product, (2, 1), tile=(64, 256, 32)),
    "turned float32": Program(turned_product, (2, 2), dtype=F32),
    "persistent": Program(persistent_product, (2,), rows=250),
    "persistent, four pieces": Program(persistent_product, (2,), rows=250, tile=(64, 256, 32)),
    "persistent, turned edges": Program(persistent_product, (3,), rows=201, columns=131, dtype=F32),
    "repeated": Program(repeated_product, (2, 2)),
    "two arrays": Program(two_products, (2,), rows=330, columns=120, outputs=2),
}


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_simulated(name: str, how: dict[str, Any]) -> None:
    program = PROGRAMS[name]
    function = passed(program)
    assert stores_of(function) and not [op for op in function.walk() if isinstance(op, Store)]
    for got, want in zip(result_of(program, function, **how), program.wanted(program.arrays()), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["four pieces", "persistent", "turned"])
def test_simulated_after_llvm(name: str) -> None:
    program = PROGRAMS[name]
    [got] = result_of(program, passed(program), partial(run_optimised, target="sm_90a"), schedule="random", seed=2)
    np.testing.assert_array_equal(got, program.wanted(program.arrays())[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_dump_runs_to_the_same_result(name: str) -> None:
    program = PROGRAMS[name]
    function, done = function_of(program, program.arrays()), []

    def observe(step: str, now: Function) -> None:
        if step not in ("split_stores", "insert_barriers"):
            return
        text = to_text(now)
        again = parse(text)
        assert to_text(again) == text
        arrays = program.arrays()
        compile_function(again).run((*program.grid, 1, 1)[:3], arrays)
        for got, want in zip(arrays[2:], program.wanted(program.arrays()), strict=True):
            np.testing.assert_array_equal(got.astype(F32), want)
        done.append(step)

    run_passes(function, TARGET, observe)
    assert done == ["split_stores", "insert_barriers"]


def test_tiles_with_an_axis_of_one() -> None:
    program = Program(batched_product, (2, 2, 2))
    a, b, c = program.arrays()
    out = np.full((2, *c.shape), 7, BF16)
    function = function_of(program, [a, b, out])
    run_passes(function, TARGET)
    assert {(op.box, op.warps) for op in stores_of(function)} == {((1, 16, 64), 4)}
    run_lowered(emit_function(function, TARGET), program.grid, [a, b, out])
    for got in out:
        np.testing.assert_array_equal(got.astype(F32), program.wanted([a, b])[0])


CLUSTERS = {
    "plain": Program(product, (1, 2), tile=(128, 128, 32)),
    "persistent": Program(persistent_product, (2,), rows=500, tile=(128, 128, 32)),
    "turned": Program(turned_product, (1, 1), tile=(128, 256, 32)),
}


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", CLUSTERS)
def test_blocks_of_a_cluster_store_their_parts(name: str, how: dict[str, Any]) -> None:
    program = CLUSTERS[name]
    function = passed(program, num_ctas=2)
    assert function.cluster == 2 and stores_of(function)
    [got] = result_of(program, function, **how)
    np.testing.assert_array_equal(got, program.wanted(program.arrays())[0])


# ---- how they wait --------------------------------------------------------------------------------------------------


def steps(block: Block) -> str:
    """The ops that matter here: w(ait), m(eeting), f(ence), s(tore to the array); loops and branches in brackets."""
    letters: dict[type[Op], str] = {TmaStoreWait: "w", Barrier: "m", ProxyFence: "f", TmaStore: "s"}
    out = ""
    for op in block.ops:
        inner = "".join(steps(b) for b in op.blocks)
        if letters.get(type(op)) or inner:
            out += letters.get(type(op), f"[{inner}]")
    return out


@pytest.mark.parametrize(("name", "expected"), [
    ("plain", "fmsfmsw"),
    ("four pieces", "fmsfmswmfmswmfmsw"),
    ("persistent", "[wmfmsfms]w"),  # the tile before is stored while this one is computed
    ("two arrays", "[wmfmsfms[wfmsfms]]w"),
])
def test_waits_and_meetings(name: str, expected: str) -> None:
    function = passed(PROGRAMS[name])
    assert steps(function.body) == expected
    assert {op.scope for op in function.walk() if isinstance(op, Barrier)} == {"warp"}


def test_a_piece_that_crosses_warps_meets_the_block() -> None:
    function = passed(PROGRAMS["turned"])
    assert {op.scope for op in function.walk() if isinstance(op, Barrier)} == {"block"}
    assert {(op.box, op.warps) for op in stores_of(function)} == {((64, 64), 1)}


def test_pieces_are_boxes_of_warps() -> None:
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["two warpgroups"]))} == {((16, 64), 8)}
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["float32"]))} == {((16, 32), 4)}
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["float8"]))} == {((16, 128), 4)}


@pytest.mark.parametrize("name", ["persistent", "two arrays"])
def test_nothing_else_takes_a_buffer_that_is_still_read(name: str) -> None:
    """Copies of the round before read on while this round runs."""
    function = passed(PROGRAMS[name])
    mine = {op.buffer for op in stores_of(function)}
    ranges = [(op.offset, op.offset + buffer_bytes(op.type), op.result in mine)
              for op in function.walk() if isinstance(op, SharedAlloc)]
    for first, last, stored in ranges:
        assert not stored or sum(a < last and first < b for a, b, _ in ranges) == 1


# ---- which ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "allow_tma=False": Program(hinted_product, (2, 2)),
    "the kernel accesses the array elsewhere": Program(added_product, (2, 2)),
    "the kernel accesses the array elsewhere; c by threads: allow_tma=False": Program(mixed_product, (2, 2)),
    "the kernel orders memory accesses": Program(announced_product, (2, 2), outputs=2),
    "the array is stored in different tiles": Program(halved_product, (2, 2), tile=(64, 256, 32)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    function = passed(REFUSED[reason])
    assert not stores_of(function) and reason in function.options["stores"]


def test_rows_at_odd_places_are_stored_by_threads() -> None:
    program = Program(product, (2, 2))
    a, b, _ = program.arrays()
    function = function_of(program, [a, b, np.zeros((120, 251), BF16)])
    run_passes(function, TARGET)
    assert not stores_of(function)
    assert "not known to be a multiple of 16 bytes" in function.options["stores"]


def test_the_option_keeps_stores_from_tma() -> None:
    function = passed(PROGRAMS["plain"], bulk_stores=False)
    assert not stores_of(function) and "stores" not in function.options


def test_operands_come_first() -> None:
    """A tile of 64 KiB on its way to other threads, and operands of 192 KiB: the buffers of pieces would not fit."""
    function = passed(replace(PROGRAMS["persistent"], tile=(128, 256, 256)))
    assert not stores_of(function) and "no shared memory is left" in function.options["stores"]
    assert function.options["shared_bytes"] <= TARGET.shared_per_block


@pytest.mark.parametrize("dtype", [BF16, F32, E4M3])
@pytest.mark.parametrize("tile", [(128, 256, 64), (128, 128, 64), (64, 256, 64)])
def test_nothing_spills(tile: tuple[int, int, int], dtype: Any) -> None:
    a = np.zeros((1024, 1024), BF16)
    ptx = matmul.ptx(a, a.copy(), np.zeros((1024, 1024), dtype), *tile, target="sm_90a")
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    assembled = assemble(ptx, TARGET)
    assert assembled.spills == 0 and "serialized" not in assembled.log


# ---- defects --------------------------------------------------------------------------------------------------------


def without(function: Function, kind: type[Op], wanted: Callable[[Any], bool] = lambda op: True) -> None:
    """Remove the ops of a kind for which `wanted` holds."""

    def visit(block: Block) -> None:
        block.ops = [op for op in block.ops if not (isinstance(op, kind) and wanted(op))]
        for op in block.ops:
            for inner in op.blocks:
                visit(inner)

    visit(function.body)


def meetings(function: Function, before: type[Op]) -> None:
    """Remove the barriers right before ops of a kind."""
    blocks = [function.body, *(b for op in function.walk() for b in op.blocks)]
    gone = [op for block in blocks for op, after in zip(block.ops, block.ops[1:], strict=False)
            if isinstance(op, Barrier) and isinstance(after, before)]
    assert gone
    without(function, Barrier, lambda op: op in gone)


def meetings_after(function: Function, kind: type[Op]) -> None:
    blocks = [function.body, *(b for op in function.walk() for b in op.blocks)]
    gone = [op for block in blocks for before, op in zip(block.ops, block.ops[1:], strict=False)
            if isinstance(op, Barrier) and isinstance(before, kind)]
    assert gone
    without(function, Barrier, lambda op: op in gone)


def every(function: Function, kind: type[Op], **changes: Any) -> None:
    for op in function.walk():
        if isinstance(op, kind):
            for name, value in changes.items():
                setattr(op, name, value)


def same_place(function: Function) -> None:
    first, second, *_ = stores_of(function)
    second.index = first.index


def same_buffer(function: Function) -> None:
    first, second, *_ = stores_of(function)
    second.buffer = first.buffer


def weaker(function: Function) -> None:
    for op in function.walk():
        if isinstance(op, TmaStoreWait) and op.buffer is not None:
            op.pending += 1


DEFECTS: dict[str, tuple[str, Callable[[Function], None]]] = {
    "no fence": ("plain", lambda f: without(f, ProxyFence)),
    "the warp does not meet before its copy": ("plain", lambda f: meetings(f, TmaStore)),
    "no wait before a buffer is written again": (
        "four pieces", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is not None)),
    "a wait that leaves one copy too many": ("four pieces", weaker),
    "the warp does not meet after a wait": ("four pieces", lambda f: meetings_after(f, TmaStoreWait)),
    "no wait before the next tile": ("persistent", lambda f: without(f, TmaStoreWait, lambda op: op.written)),
    "no wait at the end": (
        "plain", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is None and not op.written)),
    "no wait at the end of a persistent kernel": (
        "persistent", lambda f: without(f, TmaStoreWait, lambda op: op.buffer is None and not op.written)),
    "a piece goes where another belongs": ("plain", same_place),
    "a copy takes another piece's buffer": ("plain", same_buffer),
    "tiles are as far apart as half a piece": ("plain", lambda f: every(f, TmaStore, steps=(64, 32))),
    "only the first warp copies": ("plain", lambda f: every(f, TmaStore, warps=1)),
    "warps meet where the block must": ("turned", lambda f: every(f, Barrier, scope="warp")),
    "the block does not meet after a wait": ("turned", lambda f: meetings_after(f, TmaStoreWait)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_caught(defect: str) -> None:
    name, seed = DEFECTS[defect]
    program = PROGRAMS[name]
    function = clone_function(passed(program))
    before = to_text(function)
    seed(function)
    assert to_text(function) != before
    for how in SCHEDULES:
        try:
            [got] = result_of(program, function, max_steps=50_000, **how)
        except SimError:
            continue
        assert not np.array_equal(got, program.wanted(program.arrays())[0]), f"not caught under {how}"


@pytest.mark.parametrize("how", SCHEDULES)
def test_a_copy_that_belongs_to_no_group_is_caught(how: dict[str, Any]) -> None:
    program = PROGRAMS["plain"]
    code = emit_function(passed(program), TARGET)
    lines = [line for line in code.llvm_text.splitlines() if "cp.async.bulk.commit_group" not in line]
    arrays = program.arrays()
    with pytest.raises(SimError, match="may be reading"):
        run_lowered(replace(code, llvm_text="\n".join(lines)), program.grid, arrays, **how)
