"""Lower layout conversions that cross threads to a store to shared memory and a load from it.

    before: %y: tile<64x64xf32, #1> = convert_layout(src=%x)
    after:  %0: shared<64x64xf32, #2> = shared_alloc(type=shared<64x64xf32, #2>)     // #2: swizzled, no bank conflicts
            shared_store(buffer=%0, value=%x)
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))

A `stage`, which puts an operand of wgmma into shared memory, becomes a store and a proxy fence that makes it visible to
the tensor cores. A wait comes first if an outstanding MMA of the previous iteration may still read the buffer.
Conversions within a thread stay. If the plan limits the buffer of a conversion, large tiles are converted sub-tile by
sub-tile (exchange_pieces.py). An `extract` that crosses threads stores the whole tile and loads its sub-tile. Barriers
come later (insert_barriers), when offsets are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.layouts.shared import linear_shared
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.ops.warpgroup import Stage, proxy_fences
from tilewright.backend_ptx.passes.layouts.exchange_pieces import exchange_in_pieces
from tilewright.backend_ptx.passes.matmul.outstanding import still_read
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Op, Value
from tilewright.tileir.engines import THREADS
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import SharedType


def lower_conversions(c: Compilation) -> Preserved:
    """Needs layouts on every tile."""
    if not c.has(ConvertLayout, Stage, Extract):
        return ALL
    busy, users = still_read(c), c.uses
    rewrite(c.function, {
        ConvertLayout: lambda rewriter, op: _convert(rewriter, op, c),
        Stage: lambda rewriter, op: _stage(rewriter, op, users.get(op.result, []), op in busy),
        Extract: _extract,
    })
    return NONE


def _convert(rewriter: Rewriter, op: ConvertLayout, c: Compilation) -> None:
    source, wanted = op.src.type.layout, op.result.type.layout
    if plan_conversion(source, wanted).kind not in ("warp", "block"):
        rewriter.keep(op)
        return
    size, most = op.src.type.size * op.src.type.dtype.bytes, c.limits.max_exchange
    if most is not None and size > most:
        rewriter.replace(op.result, exchange_in_pieces(rewriter, op.src, wanted, -(-size // most), c.target))
        return
    layout = exchange_layout(source, wanted, op.src.type.dtype.bytes, c.target)
    _through_memory(rewriter, op, op.src, layout, ())


def _extract(rewriter: Rewriter, op: Extract) -> None:
    if is_free_extract(op):
        rewriter.keep(op)
    else:
        _through_memory(rewriter, op, op.src, linear_shared(op.src.type.shape), op.index)


def _stage(rewriter: Rewriter, op: Stage, readers: Sequence[Op], busy: bool) -> None:
    for wait in waits_for(readers) if busy else ():
        rewriter.emit(wait)
    buffer = rewriter.value(SharedAlloc(type=op.result.type))
    rewriter.emit(SharedStore(buffer=buffer, slot=None, value=op.src))
    for fence in proxy_fences(THREADS, readers):
        rewriter.emit(fence)
    rewriter.replace(op.result, buffer)


def is_free_extract(op: Extract) -> bool:
    """Whether every thread already holds its elements of the sub-tile."""
    wanted: Layout = op.result.type.layout
    return transform.extract(op.src.type.layout, op.shape) == wanted


def _through_memory(rewriter: Rewriter, op: Op, src: Value, layout: Layout, index: tuple[Value, ...]) -> None:
    buffer = rewriter.value(SharedAlloc(type=SharedType(src.type.dtype, src.type.shape, layout=layout)))
    rewriter.emit(SharedStore(buffer=buffer, slot=None, value=src))
    wanted = op.results[0].type
    loaded = rewriter.value(SharedLoad(buffer=buffer, slot=None, index=index, shape=wanted.shape)).retype(wanted)
    rewriter.replace(op.results[0], loaded)
