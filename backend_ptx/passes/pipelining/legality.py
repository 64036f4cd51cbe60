"""Legality: which engines may carry a tile that a loop loads, gathers or stages, and why others may not.

TMA: tiles that a tensor map describes, and whose address the producer can compute from parameters, loop variables,
block indices and arrays that the kernel does not write. cp.async: tiles that threads can copy at least 4 bytes at a
time, from an address known some iterations early. Threads: what they stage for wgmma.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.bulk import bulk_layout, inner_axis, tma_refusal
from tilewright.backend_ptx.layouts.matrices import ring_layout, widest_copy
from tilewright.backend_ptx.layouts.memory import VECTOR_BYTES, tile_access
from tilewright.backend_ptx.layouts.warpgroup import WARPS
from tilewright.backend_ptx.ops.engines import CP_ASYNC, TMA_LOAD
from tilewright.backend_ptx.ops.matmul import covering_wait, is_outstanding, left_outstanding, starts_ahead
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.matmul.operands import dense_axis, slot_of
from tilewright.backend_ptx.passes.matmul.turns import waited_runs
from tilewright.backend_ptx.passes.pipelining.addresses import change_of_array, early, find_address
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, RefusalError, Ring, Source, Transfer, name_of
from tilewright.backend_ptx.tensor_maps import refusal
from tilewright.tileir.analysis.accesses import GatherWidths
from tilewright.tileir.analysis.chains import only_used_by
from tilewright.tileir.analysis.described import described
from tilewright.tileir.analysis.moved import moves_to, source_of
from tilewright.tileir.analysis.neighbours import GatherRun
from tilewright.tileir.analysis.recurrences import find_recurrence
from tilewright.tileir.analysis.scalars import deciding
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.uses import only_for
from tilewright.tileir.carried import Loop, Region, body_of, innermost_loops
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.engines import THREADS
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.iterations import Iterations
from tilewright.tileir.layouts.flat import OFFSET
from tilewright.tileir.layouts.queries import is_replicated, vector_along
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.passes.start_early import bring_up
from tilewright.tileir.plan import Decision

# Smaller tiles do not pay for an mbarrier of their own, and the swizzles of tensor cores need as much.
LEAST_BYTES = 1024


def multiplies(loop: Region) -> bool:
    """Whether it is a loop whose body starts wgmma."""
    return not isinstance(loop, Function) and any(is_outstanding(op) for op in body_of(loop).ops)


def brought_loads(unit: Compilation) -> set[Load]:
    """The loads that a producer could issue by TMA, known before tiles have layouts."""
    loops = [op for op in unit.function.walk() if isinstance(op, (For, While)) and multiplies(op)]
    return {op for loop in loops for op in body_of(loop).ops if isinstance(op, Load) and not tma_reason(op, unit)}


def _reason(source: Load | Gather) -> str | None:
    """Why no engine may carry the tile of a load or gather."""
    if not source.shape:
        return decisions.ONE_ELEMENT
    if source.latency == 1:
        return decisions.LATENCY_ONE
    if isinstance(source, Gather):
        return None if _is_zero(source.padding) else "padding"
    if source.memory_order is not MemoryOrder.WEAK:
        return decisions.MEMORY_ORDER
    if source.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) and source.check_bounds:
        return decisions.PADDING.format(source.padding.value)
    return None


def _is_zero(padding: Value) -> bool:
    op = padding.op
    return isinstance(op, Constant) and op.value == 0 and math.copysign(1, op.value) > 0


# ---- operands of wgmma in slots ----------------------------------------------------------------------------------


def _stages_of(loop: Region, value: Value) -> list[Stage]:
    """The staged operands in a loop's body that show a tile, its axes at most moved."""
    return [op for op in body_of(loop).ops if isinstance(op, Stage) and source_of(op.src)[0] is value]


# ---- TMA ---------------------------------------------------------------------------------------------------------


def tma_reason(load: Load, unit: Compilation, least: int = LEAST_BYTES) -> str | None:
    """Why TMA may not load a tile."""
    if refused := _reason(load) or (decisions.ALLOW_TMA_FALSE if load.allow_tma is False else None):
        return refused
    place = described(load.array, unit.function.params)
    if place is None:
        return tma_refusal(load.array.type, load.shape, load.steps, load.order) or decisions.NO_PARAMETER
    if refused := refusal(load, load.shape, load.steps, place, unit.facts):
        return refused
    if place.entry is not None and not unit.target.has_map_tables:
        return decisions.OLD_DRIVER
    if unit.dependences.alias_class(load.array) in unit.dependences.changing:
        return decisions.KERNEL_WRITES
    around = unit.around(load)
    if any(isinstance(op, While) and unit.homes[inner] is op.before for inner, op in pairwise((load, *around))):
        return decisions.WHILE_CONDITION
    if not unit.scalars.known([v for op in around for v in deciding(op)]):
        return decisions.RUNS_FROM_THREADS
    if not unit.scalars.known([*load.index, *place.scalars]):
        return decisions.PLACE_FROM_THREADS
    size = load.result.type.bytes
    return decisions.FEW_BYTES.format(size) if size < least else None


