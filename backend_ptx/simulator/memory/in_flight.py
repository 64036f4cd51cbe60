"""Accesses to shared memory by matrix units and bulk copies: they last from an instruction to the wait that covers it.

Bytes are handled in chunks of 16. While a read lasts nobody may write the bytes, while a write lasts nobody may touch
them; both need all ordinary writes to have passed a proxy fence, and a write needs it of all ordinary reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import PendingCopy, Unfenced
from tilewright.backend_ptx.simulator.memory.memory import Memory
from tilewright.backend_ptx.simulator.memory.segment import READ_GRAIN, Segment, bytes_at

Array = np.ndarray[Any, Any]
_POISON = 0xCD
_TWICE = "two asynchronous copies write the same shared memory"


def begin_copy(memory: Memory, offsets: Array, size: int, threads: Array) -> None:
    """An asynchronous write of shared memory starts: from now on nobody may touch the bytes."""
    shared = memory.shared
    assert shared.pending is not None
    shared.check_guard(offsets, size, threads)
    shared.check_unread(offsets, threads)
    _require_landed(shared, offsets, size, threads)
    if shared.history is not None:
        everything = np.ones((len(offsets), size), bool)
        shared.history.on_write(memory.clocks, threads, offsets, size, memory.block, everything)
    where = offsets[:, None] + np.arange(size)
    np.add.at(shared.pending, where, 1)
    if (shared.pending[where] > 1).any():
        raise PendingCopy(_TWICE, threads)


def _require_landed(shared: Segment, offsets: Array, size: int, threads: Array) -> None:
    """No copy to these bytes is in flight."""
    assert shared.pending is not None
    if bytes_at(shared.pending, offsets, size).any():
        raise PendingCopy(_TWICE, threads)


def end_copy(memory: Memory, offsets: Array, data: Array, threads: Array) -> None:
    """The copy has landed, as a write of `threads` at this moment."""
    shared = memory.shared
    size = data.shape[1]
    assert shared.pending is not None
    shared.pending[offsets[:, None] + np.arange(size)] = 0
    if shared.history is not None:
        shared.history.on_write(memory.clocks, threads, offsets, size, memory.block, np.ones(data.shape, bool))
    shared.put(offsets, data, threads)


def begin_reads(memory: Memory, addresses: Array, thread: int, name: str) -> tuple[Array, Array]:
    """Start reading 16 bytes at each address on behalf of a thread. Returns offsets and the bytes [n, 16]."""
    threads = np.full(len(addresses), thread)
    offsets, data = memory.read_by_engine(addresses, READ_GRAIN, threads)
    _require_fence(memory, offsets, thread, f"{name} reads")
    shared = memory.shared
    if shared.reading is None:
        shared.reading = np.zeros(-(-len(shared.data) // READ_GRAIN), np.int32)
    np.add.at(shared.reading, offsets // READ_GRAIN, 1)
    return offsets, data


def end_reads(memory: Memory, offsets: Array, thread: int) -> None:
    """The reads are over, as reads by the thread at this moment."""
    shared = memory.shared
    assert shared.reading is not None
    np.subtract.at(shared.reading, offsets // READ_GRAIN, 1)
    if shared.history is not None:
        threads = np.full(len(offsets), thread)
        shared.history.on_read(memory.clocks, threads, offsets, READ_GRAIN, memory.block, ordinary=False)


def begin_write(memory: Memory, addresses: Array, thread: int, name: str, *, anywhere: bool = False) -> Array:
    """A bulk copy into the 16 bytes at each address starts, which may be `anywhere` in the cluster. Returns offsets."""
    threads = np.full(len(addresses), thread)
    offsets = memory.shared_offsets(addresses, READ_GRAIN, threads, anywhere=anywhere)
    _require_landed(memory.shared, offsets, READ_GRAIN, threads)
    _require_fence(memory, offsets, thread, f"{name} overwrites", overwrites=True)
    begin_copy(memory, offsets, READ_GRAIN, threads)
    memory.shared.data[offsets[:, None] + np.arange(READ_GRAIN)] = _POISON
    return offsets


def begin_send(memory: Memory, addresses: Array, size: int, threads: Array) -> Array:
    """Asynchronous stores by threads to any block of the cluster start, as ordinary writes. Returns offsets."""
    offsets = memory.shared_offsets(addresses, size, threads, anywhere=True)
    begin_copy(memory, offsets, size, threads)
    memory.shared.data[offsets[:, None] + np.arange(size)] = _POISON
    return offsets


def land(memory: Memory, offsets: Array, data: Array, engine: int, ordinary: bool = False) -> None:
    """The bytes [n, size] have arrived, written by an engine (see races.py), `ordinary` as threads write."""
    shared = memory.shared
    size = data.shape[1]
    where = offsets[:, None] + np.arange(size)
    assert shared.pending is not None and shared.written is not None
    shared.pending[where] = 0
    shared.data[where] = data
    shared.written[where] = True
    if shared.history is not None:
        shared.history.on_engine_write(memory.clocks, offsets, size, engine, ordinary)


def _require_fence(memory: Memory, offsets: Array, thread: int, what: str, *, overwrites: bool = False) -> None:
    history = memory.shared.history
    if history is None:
        return
    warps = np.full(len(offsets), thread >> 5)
    checks = [("wrote", history.unfenced), ("read", history.unfenced_reads)]
    for access, unfenced in checks if overwrites else checks[:1]:
        late = unfenced(memory.clocks, warps, offsets, READ_GRAIN)
        if late.any():
            raise Unfenced(
                f"{what} {memory.shared.at(offsets[late][0])}, which a thread {access} with no fence.proxy.async "
                "after that", [thread])
