"""When two memory accesses of a block need a barrier between them: what each touches, and which threads.

Threads of a warp and warps of a block run at their own pace. A later access must wait for an earlier one by another
thread when they may touch the same bytes and one of them writes.

An asynchronous copy, or a product that reads shared memory, is in flight until its thread waits: a barrier before that
orders nothing (`Access.flying`). Slots
of a ring are told apart while the value that names them is the same one; after a loop's end it names another slot
(`Access.earlier`). Rings that mbarriers guard are none of a barrier's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.f2 import echelon
from tilewright.backend_ptx.layouts.flat import LANE_BITS, OFFSET, distributed, flat_bases, log2, parts
from tilewright.backend_ptx.layouts.queries import is_replicated
from tilewright.backend_ptx.ops.async_copy import AsyncCopy
from tilewright.backend_ptx.ops.bulk import TmaLoad, TmaStore
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.ops.warpgroup import SharedView, Wgmma
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import SharedType

_RELEASES = (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
_ACQUIRES = (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL)
_RING = (AsyncCopy, SharedLoad, SharedStore)
# A ring from which products in flight read: slots of this round and of the one before, which nobody may write.
SPARE_SLOTS = 2
# What must stand between two accesses; the greater includes the less.
NOTHING, WARP, BLOCK = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Access:
    """One access of one memory handle by an op."""

    op: Op
    memory: Value
    writes: bool
    order: MemoryOrder = MemoryOrder.WEAK
    flying: bool = False  # an asynchronous copy or product that its thread has not waited for
    earlier: bool = False  # of an earlier round of a loop

    @property
    def is_shared(self) -> bool:
        return isinstance(self.memory.type, SharedType)

    @property
    def in_ring(self) -> bool:
        return isinstance(self.memory.type, SharedType) and self.memory.type.copies > 1


def accesses_of(op: Op) -> list[Access]:
    """The accesses of an op, its bodies not counted."""
    effects = op.effects()
    if isinstance(op, TmaLoad):
        return []  # by the producer, into a ring
    if isinstance(op, TmaStore):
        # Of the array nothing else knows, and a lane's own stores are ordered by its waits: split_stores sees to it.
        return [Access(op, op.buffer, False, flying=True)]
    flying = isinstance(op, (AsyncCopy, Wgmma))
    order = getattr(op, "memory_order", MemoryOrder.WEAK)
    writes = [buffer_of(m) for m in effects.writes]
    reads = [m for m in map(buffer_of, effects.reads) if m not in writes]
    found = [*((m, False) for m in reads), *((m, True) for m in writes)]
    return [Access(op, memory, written, order, flying) for memory, written in found]


def buffer_of(memory: Value) -> Value:
    """The buffer that a view shows."""
    while isinstance(memory.op, SharedView):
        memory = memory.op.buffer
    return memory


@dataclass(frozen=True, slots=True)
class Summary:
    """Of a function: the alias classes that it writes, and its relaxed atomics whose old values nobody uses."""

    written: frozenset[Value]
    updates: frozenset[Op]
    guarded: frozenset[Value] = frozenset()  # rings whose slots mbarriers hand over


def summarise(function: Function, dependences: Dependences) -> Summary:
    used = {v for op in function.walk() for v in op.operands}
    written = frozenset(dependences.alias_class(m) for op in function.walk() for m in op.effects().writes)
    return Summary(written, frozenset(
        op for op in function.walk()
        if isinstance(op, AtomicRmw) and op.memory_order is MemoryOrder.RELAXED and op.result not in used
    ), frozenset(op.buffer for op in function.walk() if isinstance(op, TmaLoad)))


def needed_between(first: Access, second: Access, dependences: Dependences, whole: Summary) -> int:
    """The barrier that must separate two accesses in this order: NOTHING, WARP or BLOCK."""
    if first.is_shared != second.is_shared:
        return NOTHING
    if first.memory in whole.guarded or second.memory in whole.guarded:
        return NOTHING
    if first.is_shared:
        return _between_shared(first, second)
    return _between_global(first, second, dependences, whole)


def _between_shared(first: Access, second: Access) -> int:
    if not (first.writes or second.writes):
        return NOTHING
    if first.memory is not second.memory:
        return BLOCK if _bytes_overlap(first.memory, second.memory) else NOTHING
    if _different_slots(first, second) or _slot_to_spare(first, second):
        return NOTHING
    one, other = _whole_layout(first.op), _whole_layout(second.op)
    asynchronous = isinstance(first.op, AsyncCopy) or isinstance(second.op, AsyncCopy)
    if asynchronous and one is not None and one == other and not is_replicated(one):
        return NOTHING  # each thread reads what it has copied itself, and waits for that
    if one is None or other is None or not stays_in_warp(one, other):
        return BLOCK
    return WARP


def _different_slots(first: Access, second: Access) -> bool:
    """Whether two accesses of one ring surely go to different slots."""
    a, b = first.op, second.op
    if first.earlier or second.earlier or not isinstance(a, _RING) or not isinstance(b, _RING):
        return False
    return a.slot is not None and a.slot is b.slot and a.ahead != b.ahead


def _slot_to_spare(first: Access, second: Access) -> bool:
    """Whether a write goes to a slot that products of the last two rounds do not read, while products of the last round
    may run on. Those of rounds before it are done: each round waits for them before it ends, and its threads have met
    since, for the data of the round before this write or of this round."""
    write = second.op
    if not isinstance(first.op, Wgmma) or not isinstance(write, (AsyncCopy, SharedStore)) or write.slot is None:
        return False
    if not first.flying:
        return not first.earlier and write.ahead > 0 and _reads_slot(first, write.slot)
    slots: int = write.buffer.type.copies
    return slots > SPARE_SLOTS and write.ahead <= slots - SPARE_SLOTS and (
        write.ahead > 0 or isinstance(write, SharedStore))


def _reads_slot(access: Access, slot: Value) -> bool:
    """Whether a product of this round reads nothing of a ring but this slot."""
    views = [v.op for v in access.op.operands if buffer_of(v) is access.memory]
    return all(isinstance(view, SharedView) and view.slot is slot for view in views)


def _bytes_overlap(one: Value, other: Value) -> bool:
    a, b = one.op, other.op
    assert isinstance(a, SharedAlloc) and isinstance(b, SharedAlloc)
    return a.offset < b.offset + buffer_bytes(b.type) and b.offset < a.offset + buffer_bytes(a.type)


def _whole_layout(op: Op) -> Layout | None:
    """The layout of a tile that covers the whole buffer."""
    if isinstance(op, SharedStore):
        layout: Layout = op.value.type.layout
        return layout
    if isinstance(op, AsyncCopy):
        return op.tile.layout
    if isinstance(op, SharedLoad) and not op.index:
        return op.result.type.layout  # type: ignore[no-any-return]
    return _boxes_of_warps(op) if isinstance(op, TmaStore) and op.warps > 1 else None


def _boxes_of_warps(op: TmaStore) -> Layout:
    """A layout in which each warp has the elements that its first lane stores."""
    bases = flat_bases(op.buffer.type.layout, OFFSET)
    own = len(bases) - log2(op.warps)
    lanes = [*bases[:own][:LANE_BITS], *[0] * (LANE_BITS - own)]
    return distributed(op.shape, bases[:own][LANE_BITS:], lanes, bases[own:])


def stays_in_warp(one: Layout, other: Layout) -> bool:
    """Whether each warp touches the same elements in both layouts, and no two warps the same."""
    for layout in (one, other):
        register, lane, warp = parts(layout)
        if echelon(register + lane + warp).rank != echelon(register + lane).rank + len(warp):
            return False
    return all(plan_conversion(a, b).kind != "block" for a, b in ((one, other), (other, one)))


def _between_global(first: Access, second: Access, dependences: Dependences, whole: Summary) -> int:
    # What a release hands on and an acquire takes over is the whole block's: its threads must meet there. Memory that
    # this launch only reads is none of other blocks' business.
    if second.order in _RELEASES and dependences.alias_class(first.memory) in whole.written:
        return BLOCK
    if first.order in _ACQUIRES and dependences.alias_class(second.memory) in whole.written:
        return BLOCK
    if not (first.writes or second.writes):
        return NOTHING
    if dependences.alias_class(first.memory) is not dependences.alias_class(second.memory):
        return NOTHING
    if _commute(first.op, second.op, whole):
        return NOTHING
    return NOTHING if _same_threads(first, second) else BLOCK


def _commute(first: Op, second: Op, whole: Summary) -> bool:
    """Atomic updates of one kind may come in any order: nobody sees what was between them."""
    if first not in whole.updates or second not in whole.updates:
        return False
    assert isinstance(first, AtomicRmw) and isinstance(second, AtomicRmw)
    return first.kind == second.kind != "xchg"


def _same_threads(first: Access, second: Access) -> bool:
    """Whether the accesses are loads and stores of one grid of tiles in one layout: then wherever they touch the same
    element, it is in the same tile at the same place, and the same thread touches it."""
    a, b = first.op, second.op
    if not isinstance(a, (Load, Store)) or not isinstance(b, (Load, Store)) or a.array is not b.array:
        return False
    one, other = (op.result if isinstance(op, Load) else op.value for op in (a, b))
    if one.type.shape != other.type.shape or one.type.layout is None or one.type.layout != other.type.layout:
        return False
    grid_of_tiles = tuple(a.steps) == tuple(b.steps) == one.type.shape and tuple(a.order) == tuple(b.order)
    return grid_of_tiles and a.array.type.disjoint and not is_replicated(one.type.layout)
