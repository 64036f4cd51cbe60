"""Bulk copies by TMA between arrays and shared memory, and the mbarriers on which loads complete.

PTX ISA: "cp.async.bulk.tensor", "cp.async.bulk.wait_group", "mbarrier". One thread, the first of the warps after the
consumers, executes the producer's ops. Shared addresses are 32-bit numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.boxes import box_starts
from tilewright.backend_ptx.layouts.bulk import ROW_BYTES, SLOT_ALIGN
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.integers import clamped
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import SharedRef, linear, shared_base, slot_offset
from tilewright.backend_ptx.map_records import FAR, MAP_BYTES, MOST
from tilewright.backend_ptx.ops import bulk as ops
from tilewright.backend_ptx.roles import PRODUCER
from tilewright.backend_ptx.tensor_maps import copy_of, part_shape, tensor_map_spec
from tilewright.tileir.analysis.described import described
from tilewright.tileir.core import Function, Value
from tilewright.tileir.layouts.flat import LANE_BITS, log2

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


@lower(ops.MbarrierInit)
def mbarrier_init(ctx: Context, op: ops.MbarrierInit) -> None:
    init_mbarriers(ctx, [op])


def init_mbarriers(ctx: Context, rings: Sequence[ops.MbarrierInit]) -> None:
    """One thread initialises all; the fences make it visible to the copies and, after a barrier of the CTA or cluster,
    to all threads: an arrival that releases would be a fence of the whole GPU. The same thread has the tensor maps
    fetched, which the first copies would wait for.
    """
    b = ctx.b
    with b.when(b.icmp("eq", ctx.tid, 0), "init"):
        for position, param in enumerate(ctx.abi.params):
            if param.kind == "tensor_map":
                instruction("prefetch.tensormap").emit(b, ctx.param(position))
        for op in rings:
            ctx.locate(op.span)
            init_ring(ctx, ctx[op.barriers], op.count)
        instruction("fence.mbarrier_init").emit(b)
        instruction("fence.proxy.async").emit(b)
    for record in ("cluster.arrive.relaxed", "cluster.wait") if shares_operands(ctx.function) else ("bar.sync",):
        instruction(record).emit(b)


def init_ring(ctx: Context, ref: SharedRef, count: int) -> None:
    """In one thread: every mbarrier of a ring waits for `count` arrivals."""
    b, first = ctx.b, shared_number(ctx, ref)
    for slot in range(ref.type.copies):
        instruction("mbarrier.init").emit(b, b.add(first, slot * ref.type.bytes), b.const("i32", count))


@lower(ops.MbarrierWait)
def mbarrier_wait(ctx: Context, op: ops.MbarrierWait) -> None:
    parity = ctx.integer(op.parity, "i32")
    instruction("mbarrier.wait").emit(ctx.b, shared_number(ctx, ctx[op.barriers], op.slot), parity)


@lower(ops.MbarrierArrive)
def mbarrier_arrive(ctx: Context, op: ops.MbarrierArrive) -> None:
    """The other lanes have read what they needed before lane 0 says so."""
    b = ctx.b
    instruction("bar.warp.sync").emit(b)
    first = b.icmp("ult", ctx.lane(), op.ctas)  # lane r arrives for CTA r of the cluster
    chosen = first if op.active is None else b.and_(first, ctx[op.active])
    place = shared_number(ctx, ctx[op.barriers], op.slot)
    if op.ctas == 1:
        instruction("mbarrier.arrive.held" if op.held else "mbarrier.arrive").emit(b, place, chosen)
    else:
        instruction("mbarrier.arrive.remote").emit(b, place, ctx.lane(), chosen)


@lower(ops.MbarrierExpect)
def mbarrier_expect(ctx: Context, op: ops.MbarrierExpect) -> None:
    place = shared_number(ctx, ctx[op.barriers], op.slot)
    instruction("mbarrier.expect_tx").emit(ctx.b, place, ctx.b.const("i32", op.bytes), issuing_thread(ctx))


@lower(ops.TmaLoad)
def tma_load(ctx: Context, op: ops.TmaLoad) -> None:
    """One instruction for each TMA box; all arrive on the slot's mbarrier, and on those of all CTAs that receive them.
    In a cluster each CTA copies its part of the slot, into the slots of all."""
    b, ref, chosen = ctx.b, ctx[op.buffer], issuing_thread(ctx)
    copy, part = copy_of(op), part_shape(op)
    check_alignment(ref, copy.swizzle)
    slot, barrier = shared_number(ctx, ref, op.slot), shared_number(ctx, ctx[op.barriers], op.slot)
    spec = tensor_map_spec(op, ctx.function.params)
    source, clip = _map_address(ctx, op.array, ctx.abi.map_position(spec)), Clip(ctx, op.array)
    record, receivers, axes = instruction(f"tma.load.{spec.rank}d"), list[Val](), copy.dims
    if op.ctas > 1:
        record, axes = instruction(f"tma.load.multicast.{spec.rank}d"), tuple(range(len(part)))
        receivers.append(b.const("i16", (1 << op.ctas) - 1))
        slot = b.add(slot, b.mul(cluster_rank(ctx), math.prod(part) * op.buffer.type.dtype.bytes))
    for start, offset in copy.pieces:
        first = {k: clip.shifted(op.order[k], op.index[k], coordinate(ctx, op.index[k], op.steps[k], start[k]))
                 for k in axes}
        for k, n in enumerate(part):
            if n != op.shape[k]:
                first[k] = b.add(first[k], b.mul(cluster_rank(ctx), n))
        place = *(first[k] for k in copy.dims), *clip.further
        record.emit(b, b.add(slot, offset), source, barrier, *place, *receivers, chosen)


@lower(ops.TmaAcquire)
def tma_acquire(ctx: Context, op: ops.TmaAcquire) -> None:
    """For each map of the array that the kernel has."""
    found = described(op.array, ctx.function.params)
    assert found is not None, f"the launch does not see {op.array.type}"
    number = ctx.function.params.index(found.param)
    chosen = issuing_thread(ctx) if op.role == PRODUCER else _starting_threads(ctx, op.warps)
    if op.active is not None:
        chosen = ctx.b.and_(chosen, ctx[op.active])
    for position, param in enumerate(ctx.abi.params):
        if param.kind == "map_table" and param.argument == number:
            instruction("fence.tensormap").emit(ctx.b, _map_address(ctx, op.array, position), chosen)


def _map_address(ctx: Context, array: Value, position: int) -> Val:
    """The generic address of an array's tensor map: a parameter of the kernel, or in the table of its list."""
    b, found = ctx.b, described(array, ctx.function.params)
    if found is None or found.entry is None:
        return ctx.param(position)
    place = b.gep(ctx.param(position), b.mul(ctx.integer(found.entry, "i64"), MAP_BYTES))
    return b.cast("addrspacecast", place, "ptr")


