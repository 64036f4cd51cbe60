"""Atomic operations of tiles are released and acquired by one fence each, not by every element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import Race, simulate

ORDER = tw.MemoryOrder


@tw.tile_kernel
def add(out, n: tw.Constant[int], order: tw.Constant[Any], scope: tw.Constant[Any]):
    i = tw.arange(n, dtype=tw.int32)
    tw.atomic_add(out, i * 3, 1.0, memory_order=order, memory_scope=scope)


def counted(n: int, order: Any, scope: Any = tw.MemoryScope.DEVICE) -> tuple[int, set[str]]:
    """How many fences there are, and the orders of the instructions."""
    ptx = add.ptx(tw.spec("f32[65536]"), n, order, scope, target="sm_90a")
    orders = {word for word in ("relaxed", "acquire", "release", "acq_rel")
              if f"atom.{word}" in ptx or f"red.{word}" in ptx}
    return ptx.count("fence.acq_rel.gpu"), orders


FENCES = [(ORDER.ACQ_REL, 2), (ORDER.RELEASE, 1), (ORDER.ACQUIRE, 1), (ORDER.RELAXED, 0)]


@pytest.mark.parametrize("order, fences", FENCES)
def test_many_elements(order: Any, fences: int) -> None:
    assert counted(4096, order) == (fences, {"relaxed"})


def test_one_element_of_each_thread_and_other_scopes() -> None:
    assert counted(32, ORDER.ACQ_REL) == (0, {"acq_rel"})
    assert counted(4096, ORDER.ACQ_REL, tw.MemoryScope.SYS) == (0, {"acq_rel"})


@tw.tile_kernel
def last_block_adds(x: Any, turns: Any, out: Any, order: tw.Constant[Any]) -> None:
    """Each block stores a number and counts itself twice over; who is last adds all numbers."""
    tw.store(x, tw.bid(0), tw.bid(0) + 1)
    before = tw.atomic_add(turns, tw.arange(512, dtype=tw.int32), 1, memory_order=order)
    if tw.max(before) == tw.num_blocks(0) - 1:
        total = tw.int32(0)
        for i in range(tw.num_blocks(0)):
            total += tw.load(x, i, ())
        tw.store(out, 0, total)


def test_fences_release_and_acquire() -> None:
    def run(order: Any) -> Any:
        x, turns, out = np.zeros(3, np.int32), np.zeros(512, np.int32), np.zeros(1, np.int32)
        simulate(last_block_adds, (3,), (x, turns, out, order), "sm_90a")
        return out[0]

    assert run(tw.MemoryOrder.ACQ_REL) == 6
    with pytest.raises(Race):
        run(tw.MemoryOrder.RELAXED)
