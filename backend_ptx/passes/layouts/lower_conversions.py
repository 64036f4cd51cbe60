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
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.layouts.shared import linear_shared
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import waits_for
from tilewright.backend_ptx.ops.shared import put, through_shared
from tilewright.backend_ptx.ops.warpgroup import Stage, proxy_fences
from tilewright.backend_ptx.passes.layouts.exchange_pieces import exchange_in_pieces
from tilewright.backend_ptx.passes.matmul.outstanding import still_read
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Op
from tilewright.tileir.engines import THREADS
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.rewrite import Rewriter, rewrite


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
    if not op.crosses:
        rewriter.keep(op)
        return
    wanted, width = op.result.type.layout, op.src.type.dtype.bytes
    size, most = op.src.type.size * width, c.limits.max_exchange
    if most is not None and size > most:
        value = exchange_in_pieces(rewriter, op.src, wanted, -(-size // most), c.target)
    else:
        layout = exchange_layout(op.src.type.layout, wanted, width, c.target)
        value = through_shared(rewriter, op.src, layout, op.result.type)
    rewriter.replace(op.result, value)


def _extract(rewriter: Rewriter, op: Extract) -> None:
    if is_free_extract(op):
        rewriter.keep(op)
    else:
        layout = linear_shared(op.src.type.shape)
        rewriter.replace(op.result, through_shared(rewriter, op.src, layout, op.result.type, op.index))


def _stage(rewriter: Rewriter, op: Stage, readers: Sequence[Op], busy: bool) -> None:
    for wait in waits_for(readers) if busy else ():
        rewriter.emit(wait)
    rewriter.replace(op.result, put(rewriter, op.src, op.result.type.layout))
    for fence in proxy_fences(THREADS, readers):
        rewriter.emit(fence)


def is_free_extract(op: Extract) -> bool:
    """Whether every thread already holds its elements of the sub-tile."""
    wanted: Layout = op.result.type.layout
    return transform.extract(op.src.type.layout, op.shape) == wanted
