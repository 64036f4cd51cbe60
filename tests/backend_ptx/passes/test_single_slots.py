"""Where shared memory has no room for two tiles of everything, what threads alone read has one slot: it is free before
the iteration ends, and the next tile comes while they compute."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import MbarrierArrive, TmaLoad
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For

TARGET = get_target("sm_90a")
TM, BLOCKS, TILES = 64, 2, 3


@ct.tile_kernel
def greatest(a, b, bias, c, tn: ct.Constant[int], k: ct.Constant[int]):
    """The greatest element of each row of a @ b + bias."""
    i = ct.bid(0)
    x, top = ct.load(a, (i, 0), (TM, k)), ct.zeros((TM, tn), ct.float32)
    for j in range(ct.num_tiles(b, 1, (k, tn))):
        s = ct.mma(x, ct.load(b, (0, j), (k, tn)), ct.zeros((TM, tn), ct.float32))
        top = ct.maximum(top, s + ct.load(bias, (i, j), (TM, tn)))
    ct.store(c, i, ct.max(top, axis=1))


def arguments(tn: int, k: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-3, 4, size).astype(ml_dtypes.bfloat16) for size in ((BLOCKS * TM, k), (k, TILES * tn)))
    bias = rng.integers(-50, 50, (BLOCKS * TM, TILES * tn)).astype(np.float32)
    return a, b, bias, np.zeros(BLOCKS * TM, np.float32), tn, k


def compiled(args: tuple[Any, ...]) -> Function:
    made: Function = greatest.lower(*args, target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    return made


def slots(made: Function) -> dict[str, int]:
    return {op.array.hint: op.buffer.type.copies for op in made.walk() if isinstance(op, TmaLoad)}


def simulate(made: Function, args: tuple[Any, ...]) -> None:
    simulate_lowered(emit_function(made, TARGET), (BLOCKS,), args, schedule="random", seed=3)
    a, b, bias, c, *_ = args
    np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0).max(axis=1))


def test_two_of_each_where_they_fit() -> None:
    assert slots(compiled(arguments(64, 64))) == {"a": 1, "b": 6, "bias": 6}


def test_one_of_what_threads_read() -> None:
    args = arguments(256, 128)
    made = compiled(args)
    assert slots(made) == {"a": 1, "b": 2, "bias": 1}
    simulate(made, args)


def test_none_where_operands_do_not_fit_twice() -> None:
    assert slots(compiled(arguments(256, 256))) == {}


def test_a_slot_that_is_freed_early_is_found() -> None:
    args = arguments(256, 128)
    made = compiled(args)
    [loop] = (op for op in made.walk() if isinstance(op, For))
    [barriers] = {op.barriers for op in made.walk() if isinstance(op, MbarrierArrive) and op.barriers.type.copies == 1}
    [freed] = (op for op in loop.loop.ops if isinstance(op, MbarrierArrive) and op.barriers is barriers)
    loop.loop.ops.remove(freed)
    loop.loop.ops.insert(0, freed)
    with pytest.raises((SimError, AssertionError)):
        simulate(made, args)


@ct.tile_kernel
def wide(a, c, out, tn: ct.Constant[int]):
    """Products of all columns at once, whose result moves to other threads before it is stored."""
    x, acc = ct.load(a, (0, 0), (TM, 512)), ct.zeros((TM, 512), ct.float32)
    for j in range(ct.num_tiles(c, 0, (tn, 512))):
        y = ct.load(c, (j, 0), (tn, 512))
        s = ct.mma(x, y.transpose(), ct.zeros((TM, tn), ct.float32))
        acc = ct.mma(s.astype(ct.bfloat16), y, acc)
    ct.store(out, (0, 0), acc.astype(out.dtype))


@pytest.mark.parametrize("tn, found", [(32, {"a": 1, "c": 3}), (64, {"a": 1, "c": 2})])
def test_results_in_pieces_where_whole_ones_leave_no_ring(tn: int, found: dict[str, int]) -> None:
    rng = np.random.default_rng(tn)
    a, c = ((rng.random(size) < 0.1).astype(ml_dtypes.bfloat16) for size in ((TM, 512), (128, 512)))
    out = np.zeros((TM, 512), ml_dtypes.bfloat16)
    args = a, c, out, tn
    made: Function = wide.lower(*args, target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    assert (slots(made), made.limits.max_exchange) == (found, 8192 if tn == 64 else None)
    if tn == 64:
        simulate_lowered(emit_function(made, TARGET), (1,), args, schedule="random", seed=3)
        x, y = a.astype(np.float32), c.astype(np.float32)
        np.testing.assert_array_equal(out, (x @ y.T @ y).astype(out.dtype))
