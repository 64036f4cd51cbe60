"""What follows a matrix multiply and loads tiles: the loads are cut as the store is, and what arrives is the same."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.ops.shared import SharedLoad
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.memory import Load

ZERO = tw.PaddingMode.ZERO
BF16 = ml_dtypes.bfloat16


@tw.tile_kernel
def add_to_product(a, b, bias, residual, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                   twice: tw.Constant[bool]):
    tiles = tw.num_tiles(out, 1, (tm, tn))
    for tile in range(tw.bid(0), tw.num_tiles(out, 0, (tm, tn)) * tiles, tw.num_blocks(0)):
        i, j = tile // tiles, tile % tiles
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            x, y = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
            acc = tw.mma(x, y, acc)
        acc += tw.load(bias, j, tn, padding_mode=ZERO)
        added = tw.load(residual, (i, j), (tm, tn), padding_mode=ZERO).astype(tw.float32)
        tw.store(out, (i, j), (tw.maximum(acc, 0.0) + added).astype(out.dtype))
        if twice:
            tw.store(out, (i, j), added.astype(out.dtype))


@tw.tile_kernel
def add_row(a, b, bias, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    for i in range(tw.bid(0), tw.num_tiles(out, 0, (tm, tn)), tw.num_blocks(0)):
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            acc = tw.mma(tw.load(a, (i, k), (tm, tk)), tw.load(b, (k, 0), (tk, tn)), acc)
        tw.store(out, (i, 0), (acc + tw.load(bias, i, tn).astype(tw.float32)).astype(out.dtype))


@tw.tile_kernel
def add_four(a, b, p, q, r, s, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    for i in range(tw.bid(0), tw.num_tiles(out, 0, (tm, tn)), tw.num_blocks(0)):
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            acc = tw.mma(tw.load(a, (i, k), (tm, tk)), tw.load(b, (k, 0), (tk, tn)), acc)
        for row in (p, q, r, s):
            acc = acc + tw.load(row, i, tn).astype(tw.float32)
        tw.store(out, (i, 0), acc.astype(out.dtype))


def after_passes(args: tuple[Any, ...], until: str, target: str = "sm_90a", kernel: Any = add_to_product) -> Function:
    function = kernel.lower(*args, target=target).tile_ir()
    run_passes(function, get_target(target), until=until)
    return function


def specs(residual: str = "bf16[4096,4096]", twice: bool = False, tile: tuple[int, int, int] = (128, 256, 64)) -> Any:
    matrix = tw.spec("bf16[4096,4096]")
    return matrix, matrix, tw.spec("bf16[4096]"), tw.spec(residual), matrix, *tile, twice


def loads_of(function: Function, name: str) -> list[Load]:
    return [op for op in function.walk() if isinstance(op, Load) and op.array.hint == name]


def slots(function: Function) -> tuple[int, ...]:
    return tuple(function.plan.stages)


def test_no_whole_tile_goes_through_shared_memory() -> None:
    """The residual comes through the store's own buffers, a quarter at a time, and leaves the ring its four slots."""
    function = after_passes(specs(), "pipeline_loops")
    parts = loads_of(function, "residual")
    assert [op.shape for op in parts] == [(128, 64)] * 4
    assert not any(isinstance(op, ConvertLayout) and op.crosses for op in function.walk())
    assert [op.shape for op in function.walk() if isinstance(op, SharedLoad)] == [(128, 64)] * 4
    assert slots(function) == (4,)
    [said] = [d for d in function.decisions if d.name == "epilogue"]
    assert said.value == "bias and residual in sub-tiles of 128x64"


def test_rows_are_loaded_in_the_layout_of_their_users() -> None:
    """A bias takes no registers while other sub-tiles are computed."""
    assert [op.shape for op in loads_of(after_passes(specs(), "split_stores"), "bias")] == [(64,)] * 4


