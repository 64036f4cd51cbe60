"""Accesses with a memory order: where the block meets, and that one thread acts for all."""

from __future__ import annotations

import numpy as np

import tilewright as ct
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse

TARGET = get_target("sm_80")


def passed(kernel: ct.tile_kernel, *args: object) -> Function:
    f = parse(kernel.ir(*args))
    run_passes(f, TARGET)
    return f


def opcodes(f: Function) -> list[str]:
    return [op.opcode for op in f.walk()]


@ct.tile_kernel
def locked(lock, out):
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(out, (0,), ct.load(out, (0,), (1024,)) + 1)
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.tile_kernel
def histogram(x, counts):
    ct.atomic_add(counts, ct.load(x, (ct.bid(0),), (1024,)), 1)


@ct.tile_kernel
def counted(x, out, done):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (1024,)))
    ct.atomic_add(done, 0, 1, memory_order=ct.MemoryOrder.RELAXED)


def test_the_block_meets_after_acquiring_and_before_releasing() -> None:
    codes = opcodes(passed(locked, np.zeros(1, np.int32), np.zeros(1024, np.float32)))
    loaded, stored = codes.index("load"), codes.index("store")
    assert "barrier" in codes[codes.index("atomic_cas") : loaded]
    assert "barrier" in codes[stored : codes.index("atomic_rmw")]


def test_memory_that_is_only_read_needs_no_barrier() -> None:
    codes = opcodes(passed(histogram, np.zeros(4096, np.int32), np.zeros(16, np.int32)))
    assert "barrier" not in codes and "shared_alloc" not in codes


def test_a_relaxed_update_orders_nothing() -> None:
    codes = opcodes(passed(counted, np.zeros(4096, np.int32), np.zeros(4096, np.int32), np.zeros(1, np.int32)))
    assert "barrier" not in codes


@ct.tile_kernel
def counted_in_a_loop(x, counts, least):
    for k in range(ct.num_tiles(x, 0, (1024,))):
        t = ct.load(x, (k,), (1024,))
        ct.atomic_add(counts, t, 1, memory_order=ct.MemoryOrder.RELAXED)
        ct.atomic_min(least, t, k, memory_order=ct.MemoryOrder.RELAXED)


@ct.tile_kernel
def two_kinds(x, counts):
    t = ct.load(x, (0,), (1024,))
    ct.atomic_add(counts, t, 1, memory_order=ct.MemoryOrder.RELAXED)
    ct.atomic_min(counts, t, 7, memory_order=ct.MemoryOrder.RELAXED)


def test_updates_of_one_kind_commute() -> None:
    codes = opcodes(passed(counted_in_a_loop, *(np.zeros(n, np.int32) for n in (4096, 16, 16))))
    assert "barrier" not in codes
    assert "barrier" in opcodes(passed(two_kinds, np.zeros(4096, np.int32), np.zeros(16, np.int32)))


def test_one_thread_updates_a_scalar() -> None:
    f = parse(counted.ir(np.zeros(4096, np.int32), np.zeros(4096, np.int32), np.zeros(1, np.int32)))
    text = lower_function(f, TARGET).llvm_text
    [line] = [line for line in text.splitlines() if "red.relaxed.gpu.global.add.u32" in line]
    assert "i1 %v" in line  # a predicate: the owner's


def test_a_tile_without_edges_keeps_its_order() -> None:
    @ct.tile_kernel
    def copied(x, out):
        acquire, release, device = ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE, ct.MemoryScope.DEVICE
        t = ct.load(x, 0, 128, memory_order=acquire, memory_scope=device, check_bounds=False)
        ct.store(out, 0, t, memory_order=release, memory_scope=device, check_bounds=False)

    text = copied.ptx(ct.spec("i32[?]"), ct.spec("i32[?]"), target="sm_80")
    assert "ld.acquire.gpu.global" in text and "st.release.gpu.global" in text
    assert "ld.global" not in text and "st.global" not in text
