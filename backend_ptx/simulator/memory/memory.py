"""Global, shared and local memory: segments with bounds, alignment, written and pending bytes, and race histories.

Addresses are numbers as the generated code sees them. Every argument array is a segment of global memory with a gap
around it; arrays that overlap are one segment. Shared memory is a segment of its own address space, made anew for each
block. `local` memory (alloca) is one segment in which every thread has its own piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Misaligned, OutOfRange, PendingCopy, Race, UnwrittenRead
from tilewright.backend_ptx.simulator.memory.clocks import Clocks
from tilewright.backend_ptx.simulator.memory.history import History
from tilewright.backend_ptx.simulator.memory.prior_grids import PriorGrids
from tilewright.backend_ptx.simulator.memory.segment import Segment, bytes_at, segment_of_arrays
from tilewright.backend_ptx.simulator.memory.shared import SHARED_BASE, new_shared
from tilewright.tileir.clocks import Message, merge_messages

Array = np.ndarray[Any, Any]

GLOBAL, SHARED, CONSTANT, LOCAL = 1, 3, 4, 5
SHARED_WINDOW = 1 << 56  # where shared memory lies in the generic address space
LOCAL_BASE = 1 << 57
_GLOBAL_STEP = 1 << 36
_LANES = 32
_HISTORY_LIMIT = 1 << 20  # bytes of a global array whose accesses are remembered


class Memory:
    """All memory of a launch. `threads` of an access are positions in the block, used for reports and races.

    Where `cluster` blocks run together, `warps` and positions count through all of them, and `block` is their cluster.
    """

    def __init__(self, warps: int, races: bool, cluster: int = 1) -> None:
        self.clocks = Clocks(warps, cluster)
        self._warps, self._cluster = warps, cluster
        self._races = races
        self._segments: list[Segment] = []
        self._bases = np.empty(0, np.uint64)
        self.keep: list[Array] = []  # arrays that only this launch refers to
        self.shared: Segment = Segment("shared memory", SHARED_BASE, np.empty(0, np.uint8))
        self.local: Segment | None = None
        self._local_piece = 0
        self.block = 0
        self.released: set[int] = set()  # blocks that have done a release
        self._told: Message | None = None  # what releases of the present cluster tell
        self.prior: PriorGrids | None = None  # of a programmatic dependent launch
        self.tensor_maps: dict[int, object] = {}  # by address; memory/tensor_map.py knows what they are

    # ---- set-up ----

    def add_arrays(self, name: str, arrays: Sequence[Array]) -> list[int]:
        """Make argument arrays that overlap addressable, as one segment; returns the addresses of their first elements.
        """
        segment, addresses = segment_of_arrays(name, arrays, (len(self._segments) + 1) * _GLOBAL_STEP)
        if self._races and len(segment.data) <= _HISTORY_LIMIT:
            segment.history = History(len(segment.data), self._warps, per_block=True)
        self._add(segment)
        return addresses

    def follow_grids(self) -> None:
        """Other grids may access the arrays until a thread waits for them."""
        self.prior = PriorGrids(self.clocks, self._warps, _LANES)

    def add_global(self, name: str, data: Array, constant: bool) -> int:
        """Bytes that the module defines."""
        base = (len(self._segments) + 1) * _GLOBAL_STEP
        self._add(Segment(name, base, data, writable=not constant))
        return base

    def _add(self, segment: Segment) -> None:
        self._segments.append(segment)
        self._bases = np.array([s.base for s in self._segments], np.uint64)

    def new_block(self, block: int, shared_size: int, shared_valid: Array | None) -> None:
        """Fresh shared memory (of that size for each block); its bytes are unwritten and hold a pattern."""
        self.block = block
        self._told = None
        self.clocks.new_block()
        if self.prior is not None:
            self.prior.new_block()
        self.shared = new_shared(shared_size, shared_valid, self._warps, self._races, self._cluster)

    def add_local(self, threads: int, size: int) -> None:
        self._local_piece = size
        self.local = Segment(
            "local memory", LOCAL_BASE, np.full(threads * size, 0xCD, np.uint8), written=np.zeros(threads * size, bool)
        )

    def shared_offsets(self, addresses: Array, size: int, threads: Array, *, anywhere: bool = False) -> Array:
        """Byte offsets of aligned accesses to shared memory; `anywhere` in the cluster's."""
        self._aligned(addresses, size, threads)
        return self.shared.place(addresses, size, threads, anywhere=anywhere)

    def read_by_engine(self, addresses: Array, size: int, threads: Array) -> tuple[Array, Array]:
        """(offsets, bytes) of shared memory that an engine which threads started reads."""
        offsets = self.shared_offsets(addresses, size, threads)
        self._check_read(self.shared, offsets, size, threads, invariant=False, ordinary=False)
        return offsets, self.shared.window(size)[offsets].view(np.uint8).reshape(len(offsets), size)

    def store_shared(self, addresses: Array, data: Array, threads: Array) -> None:
        self.store(SHARED, addresses, data, data.shape[1], threads)

    def store_anywhere(self, addresses: Array, data: Array, threads: Array) -> None:
        """`data` is uint8 [accesses, size], for the shared memory of any block of the cluster."""
        offsets = self.shared_offsets(addresses, data.shape[1], threads, anywhere=True)
        self._check_write(self.shared, offsets, data, threads)
        self.shared.put(offsets, data, threads)

    def c_string(self, address: int) -> bytes:
        """The bytes from a place in global memory up to a zero."""
        ((segment, _, offsets),) = self._places(0, np.array([address], np.uint64), 1, np.zeros(1, np.int64))
        return segment.data[int(offsets[0]) :].tobytes().partition(b"\0")[0]

    # ---- addresses ----

    def _places(
        self, space: int, addresses: Array, size: int, threads: Array
    ) -> list[tuple[Segment, Array | None, Array]]:
        """Where the accesses go: (segment, which of the accesses or None for all, byte offsets)."""
        if space == SHARED:
            return [(self.shared, None, self.shared.place(addresses, size, threads))]
        if len(addresses) == 0:
            return []
        top = int(addresses.max())
        if top >= SHARED_WINDOW:
            return self._generic(addresses, size, threads)
        if not len(self._bases):
            raise OutOfRange(f"an access to {int(addresses[0]):#x}, and there are no arrays", threads)
        which = np.searchsorted(self._bases, addresses, "right") - 1
        which = np.maximum(which, 0)
        if (which == which[0]).all():
            segment = self._segments[int(which[0])]
            self._require_prior(segment, threads)
            return [(segment, None, segment.place(addresses, size, threads))]
        places: list[tuple[Segment, Array | None, Array]] = []
        for index in np.unique(which):
            chosen = np.nonzero(which == index)[0]
            segment = self._segments[int(index)]
            self._require_prior(segment, threads[chosen])
            places.append((segment, chosen, segment.place(addresses[chosen], size, threads[chosen])))
        return places

    def _require_prior(self, segment: Segment, threads: Array) -> None:
        if self.prior is not None and segment.outlives:
            self.prior.require(f"accesses {segment.name}", threads)

    def _generic(self, addresses: Array, size: int, threads: Array) -> list[tuple[Segment, Array | None, Array]]:
        if int(addresses.min()) >= LOCAL_BASE:
            return [(self._local(), None, self._inside_local(addresses, size, threads))]
        if int(addresses.min()) >= SHARED_WINDOW:
            inner = addresses - np.uint64(SHARED_WINDOW)
            return [(self.shared, None, self.shared.place(inner, size, threads))]
        raise OutOfRange("one instruction accesses several address spaces", threads)

    def _local(self) -> Segment:
        if self.local is None:
            raise OutOfRange("an access to local memory, and there is none")
        return self.local

    def _inside_local(self, addresses: Array, size: int, threads: Array) -> Array:
        offsets = addresses.astype(np.int64) - LOCAL_BASE
        bad = (offsets < 0) | (offsets + size > self._local_piece)
        if bad.any():
            raise OutOfRange(f"local memory has {self._local_piece} bytes", threads[bad])
        return np.asarray(offsets + threads * self._local_piece)

    @staticmethod
    def _aligned(addresses: Array, align: int, threads: Array) -> None:
        bad = (addresses & np.uint64(align - 1)) != 0
        if bad.any():
            raise Misaligned(f"address {int(addresses[bad][0]):#x} is not a multiple of {align}", threads[bad])

    # ---- accesses ----

    def load(
        self, space: int, addresses: Array, size: int, align: int, threads: Array, *, invariant: bool = False,
        ordered: bool = False,
    ) -> Array:
        """The bytes [accesses, size]. `ordered`: an access with a memory order, which may meet others."""
        self._aligned(addresses, align, threads)
        out = None
        for segment, chosen, offsets in self._places(space, addresses, size, threads):
            who = threads if chosen is None else threads[chosen]
            self._check_read(segment, offsets, size, who, invariant, ordered)
            raw = segment.window(size)[offsets].view(np.uint8).reshape(len(offsets), size)
            if chosen is None:
                return np.asarray(raw)
            if out is None:
                out = np.zeros((len(addresses), size), np.uint8)
            out[chosen] = raw
        return np.zeros((0, size), np.uint8) if out is None else out

    def _check_read(
        self, segment: Segment, offsets: Array, size: int, threads: Array, invariant: bool, ordered: bool = False,
        ordinary: bool = True,
    ) -> None:
        segment.check_guard(offsets, size, threads)
        if segment.pending is not None:
            bad = bytes_at(segment.pending, offsets, size).any(axis=1)
            if bad.any():
                raise PendingCopy(
                    f"reads {segment.at(offsets[bad][0])} before its asynchronous copy has landed", threads[bad]
                )
        if segment.written is not None:
            bad = ~bytes_at(segment.written, offsets, size).all(axis=1)
            if bad.any():
                raise UnwrittenRead(f"reads {segment.at(offsets[bad][0])}, which nothing has written", threads[bad])
        if segment.history is not None and not ordered:
            segment.history.on_read(self.clocks, threads, offsets, size, self.block, ordinary)
        if invariant:
            segment.mark_constant(offsets, size, threads)

    def synchronise(self, semantics: str, scope: str, threads: Array) -> None:
        """An access with a memory order by threads of the present block: it acquires all that blocks have released."""
        if scope == "cta":
            return
        if self._cluster > 1:
            self._synchronise_warps(semantics, np.unique(threads >> 5))
        if semantics in ("acquire", "acq_rel"):
            for segment in self._segments:
                if segment.history is not None:
                    segment.history.forget(self.released)
        if semantics in ("release", "acq_rel"):
            self.released.add(self.block)

    def _synchronise_warps(self, semantics: str, warps: Array) -> None:
        """Within a cluster. Who releases has passed a barrier after what it releases.

        Warps that execute the instruction together learn from each other, though one of them comes first.
        """
        if semantics in ("release", "acq_rel"):
            self._told = merge_messages(self._told, self.clocks.tell(warps, whole=False))
        if semantics in ("acquire", "acq_rel") and self._told is not None:
            self.clocks.acquire(warps, self._told)

    def store(
        self, space: int, addresses: Array, data: Array, align: int, threads: Array, *, ordered: bool = False
    ) -> None:
        """`data` is uint8 [accesses, size]. `ordered` as for `load`."""
        size = data.shape[1]
        self._aligned(addresses, align, threads)
        for segment, chosen, offsets in self._places(space, addresses, size, threads):
            mine = data if chosen is None else data[chosen]
            who = threads if chosen is None else threads[chosen]
            self._check_write(segment, offsets, mine, who, ordered)
            segment.put(offsets, mine, who)

    def _check_write(
        self, segment: Segment, offsets: Array, data: Array, threads: Array, ordered: bool = False
    ) -> None:
        size = data.shape[1]
        if not segment.writable:
            raise OutOfRange(f"writes {segment.name}, which is read-only", threads)
        segment.check_guard(offsets, size, threads)
        segment.check_unread(offsets, threads)
        if segment.pending is not None:
            bad = bytes_at(segment.pending, offsets, size).any(axis=1)
            if bad.any():
                raise PendingCopy(
                    f"writes {segment.at(offsets[bad][0])} while an asynchronous copy is in flight", threads[bad]
                )
        if segment.history is not None and not ordered:
            old = segment.window(size)[offsets].view(np.uint8).reshape(len(offsets), size)
            segment.history.on_write(self.clocks, threads, offsets, size, self.block, old != data)
        if segment is self.shared or segment is self.local:
            return
        if segment.constant is not None and bytes_at(segment.constant, offsets, size).any():
            raise Race(f"writes {segment.name}, which this launch reads through the read-only path", threads)
        if segment.stored is None:
            segment.stored = np.zeros(len(segment.data), bool)
        segment.stored[offsets[:, None] + np.arange(size)] = True

    def atomic_place(self, space: int, address: Array, size: int, thread: Array) -> tuple[Segment, int]:
        """Segment and offset of one atomic access (arrays of length 1)."""
        self._aligned(address, size, thread)
        ((segment, _, offsets),) = self._places(space, address, size, thread)
        if not segment.writable:
            raise OutOfRange(f"writes {segment.name}, which is read-only", thread)
        if segment.written is not None and not bytes_at(segment.written, offsets, size).all():
            raise UnwrittenRead(f"an atomic access to unwritten bytes of {segment.name}", thread)
        return segment, int(offsets[0])
