"""Bulk copies of boxes of up to five axes between global and shared memory (TMA; PTX ISA, "cp.async.bulk.tensor").

A tensor map is the generic address of its 128 bytes. Coordinates are those of the box's first element, innermost axis
first, in elements; they may be negative. Shared addresses are 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.backend_ptx.instructions.record import Instruction

MAX_RANK = 5
MAX_PENDING_STORES = 7

_Record = partial(Instruction, reads=True, writes=True, sm=90, ptx=80)


def _coordinates(first: int, rank: int) -> str:
    return "{" + ", ".join(f"${first + i}" for i in range(rank)) + "}"


def _load(rank: int) -> Instruction:
    """Operands: shared address, map, mbarrier on which the bytes arrive, coordinates, predicate."""
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
    return _Record(
        f"tma.load.{rank}d", f"@${3 + rank} {copy} [$0], [$1, {_coordinates(3, rank)}], [$2];",
        ("i32", "ptr", "i32", *["i32"] * rank, "i1"), (), "tma_load", {"rank": rank},
    )


def _multicast(rank: int) -> Instruction:
    """To the same place in several blocks of the cluster, with the bytes arriving on the mbarrier at the same place in
    each. Operands: as of a load, before the predicate the mask of blocks (bit r: the one of rank r)."""
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    return _Record(
        f"tma.load.multicast.{rank}d", f"@${4 + rank} {copy} [$0], [$1, {_coordinates(3, rank)}], [$2], ${3 + rank};",
        ("i32", "ptr", "i32", *["i32"] * rank, "i16", "i1"), (), "tma_load_multicast", {"rank": rank},
    )


def _store(rank: int) -> Instruction:
    """Operands: map, shared address, coordinates, predicate."""
    copy = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
    return _Record(
        f"tma.store.{rank}d", f"@${2 + rank} {copy} [$0, {_coordinates(2, rank)}], [$1];",
        ("ptr", "i32", *["i32"] * rank, "i1"), (), "tma_store", {"rank": rank},
    )


def records() -> Iterator[Instruction]:
    for rank in range(1, MAX_RANK + 1):
        yield _load(rank)
        yield _multicast(rank)
        yield _store(rank)
    # Groups of stores are a thread's own, as those of cp.async.
    yield _Record("tma.store.commit", "cp.async.bulk.commit_group;", (), (), "tma_commit")
    for pending in range(MAX_PENDING_STORES + 1):
        # "read": shared memory may be overwritten; else what was stored is visible to this thread.
        for tail, name in ((".read", "tma.store.wait_read"), ("", "tma.store.wait")):
            yield _Record(f"{name}.{pending}", f"cp.async.bulk.wait_group{tail} {pending};", (), (), "tma_wait",
                          {"pending": pending, "read": bool(tail)})
    yield _Record("prefetch.tensormap", "prefetch.tensormap [$0];", ("ptr",), (), "prefetch_map")
