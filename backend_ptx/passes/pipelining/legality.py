"""Legality: which engines may carry a tile that a loop loads, gathers or stages, and why others may not.

TMA: tiles that a tensor map describes, and whose address the producer can compute from parameters, loop variables,
block indices and arrays that the kernel does not write. cp.async: tiles that threads can copy at least 4 bytes at a
time, from an address known some iterations early. Threads: what they stage for wgmma.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.bulk import bulk_layout, inner_axis, tma_refusal
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.flat import OFFSET
from tilewright.backend_ptx.layouts.memory import GatherRun, gather_run, tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.layouts.ring import ring_layout, widest_copy
from tilewright.backend_ptx.ops.engines import CP_ASYNC, TMA_LOAD
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import is_outstanding, left_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.matmul.operands import dense_axis, slot_of, source_of, stages_of
from tilewright.backend_ptx.passes.pipelining.addresses import change_of_array, find_address, find_recurrence
from tilewright.backend_ptx.passes.pipelining.analyses import Analyses
from tilewright.backend_ptx.passes.pipelining.iterations import Iterations
from tilewright.backend_ptx.passes.pipelining.loops import Loop, body_of
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Copy, Recurrence, Transfer, name_of
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.engines import THREADS
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import arith, control
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.plan import Decision

Refusals = list[tuple[Loop, Decision]]

# Smaller tiles do not pay for an mbarrier, and the swizzles of tensor cores need as much.
LEAST_BYTES = 1024


def multiplies(loop: Loop) -> bool:
    """Whether a loop's body starts wgmma."""
    return any(is_outstanding(op) for op in body_of(loop).ops)


def brought_loads(unit: Unit) -> set[Load]:
    """The loads that a producer could issue by TMA, known before tiles have layouts."""
    seen = Analyses(unit)
    loops = [op for op in unit.function.walk() if isinstance(op, For) and multiplies(op)]
    return {op for loop in loops for op in body_of(loop).ops if isinstance(op, Load) and not tma_reason(op, seen)}


def _bytes(value: Value) -> int:
    return int(value.type.size * value.type.dtype.bytes)


def _reason_of_load(load: Load) -> str | None:
    """Why no engine may carry the tile of a load."""
    if not load.shape:
        return decisions.ONE_ELEMENT
    if load.latency == 1:
        return decisions.LATENCY_ONE
    if load.memory_order is not MemoryOrder.WEAK:
        return decisions.MEMORY_ORDER
    if load.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) and load.check_bounds:
        return decisions.padding(load.padding.value)
    return None


# ---- TMA ---------------------------------------------------------------------------------------------------------


def tma_reason(load: Load, seen: Analyses) -> str | None:
    """Why TMA may not load a tile."""
    refused = _reason_of_load(load)
    if refused is not None:
        return refused
    if load.allow_tma is False:
        return decisions.ALLOW_TMA_FALSE
    refused = tma_refusal(load.array.type, load.shape, load.steps, load.order)
    if refused is not None:
        return refused
    if load.array not in seen.params:
        return decisions.NO_PARAMETER
    if seen.dependences.alias_class(load.array) in seen.written:
        return decisions.KERNEL_WRITES
    around = seen.around(load)
    if any(not isinstance(op, (For, control.If)) for op in around):
        return decisions.WHILE_LOOP
    conditions = [op.cond for op in around if isinstance(op, control.If)]
    bounds = [v for op in around if isinstance(op, For) for v in (op.lower, op.upper, op.step)]
    if not seen.known_to_producer([*load.index, *conditions, *bounds]):
        return decisions.PLACE_FROM_THREADS
    size = _bytes(load.result)
    return decisions.few_bytes(size) if size < LEAST_BYTES else None


def tma_transfer(loop: Loop, load: Load, seen: Analyses) -> Transfer | str:
    """The transfer by TMA of a load in a loop's body, or why there is none."""
    refused = tma_reason(load, seen)
    if refused is not None:
        return refused
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    assert inner is not None
    dtype = load.result.type.dtype
    found = Transfer(load, bulk_layout(load.shape, inner, dtype.bytes), dtype)
    stages = _stages_in_slot(loop, load, seen)
    if stages and _only_leads_to(load.result, stages, seen.users):
        found.dtype = stages[0].result.type.dtype  # tfloat32 of float32: TMA rounds
    found.stages = [s for s in stages if s.result.type.dtype is found.dtype]
    found.moves = _moves_to(load.result, found.stages, seen.users)
    found.conversions = [op for op in body_of(loop).ops if isinstance(op, ConvertLayout) and op.src is load.result]
    return found


