"""Folds along an axis that several warps hold: scans in parts, reductions in layouts that keep the axis within a warp.

    before: %y: tile<1024xf32, #0> = scan_with(srcs=(%x), axis=0) .combine ...     // #0: runs of 4, 32 of them a warp
    after:  %0: tile<256x4xf32, #1> = reshape(src=%x, shape=(256, 4))
            %1: tile<256x4xf32, #1> = scan_with(srcs=(%0), axis=1) .combine ...
            %2: tile<256xf32, #2> = reduce_with(srcs=(%0), axis=1) .combine ...
            ... scans of %2 in each warp, and across warps (scans.py) ...          // %3: all that comes before a run
            ... %3 combined with %1, except in the first run, and reshaped: %y ...

    before: %z: f32 = reduce_with(srcs=(%x), axis=0) .combine ...
    after:  %4: tile<1024xf32, #3> = convert_layout(src=%x)                        // #3: in each warp, a run a lane
            %z: f32 = reduce_with(srcs=(%4), axis=0) .combine ...
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.blocked import fold_layout
from tilewright.backend_ptx.layouts.flat import WARP, is_plain
from tilewright.backend_ptx.ops.layout import converted
from tilewright.backend_ptx.passes.reductions.scans import split_scan
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds


def make_folds_warp_local(c: Compilation) -> Preserved:
    """Needs layouts. Afterwards the axis of every fold lies in registers and lanes, with one index bit for each of
    their bits."""
    return rewrite_kinds(c, {Fold: lambda rewriter, op: _place(rewriter, op, c.plan.warps)})


def _place(rewriter: Rewriter, op: Fold, warps: int) -> None:
    own: Layout = op.srcs[0].type.layout
    if isinstance(op, ScanWith) and is_plain(own) and any(basis[op.axis] for basis in own.bases(WARP)):
        op.srcs = tuple(converted(rewriter, v, own) for v in op.srcs)
        for result, made in zip(op.results, split_scan(rewriter, op, warps), strict=True):
            rewriter.replace(result, converted(rewriter, made, result.type.layout))
        return
    layout = _layout_for(op, warps)
    op.srcs = tuple(converted(rewriter, v, layout) for v in op.srcs)
    rewriter.keep(op)
    given = transform.reduce(layout, (op.axis,)) if isinstance(op, ReduceWith) else layout
    wanted = [r.type for r in op.results]
    for result, type in zip(op.results, wanted, strict=True):
        if type.shape and type.layout != given:
            result.retype(type.with_layout(given))
            rewriter.replace(result, converted(rewriter, result, type.layout))


def _layout_for(op: Fold, warps: int) -> Layout:
    """The layout of the first operand, if it keeps the axis within a warp."""
    own: Layout = op.srcs[0].type.layout
    if is_plain(own) and not any(basis[op.axis] for basis in own.bases(WARP)):
        return own
    return fold_layout(op.srcs[0].type.shape, op.axis, warps)
