"""Lower gathers among the CTAs of a cluster to sends into each other's shared memory.

    before: %g: tile<2x1xf32, #0> = cluster_gather(src=%x, ctas=2)     // %x: tile<1xf32, #1>
    after:  %b: shared<2, i64> = shared_alloc(type=...)                // at the start of the kernel
            cluster_open(barriers=(%b))
            ...
            cluster_ready()                                            // before the first exchange
            %0: shared<2, 2x1xf32, #2> = shared_alloc(type=...)        // two slots
            %s: i32 = cluster_exchange(buffer=%0, barriers=%b, value=%x)    // the CTA of rank r writes row r in all
            %g: tile<2x1xf32, #0> = shared_load(buffer=%0, slot=%s, shape=(2, 1))
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.cluster import (
    SLOTS,
    ClusterExchange,
    ClusterGather,
    ClusterOpen,
    ClusterReady,
    exchanges,
)
from tilewright.backend_ptx.ops.shared import SharedAlloc, loaded
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.dtypes import int64
from tilewright.tileir.layouts.blocked import row_major
from tilewright.tileir.layouts.buffers import linear_shared
from tilewright.tileir.layouts.transform import reshape
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import SharedType

_WORDS = SharedType(int64, (), SLOTS)


def share_gathered(c: Compilation) -> Preserved:
    """Needs layouts; conversions must still be `convert_layout`."""
    if not c.has(ClusterGather):
        return ALL
    function = c.function
    top = Builder(Block(), function.span)
    repeated = {inner for op in function.walk() if op.repeats for inner in op.inside()}
    barriers: list[Value] = []

    def share(b: Rewriter, op: ClusterGather) -> None:
        made = op.result.type
        barriers.append(top.value(SharedAlloc(type=_WORDS), "arrived"))
        buffer = b.value(SharedAlloc(type=SharedType(made.dtype, made.shape, SLOTS, linear_shared(made.shape))))
        row = _row(b, op.src, function.plan.warps)
        slot = b.value(ClusterExchange(buffer=buffer, barriers=barriers[-1], value=row, again=op in repeated), "slot")
        b.replace(op.result, loaded(b, buffer, made, slot=slot))

    rewrite(function, {ClusterGather: share})
    top.emit(ClusterOpen(barriers=tuple(barriers)))
    ops = function.body.ops
    first = next(i for i, op in enumerate(ops) if any(map(exchanges, (op, *op.inside()))))
    ops[first:first] = [ClusterReady()]
    ops[:0] = top.block.ops
    return NONE


def _row(b: Rewriter, value: Value, warps: int) -> Value:
    """The elements in a row, one per thread (that sends it) if there are enough threads."""
    shape = (value.type.size,)
    if not value.type.shape:
        return b.value(Reshape(src=value, shape=shape)).lay_out(row_major(shape, warps))
    wanted = row_major(value.type.shape, warps)
    value = converted(b, value, wanted)
    if value.type.shape == shape:
        return value
    flat = reshape(wanted, shape)
    assert flat is not None, f"{wanted} has no row-major order"
    return b.value(Reshape(src=value, shape=shape)).lay_out(flat)
