"""Operands that stay the same in a loop come by TMA, too: where a loop around that one goes on to the next ones, and
once where none does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import MbarrierArrive, MbarrierInit, MbarrierWait, TmaLoad
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For

TARGET = get_target("sm_90a")
TM = 64


@ct.tile_kernel
def greatest(a, b, c, tn: ct.Constant[int], k: ct.Constant[int]):
    """The greatest element of each row of a @ b; the blocks walk over the rows."""
    for i in range(ct.bid(0), ct.num_tiles(a, 0, (TM, k)), ct.num_blocks(0)):
        x, top = ct.load(a, (i, 0), (TM, k)), ct.zeros((TM, tn), ct.float32)
        for j in range(ct.num_tiles(b, 1, (k, tn))):
            top = ct.maximum(top, ct.mma(x, ct.load(b, (0, j), (k, tn)), ct.zeros((TM, tn), ct.float32)))
        ct.store(c, i, ct.max(top, axis=1))


@ct.tile_kernel
def greatest_of_block(a, b, c, tn: ct.Constant[int], k: ct.Constant[int]):
    """The same; a block has TM rows."""
    i = ct.bid(0)
    x, top = ct.load(a, (i, 0), (TM, k)), ct.zeros((TM, tn), ct.float32)
    for j in range(ct.num_tiles(b, 1, (k, tn))):
        top = ct.maximum(top, ct.mma(x, ct.load(b, (0, j), (k, tn)), ct.zeros((TM, tn), ct.float32)))
    ct.store(c, i, ct.max(top, axis=1))


def arguments(tn: int, k: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-3, 4, size).astype(ml_dtypes.bfloat16) for size in ((7 * TM, k), (k, 2 * tn)))
    return a, b, np.zeros(7 * TM, np.float32), tn, k


def compiled(args: tuple[Any, ...], kernel: Any = greatest) -> Function:
    made: Function = kernel.lower(*args, target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    return made


def simulate(made: Function, args: tuple[Any, ...], blocks: int = 2) -> None:
    simulate_lowered(emit_function(made, TARGET), (blocks,), args, schedule="random", seed=3)
    a, b, c, *_ = args
    np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0).max(axis=1))


def slots(made: Function) -> dict[str, int]:
    """By array."""
    return {op.array.hint: op.buffer.type.copies for op in made.walk() if isinstance(op, TmaLoad)}


def test_the_next_operand_comes_early() -> None:
    args = arguments(16, 64)
    made = compiled(args)
    assert slots(made) == {"a": 2, "b": 6}
    simulate(made, args)


def test_the_inner_loop_keeps_its_slots() -> None:
    """Where a second slot would leave it fewer than three."""
    assert slots(compiled(arguments(64, 512))) == {"b": 2}


def test_a_slot_that_is_freed_early_is_found() -> None:
    args = arguments(16, 64)
    made = compiled(args)
    [outer] = (op for op in made.body.ops if isinstance(op, For))
    [inner] = (op for op in outer.loop.ops if isinstance(op, For))
    [freed] = (op for op in outer.loop.ops if isinstance(op, MbarrierArrive))
    outer.loop.ops.remove(freed)
    outer.loop.ops.insert(outer.loop.ops.index(inner), freed)
    with pytest.raises((SimError, AssertionError)):
        simulate(made, args)


def test_without_a_loop_around_it_comes_once() -> None:
    """One slot, one mbarrier, one wait, and nothing that frees the slot."""
    args = arguments(16, 64)
    made = compiled(args, greatest_of_block)
    assert slots(made) == {"a": 1, "b": 6}
    [wait] = (op for op in made.body.ops if isinstance(op, MbarrierWait))
    assert next(op for op in made.body.ops if isinstance(op, For)) in made.body.ops[made.body.ops.index(wait):]
    assert sum(isinstance(op, MbarrierInit) for op in made.walk()) == 3
    simulate(made, args, blocks=7)


def test_what_comes_once_leaves_the_loop_its_slots() -> None:
    assert slots(compiled(arguments(128, 512), greatest_of_block)) == {}


def test_a_wait_that_is_missing_is_found() -> None:
    args = arguments(16, 64)
    made = compiled(args, greatest_of_block)
    [wait] = (op for op in made.body.ops if isinstance(op, MbarrierWait))
    made.body.ops.remove(wait)
    with pytest.raises((SimError, AssertionError)):
        simulate(made, args, blocks=7)
