"""Shared memory: of one block, or of the CTAs of a cluster, one after another.

In a cluster bits 24.. of an address name the block, as in hardware. An ordinary access must name the thread's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import OutOfRange
from tilewright.backend_ptx.simulator.memory.history import History
from tilewright.backend_ptx.simulator.memory.segment import READ_GRAIN, Segment

Array = np.ndarray[Any, Any]
SHARED_BASE = 1024  # not 0, so that a forgotten base address shows
RANK_SHIFT = 24
_INNER = (1 << RANK_SHIFT) - 1
_WARP = 32


def peer(address: int, rank: int) -> int:
    """The same place in another block of the cluster (`mapa`)."""
    return address & _INNER | rank << RANK_SHIFT


def peers(addresses: Array, ranks: Array) -> Array:
    """`peer` of arrays of uint64."""
    return np.asarray(addresses & np.uint64(_INNER) | ranks << np.uint64(RANK_SHIFT))


def new_shared(size: int, valid: Array | None, warps: int, races: bool, cluster: int) -> Segment:
    """Fresh shared memory of `size` bytes for each block; its bytes are unwritten and hold a pattern.

    `valid` says which bytes of a block belong to something; `warps` are those of the whole cluster.
    """
    step = size if cluster == 1 else -(-size // READ_GRAIN) * READ_GRAIN
    total = step * cluster
    name, data, written, pending = (
        "shared memory", np.full(total, 0xCD, np.uint8), np.zeros(total, bool), np.zeros(total, np.int16)
    )
    history = History(total, warps, per_block=False) if races else None
    if cluster == 1:
        return Segment(name, SHARED_BASE, data, valid=valid, written=written, pending=pending, history=history)
    if valid is not None:
        valid = np.tile(np.pad(valid, (0, step - size)), cluster)
    return ClusterShared(
        name, SHARED_BASE, data, valid=valid, written=written, pending=pending, history=history,
        size=size, step=step, block_threads=warps * _WARP // cluster,
    )


@dataclass
class ClusterShared(Segment):
    """The memories of a cluster's blocks: `size` bytes each, a multiple `step` of 16 apart."""

    size: int = 0
    step: int = 0
    block_threads: int = 1

    def place(self, addresses: Array, size: int, threads: Array, *, anywhere: bool = False) -> Array:
        rank = (addresses >> np.uint64(RANK_SHIFT)).astype(np.int64)
        inner = (addresses & np.uint64(_INNER)).astype(np.int64) - self.base
        bad: Array = (inner < 0) | (inner > self.size - size) | (rank * self.step >= len(self.data))
        if bad.any():
            first = int(np.argmax(bad))
            raise OutOfRange(
                f"{size} bytes at offset {int(inner[first])} of the shared memory of block {int(rank[first])} of the "
                f"cluster, which has {len(self.data) // max(self.step, 1)} blocks with {self.size} bytes", threads[bad])
        strange = rank != threads // self.block_threads
        if not anywhere and strange.any():
            raise OutOfRange(
                f"names the shared memory of block {int(rank[strange][0])} of the cluster, with an instruction that "
                "reaches that of its own block only", threads[strange])
        offsets = np.asarray(rank * self.step + inner)
        self._check_valid(offsets, size, threads)
        return offsets

    def find(self, address: int, thread: int, *, anywhere: bool = False) -> int:
        one, who = np.array([address], np.uint64), np.array([thread])
        return int(self.place(one, 1, who, anywhere=anywhere)[0])

    def at(self, offset: int) -> str:
        rank, inner = divmod(int(offset), self.step)
        return f"offset {inner} of the shared memory of block {rank} of the cluster"