def test_sub_tiles_are_loaded_before_the_last_wait() -> None:
    """As many as registers hold; the others follow when one has been used."""
    function = after_passes(specs(), "split_stores")
    [block] = {id(b): b for op in function.walk() for b in op.blocks if set(loads_of(function, "residual")) & set(b.ops)
               }.values()
    order = {op: i for i, op in enumerate(block.ops)}
    wait = next(i for op, i in order.items() if op.opcode == "wgmma_wait")
    early = [op for op in loads_of(function, "residual") if order[op] < wait]
    assert 1 <= len(early) <= 4


@pytest.mark.parametrize("before", [True, False])
def test_a_row_is_loaded_before_the_loop(before: bool) -> None:
    """Its latency passes while the loop runs; not where the kernel writes the array that it comes from."""
    matrix, out = tw.spec("bf16[4096,4096]"), np.zeros((64, 4096), BF16)
    args = (matrix, matrix, tw.spec("bf16[4096]"), matrix) if before else (out[:, :64], out, out[0], out)
    function = after_passes((*args, 128, 128, 64), "pipeline_loops", kernel=add_row)
    [load] = loads_of(function, "bias")
    ops = Unit(function).homes[load].ops
    assert (ops.index(load) < next(i for i, op in enumerate(ops) if op.repeats)) is before


def test_rows_keep_their_order() -> None:
    """That of the program, so that each compilation gives the same code."""
    matrix, row = tw.spec("bf16[4096,4096]"), tw.spec("bf16[4096]")
    function = after_passes((matrix, matrix, *[row] * 4, matrix, 128, 128, 64), "pipeline_loops", kernel=add_four)
    places = [op.array.hint for op in function.walk() if isinstance(op, Load) and op.array.hint in "pqrs"]
    assert places == ["p", "q", "r", "s"]


def test_slots_are_released_before_threads_exchange() -> None:
    """The barriers of the exchange keep ptxas from moving the release behind all that is computed."""
    matrix = tw.spec("bf16[4096,4096]")
    args = (matrix, matrix, tw.spec("bf16[4096]"), matrix, 128, 128, 64)
    function = after_passes(args, "pipeline_loops", kernel=add_row)
    [exchange] = [op for op in function.walk() if isinstance(op, ConvertLayout) and op.crosses]
    ops = Unit(function).homes[exchange].ops
    released = [i for i, op in enumerate(ops) if op.opcode == "mbarrier_arrive"]
    assert released and max(released) < ops.index(exchange)


@pytest.mark.parametrize("args", [
    specs(twice=True), specs(tile=(64, 32, 64)),
], ids=["used twice", "a small tile"])
def test_others_stay_whole(args: Any) -> None:
    shapes = [op.shape for op in loads_of(after_passes(args, "split_stores"), "residual")]
    assert shapes == [args[5:7]]


def test_an_array_that_the_kernel_writes_stays_whole() -> None:
    array = np.zeros((256, 256), BF16)
    args = array[:64], array[:64], np.zeros(256, BF16), array, array, 128, 256, 64, False
    assert [op.shape for op in loads_of(after_passes(args, "split_stores"), "residual")] == [(128, 256)]


@pytest.mark.parametrize(("target", "dtype", "columns"), [
    ("sm_90a", BF16, 136), ("sm_90a", BF16, 130), ("sm_90a", np.float32, 136), ("sm_80", BF16, 136)])
def test_simulated(target: str, dtype: Any, columns: int) -> None:
    """By TMA and by threads, with a residual that fits the store's buffers and one that does not."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (70, 32)).astype(BF16), rng.integers(-3, 4, (32, columns)).astype(BF16)
    bias, residual = rng.integers(-9, 9, columns).astype(BF16), rng.integers(-9, 9, (70, columns)).astype(dtype)
    out = np.zeros((70, columns), BF16)
    simulate(add_to_product, (2,), (a, b, bias, residual, out, 64, 128, 32, False), target, schedule="random", seed=1)
    product = a.astype(np.float32) @ b.astype(np.float32) + bias.astype(np.float32)
    want = (np.maximum(product, 0) + residual.astype(np.float32)).astype(BF16)
    assert np.array_equal(out, want)
