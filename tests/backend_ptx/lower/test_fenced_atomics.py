"""Atomic operations of tiles are released and acquired by one fence each, not by every element."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw

ORDER = tw.MemoryOrder


@tw.tile_kernel
def add(out, n: tw.Constant[int], order: tw.Constant[Any], scope: tw.Constant[Any]):
    i = tw.arange(n, dtype=tw.int32)
    tw.atomic_add(out, i * 3, 1.0, memory_order=order, memory_scope=scope)


def counted(n: int, order: Any, scope: Any = tw.MemoryScope.DEVICE) -> tuple[int, set[str]]:
    """How many fences there are, and the orders of the instructions."""
    ptx = add.ptx(tw.spec("f32[65536]"), n, order, scope, target="sm_90a")
    orders = {word for word in ("relaxed", "acquire", "release", "acq_rel") if f"atom.{word}" in ptx}
    return ptx.count("fence.acq_rel.gpu"), orders


FENCES = [(ORDER.ACQ_REL, 2), (ORDER.RELEASE, 1), (ORDER.ACQUIRE, 1), (ORDER.RELAXED, 0)]


@pytest.mark.parametrize("order, fences", FENCES)
def test_many_elements(order: Any, fences: int) -> None:
    assert counted(4096, order) == (fences, {"relaxed"})


def test_one_element_of_each_thread_and_other_scopes() -> None:
    assert counted(32, ORDER.ACQ_REL) == (0, {"acq_rel"})
    assert counted(4096, ORDER.ACQ_REL, tw.MemoryScope.SYS) == (0, {"acq_rel"})
