"""Bulk copies of boxes of up to five axes between global and shared memory (TMA; PTX ISA, "cp.async.bulk.tensor").

A tensor map is the generic address of its 128 bytes. Coordinates are those of the box's first element, innermost axis
first, in elements; they may be negative. Shared addresses are 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.backend_ptx.instructions.record import Instruction, braced

MAX_RANK = 5
MAX_PENDING_STORES = 7

_Record = partial(Instruction, reads=True, writes=True, sm=90, ptx=80)


def _load(rank: int, multicast: bool) -> Instruction:
    """Operands: shared address, map, mbarrier on which the bytes arrive, coordinates, predicate.

    To several blocks of the cluster: before the predicate comes the mask of blocks (bit r: that of rank r). The bytes
    go to the same place in each of them, and arrive on the mbarrier at the same place.
    """
    tail, to, mask = (".multicast::cluster", f", ${3 + rank}", ("i16",)) if multicast else ("", "", ())
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes{tail}"
    return _Record(
        f"tma.load{'.multicast' if multicast else ''}.{rank}d",
        f"@${3 + rank + len(mask)} {copy} [$0], [$1, {braced(3, rank)}], [$2]{to};",
        ("i32", "ptr", "i32", *["i32"] * rank, *mask, "i1"), (), f"tma_load{'_multicast' if multicast else ''}",
        {"rank": rank})


def _store(rank: int) -> Instruction:
    """Operands: map, shared address, coordinates, predicate."""
    copy = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
    return _Record(f"tma.store.{rank}d", f"@${2 + rank} {copy} [$0, {braced(2, rank)}], [$1];",
                   ("ptr", "i32", *["i32"] * rank, "i1"), (), "tma_store", {"rank": rank})


def records() -> Iterator[Instruction]:
    for rank in range(1, MAX_RANK + 1):
        yield _load(rank, multicast=False)
        yield _load(rank, multicast=True)
        yield _store(rank)
    # Groups of stores are a thread's own, as those of cp.async.
    yield _Record("tma.store.commit", "cp.async.bulk.commit_group;", (), (), "tma_commit")
    for pending in range(MAX_PENDING_STORES + 1):
        # "read": shared memory may be overwritten; else what was stored is visible to this thread.
        for tail, name in ((".read", "tma.store.wait_read"), ("", "tma.store.wait")):
            yield _Record(f"{name}.{pending}", f"cp.async.bulk.wait_group{tail} {pending};", (), (), "tma_wait",
                          {"pending": pending, "read": bool(tail)})
    # Operands: map, predicate. Only so does TMA see a map that the host has copied to global memory (CUDA programming
    # guide, "Using TMA to transfer multi-dimensional arrays": scope sys, in each block before its first use).
    yield _Record("fence.tensormap", "@$1 fence.proxy.tensormap::generic.acquire.sys [$0], 128;", ("ptr", "i1"), (),
                  "acquire_map", ptx=83)
    yield _Record("prefetch.tensormap", "prefetch.tensormap [$0];", ("ptr",), (), "prefetch_map")