def tma_transfer(loop: Region, load: Load, unit: Compilation) -> Transfer:
    """The transfer by TMA of a load in a loop's body, however small; RefusalError says why there is none."""
    if refused := tma_reason(load, unit, least=0):
        raise RefusalError(refused)
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    assert inner is not None
    value, dtype, ops = load.result, load.result.type.dtype, body_of(loop).ops
    readers = ops if multiplies(loop) else [*body_of(loop).walk()]
    stages = [s for s in _stages_of(loop, value) if _is_dense(s) and all(
        is_outstanding(u) and u in readers for u in unit.uses.get(s.result, ()))]
    if stages and only_used_by(value, [*stages, *moves_to(stages, body_of(loop), unit)], unit):
        dtype = stages[0].result.type.dtype  # tfloat32 of float32: TMA rounds
    stages = [s for s in stages if s.result.type.dtype is dtype]
    conversions = [op for op in ops if isinstance(op, ConvertLayout) and op.src is value]
    slot = bulk_layout(load.shape, inner, dtype.bytes)
    return Transfer(load, slot, dtype, stages, moves_to(stages, body_of(loop), unit), conversions)


def _is_dense(stage: Stage) -> bool:
    """Whether an operand is dense along the axis along which its array is, as a slot that TMA fills."""
    first = stage.result.type.layout.bases(OFFSET)[0]
    return dense_axis(stage.src) == next(axis for axis, part in enumerate(first) if part)


def _stays_inside(loop: Region, load: Load, unit: Compilation) -> bool:
    """Whether a tile is an operand of MMAs in loops inside this one, and nothing else. What a team of warps would skip
    of its ring is not that of the others."""
    stages = [s for s in _stages_of(loop, load.result) if _is_dense(s)] if unit.plan.teams == 1 else []
    return bool(stages) and only_used_by(load.result, [*stages, *moves_to(stages, body_of(loop), unit)], unit)


def release_point(loop: Loop, transfer: Transfer, unit: Compilation) -> Op | None:
    """The op of the body after which nothing reads the slot; None if outstanding MMAs still do when the iteration
    ends. What only threads read is released when they have started the MMAs that they read it for, or,
    if they wait for their turn with these, at once. MMAs of a loop in the body are complete after it, or after the wait
    for those that it leaves outstanding."""
    ops = body_of(loop).ops
    order = {op: i for i, op in enumerate(ops)}
    users = unit.uses.get(transfer.source.result, ())
    last = [transfer.source, *(next(op for op in (user, *unit.around(user)) if op in order) for user in users)]
    for product in (p for stage in transfer.stages for p in unit.uses[stage.result]):
        top, home = next(op for op in (product, *unit.around(product)) if op in order), unit.homes[product].ops
        ended = top is not product and covering_wait(home[home.index(product) + 1:])
        wait = top if ended else covering_wait(ops[order[top] + 1:])
        if wait is None:
            return None
        last.append(wait)
    found = max(last, key=order.__getitem__)
    if transfer.stages or waited_runs(unit, loop):
        return found
    return next(filter(is_outstanding, ops[order[found]:]), found)


# ---- cp.async ----------------------------------------------------------------------------------------------------