class Clip:
    """The coordinates of a slice's elements in the map of the array that it is a part of: map_records.py has the map.
    A slice that ends where the array does begins further on in it, and what is beyond one is beyond the other.

    `further` are those of the further dimensions: where the slice ends in the array, and the way around.
    """

    def __init__(self, ctx: Context, array: Value) -> None:
        found = described(array, ctx.function.params)
        assert found is not None, f"the launch does not see {array.type}"
        self._ctx = ctx
        self._shifts: dict[int, Val] = {}
        further = list[Val]()
        for axis in found.sliced:
            inner, *outer = (op for op in found.slices if op.axis == axis)
            start, *starts = (ctx.integer(op.start, "i32") for op in (inner, *outer))
            if axis in found.clips:
                stop = ctx.integer(inner.stop, "i32")
                self._shifts[axis] = ctx.b.add(ctx.b.sub(start, stop), FAR)
                stop = reduce(ctx.b.add, starts, stop)
                further += stop, ctx.b.like(stop, FAR)
            else:
                self._shifts[axis] = reduce(ctx.b.add, starts, start)
        self.further = tuple(further)

    def shifted(self, axis: int, index: Value, place: Val) -> Val:
        """Where the map has the element at `place` of the slice. A tile at a negative index lies outside all of it."""
        if axis not in self._shifts:
            return place
        ctx, b = self._ctx, self._ctx.b
        shifted = b.add(self._shifts[axis], place)
        if ctx.facts[index].low >= 0:
            return shifted
        return b.select(b.icmp("slt", ctx.integer(index, "i64"), 0), b.like(shifted, _HIGH), shifted)


def cluster_rank(ctx: Context) -> Val:
    """The rank of this CTA in its cluster."""
    return ctx.special_register("cluster.ctarank")


def shares_operands(function: Function) -> bool:
    """Whether CTAs reach each other's shared memory."""
    return any(isinstance(op, ops.MbarrierArrive) and op.ctas > 1 for op in function.walk())


def check_alignment(ref: SharedRef, swizzle: int) -> None:
    """A swizzle is a function of the address, a slot's layout one of the offset: they agree at whole patterns."""
    pattern = 8 * swizzle or ROW_BYTES
    assert ref.offset % SLOT_ALIGN == 0, f"{ref.type} is planned at offset {ref.offset}"
    assert ref.type.copies == 1 or ref.type.bytes % pattern == 0, f"slots of {ref.type} cut the swizzle"