def _stages_in_slot(loop: Loop, load: Load, seen: Analyses) -> list[Stage]:
    """The staged operands that the slot itself can serve as: dense along the same axis, used by MMAs of this loop."""
    out = []
    for op in body_of(loop).ops:
        if not isinstance(op, Stage) or source_of(op.src)[0] is not load.result:
            continue
        if dense_axis(op.src) != next(i for i, part in enumerate(op.result.type.layout.bases(OFFSET)[0]) if part):
            continue
        if all(is_outstanding(u) and u in body_of(loop).ops for u in seen.users.get(op.result, [])):
            out.append(op)
    return out


def _only_leads_to(value: Value, stages: Collection[Op], users: Mapping[Value, list[Op]]) -> bool:
    """Whether a value's only uses are those staged operands, by ops that move axes."""
    found = users.get(value, [])
    return bool(found) and all(op in stages or _is_move(op, stages, users) for op in found)


def _is_move(op: Op, stages: Collection[Op], users: Mapping[Value, list[Op]]) -> bool:
    plain = len(op.results) == 1 and not op.blocks and not op.effects().writes
    return plain and _only_leads_to(op.results[0], stages, users)


def _moves_to(value: Value, stages: Collection[Op], users: Mapping[Value, list[Op]]) -> list[Op]:
    """The ops whose only users, from a value on, are staged operands."""
    moves = [op for op in users.get(value, []) if op not in stages and _is_move(op, stages, users)]
    return [*moves, *(beyond for op in moves for beyond in _moves_to(op.results[0], stages, users))]


def release_point(loop: Loop, transfer: Transfer, seen: Analyses) -> Op | None:
    """The op of the body after which nothing reads the slot; None if outstanding MMAs still do when the iteration
    ends."""
    order = {op: i for i, op in enumerate(body_of(loop).ops)}
    last = order[transfer.source]
    for user in seen.users.get(transfer.source.result, []):
        last = max(last, order[seen.at_level(user, body_of(loop))])
    for stage in transfer.stages:
        for product in seen.users[stage.result]:
            wait = next((op for op in body_of(loop).ops[order[product]:] if left_outstanding(op) is not None), None)
            if wait is None:
                return None
            last = max(last, order[wait])
    return body_of(loop).ops[last]


# ---- cp.async ----------------------------------------------------------------------------------------------------


