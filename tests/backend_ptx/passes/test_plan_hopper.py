"""Shared memory of kernels with rings that mbarriers guard and with products of warpgroups."""

from __future__ import annotations

import tilewright.backend_ptx.ops  # noqa: F401  (registers the machine ops)
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.passes.sharing.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse

HEAD = "func @k(%a: array<?x?xbf16, strides=?x1>, %c: array<?x?xf32, strides=?x1>, %x: tile<64x16xf32>) {\n"


def planned(text: str) -> dict[str, SharedAlloc]:
    f: Function = parse(HEAD + text + "\nreturn() }")
    plan_shared_memory(Compilation(f, get_target("sm_90a")))
    allocations = {op.result.hint: op for op in f.walk() if isinstance(op, SharedAlloc)}
    ends = [op.offset + op.type.size * op.type.copies * op.type.dtype.bytes for op in allocations.values()]
    assert max(ends) <= f.plan.shared_bytes
    return allocations


def size(op: SharedAlloc) -> int:
    return op.type.size * op.type.copies * op.type.dtype.bytes


def apart(a: SharedAlloc, b: SharedAlloc) -> bool:
    return a.offset + size(a) <= b.offset or b.offset + size(b) <= a.offset


RING = """
  %0: i32 = constant(value=0, type=tile<i32>)
  %before: shared<64x32xf32> = shared_alloc(type=shared<64x32xf32>)
  %v: tile<64x32xf32> = shared_load(buffer=%before, index=(), shape=(64, 32))
  %full: shared<3, i64> = shared_alloc(type=shared<3, i64>)
  %ring: shared<3, 64x64xbf16> = shared_alloc(type=shared<3, 64x64xbf16>)
  mbarrier_init(barriers=%full, count=1)
  tma_load(buffer=%ring, barriers=%full, slot=%0, array=%a, index=(%0, %0), steps=(64, 64), order=(0, 1))
  %after: shared<64x32xf32> = shared_alloc(type=shared<64x32xf32>)
  %w: tile<64x32xf32> = shared_load(buffer=%after, index=(), shape=(64, 32))
"""


def test_what_mbarriers_guard_shares_no_bytes() -> None:
    found = planned(RING)
    assert found["ring"].offset % 1024 == 0 and found["full"].offset % 8 == 0
    guarded = [found["ring"], found["full"]]
    assert all(apart(g, other) for g in guarded for other in found.values() if other is not g)
    assert found["before"].offset == found["after"].offset  # these two still do


STAGED = """
  %0: i32 = constant(value=0, type=tile<i32>)
  %odd: shared<32xf32> = shared_alloc(type=shared<32xf32>)
  %va: tile<64x16xbf16> = load(array=%a, index=(%0, %0), shape=(64, 16), steps=(64, 16), order=(0, 1), padding="zero")
  %sb: shared<16x64xbf16> = shared_alloc(type=shared<16x64xbf16>)
  %tb: shared<64x16xbf16> = shared_view(buffer=%sb, axes=(1, 0), shape=(64, 16))
  %b: shared<16x16xbf16> = shared_alloc(type=shared<16x16xbf16>)
  %acc: tile<64x16xf32> = wgmma(a=%tb, b=%b, acc=%x, kind="bf16")
  %next: shared<64x16xbf16> = shared_alloc(type=shared<64x16xbf16>)
  shared_store(buffer=%next, value=%va)
  {wait}
  %last: shared<64x16xbf16> = shared_alloc(type=shared<64x16xbf16>)
  shared_store(buffer=%last, value=%va)
  %u: tile<32xf32> = shared_load(buffer=%odd, index=(), shape=(32))
"""


def test_operands_live_until_the_wait() -> None:
    found = planned(STAGED.format(wait="%done: tile<64x16xf32> = wgmma_wait(accs=(%acc))"))
    assert found["sb"].offset % 1024 == found["b"].offset % 1024 == 0
    assert apart(found["sb"], found["next"]) and apart(found["b"], found["next"])
    assert not apart(found["sb"], found["last"])


def test_a_wait_for_older_products_ends_nothing() -> None:
    wait = "%done: tile<64x16xf32> = wgmma_wait(accs=(%acc), pending=1)"
    found = planned(STAGED.format(wait=wait + "\n  %again: tile<64x16xf32> = wgmma_wait(accs=(%done))"))
    assert apart(found["sb"], found["next"])


def test_products_that_run_on_into_the_next_round() -> None:
    found = planned("""
  %0: i32 = constant(value=0, type=tile<i32>)
  %8: i32 = constant(value=8, type=tile<i32>)
  %1: i32 = constant(value=1, type=tile<i32>)
  %r: tile<64x16xf32> = for(lower=%0, upper=%8, step=%1, init=(%x)) .loop(%k: i32, %acc: tile<64x16xf32>) {
    %early: shared<64x32xf32> = shared_alloc(type=shared<64x32xf32>)
    %v: tile<64x32xf32> = shared_load(buffer=%early, index=(), shape=(64, 32))
    %sa: shared<64x16xbf16> = shared_alloc(type=shared<64x16xbf16>)
    %sb: shared<16x16xbf16> = shared_alloc(type=shared<16x16xbf16>)
    %y: tile<64x16xf32> = wgmma(a=%sa, b=%sb, acc=%acc, kind="bf16")
    wgmma_wait(accs=(), pending=1)
    yield(values=(%y))
  }
  %done: tile<64x16xf32> = wgmma_wait(accs=(%r))""")
    assert apart(found["early"], found["sa"]) and apart(found["early"], found["sb"])
