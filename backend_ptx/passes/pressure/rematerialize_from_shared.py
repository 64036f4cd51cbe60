"""Spill a loaded tile to shared memory, and rematerialise from it what would be live across CTA barriers.

    before: %x: tile<1x65536xbf16, #0> = load(...)                            // a thread holds 128 elements
            %t: tile<1x65536xf32, #0> = cast(src=%x)
            ... the largest of %t over all warps ...
            %e: tile<1x65536xf32, #0> = exp2(src=%t - %m)
            ... the sum of %e over all warps ...
            store(value=cast(%e * %share), ...)
    after:  %x: tile<1x65536xbf16, #0> = load(...)
            shared_store(buffer=%spilled, value=%x)
            %t = cast(src=%x)
            ... the largest ...
            %x1 = shared_load(buffer=%spilled)
            %e = exp2(src=cast(src=%x1) - %m)
            ... the sum ...
            %x2 = shared_load(buffer=%spilled)
            store(value=cast(exp2(src=cast(src=%x2) - %m) * %share), ...)

Between two cross-warp shuffles a thread then holds a few elements at a time; before, all of them were live across each
shuffle. Every thread reads what it wrote itself. The pass changes a block only if registers would spill, or if they
limit occupancy to 1 CTA per SM and the spilled tiles leave room for more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.queries import is_replicated
from tilewright.backend_ptx.layouts.shared import swizzled_shared
from tilewright.backend_ptx.ops.layout import KeepRegisters
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.passes.pressure.phases import bodies, outside_registers, phases_of
from tilewright.backend_ptx.resources.occupancy import resident
from tilewright.backend_ptx.resources.registers import OTHER, REGISTER_BYTES, is_uniform, registers_of
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import SharedType

# A thread keeps whole strips of a tile (those of lower/strips.py), and needs registers for two more beside them.
STRIP, BETWEEN = 16, 16
MOST_REGISTERS = 128


def rematerialize_from_shared(c: Compilation) -> Preserved:
    """Needs layouts, and reductions split where they cross warps. Sets the plan's occupancy."""
    function, target = c.function, c.target
    threads = 32 * c.plan.warps
    used = 0
    for block in bodies(function):
        plan = _plan(block)
        if plan is None:
            continue
        before = resident(plan.registers + OTHER, threads, 0, target)
        # Against spills any saving helps; for higher occupancy nothing may spill.
        needed = plan.spilled_registers if before == 0 else max(plan.spilled_registers, plan.loaded_registers)
        after = resident(needed + OTHER, threads, used + plan.bytes, target)
        if before > 1 or after <= before:
            continue
        used += plan.bytes
        keep = _to_keep(plan, target.registers_per_sm // (after * threads))
        _rewrite(block, plan, keep)
        c.plan.occupancy = min(after, c.plan.occupancy or after)
        c.decide(decisions.rematerialized(
            plan.bytes, (before, plan.registers), (after, needed), [(n, value.hint) for value, n in keep.items()]))
    return NONE if used else ALL


@dataclass(slots=True)
class _Plan:
    """What is live across phases. `phase` of every op of the block; `late`: for each phase the values that its ops take
    from an earlier one; `source`: the load from which a value is computed."""

    phase: dict[Op, int]
    source: dict[Value, Load]
    late: dict[int, set[Value]]
    registers: int = 0
    spilled_registers: int = 0
    loaded_registers: int = 0  # by the loads of one phase, spilled tiles included
    loads: list[Load] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(op.result.type.size * op.result.type.dtype.bytes for op in self.loads)


def _plan(block: Block) -> _Plan | None:
    """What could be spilled in a block, None if no tile is live across phases."""
    phase = phases_of(block)
    if not phase:
        return None
    number = max(phase.values())
    source = _sources(block)
    late: dict[int, set[Value]] = {}
    for op in block.ops:
        for value in all_reads(op):
            if value in source and value.op is not None and phase[value.op] < phase[op]:
                late.setdefault(phase[op], set()).add(value)
    loads = list(dict.fromkeys(source[v] for values in late.values() for v in sorted(values, key=id)))
    if not loads:
        return None
    plan = _Plan(phase, source, late, loads=sorted(loads, key=block.ops.index))
    others = _others(block, plan) + outside_registers(block)
    plan.registers = max(sum(map(registers_of, _waiting(plan, n))) for n in range(1, number + 1)) + others
    # The loads are outstanding together, and registers hold their tiles on the way to shared memory.
    plan.spilled_registers = sum(registers_of(op.result) for op in plan.loads) + others
    for n in range(number + 1):
        read = {source[v].result for v in late.get(n, ())} | {
            op.result for op in block.ops if isinstance(op, Load) and op.shape and phase[op] == n}
        plan.loaded_registers = max(plan.loaded_registers, sum(map(registers_of, read)) + others)
    return plan


def _others(block: Block, plan: _Plan) -> int:
    """Registers of the tiles that are live across phases and cannot be rematerialised."""
    waiting = {
        v for op in block.ops for v in all_reads(op)
        if v.op in plan.phase and v not in plan.source and not is_uniform(v) and plan.phase[v.op] < plan.phase[op]
    }
    return sum(r for r in map(registers_of, waiting) if r > 1)


def _waiting(plan: _Plan, phase: int) -> set[Value]:
    """The values that are live across the start of a phase."""
    return {
        v for later, values in plan.late.items() if later >= phase for v in values
        if v.op is not None and plan.phase[v.op] < phase
    }


def _sources(block: Block) -> dict[Value, Load]:
    """The load from which each tile is computed, element by element, with no other operands than uniform ones."""
    found: dict[Value, Load] = {}
    here = {r for op in block.ops for r in op.results}
    for op in block.ops:
        if isinstance(op, Load):
            if _is_spillable(op):
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


def _to_keep(plan: _Plan, registers: int) -> dict[Value, int]:
    """How many registers of a tile stay live from the last phase but one: of a tile that MUFU functions compute, as
    their throughput is low. `registers` is what a thread may use."""
    last = max(plan.phase.values())
    loads = [op.result for op, phase in plan.phase.items() if isinstance(op, Load) and op.shape and phase == last]
    count = (min(registers, MOST_REGISTERS) - OTHER - BETWEEN - sum(map(registers_of, loads))) // STRIP * STRIP
    made = [
        v for v in plan.late.get(last, ()) if v.op is not None and isinstance(v.op, FloatUnary)
        and plan.phase[v.op] == last - 1 and v.type.dtype.bytes == REGISTER_BYTES
    ]
    return {made[0]: min(count, registers_of(made[0]))} if len(made) == 1 and count > 0 else {}


# ---- rewriting --------------------------------------------------------------------------------------------------


def _rewrite(block: Block, plan: _Plan, keep: dict[Value, int]) -> None:
    old, block.ops = block.ops, []
    again = _Again(Builder(block), plan, keep)
    for op in old:
        phase = plan.phase[op]
        new = {v: again.value(phase, v) for v in all_reads(op) if v in plan.late.get(phase, ())}
        replace_everywhere(op, new)
        block.ops.append(op)
        if isinstance(op, Load) and op in plan.loads:
            again.spill(op)


class _Again:
    """Spills tiles, and emits what rematerialises a value in a later phase."""

    def __init__(self, b: Builder, plan: _Plan, keep: dict[Value, int]) -> None:
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
            made = self._reloaded(value) if value in self.spilled else self._computed(phase, value)
            self.made[key] = self._kept(value, made) if value in self.keep else made
            self.origin[self.made[key]] = value
        return self.made[key]

    def _reloaded(self, value: Value) -> Value:
        assert value.op is not None
        with self.b.at(value.op.span):
            load = SharedLoad(buffer=self.spilled[value], slot=None, index=(), shape=value.type.shape)
            out = self.b.value(load, value.hint)
        out.retype(value.type)
        return out

    def _kept(self, value: Value, again: Value) -> Value:
        assert value.op is not None
        with self.b.at(value.op.span):
            out = self.b.value(KeepRegisters(kept=value, again=again, count=self.keep[value]), value.hint)
        out.retype(value.type)
        return out

    def _computed(self, phase: int, value: Value) -> Value:
        op, fresh = value.op, {}
        assert op is not None
        for operand in op.operands:  # an operand may be one rematerialised for the op's own phase
            first = self.origin.get(operand, operand)
            if first in self.plan.source and first.op is not None and self.plan.phase[first.op] < phase:
                fresh[operand] = self.value(phase, first)
        copy = op.clone(fresh)
        self.b.block.ops.append(copy)
        copy.results[0].retype(value.type)
        return copy.results[0]
