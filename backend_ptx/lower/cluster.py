"""Exchanges between CTAs of a cluster: stores to each other's shared memory that complete on mbarriers there.

PTX ISA: "st.async", "mapa", "barrier.cluster". An mbarrier's phase completes when one thread of its CTA has announced
the bytes of all CTAs and these have landed. No fence is needed: cluster barriers with release semantics cost each
thread a GPU-wide fence (1.2 us for each exchange of a row's sum between two CTAs of 512 threads, H200).
"""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.bulk import cluster_rank, init_ring, shared_number
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.positions import index_vector, owner
from tilewright.backend_ptx.lower.registry import emits, lower, refuse
from tilewright.backend_ptx.ops import cluster as ops
from tilewright.tileir.layouts.flat import LANE
from tilewright.tileir.layouts.queries import copies

refuse(ops.ClusterGather, "share_gathered makes an exchange of it first",
       "this is a defect of the backend, please report it")


@lower(ops.ClusterOpen)
def cluster_open(ctx: Context, op: ops.ClusterOpen) -> None:
    """One thread initialises all mbarriers; threads that observed its arrival may complete transactions on them."""
    b = ctx.b
    with b.when(b.icmp("eq", ctx.tid, 0), "init"):
        for barriers in op.barriers:
            init_ring(ctx, ctx[barriers], 1)
        instruction("fence.mbarrier_init").emit(b)
    instruction("cluster.arrive.relaxed").emit(b)


emits(ops.ClusterReady, "cluster.wait")


@lower(ops.ClusterExchange)
def cluster_exchange(ctx: Context, op: ops.ClusterExchange) -> None:
    """The slots alternate, each with an mbarrier of its own, whose phase changes when it comes again.

    A CTA sends after all its threads have read what it received the time before, and receives the rows of all others
    before it may send again. So no CTA sends to a slot that another still reads, or that still waits for its last rows.
    """
    b, size, count, layout = ctx.b, op.value.type.dtype.bytes, op.buffer.type.shape[0], ctx.layout(op.value)
    # Of lanes that hold the same elements each sends them to one CTA, all at once.
    lanes = count - 1 if copies(layout, LANE) & count - 1 == count - 1 else 0
    chosen = owner(ctx, layout, lanes) or b.const("i1", 1)
    ranks = [b.and_(ctx.tid, lanes)] if lanes else [b.const("i32", rank) for rank in range(count)]
    number = _number(ctx, op)
    ctx.set(op.result, b.and_(number, ops.SLOTS - 1))
    barrier = shared_number(ctx, ctx[op.barriers], op.result)
    if op.again:
        instruction("bar.sync").emit(b)
    instruction("mbarrier.expect_tx").emit(
        b, barrier, b.const("i32", count * op.value.type.size * size), b.icmp("eq", ctx.tid, 0))
    start = shared_number(ctx, ctx[op.buffer], op.result)
    row = b.mul(cluster_rank(ctx), op.value.type.size)
    values, places = ctx[op.value], index_vector(ctx, layout, 0)
    record = instruction(f"cluster.send.b{8 * size}")
    for register in range(values.n):
        place = b.add(start, b.mul(b.add(row, b.extract(places, register)), size))
        bits = b.bitcast(b.extract(values, register), f"i{8 * size}")
        for rank in ranks:
            record.emit(b, place, barrier, rank, bits, chosen)
    instruction("mbarrier.wait").emit(b, barrier, b.lshr(number, 1))


def _number(ctx: Context, op: ops.ClusterExchange) -> Val:
    """The number of earlier executions, modulo twice the slots: in a variable that LLVM promotes to a register."""
    if not op.again:
        return ctx.b.const("i32", 0)
    with ctx.b.prologue():
        variable = ctx.b.emit("ptr", 0, "alloca i32, align 4")
        ctx.b.store(ctx.b.const("i32", 0), variable, 4)
    number = ctx.b.load("i32", 0, variable, 4)
    ctx.b.store(ctx.b.and_(ctx.b.add(number, 1), 2 * ops.SLOTS - 1), variable, 4)
    return number