def coordinate(ctx: Context, index: Value, step: int, start: int) -> Val:
    """index * step + start in i32. What is too large for it lies outside every array, and so does what it becomes: the
    last place below 2^31 that an index has is above MOST."""
    b, known = ctx.b, ctx.facts[index]
    if not known.within(_LOW, _HIGH) or step > _HIGH - MOST:
        wide = b.add(b.mul(ctx.integer(index, "i64"), step), start)
        return b.cast("trunc", clamped(b, wide, _LOW, _HIGH), "i32")
    number, most = ctx.integer(index, "i32"), (_HIGH - start) // step
    if known.high > most:
        number = b.intrinsic("llvm.smin", [number, b.like(number, most)])
    if known.low * step < _LOW:
        number = b.intrinsic("llvm.smax", [number, b.like(number, -(-_LOW // step))])
    return b.add(b.mul(number, step), start)


def issuing_thread(ctx: Context) -> Val:
    """Whether this thread executes its role: the first of the role's warps."""
    first = ctx.first_thread
    return ctx.once(("issuing thread", first), lambda b: b.icmp("eq", ctx.tid, first))


def shared_number(ctx: Context, ref: SharedRef, slot: Value | None = None) -> Val:
    """The address of a buffer, or of a slot of it, as a 32-bit number."""
    b, base = ctx.b, shared_base(ctx)
    offset = slot_offset(ctx, ref, slot, 0)
    return b.add(base if offset is None else b.add(base, offset), ref.offset)


# ---- stores ----------------------------------------------------------------------------------------------------------


@lower(ops.TmaStore)
def tma_store(ctx: Context, op: ops.TmaStore) -> None:
    """One instruction for each TMA box, or a few, in one group. Only the first lanes of warps start copies; the group
    of any other lane is empty."""
    b = ctx.b
    copy, spec = copy_of(op), tensor_map_spec(op, ctx.function.params)
    ref: SharedRef = ctx[op.buffer]
    starts = box_starts(ref.type.layout, op.box)
    box_bytes = ref.type.bytes // len(starts)
    check_alignment(ref, copy.swizzle)
    assert op.warps == 1 or box_bytes % (8 * copy.swizzle or ROW_BYTES) == 0, f"boxes of {ref.type} cut the swizzle"
    # A power of two of boxes for each warp: the warp's number chooses by its bits where its own start.
    each = len(starts) // op.warps
    chosen = _starting_threads(ctx, op.warps)
    source = b.add(shared_number(ctx, ref), _by_warp(ctx, [box_bytes * each << k for k in range(log2(op.warps))]))
    first = {k: _by_warp(ctx, [starts[each << bit][k] for bit in range(log2(op.warps))]) for k in copy.dims}
    map_, clip = _map_address(ctx, op.array, ctx.abi.map_position(spec)), Clip(ctx, op.array)
    record = instruction(f"tma.store.{spec.rank}d")
    for number, box in enumerate(starts[:each]):
        for start, offset in copy.pieces:
            at = {k: coordinate(ctx, op.index[k], op.steps[k], box[k] + start[k]) for k in copy.dims}
            place = [b.add(clip.shifted(op.order[k], op.index[k], at[k]), first[k]) for k in copy.dims]
            record.emit(b, map_, b.add(source, number * box_bytes + offset), *place, *clip.further, chosen)
    instruction("tma.store.commit").emit(b)


def _by_warp(ctx: Context, contributions: list[int]) -> Val:
    """What the bits of the warp's number add up to; each contributes bits of its own."""
    bits = tuple((LANE_BITS + k, part) for k, part in enumerate(contributions) if part)

    def make(b: Builder) -> Val:
        warp = ctx.uniform("uniform warp", lambda _: ctx.warp())  # else ptxas would put a loop around the copy
        return linear(b, b.shl(warp, LANE_BITS), list(bits))

    return ctx.once(("by warp", bits), make)


def _starting_threads(ctx: Context, warps: int) -> Val:
    """Whether this thread is the first lane of one of the first `warps` warps."""
    if warps == 1:
        return ctx.is_first()
    assert warps == ctx.warps, f"{warps} warps of {ctx.warps} have boxes"
    return ctx.once("first lane", lambda b: b.icmp("eq", ctx.lane(), 0))


@lower(ops.TmaStoreWait)
def tma_store_wait(ctx: Context, op: ops.TmaStoreWait) -> None:
    instruction(f"tma.store.{'wait' if op.written else 'wait_read'}.{op.pending}").emit(ctx.b)
