"""Tiles of loads that are live across cross-warp shuffles: what spilling them would save, and what takes their place.

A tile that a ring prefetches is in shared memory until the iteration ends: it is read again from its slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.shared import swizzled_shared
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore, loaded
from tilewright.backend_ptx.passes.pressure.bodies import Body
from tilewright.backend_ptx.resources.occupancy import resident
from tilewright.backend_ptx.resources.registers import OTHER, REGISTER_BYTES, STRIP
from tilewright.backend_ptx.resources.shared import EXCHANGES, peak_bytes
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.analysis.words import is_uniform, registers_of
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layouts.queries import is_replicated
from tilewright.tileir.machine_ops.layout import KeepRegisters
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import SharedType

Source = Load | SharedLoad

# A thread keeps whole strips of a tile, and needs registers for two more beside them.
BETWEEN = 16
MOST_REGISTERS = 128


def spill_tiles_of(c: Compilation, body: Body, ctas: int) -> bool:
    """Spill tiles of a body where registers allow just so many CTAs on an SM, and more can run then."""
    spill = find_spill(body)
    if spill is None:
        return False
    plan, target, kept, more = c.plan, c.target, body.registers(), _bytes(spill.loads)
    threads, shared = 32 * plan.warps, peak_bytes(c.function) + (more and more + EXCHANGES)
    before = resident(kept + OTHER, threads, 0, target)
    # Against spills to memory any saving helps; for higher occupancy nothing may spill there.
    needed = spill.stored if before == 0 else max(spill.stored, spill.loaded)
    after = resident(needed + OTHER, threads, shared, target)
    if before != ctas or after <= before:
        return False
    keep = to_keep(spill, target.registers_per_sm // (after * threads))
    emit_spill(spill, keep)
    plan.occupancy = min(after, plan.occupancy or after)
    c.decide(decisions.rematerialized(
        _bytes(spill.read), (before, kept), (after, needed), [(n, value.hint) for value, n in keep.items()]))
    c.forget()
    return True


def _bytes(sources: Iterable[Source]) -> int:
    return sum(op.result.type.bytes for op in sources)


@dataclass(frozen=True, slots=True)
class Spill:
    """What a body could spill. `source`: the load, or read of a slot, from which a value is computed; `late`: for each
    phase the values that its ops take from an earlier one; `read`: what later phases would read again. Registers of a
    thread: `stored` by the spilled tiles on the way to shared memory, as their loads are outstanding together, `loaded`
    by the loads of one phase, reloaded tiles included."""

    body: Body
    source: dict[Value, Source]
    late: dict[int, set[Value]]
    read: list[Source]
    stored: int
    loaded: int

    @property
    def loads(self) -> list[Load]:
        """What is not in shared memory yet."""
        return [op for op in self.read if isinstance(op, Load)]


def find_spill(body: Body) -> Spill | None:
    """What a body could spill, None if no tile of a load is live across its phases."""
    phase, source = body.phase, _sources(body.block)
    late: dict[int, set[Value]] = {}
    for op in body.block.ops if phase else ():
        for value in all_reads(op):
            if value in source and value.op is not None and phase[value.op] < phase[op]:
                late.setdefault(phase[op], set()).add(value)
    found = sorted({source[v] for values in late.values() for v in values}, key=body.block.ops.index)
    if not found:
        return None
    read = [{source[v].result for v in late.get(n, ())} | _loaded_in(body, n) for n in range(body.last + 1)]
    stored, *loaded = (sum(map(registers_of, tiles)) for tiles in (
        [op.result for op in found if isinstance(op, Load)], *read))
    others = body.registers(without=source)
    return Spill(body, source, late, found, stored + others, max(loaded) + others)


def _loaded_in(body: Body, phase: int) -> set[Value]:
    return {op.result for op, n in body.phase.items() if n == phase and isinstance(op, Load) and op.shape}


def _sources(block: Block) -> dict[Value, Source]:
    """The load from which each tile is computed, element by element, with no other operands than uniform ones."""
    found: dict[Value, Source] = {}
    here = {r for op in block.ops for r in op.results}
    rings = {s.memory for op in block.ops if op.starting for s in op.effects().starts if s.writes and not s.exclusive}
    for op in block.ops:
        if isinstance(op, Source):
            if _is_spillable(op) if isinstance(op, Load) else op.buffer in rings:
                found[op.result] = op
            continue
        if not op.elementwise:
            continue
        loads = {found[v] for v in op.operands if v in found}
        if len(loads) != 1:
            continue
        [load] = loads
        same = op.result.type.shape == load.shape and op.result.type.layout == load.result.type.layout
        if same and all(v in found or v not in here or is_uniform(v) for v in op.operands):
            found[op.result] = load
    return found


def _is_spillable(op: Load) -> bool:
    if not op.shape or op.memory_order is not MemoryOrder.WEAK or op.result.type.dtype.is_bool:
        return False
    return not is_replicated(op.result.type.layout)


def to_keep(spill: Spill, registers: int) -> dict[Value, int]:
    """How many registers of a tile stay live from the last phase but one: of a tile that MUFU functions compute, as
    their throughput is low. `registers` is what a thread may use."""
    phase, last = spill.body.phase, spill.body.last
    loads = sum(map(registers_of, _loaded_in(spill.body, last)))
    count = (min(registers, MOST_REGISTERS) - OTHER - BETWEEN - loads) // STRIP * STRIP
    made = [v for v in spill.late.get(last, ()) if v.op is not None and isinstance(v.op, FloatUnary)
            and phase[v.op] == last - 1 and v.type.dtype.bytes == REGISTER_BYTES]
    return {made[0]: min(count, registers_of(made[0]))} if len(made) == 1 and count > 0 else {}


# ---- rewriting --------------------------------------------------------------------------------------------------


def emit_spill(spill: Spill, keep: dict[Value, int]) -> None:
    """Spill the tiles; in each later phase, rematerialise what its ops take from an earlier one."""
    block = spill.body.block
    old, block.ops = block.ops, []
    again = _Again(Builder(block), spill, keep)
    for op in old:
        phase = spill.body.phase[op]
        new = {v: again.value(phase, v) for v in all_reads(op) if v in spill.late.get(phase, ())}
        replace_everywhere(op, new)
        block.ops.append(op)
        if isinstance(op, Load) and op in spill.loads:
            again.spill(op)


class _Again:
    """Spills tiles, and emits what rematerialises a value in a later phase."""

    def __init__(self, b: Builder, plan: Spill, keep: dict[Value, int]) -> None:
        self.b, self.plan, self.keep = b, plan, keep
        self.spilled: dict[Value, Value] = {}
        self.made: dict[tuple[int, Value], Value] = {}
        self.origin: dict[Value, Value] = {}  # of rematerialised values

    def spill(self, load: Load) -> None:
        type_ = load.result.type
        layout = swizzled_shared(type_.layout, type_.layout, type_.dtype.bytes)
        with self.b.at(load.span):
            buffer = self.b.value(SharedAlloc(type=SharedType(type_.dtype, type_.shape, layout=layout)), "spilled")
            self.b.emit(SharedStore(buffer=buffer, slot=None, value=load.result))
        self.spilled[load.result] = buffer

    def value(self, phase: int, value: Value) -> Value:
        """`value` in a phase later than its own; rematerialised once per phase."""
        key = (phase, value)
        if key not in self.made:
            assert value.op is not None
            with self.b.at(value.op.span):
                made = self._reloaded(value) if value.op in self.plan.read else self._computed(phase, value)
                if value in self.keep:
                    kept = KeepRegisters(kept=value, again=made, count=self.keep[value])
                    made = self.b.value(kept, value.hint).retype(value.type)
            self.made[key] = made
            self.origin[made] = value
        return self.made[key]

    def _reloaded(self, value: Value) -> Value:
        if isinstance(value.op, SharedLoad):
            return self.b.value(value.op.clone({}), value.hint).retype(value.type)
        return loaded(self.b, self.spilled[value], value.type, hint=value.hint)

    def _computed(self, phase: int, value: Value) -> Value:
        op, fresh = value.op, {}
        assert op is not None
        for operand in op.operands:  # an operand may be one rematerialised for the op's own phase
            first = self.origin.get(operand, operand)
            if first in self.plan.source and first.op is not None and self.plan.body.phase[first.op] < phase:
                fresh[operand] = self.value(phase, first)
        copy = op.clone(fresh)
        self.b.block.ops.append(copy)
        return copy.results[0].retype(value.type)
