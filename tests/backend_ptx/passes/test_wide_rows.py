"""Rows that fill the registers: what sinks below reductions, and what stays of a spilled row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from benchmarks import row_kernels
from support.decisions import told
from support.pass_kernels import FOLDER

import tilewright as tw
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.passes.pressure.bodies import bodies
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.machine_ops.layout import KeepRegisters
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import MachinePlan

Changes = list[tuple[str, str]]


def after(step: str, kernel: str, changes: Changes) -> Function:
    text = (FOLDER / f"{kernel}.tile").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    function = parse(text)
    run_passes(function, get_target("sm_90a"), until=step)
    return function


def before_the_reduction(function: Function) -> list[str]:
    """The arrays whose tiles are loaded before the row is reduced."""
    end = next(i for i, op in enumerate(function.body.ops) if isinstance(op, Reduction))
    return [op.array.hint for op in function.body.ops[:end] if isinstance(op, Load)]


NARROW = ("16384", "256")  # one warp: its reduction is no exchange, but what waits takes registers as well


@pytest.mark.parametrize(("changes", "expected"), [
    ([], ["x"]),
    ([NARROW], ["x"]),
    ([("array=%bias, index=(%z)", "array=%bias, index=(%i)")], ["x", "bias"]),
    ([("%wf: tile", "store(array=%bias, index=(%z), value=%w, steps=(16384), order=(0))\n  %wf: tile")], ["x", "bias"]),
    ([("reduce_max(src=%f", "reduce_max(src=%fb"),
      ("%s: tile<1xf32>", "%fb: tile<1x16384xf32> = add(lhs=%f, rhs=%b2)\n  %s: tile<1xf32>")], ["x", "bias"]),
], ids=["what all blocks read moves", "in one warp too", "what a block reads for itself stays", "what is written too",
        "and what the reduction needs"])
def test_loads_that_move(changes: Changes, expected: list[str]) -> None:
    assert before_the_reduction(after("relieve_pressure", "scaled_rows", changes)) == expected


WIDEST = ("32768", "65536")
ALONE = (", disjoint>) {", ", disjoint>) hints(num_ctas=1) {")  # two blocks would share so wide a row


@pytest.mark.parametrize(("changes", "expected"), [
    ([], [16]),  # two blocks of 512 threads: 64 registers each
    ([WIDEST, ALONE], [80]),  # one block: 128 registers
    ([WIDEST, ALONE, ("exp2(src=%d)", "add(lhs=%d, rhs=%d)")], []),  # an addition costs less than what it would keep
], ids=["two blocks", "one block", "cheap to compute again"])
def test_registers_that_stay(changes: Changes, expected: list[int]) -> None:
    function = after("spill_tiles", "wide_rows", changes)
    assert [op.count for op in function.walk() if isinstance(op, KeepRegisters)] == expected
    assert ("registers of e stay" in told(function, "rematerialized")) == bool(expected)


# ---- rows in a loop -----------------------------------------------------------------------------------------------


def persistent(
    kernel: Any, width: int, step: str, weights: int, ctas: int | None = None, latency: int | None = None,
) -> For:
    return walked(kernel, width, step, weights, ctas, latency)[0]


def walked(
    kernel: Any, width: int, step: str, weights: int, ctas: int | None = None, latency: int | None = None,
) -> tuple[For, MachinePlan]:
    """The loop over rows of `width` columns after a pass of the backend. `latency`: the hint of its loads."""
    x, w = tw.spec(f"bf16[4096,{width}]"), tw.spec(f"bf16[{width}]")
    eps = (1e-5,) if weights else ()
    function = parse(str(kernel.ir(x, *[w] * weights, x, *eps, 1, width)))
    function.hints = replace(function.hints, num_ctas=ctas)
    for op in function.walk():
        if isinstance(op, Load):
            op.latency = latency
    run_passes(function, get_target("sm_90a"), until=step)
    [loop] = [op for op in function.walk() if isinstance(op, For)]
    return loop, function.plan


def loads(loop: For) -> list[str]:
    return [op.array.hint for op in loop.loop.walk() if isinstance(op, Load)]


@pytest.mark.parametrize(("width", "ctas", "expected"), [
    (4096, None, ["x"]),
    (16384, None, ["x"]),
    (32768, 1, ["x", "weight", "bias"]),
    (65536, 2, ["x", "weight", "bias"]),  # a cluster's, where each CTA reads its part
    (65536, None, ["x"]),
], ids=["registers hold the weights", "they cost a CTA, no spill", "they would spill",
        "in a cluster too", "not of eight"])
def test_hoisted_tiles_come_back_where_they_would_spill(width: int, ctas: int | None, expected: list[str]) -> None:
    loop = persistent(row_kernels.persistent_layer_norm, width, "relieve_pressure", 2, ctas)
    assert sorted(loads(loop), reverse=True) == sorted(expected, reverse=True)
    last = max(i for i, op in enumerate(loop.loop.ops) if isinstance(op, Reduction))
    behind = [op.array.hint for op in loop.loop.ops[last:] if isinstance(op, Load)]
    assert sorted(behind) == sorted(set(expected) - {"x"})


def test_hoisted_tiles_come_back_though_others_spill_still() -> None:
    """Of so wide a row, registers would not hold the row alone; ptxas spilled 1372 bytes with the weights, now none."""
    loop = persistent(row_kernels.persistent_layer_norm, 65536, "spill_tiles", 2, ctas=1)
    assert loads(loop)[0] == "x" and sorted(loads(loop)[1:]) == ["bias", "weight"]
    assert any(isinstance(op, SharedAlloc) for op in loop.loop.walk())


@pytest.mark.parametrize(("kernel", "weights", "width", "ctas", "warps"), [
    (row_kernels.persistent_softmax, 0, 8192, 1, 8), (row_kernels.persistent_softmax, 0, 16384, 1, 8),
    (row_kernels.persistent_softmax, 0, 32768, 4, 4), (row_kernels.persistent_softmax, 0, 65536, 8, 4),
    (row_kernels.persistent_softmax, 0, 262144, 8, 16),
    (row_kernels.persistent_rms_norm, 1, 16384, 1, 16), (row_kernels.persistent_rms_norm, 1, 65536, 2, 16),
    (row_kernels.persistent_layer_norm, 2, 16384, 1, 16), (row_kernels.persistent_layer_norm, 2, 32768, 8, 4),
    (row_kernels.persistent_layer_norm, 2, 65536, 8, 8),
], ids=["narrow", "of one CTA", "of four", "of eight", "eight only where registers need them", "weights take registers",
        "they would in a cluster", "two weights leave room for rows", "they leave none", "in a cluster neither"])
def test_two_ctas_with_rings_fit_an_sm_or_four(kernel: Any, weights: int, width: int, ctas: int, warps: int) -> None:
    loop, plan = walked(kernel, width, "pipeline_loops", weights)
    assert (plan.cluster, plan.warps) == (ctas, warps)
    assert loads(loop) == ([] if width < 262144 else ["x"])


@pytest.mark.parametrize(("width", "again"), [(16384, False), (32768, True), (65536, True)])
def test_rows_are_read_again_from_their_slots_where_registers_hold_the_weights(width: int, again: bool) -> None:
    """RMS norm of 65536 columns on an H100: 0.99 of the rate without a loop where weights are loaded again, 1.00 so."""
    loop = persistent(row_kernels.persistent_rms_norm, width, "spill_tiles", 1)
    assert loads(loop) == [] and not any(isinstance(op, SharedStore) for op in loop.loop.walk())
    assert sum(isinstance(op, SharedLoad) and op.shape[-1] > 2 for op in loop.loop.walk()) == 1 + again


@pytest.mark.parametrize(("width", "spilled"), [(16384, 0), (32768, 1), (65536, 1)])
def test_other_rows_of_a_loop_are_spilled_as_those_of_a_kernel(width: int, spilled: int) -> None:
    loop = persistent(row_kernels.persistent_softmax, width, "spill_tiles", 0, latency=1)
    assert loads(loop) == ["x"] and sum(isinstance(op, SharedStore) for op in loop.loop.walk()) == spilled


@pytest.mark.parametrize(("kernel", "weights", "width", "prefetched"), [
    (row_kernels.persistent_layer_norm, 2, 1024, True),
    (row_kernels.persistent_rms_norm, 1, 1024, False),
    (row_kernels.persistent_softmax, 0, 1024, False),
    (row_kernels.persistent_layer_norm, 2, 512, False),
    (row_kernels.persistent_rms_norm, 1, 2048, True),
], ids=["registers allow few CTAs", "more CTAs", "as many as an SM takes", "too little in each thread", "a wider row"])
def test_narrow_rows_are_prefetched_where_occupancy_hides_no_latency(
    kernel: Any, weights: int, width: int, prefetched: bool,
) -> None:
    loop = persistent(kernel, width, "pipeline_loops", weights)
    assert loads(loop) == ([] if prefetched else ["x"])


@tw.tile_kernel
def sums_of_columns(x, y, out, sums, EARLY: tw.Constant[bool]):
    """Adds rows up, before the reduction of each row or after it."""
    total = tw.zeros((1, 4096), tw.float32)
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, 4096))
        u = tw.load(y, (i, 0), (1, 4096))
        if EARLY:
            total += u
        tw.store(out, (i, 0), t / tw.sum(t * u, axis=1, keepdims=True))
        if not EARLY:
            total += u
    tw.store(sums, (tw.bid(0), 0), total)


def test_what_a_loop_carries_is_live_until_it_is_read_last() -> None:
    """The old sum is gone when the new one is there: across the reduction one of them is live, and the row; the other
    row, too, where the sum still awaits it."""
    def across(early: bool) -> int:
        x = tw.spec("f32[512,4096]")
        function = parse(str(sums_of_columns.ir(x, x, x, x, early)))
        run_passes(function, get_target("sm_90a"), until="relieve_pressure")
        [body] = [body for body in bodies(function) if body.repeats and body.phase]
        return body.registers()

    each = 4096 // (4 * 32)
    assert (across(True), across(False)) == (2 * each, 3 * each)
