"""Stores of sub-tiles by TMA, from the shared memory where threads put them: part of `split_stores`.

A sub-tile is stored by TMA only if nothing else in the kernel accesses its array, other than in a branch that excludes
the store's: bulk copies are not ordered with ordinary accesses. Nor are they ordered among themselves. The issuing lane
therefore waits until its earlier copies have written the array before it stores tiles of the same array again; a lane
always stores the same elements of a tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.boxes import Boxes, block_boxes, warp_boxes
from tilewright.backend_ptx.layouts.bulk import inner_axis
from tilewright.backend_ptx.ops.bulk import MAX_PENDING, TmaAcquire, TmaStore, TmaStoreWait
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedStore
from tilewright.backend_ptx.ops.warpgroup import proxy_fences
from tilewright.backend_ptx.passes.stores.pieces import Pieces
from tilewright.backend_ptx.resources.shared import buffer_bytes, other_bytes
from tilewright.backend_ptx.tensor_maps import refusal
from tilewright.tileir.analysis.branches import Branches, branches_of, exclusive
from tilewright.tileir.analysis.described import described, in_list, root_of
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.engines import MAIN, THREADS
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.rewrite import Rewriter
from tilewright.tileir.types import SharedType

# Threads fill one while TMA reads the other.
BUFFERS = 2
_UNORDERED = (MemoryOrder.WEAK, MemoryOrder.RELAXED)


def find_bulk_stores(c: Compilation, cut: Mapping[Store, Pieces]) -> dict[Store, Boxes]:
    """The split stores that TMA performs, and the TMA boxes of their sub-tiles; decisions give the reasons."""
    function, target = c.function, c.target
    if not target.has_tma or not function.switches.allow_tma_stores:
        return {}
    candidates = {store: pieces for store, pieces in cut.items() if pieces.crosses}
    if not candidates:
        return {}
    scope = _Scope(c, candidates)
    out: dict[Store, Boxes] = {}
    for store, pieces in candidates.items():
        found = scope.find(store, pieces)
        name = store.array.hint or decisions.AN_ARRAY
        if isinstance(found, Boxes):
            out[store] = found
            c.decide(decisions.tma_store(name, found.shape, found.warps > 1, store.span))
        else:
            c.decide(decisions.thread_store(name, found, store.span))
    return out


class _Scope:
    """Facts about a function that all its stores share."""

    def __init__(self, c: Compilation, candidates: Mapping[Store, Pieces]) -> None:
        function = c.function
        self.c = c
        self.room = c.target.shared_per_block - other_bytes(function, ())
        self.types: set[SharedType] = set()
        self.ordered = any(getattr(op, "memory_order", MemoryOrder.WEAK) not in _UNORDERED for op in function.walk())
        self.tiles: dict[Value, set[tuple[object, Branches]]] = {}  # of an alias class; None: another access
        for op in (op for op in function.walk() if op.effectful and not op.blocks):
            effects, tile = c.dependences.summary(op), None
            if isinstance(op, Store) and op in candidates and self._refused_alone(op) is None:
                tile = op.value.type.shape, op.order, candidates[op].source
            for memory in effects.reads | effects.writes:
                self.tiles.setdefault(memory, set()).add((tile, branches_of(c, op)))

    def find(self, store: Store, pieces: Pieces) -> Boxes | str:
        """The TMA boxes of a store's sub-tiles, or why TMA cannot store them."""
        if alone := self._refused_alone(store):
            return alone
        if self.ordered:
            return decisions.ORDERED_ACCESSES
        memory, here = self.c.dependences.alias_class(store.array), branches_of(self.c, store)
        tiles = {tile for tile, where in self.tiles[memory] if not exclusive(here, where)}
        if len(tiles) > 1:
            return decisions.ACCESSED_ELSEWHERE if None in tiles else decisions.DIFFERENT_TILES
        found = boxes_of(store, pieces)
        if found is None:
            return decisions.HELD_BY_SEVERAL_WARPS
        place = described(store.array, self.c.function.params)
        assert place is not None
        if refused := refusal(store, found.shape, pieces.shape, place, self.c.facts):
            return refused
        return found if self._fits(buffer_type(store, found)) else decisions.NO_SHARED_MEMORY_LEFT

    def _refused_alone(self, store: Store) -> str | None:
        """Why a store is refused on its own account; other stores to its array then are too."""
        if store.allow_tma is False:
            return decisions.ALLOW_TMA_FALSE
        place = described(store.array, self.c.function.params)
        if place is None:
            return decisions.NO_PARAMETER
        return None if place.entry is None or self.c.target.has_map_tables else decisions.OLD_DRIVER

    def _fits(self, type_: SharedType) -> bool:
        """Whether there is room for the buffers; in loops nothing else may share their bytes."""
        if type_ in self.types:
            return True
        size = BUFFERS * self.c.plan.teams * buffer_bytes(type_)
        if size > self.room:
            return False
        self.types.add(type_)
        self.room -= size
        return True


