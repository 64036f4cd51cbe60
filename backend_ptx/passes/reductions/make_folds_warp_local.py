"""Convert the operands of reductions and scans by a function to layouts that keep their axis within a warp.

    before: %y: tile<1024xf32, #0> = scan_with(srcs=(%x), axis=0) .combine ...     // #0 spreads the axis over warps
    after:  %0: tile<1024xf32, #1> = convert_layout(src=%x)                        // #1: in each warp, a run a lane
            %1: tile<1024xf32, #1> = scan_with(srcs=(%0), axis=0) .combine ...
            %y: tile<1024xf32, #0> = convert_layout(src=%1)
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.flat import LANE_BITS, WARP, axis_shifts, distributed, is_plain, log2
from tilewright.backend_ptx.ops.layout import converted
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.fold import Fold, ReduceWith
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds


def make_folds_warp_local(c: Compilation) -> Preserved:
    """Needs layouts. Afterwards the axis of every fold lies in registers and lanes, with one index bit for each of
    their bits."""
    return rewrite_kinds(c, {Fold: lambda rewriter, op: _place(rewriter, op, c.plan.warps)})


def _place(rewriter: Rewriter, op: Fold, warps: int) -> None:
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


def fold_layout(shape: tuple[int, ...], axis: int, warps: int) -> Layout:
    """A run of neighbours along the axis in each thread, and the runs of a warp side by side; warps divide the other
    axes."""
    shifts = axis_shifts(shape)
    along = [1 << shifts[axis] + k for k in range(log2(shape[axis]))]
    others = [1 << shifts[a] + k for a in reversed(range(len(shape))) if a != axis for k in range(log2(shape[a]))]
    split = max(0, len(along) - LANE_BITS)
    register, lane = along[:split], along[split:]
    free = LANE_BITS - len(lane)
    lane, others = [*lane, *others[:free]], others[free:]
    warp, others = others[: log2(warps)], others[log2(warps) :]
    return distributed(
        shape, [*register, *others], [*lane, *[0] * (LANE_BITS - len(lane))], [*warp, *[0] * (log2(warps) - len(warp))])
