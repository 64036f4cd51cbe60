"""When two memory accesses of a CTA need a barrier between them, by the bytes and threads of each.

Threads of a warp and warps of a CTA run at their own pace. A later access must wait for an earlier one by another
thread when they may touch the same bytes and one of them writes.

An access that an engine makes (`Effects.starts`) is outstanding until its thread waits: a barrier before that orders
nothing (`MemoryAccess.flying`). Slots of a ring are told apart while the value that names them is the same one; after a
loop's end it names another slot (`MemoryAccess.earlier`). Memory that mbarriers synchronise (`Start.exclusive`)
needs no barrier.
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.shared import BufferAccess, SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import SharedView
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.tileir.analysis.pending import CTA, NOTHING, MemoryAccess
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value, space_of
from tilewright.tileir.engines import GLOBAL, REGISTERS, SHARED, THREADS, Issuer, Scope
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.f2 import echelon
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.layouts.flat import parts
from tilewright.tileir.layouts.queries import is_replicated
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.memory import TileAccess

_RELEASES = (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
_ACQUIRES = (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL)
# A ring from which outstanding MMAs read: slots of this iteration and of the one before, which nobody may write.
SPARE_SLOTS = 2
WARP = Scope.WARP


def accesses_of(op: Op) -> list[MemoryAccess]:
    """The accesses of an op that barriers must order, its bodies not counted."""
    if not op.effectful:
        return []
    effects = op.effects()
    started = {start.memory: start for start in effects.starts}
    written = {buffer_of(m) for m in effects.writes}
    found = [(m, False, space_of(m)) for m in effects.reads if buffer_of(m) not in written]
    found += [(m, True, space_of(m)) for m in effects.writes]
    found += [(s.memory, s.writes, s.space) for s in effects.starts if s.space not in (GLOBAL, SHARED, REGISTERS)]
    order, out = getattr(op, "memory_order", MemoryOrder.WEAK), []
    for memory, writes, space in found:
        start = started.get(memory)
        if start is None or not start.exclusive:
            engine = THREADS if start is None else start.engine
            out.append(MemoryAccess(op, buffer_of(memory), writes, space, order, engine, engine is not THREADS))
    return out


def buffer_of(memory: Value) -> Value:
    """The buffer under a view."""
    while isinstance(memory.op, SharedView):
        memory = memory.op.buffer
    return memory


class Hazards:
    """What decides about barriers in a function: its alias classes, those that it writes, its relaxed atomics whose old
    values have no use, and the memory that mbarriers synchronise, themselves included.

    Of accesses that no answer tells apart, one stands for all: a walk over a long kernel then keeps as many pending
    accesses as there are sorts of them, and its time is linear in the kernel's length."""

    def __init__(self, unit: Unit) -> None:
        self._alike: dict[tuple[object, ...], MemoryAccess] = {}
        self.alias_class = unit.dependences.alias_class
        self.written = unit.dependences.changing
        ops = list(unit.function.walk())
        self.updates: dict[Op, str] = {
            op: op.kind for op in ops
            if isinstance(op, AtomicRmw) and op.memory_order is MemoryOrder.RELAXED and op.result not in unit.uses}
        starts = (start for op in ops if op.starting for start in op.effects().starts)
        self.guarded = {buffer_of(s.memory) for s in starts if s.exclusive and s.space == SHARED}
        self.guarded |= {op.result for op in ops if isinstance(op, SharedAlloc) and op.guarded}

    def accesses(self, op: Op) -> list[MemoryAccess]:
        """The accesses of an op, each by the one that stands for its sort."""
        return [self._alike.setdefault(self._sort(access), access) for access in accesses_of(op)]

    def _sort(self, access: MemoryAccess) -> tuple[object, ...]:
        """All that `between` reads of an access."""
        op, memory = access.op, access.memory
        tile = (op.array, op.tile.type, op.steps, op.order) if isinstance(op, TileAccess) else None
        place = (op.ring_slot, op.thread_layout) if isinstance(op, BufferAccess) else None
        views = tuple(getattr(v.op, "slot", v) for v in op.operands if buffer_of(v) is memory)
        how = access.writes, access.space, access.order, access.engine, access.flying, self.updates.get(op)
        return memory, *how, tile, place, views

    def between(self, first: MemoryAccess, second: MemoryAccess) -> Scope:
        """The barrier that must separate two accesses in this order: NOTHING, WARP or CTA."""
        if first.space != second.space or first.memory in self.guarded or second.memory in self.guarded:
            return NOTHING
        if first.space == GLOBAL:
            return self._between_global(first, second)
        if not (first.writes or second.writes):
            return NOTHING
        return _between_shared(first, second) if first.space == SHARED else _between_private(first, second)

    def _between_global(self, first: MemoryAccess, second: MemoryAccess) -> Scope:
        # A release publishes, and an acquire receives, writes of the whole CTA: its threads must synchronise there.
        # Memory that this launch only reads needs no CTA barrier.
        one, other = self.alias_class(first.memory), self.alias_class(second.memory)
        if (second.order in _RELEASES and one in self.written) or (first.order in _ACQUIRES and other in self.written):
            return CTA
        if not (first.writes or second.writes) or one is not other:
            return NOTHING
        return NOTHING if self._commute(first.op, second.op) or _same_threads(first, second) else CTA

    def _commute(self, first: Op, second: Op) -> bool:
        """Atomic updates of one kind commute: the values between them are not observed."""
        kind = self.updates.get(first)
        return kind not in (None, "xchg") and kind == self.updates.get(second)