def copied_transfer(
    loop: Loop, source: Load | Gather, seen: Analyses, warps: int, taken: Collection[Op],
) -> Transfer | str:
    """How threads prefetch the tile of a load or gather of a loop's body, or why they may not. Another engine carries
    the loads in `taken`."""
    refused = _reason_of_gather(source) if isinstance(source, Gather) else _reason_of_load(source)
    refused = refused or change_of_array(loop, source.array, seen)
    if refused is not None:
        return refused
    run = _gathered_run(source, seen) if isinstance(source, Gather) else GatherRun(1, -1)
    if isinstance(run, str):
        return run
    address = find_address(loop, source, seen, taken)
    if isinstance(address, str):
        return address
    if isinstance(loop, control.While) and not source.check_bounds:
        recurrence = find_recurrence(loop, address.params, seen)
        if isinstance(recurrence, str) or recurrence.condition is None:
            return decisions.ITERATION_TOO_LATE
    found = _staged_in(loop, source.result, seen) or _in_registers(source.result, seen)
    if isinstance(source, Gather):
        copy, vector = source.result.type.layout, run.length
    else:
        access = tile_access(source.array.type, source.order, source.steps, source.shape)
        if not access.contiguous:
            return decisions.NOT_SIDE_BY_SIDE
        copy = access.preferred(warps) if found.exchanged else source.result.type.layout
        vector = min(access.vector, vector_along(copy, access.order[0]))
    if not found.exchanged and is_replicated(copy):
        return decisions.SEVERAL_THREADS
    size = source.result.type.dtype.bytes
    slot = found.slot or ring_layout(copy, found.readers or (copy,), size)
    width = widest_copy(slot, copy, vector, size)
    if not width:
        return decisions.few_bytes_side_by_side(vector * size)
    how = Copy(copy, width, found.exchanged, address, run._replace(length=width // size))
    return Transfer(source, slot, source.result.type.dtype, list(found.stages), list(found.moves),
                    list(found.conversions), how)


class _Readers(NamedTuple):
    """The readers of a slot: MMAs (`slot` is its layout, `stages` and `moves` become superfluous), or threads with the
    layouts `readers`."""

    exchanged: bool
    slot: Layout | None = None
    stages: Sequence[Stage] = ()
    moves: Sequence[Op] = ()
    conversions: Sequence[ConvertLayout] = ()
    readers: tuple[Layout, ...] = ()


def _reason_of_gather(gather: Gather) -> str | None:
    if gather.result.type.layout is None:
        return decisions.ONE_ELEMENT
    if gather.latency == 1:
        return decisions.LATENCY_ONE
    return None if _is_zero(gather.padding) else "padding"


def _is_zero(padding: Value) -> bool:
    op = padding.op
    return isinstance(op, arith.Constant) and op.value == 0 and math.copysign(1, op.value) > 0


def _gathered_run(gather: Gather, seen: Analyses) -> GatherRun | str:
    """The longest run of a thread's elements that are contiguous in memory, along any axis, and share one mask
    value."""
    indices, layout = tuple(seen.runs[i] for i in gather.indices), gather.result.type.layout
    found = [(gather_run(gather.array.type, indices, axis), axis) for axis in range(len(gather.shape))]
    run = max((GatherRun(min(run.length, vector_along(layout, axis)), run.dense) for run, axis in found),
              default=GatherRun(1, -1))
    if run.length == 1:
        return decisions.NOT_KNOWN_SIDE_BY_SIDE
    if gather.mask is None:
        return run
    axis = next(a for a, r in enumerate(indices[run.dense]) if r.rises >= run.length)
    run = run._replace(length=min(run.length, seen.runs[gather.mask][axis].stays))
    return decisions.MASK_ENDS_BETWEEN if run.length == 1 else run


def _staged_in(loop: Loop, value: Value, seen: Analyses) -> _Readers | None:
    """The layout of a slot that is itself an operand of the loop's MMAs; None if there is none."""
    found = stages_of(value, seen.users)
    if found is None or not found[0] or _bytes(value) < LEAST_BYTES:
        return None
    stages, moves = found
    ops = body_of(loop).ops
    slots = {slot_of(s, value.type.shape) for s in stages}
    products = [p for s in stages for p in seen.users.get(s.result, [])]
    if len(slots) > 1 or any(op not in ops for op in (*stages, *moves)):
        return None
    if not all(is_outstanding(p) for p in products) or hides_products(loop):
        return None
    return _Readers(True, slots.pop(), stages, moves)


def hides_products(loop: Loop) -> bool:
    """Whether wgmma stand in branches or loops inside a loop."""
    return any(is_outstanding(op) and op not in body_of(loop).ops for op in body_of(loop).walk())


def _in_registers(value: Value, seen: Analyses) -> _Readers:
    """Threads read the slot: each what it copied itself or, if the layout is converted, what others copied."""
    conversions = [u for u in seen.users.get(value, []) if isinstance(u, ConvertLayout)]
    wanted = [u.result.type.layout for u in conversions]
    crossing = [w for w in wanted if plan_conversion(value.type.layout, w).kind in ("warp", "block")]
    return _Readers(bool(crossing), conversions=conversions if crossing else [], readers=tuple(crossing))


# ---- threads -----------------------------------------------------------------------------------------------------


def staged_transfer(stage: Stage) -> Transfer:
    """The slots of what threads stage for MMAs of a loop's body."""
    return Transfer(stage, stage.result.type.layout, stage.result.type.dtype, [stage])


# ---- of a function -----------------------------------------------------------------------------------------------


def find_tma(seen: Analyses) -> tuple[list[Channel], Refusals]:
    """Loads that TMA may carry, in loops with wgmma. Those whose slots are released at the same op form a channel, and
    consecutive loops share rings if their tiles fit."""
    channels: list[Channel] = []
    refused: Refusals = []
    for loop in (op for op in seen.function.walk() if isinstance(op, (For, control.While)) and multiplies(op)):
        found: dict[Op | None, Channel] = {}
        for op in body_of(loop).ops:
            if not isinstance(op, Load) or not op.shape:
                continue
            what = tma_transfer(loop, op, seen)
            if isinstance(what, str):
                refused.append((loop, decisions.stays_a_load("rings", name_of(op), what, op.span)))
                continue
            release = release_point(loop, what, seen)
            found.setdefault(release, Channel(TMA_LOAD, loop, [], release)).transfers.append(what)
        channels += found.values()
    for channel in channels:
        _share_ring(channel, channels, seen)
    return channels, refused


def _share_ring(channel: Channel, channels: Sequence[Channel], seen: Analyses) -> None:
    """Give a channel the ring of an earlier loop with the same tiles, or its own."""
    types = [t.type for t in channel.transfers]
    earlier = dict.fromkeys(c.ring for c in channels[:channels.index(channel)])
    free = (r for r in earlier if [*r.types] == types and all(_apart(channel.loop, c.loop, seen) for c in r.channels))
    channel.ring = next(free, channel.ring)
    channel.ring.channels.append(channel)


def _apart(one: Op, other: Op, seen: Analyses) -> bool:
    """Whether neither loop is, or contains, the other."""
    return one is not other and one not in seen.around(other) and other not in seen.around(one)


def find_copies(seen: Analyses, warps: int, carried: Collection[Op]) -> tuple[list[Channel], Refusals]:
    """Other loads and gathers of innermost loops that threads may prefetch."""
    channels: list[Channel] = []
    refused: Refusals = []
    for loop in (op for op in seen.function.walk() if isinstance(op, (For, control.While)) and _is_innermost(op)):
        found: list[Transfer] = []
        for kind in (Gather, Load):
            fetched = _only_fetched(loop, found)
            for op in body_of(loop).ops:
                if not isinstance(op, kind) or not op.shape or op in fetched or op in carried:
                    continue
                what = copied_transfer(loop, op, seen, warps, carried)
                if isinstance(what, Transfer):
                    found.append(what)
                elif kind is Gather:
                    refused.append((loop, decisions.stays_a_gather(name_of(op), what, op.span)))
                else:
                    refused.append((loop, decisions.stays_a_load("pipeline", name_of(op), what, op.span)))
        if found and not Iterations.countable(loop, seen.known):
            refused.append((loop, decisions.no_pipeline(decisions.BOUNDS_OVERFLOW, loop.span)))
        elif found:
            channel = Channel(CP_ASYNC, loop, found)
            needed = dict.fromkeys(p for t in found if t.copy is not None for p in t.copy.address.params)
            recurrence = find_recurrence(loop, needed, seen)
            assert isinstance(recurrence, Recurrence)
            channel.recurrence = recurrence
            channel.ring.channels.append(channel)
            channels.append(channel)
    return channels, refused


def _is_innermost(loop: Loop) -> bool:
    return not any(isinstance(op, (For, control.While)) for block in loop.blocks for op in block.walk())


def _only_fetched(loop: Loop, found: Sequence[Transfer]) -> set[Op]:
    """The ops of the body that only prefetched gathers need."""
    inside = {op for t in found if t.copy is not None for op in t.copy.address.inside}
    out: set[Op] = {t.source for t in found}
    for op in reversed(body_of(loop).ops):
        users = (user for user in body_of(loop).walk() if op.results and op.results[0] in user.operands)
        if op in inside and all(user in out for user in users):
            out.add(op)
    return out


def find_staged(seen: Analyses, running: Collection[Op], carried: Collection[Op]) -> list[Channel]:
    """Operands that threads compute, for MMAs that are outstanding in the next iteration."""
    channels = []
    for loop in (op for op in seen.function.walk() if isinstance(op, For)):
        stages = [op for op in body_of(loop).ops if isinstance(op, Stage) and op in running and op not in carried]
        if stages and not hides_products(loop):
            channel = Channel(THREADS, loop, [staged_transfer(s) for s in stages])
            channel.ring.channels.append(channel)
            channels.append(channel)
    return channels