def copied_transfer(loop: Loop, source: Load | Gather, unit: Unit, warps: int, taken: Collection[Op]) -> Transfer:
    """How threads prefetch the tile of a load or gather of a loop's body; RefusalError says why they may not. Another
    engine carries the loads in `taken`."""
    if refused := _reason(source) or change_of_array(loop, source.array, unit):
        raise RefusalError(refused)
    value, layout = source.result, source.result.type.layout
    run = _gathered_run(source, unit) if isinstance(source, Gather) else GatherRun()
    address = find_address(loop, source, unit, taken)
    if not (source.check_bounds or isinstance(loop, For)):
        recurrence = find_recurrence(loop, address.params, early(unit))
        if recurrence is None or recurrence.condition is None:
            raise RefusalError(decisions.ITERATION_TOO_LATE)
    stages = _read_by_mmas(loop, value, unit)
    conversions = [u for u in unit.uses.get(value, ()) if isinstance(u, ConvertLayout)]
    crossing = tuple(u.result.type.layout for u in conversions if u.crosses)
    exchanged = bool(stages or crossing)
    if isinstance(source, Gather):
        threads, vector = layout, run.length
    else:
        access = tile_access(source.array.type, source.order, source.steps, source.shape)
        if not access.contiguous:
            raise RefusalError(decisions.NOT_SIDE_BY_SIDE)
        if address.fetched and not exchanged:
            raise RefusalError(decisions.FETCHED_FOR_ITSELF)
        threads = access.preferred(warps) if exchanged else layout
        vector = min(access.vector, vector_along(threads, access.order[0]))
    if not exchanged and is_replicated(threads):
        raise RefusalError(decisions.SEVERAL_THREADS)
    size = value.type.dtype.bytes
    slot = slot_of(stages[0], source.shape) if stages else ring_layout(threads, crossing or (threads,), size)
    width = widest_copy(slot, threads, vector, size)
    if not width:
        raise RefusalError(decisions.FEW_BYTES_SIDE_BY_SIDE.format(vector * size))
    return Transfer(
        source, slot, value.type.dtype, stages, moves_to(stages, body_of(loop), unit), conversions if crossing else [],
        exchanged=exchanged, threads=threads, width=width, run=run._replace(length=width // size), address=address)


def _gathered_run(gather: Gather, unit: Unit) -> GatherRun:
    """The longest run of a thread's elements that are contiguous in memory, along any axis, and share one mask
    value."""
    widths = GatherWidths(gather, gather.array.type, gather.result.type.layout, unit.facts, unit.runs, VECTOR_BYTES)
    if widths.vector == 1:
        raise RefusalError(decisions.NOT_KNOWN_SIDE_BY_SIDE)
    masked = widths.vector if gather.mask is None else unit.runs[gather.mask][widths.axis].stays
    if min(widths.vector, masked) == 1:
        raise RefusalError(decisions.MASK_ENDS_BETWEEN)
    return GatherRun(min(widths.vector, masked), widths.dense)


def _read_by_mmas(loop: Loop, value: Value, unit: Unit) -> list[Stage]:
    """The operands of the loop's MMAs that a slot of one layout can serve as, if a tile has no other use."""
    stages = _stages_of(loop, value)
    products = [p for s in stages for p in unit.uses.get(s.result, ())]
    served = (
        only_used_by(value, [*stages, *moves_to(stages, body_of(loop), unit)], unit) and value.type.bytes >= LEAST_BYTES
        and all(s.result.type.dtype is value.type.dtype for s in stages)
        and len({slot_of(s, value.type.shape) for s in stages}) == 1
        and all(is_outstanding(p) for p in products) and not hides_products(loop))
    return stages if served else []


def hides_products(loop: Region) -> bool:
    """Whether wgmma stand in branches or loops inside a loop or function."""
    return any(is_outstanding(op) and op not in body_of(loop).ops for op in body_of(loop).walk())


# ---- of a function -----------------------------------------------------------------------------------------------


def stays(ring: str, source: Source, why: str) -> Decision:
    """The decision that no ring of that engine carries a tile."""
    return decisions.stays(ring, name_of(source), "gather" if isinstance(source, Gather) else "load", why, source.span)


def find_tma(unit: Compilation) -> tuple[list[Channel], list[Decision]]:
    """Loads that TMA may carry, in loops with wgmma, and operands that stay the same in such a loop, in the loop around
    it, or once where none is. Those whose slots are released at the same op form a channel, and consecutive loops share
    rings if their tiles fit."""
    channels: list[Channel] = []
    refused: list[Decision] = []
    for loop in (*(op for op in unit.function.walk() if isinstance(op, (For, While))), unit.function):
        found: dict[Op | None, list[Transfer]] = {}
        small: dict[Transfer, Op | None] = {}
        for op in body_of(loop).ops if multiplies(loop) or hides_products(loop) else ():
            if not isinstance(op, Load) or not op.shape or not (multiplies(loop) or _stays_inside(loop, op, unit)):
                continue
            try:
                transfer = tma_transfer(loop, op, unit)
            except RefusalError as why:
                refused.append(stays("rings", op, str(why)))
                continue
            release = op if isinstance(loop, Function) else release_point(loop, transfer, unit)
            if op.result.type.bytes < LEAST_BYTES:
                small[transfer] = release
            else:
                found.setdefault(release, []).append(transfer)
        refused += _join(loop, small, found)
        if not multiplies(loop):
            found.pop(None, None)  # an iteration does not wait for them
        for release, transfers in found.items():
            rings = [c.ring for c in channels]
            ring = Ring() if isinstance(loop, Function) else _free_ring(loop, transfers, rings, unit)
            channels.append(Channel(TMA_LOAD, loop, transfers, release, ring))
    return channels if any(multiplies(c.region) for c in channels) else [], refused


def _join(loop: Region, small: dict[Transfer, Op | None], found: dict[Op | None, list[Transfer]]) -> Iterator[Decision]:
    """Tiles that do not pay for an mbarrier of their own, and that only threads read, come with those that are released
    next after them. Both are given with their release. Indices of gathers, which threads prefetch, must be known
    before."""
    ops = body_of(loop).ops
    end: dict[Op | None, int] = {None: len(ops)} | {op: number for number, op in enumerate(ops)}
    gathers = any(isinstance(op, Gather) for op in ops)
    for transfer, own in small.items():
        hosts = [release for release in found if end[release] >= end[own] and not (gathers or transfer.stages)]
        if hosts:
            found[min(hosts, key=end.__getitem__)].append(transfer)
        else:
            yield stays("rings", transfer.source, decisions.FEW_BYTES.format(transfer.type.bytes))


def _free_ring(loop: Loop, transfers: Sequence[Transfer], rings: Sequence[Ring], unit: Unit) -> Ring:
    """The ring of earlier loops with the same tiles that neither are nor contain this one, or are in it; else a new
    one."""
    def apart(other: Loop) -> bool:
        return loop is not other and loop not in unit.around(other) and other not in unit.around(loop)

    types = tuple(t.type for t in transfers)
    return next((r for r in rings if r.types == types and all(apart(c.loop) for c in r.channels)), Ring())


def find_copies(unit: Unit, warps: int, carried: Collection[Op]) -> tuple[list[Channel], list[Decision]]:
    """Other loads and gathers of innermost loops that threads may prefetch."""
    channels: list[Channel] = []
    refused: list[Decision] = []
    for loop in innermost_loops(unit.function):
        found: list[Transfer] = []
        why: dict[Load | Gather, str] = {}
        for kind in (Gather, Load):
            fetched = only_for([t.source for t in found], body_of(loop), unit.uses)
            for op in body_of(loop).ops:
                if not isinstance(op, kind) or not op.shape or op in fetched or op in carried:
                    continue
                try:
                    found.append(copied_transfer(loop, op, unit, warps, carried))
                except RefusalError as error:
                    why[op] = str(error)
        fetched = only_for([t.source for t in found], body_of(loop), unit.uses)
        refused += [stays("pipeline", op, text) for op, text in why.items() if op not in fetched]
        if found and not Iterations.countable(loop, unit.facts):
            refused.append(decisions.no_pipeline(decisions.BOUNDS_OVERFLOW, loop.span))
        elif found:
            needed = dict.fromkeys(p for t in found for p in t.address.params)
            channels.append(Channel(CP_ASYNC, loop, found, recurrence=find_recurrence(loop, needed, early(unit))))
    return channels, refused


def find_staged(unit: Unit, running: Collection[Op], handed: Collection[Op], carried: Collection[Op]) -> list[Channel]:
    """Operands that threads compute, for MMAs that are outstanding in the next iteration, or that are `handed` on
    early in this one."""
    channels: list[Channel] = []
    for loop in (op for op in unit.function.walk() if isinstance(op, For) and not hides_products(op)):
        for ops in (running, handed):
            stages = [op for op in body_of(loop).ops if isinstance(op, Stage) and op in ops and op not in carried]
            if stages:
                transfers = [Transfer(s, s.result.type.layout, s.result.type.dtype, [s]) for s in stages]
                rings = [c.ring for c in channels if c.late is False] if ops is handed else []
                ring = _free_ring(loop, transfers, rings, unit)
                channels.append(Channel(THREADS, loop, transfers, stages[0] if ops is handed else None, ring))
    return channels


def stage_early(unit: Compilation, running: Collection[Op]) -> set[Op]:
    """Move operands that threads only turn above the first wait of an iteration that waits for its MMAs, so that an
    MMA runs meanwhile. Gives those of loops in which several warpgroups need not meet otherwise."""
    found: set[Op] = set()
    for loop in (op for op in unit.function.walk() if isinstance(op, For) and not hides_products(op)):
        ops = body_of(loop).ops
        first = next((op for op in ops if left_outstanding(op) is not None), None)
        late = starts_ahead(ops)
        for stage in (op for op in [*ops] if isinstance(op, Stage) and (late or op not in running)):
            value = source_of(stage.src)[0]
            load = source_of(value.op.src)[0].op if isinstance(value.op, ConvertLayout) else value.op
            if first and isinstance(load, Load) and not _is_dense(stage) and not tma_reason(load, unit):
                bring_up(body_of(loop), stage, ops[0] if stage in running else first)
                found.add(stage)
    return found if unit.plan.warps > WARPS and unit.plan.teams == 1 else set()