def _between_private(first: MemoryAccess, second: MemoryAccess) -> Scope:
    """In a unit's own space addresses are unknown: any write conflicts, except between accesses that one engine
    performs in order."""
    in_order = first.engine is second.engine is not THREADS and first.engine.in_order
    return NOTHING if in_order else CTA


def _between_shared(first: MemoryAccess, second: MemoryAccess) -> Scope:
    if first.memory is not second.memory:
        return CTA if _bytes_overlap(first.memory, second.memory) else NOTHING
    if _different_slots(first, second) or _slot_to_spare(first, second):
        return NOTHING
    one, other = _whole_layout(first.op), _whole_layout(second.op)
    own = any(a.engine is not THREADS and a.engine.issuer is Issuer.THREAD for a in (first, second))
    if own and one is not None and one == other and not is_replicated(one):
        return NOTHING  # each thread reads only its own copies, and waits for these
    if one is None or other is None or not stays_in_warp(one, other):
        return CTA
    return WARP


def _different_slots(first: MemoryAccess, second: MemoryAccess) -> bool:
    """Whether two accesses of one ring provably go to different slots."""
    a, b = _ring_slot(first.op), _ring_slot(second.op)
    if first.earlier or second.earlier or a is None or b is None:
        return False
    return a[0] is b[0] and a[1] != b[1]


def _ring_slot(op: Op) -> tuple[Value, int] | None:
    return op.ring_slot if isinstance(op, BufferAccess) else None


def _slot_to_spare(first: MemoryAccess, second: MemoryAccess) -> bool:
    """Whether a write goes to a slot that MMAs of the last two iterations do not read. Only those of the last one may
    be outstanding: each iteration waits for earlier ones before it ends. The threads have synchronised since, for the
    data of this iteration or of the previous one."""
    place = _ring_slot(second.op)
    if not first.engine.multiplies or not second.writes or place is None:
        return False
    slot, ahead = place
    if not first.flying:
        return not first.earlier and ahead > 0 and _reads_slot(first, slot)
    slots: int = second.memory.type.copies
    return slots > SPARE_SLOTS and ahead <= slots - SPARE_SLOTS and (ahead > 0 or second.engine is THREADS)


def _reads_slot(access: MemoryAccess, slot: Value) -> bool:
    """Whether an MMA of this iteration reads only this slot of a ring."""
    views = [v.op for v in access.op.operands if buffer_of(v) is access.memory]
    return all(isinstance(view, SharedView) and view.slot is slot for view in views)


def _bytes_overlap(one: Value, other: Value) -> bool:
    a, b = one.op, other.op
    assert isinstance(a, SharedAlloc) and isinstance(b, SharedAlloc)
    return a.offset < b.offset + buffer_bytes(b.type) and b.offset < a.offset + buffer_bytes(a.type)


def _whole_layout(op: Op) -> Layout | None:
    """The layout of a tile that covers the whole buffer."""
    return op.thread_layout if isinstance(op, BufferAccess) else None


def stays_in_warp(one: Layout, other: Layout) -> bool:
    """Whether each warp touches the same elements in both layouts, and no two warps the same."""
    for layout in (one, other):
        register, lane, warp = parts(layout)
        if echelon(register + lane + warp).rank != echelon(register + lane).rank + len(warp):
            return False
    return all(plan_conversion(a, b).kind != "block" for a, b in ((one, other), (other, one)))


def _same_threads(first: MemoryAccess, second: MemoryAccess) -> bool:
    """Whether the accesses are loads and stores of one grid of tiles in one layout. An element that both access is then
    at the same position of the same tile, and so in the same thread: of those that hold it, the one that stores it."""
    a, b = first.op, second.op
    if not isinstance(a, TileAccess) or not isinstance(b, TileAccess) or a.array is not b.array:
        return False
    one, other = a.tile, b.tile
    if one.type.shape != other.type.shape or one.type.layout is None or one.type.layout != other.type.layout:
        return False
    grid_of_tiles = tuple(a.steps) == tuple(b.steps) == one.type.shape and tuple(a.order) == tuple(b.order)
    alone = (first.writes and second.writes) or not is_replicated(one.type.layout)
    return grid_of_tiles and a.array.type.disjoint and alone
