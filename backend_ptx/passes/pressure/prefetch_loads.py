"""Prefetch loads that stand below a cross-warp shuffle into shared memory, together with the loads above it.

    before: %x: tile<1x16384xbf16, #0> = load(array=%rows, index=(%i, %zero), ...)
            ... the sum of %x over all warps ...
            %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            ... %x * %scale * %w ...
    after:  %x: tile<1x16384xbf16, #0> = load(array=%rows, index=(%i, %zero), ...)
            async_load(buffer=%weight_early, array=%weight, index=(%zero), ...)
            async_commit()
            ... the sum of %x over all warps ...
            async_wait()
            %w: tile<16384xbf16, #1> = shared_load(buffer=%weight_early)
            ... %x * %scale * %w ...

Wide rows allow only one or two CTAs per SM. No other CTA then hides the latency of a second load, and most registers
hold the row, so that ptxas issues such loads a few at a time. The copies take no registers, and every thread reads what
it copied itself. The decision `prefetched` names the loads.
"""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.layouts.ring import ring_layout, widest_copy
from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.passes.pipelining.addresses import harmless
from tilewright.backend_ptx.passes.pressure.phases import phases_of, waiting_registers
from tilewright.backend_ptx.resources.occupancy import resident
from tilewright.backend_ptx.resources.registers import OTHER
from tilewright.backend_ptx.resources.shared import EXCHANGES, buffer_bytes, peak_bytes
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.uses import replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import SharedType, TileType

# With more CTAs per SM than this, the others work while one waits.
FEW = 2
WIDE = 16  # bytes per copy that pay


def prefetch_loads(c: Compilation) -> Preserved:
    """Needs layouts, and reductions split where they cross warps."""
    function, target = c.function, c.target
    block = function.body
    phase = phases_of(block)
    if not target.has_cp_async or not phase or c.has(Product):
        return ALL
    place = max((i for i, op in enumerate(block.ops) if _is_tile_load(op) and phase[op] == 0), default=None)
    if place is None:
        return ALL
    ctas = _ctas(function, phase, target)
    if not 1 <= ctas <= FEW:
        return ALL
    chosen = _that_fit(function, ctas, target, _Candidates(c, place).find(phase))
    if not chosen:
        return ALL
    _start(block, place, chosen)
    c.decide(decisions.prefetched(map(_name, chosen), sum(map(_bytes, chosen)), ctas))
    return NONE


def _is_tile_load(op: Op) -> bool:
    return isinstance(op, Load) and bool(op.shape)


def _ctas(function: Function, phase: dict[Op, int], target: Target) -> int:
    """CTAs per SM without the copies."""
    if function.plan.occupancy:
        return function.plan.occupancy
    registers = waiting_registers(function.body, phase) + OTHER
    return resident(registers, 32 * function.plan.warps, peak_bytes(function), target)


def _that_fit(function: Function, ctas: int, target: Target, loads: list[Load]) -> list[Load]:
    """The loads whose buffers do not lower occupancy, first ones first."""
    used, out = peak_bytes(function) + EXCHANGES, []
    for load in loads:
        size = buffer_bytes(_buffer(load))
        if resident(1, 1, used + size, target) >= ctas:
            out.append(load)
            used += size
    return out


class _Candidates:
    """The loads of a function's body that may start right after the op at `place`."""

    def __init__(self, c: Compilation, place: int) -> None:
        ops = c.function.body.ops
        self.late = {op: i for i, op in enumerate(ops) if i > place}
        self.dependences = c.dependences
        self.known = c.facts
        summaries = [self.dependences.summary(op) for op in self.late]
        self.ordered = any(s.ordered for s in summaries)
        self.written = frozenset().union(*(s.writes for s in summaries))

    def find(self, phase: dict[Op, int]) -> list[Load]:
        if self.ordered:
            return []
        return [op for op in self.late if isinstance(op, Load) and phase[op] > 0 and self._may_start(op)]

    def _may_start(self, load: Load) -> bool:
        layout = load.result.type.layout
        if not load.shape or load.memory_order is not MemoryOrder.WEAK or is_replicated(layout):
            return False
        if load.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) and load.check_bounds:
            return False
        if load.array.op in self.late or self.dependences.alias_class(load.array) in self.written:
            return False
        return _copy_bytes(load) == WIDE and all(map(self._is_early, load.index))

    def _is_early(self, value: Value) -> bool:
        """Whether a scalar is available at `place`, or can be computed there."""
        op = value.op
        return op not in self.late or (harmless(op, self.known) and all(map(self._is_early, op.operands)))


def _copy_bytes(load: Load) -> int:
    """Bytes of one copy by a thread, 0 if cp.async cannot copy the tile."""
    type_ = load.result.type
    access = tile_access(load.array.type, load.order, load.steps, load.shape)
    if not access.contiguous:
        return 0
    vector = min(access.vector, vector_along(type_.layout, access.order[0]))
    return widest_copy(_layout(load), type_.layout, vector, type_.dtype.bytes)


def _buffer(load: Load) -> SharedType:
    type_ = load.result.type
    return SharedType(type_.dtype, type_.shape, layout=_layout(load))


def _layout(load: Load) -> Layout:
    """The layout in shared memory."""
    type_ = load.result.type
    return ring_layout(type_.layout, (type_.layout,), type_.dtype.bytes)


def _bytes(load: Load) -> int:
    return int(load.result.type.size * load.result.type.dtype.bytes)


def _name(load: Load) -> str:
    return load.array.hint or load.result.hint or decisions.A_LOAD


# ---- rewriting --------------------------------------------------------------------------------------------------


def _start(block: Block, place: int, loads: list[Load]) -> None:
    """Copies after the op at `place`; a wait and reads from shared memory where the loads were."""
    before, after = block.ops[: place + 1], block.ops[place + 1:]
    needed = _needed(set(after), loads)
    block.ops = [*before, *(op for op in after if op in needed)]
    b = Builder(block)
    buffers = {}
    with b.at(loads[0].span):
        always = b.value(Constant(value=True, type=TileType(bool_)))
    for load in loads:
        with b.at(load.span):
            buffers[load] = b.value(SharedAlloc(type=_buffer(load)), f"{_name(load)}_early")
            padding = load.padding if load.check_bounds else PaddingMode.ZERO
            b.emit(AsyncLoad(
                buffer=buffers[load], slot=None, array=load.array, index=load.index, active=always,
                tile=load.result.type, steps=load.steps, order=load.order, padding=padding,
                check_bounds=load.check_bounds))
    b.emit(AsyncCommit())
    read: dict[Value, Value] = {}
    for op in after:
        if op in buffers:
            read[op.result] = _read(b, op, buffers[op], wait=op is loads[0])
        elif op not in needed:
            replace_everywhere(op, read)
            block.ops.append(op)


def _needed(late: set[Op], loads: list[Load]) -> set[Op]:
    """The ops that compute the indices of the tiles; they are hoisted above the copies."""
    out: set[Op] = set()
    work = [v for load in loads for v in load.index]
    while work:
        op = work.pop().op
        if op in late and op not in out:
            out.add(op)
            work += op.operands
    return out


def _read(b: Builder, load: Load, buffer: Value, wait: bool) -> Value:
    """The tile from shared memory."""
    with b.at(load.span):
        if wait:
            b.emit(AsyncWait())
        out = b.value(SharedLoad(buffer=buffer, slot=None, index=(), shape=load.shape), load.result.hint)
    out.retype(load.result.type)
    return out
