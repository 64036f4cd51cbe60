"""Atomic updates: what they emit, what they compute, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir

import tilewright as ct


def test_old_values_and_bounds() -> None:
    @ct.tile_kernel
    def kernel(counts, old):
        i = ct.arange(8, dtype=ct.int32)
        got = ct.atomic_add(counts, i, i * 10)
        ct.store(old, (0,), ct.where(i < counts.shape[0], got, -1))

    counts, old = np.arange(5, dtype=np.int32), np.zeros(8, np.int32)
    kernel[(1,)](counts, old)
    assert counts.tolist() == [0, 11, 22, 33, 44] and old.tolist() == [0, 1, 2, 3, 4, -1, -1, -1]


@pytest.mark.parametrize("name,reduce,start", [
    ("add", np.add, 0), ("max", np.maximum, 0), ("min", np.minimum, 0), ("and", np.bitwise_and, -1),
    ("or", np.bitwise_or, 0), ("xor", np.bitwise_xor, 0),
])
def test_every_block_updates_one_element(name: str, reduce: Any, start: int) -> None:
    update = getattr(ct, f"atomic_{name}")

    @ct.tile_kernel
    def kernel(x, out):
        i = ct.bid(0)
        update(out, 0, ct.load(x, (i,), (1,)).item(), memory_order=ct.MemoryOrder.RELAXED)
        getattr(out.tiled_view(4), store)(1, ct.load(x, (i,), (1,)))

    store = f"atomic_store_{name}"
    x = np.random.default_rng(0).integers(-1000, 1000, 37).astype(np.int32)
    out = np.full(7, start, np.int32)
    kernel[(37,)](x, out)
    want = reduce.reduce(x, initial=start)
    assert out[0] == want and (out[4:] == want).all() and (out[1:4] == start).all()


def test_compare_and_swap() -> None:
    @ct.tile_kernel
    def kernel(lock, total, n: int):
        while ct.atomic_cas(lock, (), 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
            pass
        ct.store(total, (0,), ct.load(total, (0,), ()) + ct.bid(0))
        ct.atomic_xchg(lock, (), 0, memory_order=ct.MemoryOrder.RELEASE)

    lock, total = np.zeros((), np.int32), np.zeros(1, np.int32)
    kernel.interpret((9,), lock, total, 3, mode="single")
    assert total[0] == 36 and lock == 0


unchecked_max: Any = ct.atomic_max  # no type checker between a call and its refusal


@pytest.mark.parametrize("call,text", [
    (lambda x: ct.atomic_add(x, 0, 1.5), "float constant 1.5 is not converted to int32"),
    (lambda x: ct.atomic_and(x, 0, ct.int64(1)), "int64, but the array is int32"),
    (lambda x: ct.atomic_add(x, 0, 1, memory_order=ct.MemoryOrder.WEAK), "WEAK, expected one of RELAXED"),
    (lambda x: ct.atomic_add(x, 0, 1, memory_scope=ct.MemoryScope.NONE), "NONE, expected one of BLOCK"),
    (lambda x: unchecked_max(ct.bid(0), 0, 1), 'argument "array" must be an array'),
])
def test_refused(call: Any, text: str) -> None:
    @ct.tile_kernel
    def kernel(x):
        call(x)

    with pytest.raises(ct.TileTypeError, match=text):
        ir(kernel, np.zeros(4, np.int32))