def buffer_type(store: Store, boxes: Boxes) -> SharedType:
    """The type of a buffer for one sub-tile."""
    return SharedType(store.array.type.dtype, boxes.layout.shape, layout=boxes.layout)


def boxes_of(store: Store, pieces: Pieces) -> Boxes | None:
    """A box per warp if the ordinary store stays within a warp too, else one box for the whole sub-tile. A copy then
    writes segments as long as those of the ordinary store."""
    inner = inner_axis(store.array.type, pieces.shape, pieces.shape, store.order)
    if inner is None:
        return Boxes(pieces.shape, 1, pieces.source)  # refused for its array
    size = store.array.type.dtype.bytes
    if pieces.kind == "warp":
        return warp_boxes(pieces.source, inner, size)
    return block_boxes(pieces.shape, inner, size)


@dataclass(slots=True)
class _State:
    """The state of a block: the number of groups of copies it has started, the group that last read each buffer,
    buffers by type, and the arrays stored since a wait for all earlier copies (None: earlier ones may be
    outstanding)."""

    started: int = 0
    last: dict[Value, int] = field(default_factory=dict)
    buffers: dict[SharedType, list[Value]] = field(default_factory=dict)
    since: set[Value] | None = None


class BulkWriter:
    """Emits the store of each sub-tile: a store to a buffer, a fence, a copy to the array, and the waits before either
    may be written again."""

    def __init__(self, c: Compilation, boxes: Mapping[Store, Boxes]) -> None:
        self.boxes = boxes
        self.dependences = c.dependences
        self.repeated = {store for store in boxes if any(op.repeats for op in c.around(store))}
        self.states: dict[Block, _State] = {}

    def pass_by(self, op: Op, block: Block) -> None:
        """Some other op of a block: copies may have started inside."""
        if block in self.states and any(inner in self.states for inner in op.blocks):
            self.states[block].since = None

    def begin(self, rewriter: Rewriter, store: Store) -> None:
        """Before the first sub-tile: wait until earlier copies to the same array have written it."""
        state, memory = self._state(rewriter.block), self.dependences.alias_class(store.array)
        if state.since is None:
            wait = store in self.repeated or any(other.started for other in self.states.values())
        else:
            wait = memory in state.since
        if wait:
            rewriter.emit(TmaStoreWait(buffer=None, pending=0, written=True))
            state.since = set()
        if in_list(store.array):
            warps = self.boxes[store].warps
            rewriter.emit(TmaAcquire(array=root_of(store.array), active=None, warps=warps, role=MAIN))
        state.since = (state.since or set()) | {memory}

    def ready(self, rewriter: Rewriter, store: Store) -> Value:
        """The next buffer, once copies have read it."""
        state = self._state(rewriter.block)
        buffer = self._buffer(rewriter, buffer_type(store, self.boxes[store]))
        if buffer in state.last:
            pending = min(state.started - state.last[buffer], MAX_PENDING)
            rewriter.emit(TmaStoreWait(buffer=buffer, pending=pending))
        return buffer

    def piece(self, rewriter: Rewriter, store: Store, buffer: Value, part: Value, index: tuple[Value, ...]) -> None:
        """Store one sub-tile through a buffer that is ready."""
        state, boxes = self._state(rewriter.block), self.boxes[store]
        rewriter.emit(SharedStore(buffer=buffer, slot=None, value=part))
        copy = TmaStore(
            buffer=buffer, array=store.array, index=index, steps=part.type.shape, order=store.order, box=boxes.shape,
            warps=boxes.warps)
        rewriter.extend((*proxy_fences(THREADS, [copy]), copy))
        state.started += 1
        state.last[buffer] = state.started

    def end(self, rewriter: Rewriter) -> None:
        """Before the kernel ends: wait until all copies have read its shared memory."""
        if self.states:
            rewriter.emit(TmaStoreWait(buffer=None, pending=0))

    def _buffer(self, rewriter: Rewriter, type_: SharedType) -> Value:
        """The least recently used buffer of that type; a new one while there are fewer than BUFFERS."""
        state = self._state(rewriter.block)
        known = state.buffers.setdefault(type_, [])
        if len(known) < BUFFERS:
            known.append(rewriter.value(SharedAlloc(type=type_)))
            return known[-1]
        return min(known, key=lambda buffer: state.last[buffer])

    def _state(self, block: Block) -> _State:
        return self.states.setdefault(block, _State())
