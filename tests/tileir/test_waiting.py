"""While loops without effects: those that wait for memory stay as they are, all others go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.analysis.waiting import awaited
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import While


@tw.tile_kernel
def spin(flag, out):
    while tw.gather(flag, 0) == 0:
        pass
    tw.store(out, 0, 1.0)


@tw.tile_kernel
def spin_by_break(flag, out):
    """The load before the loop is no other's: memory may change in between."""
    first = tw.gather(flag, 0)
    while True:
        now = tw.gather(flag, 0)
        if now != 0:
            break
    tw.store(out, 0, first.astype(tw.float32))


@tw.tile_kernel
def spin_for_a_change(flag, out):
    rounds = 0
    old = tw.load(flag, 0, ())
    while tw.load(flag, 0, ()) == old:
        rounds += 1
    tw.store(out, 0, 1.0)


@tw.tile_kernel
def counted(flag, out):
    """It ends by itself, so that nothing of it is needed."""
    i, total = 0, 0.0
    while i < 10:
        total += tw.gather(flag, i).astype(tw.float32)
        i += 1
    tw.store(out, 0, 1.0)


@tw.tile_kernel
def endless(flag, out):
    i = tw.bid(0)
    while i >= 0:
        i = i
    tw.store(out, 0, 1.0)


@tw.tile_kernel
def summed(flag, out):
    """What does not decide when the loop ends moves out of it."""
    total = 0.0
    while tw.gather(flag, 0) == 0:
        total += tw.gather(out, 1)
    tw.store(out, 0, total)


def made(kernel: Any) -> Function:
    function: Function = kernel.lower(np.zeros(4, np.int32), np.zeros(4, np.float32)).tile_ir()
    return function


def inside(function: Function) -> list[str]:
    """The ops that read memory in the function's while loops."""
    return [op.opcode for loop in function.walk() if isinstance(loop, While) for block in loop.blocks
            for op in block.ops if op.effectful and op.effects().reads]


@pytest.mark.parametrize(("kernel", "reads"), [
    (spin, ["gather"]), (spin_by_break, ["gather"]), (spin_for_a_change, ["load"]), (summed, ["gather"])])
def test_loops_that_wait_stay(kernel: Any, reads: list[str]) -> None:
    assert inside(made(kernel)) == reads


@pytest.mark.parametrize("kernel", [counted, endless])
def test_other_loops_without_effects_go(kernel: Any) -> None:
    assert not [op for op in made(kernel).walk() if isinstance(op, While)]


def test_they_end_when_memory_says_so() -> None:
    flag, out = np.ones(4, np.int32), np.zeros(4, np.float32)
    for kernel in (spin, spin_by_break):
        kernel[1](flag, out)
        assert out[0] == 1
        out[:] = 0


def test_loops_with_effects_are_none_of_them() -> None:
    @tw.tile_kernel
    def kernel(flag, out):
        while tw.gather(flag, 0) == 0:
            tw.store(out, 0, 1.0)

    assert all(not awaited(op) for op in made(kernel).walk())
