"""Folds along an axis that several warps hold, in parts: of runs in registers, within each warp, and across warps.

    before: %y: tile<1024xf32, #0> = scan_with(srcs=(%x), axis=0) .combine ...     // #0: runs of 4, 32 of them a warp
    after:  %0: tile<256x4xf32, #1> = reshape(src=%x, shape=(256, 4))
            %1: tile<256x4xf32, #1> = scan_with(srcs=(%0), axis=1) .combine ...
            %2: tile<256xf32, #2> = reduce_with(srcs=(%0), axis=1) .combine ...
            ... scans of %2 in each warp, and across warps (warp_scans.py) ...     // %3: all that comes before a run
            ... %3 combined with %1, except in the first run, and reshaped: %y ...

    before: %z: f32 = reduce_with(srcs=(%x), axis=0) .combine ...
    after:  ... runs of %x, and what each warp holds of them, as above: %4: tile<8xf32> ...
            %5: tile<8xf32, #3> = convert_layout(src=%4)                           // #3: in each warp
            %z: f32 = reduce_with(srcs=(%5), axis=0) .combine ...
"""

from __future__ import annotations

from collections.abc import MutableMapping

from tilewright.tileir.analysis.unit import Preserved, Unit
from tilewright.tileir.core import Block, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.blocked import blocked, fold_layout
from tilewright.tileir.layouts.flat import REGISTER, WARP, is_plain
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds
from tilewright.tileir.warp_scans import bits_in, split_scan, totals_of_warps

# Elements of a thread from which on a fold changes the layout for runs of neighbours, and the shortest run that pays.
MANY, RUN = 8, 4


def make_folds_warp_local(unit: Unit) -> Preserved:
    """Needs layouts. Afterwards the axis of every fold lies in registers and lanes, with one index bit for each of
    their bits."""
    known: dict[tuple[Block, Value, Layout], Value] = {}  # what was converted already, where
    return rewrite_kinds(unit, {Fold: lambda rewriter, op: _place(rewriter, op, unit.function.plan.warps, known)})


def _place(rewriter: Rewriter, op: Fold, warps: int, known: MutableMapping[tuple[Block, Value, Layout], Value]) -> None:
    def once(value: Value, layout: Layout) -> Value:
        key = rewriter.block, value, layout
        if key not in known:
            known[key] = converted(rewriter, value, layout)
        return known[key]

    own = _in_runs(op.srcs[0].type.layout, op.axis, warps)
    if is_plain(own) and any(basis[op.axis] for basis in own.bases(WARP)):
        op.srcs = tuple(once(v, own) for v in op.srcs)
        if isinstance(op, ScanWith):
            for result, made in zip(op.results, split_scan(rewriter, op, warps), strict=True):
                rewriter.replace(result, converted(rewriter, made, result.type.layout))
            return
        if isinstance(op, ReduceWith):
            op.srcs = tuple(totals_of_warps(rewriter, op, warps))
    layout = _layout_for(op, own, warps)
    op.srcs = tuple(once(v, layout) for v in op.srcs)
    rewriter.keep(op)
    given = transform.reduce(layout, (op.axis,)) if isinstance(op, ReduceWith) else layout
    wanted = [r.type for r in op.results]
    for result, type in zip(op.results, wanted, strict=True):
        if type.shape and type.layout != given:
            result.retype(type.with_layout(given))
            rewriter.replace(result, converted(rewriter, result, type.layout))


def _in_runs(own: Layout, axis: int, warps: int) -> Layout:
    """The layout for a fold: another one where a thread holds many elements, but few neighbours, each of which would
    be combined with all other lanes'."""
    count, neighbours = registers(own), 1 << bits_in(own, axis, (REGISTER,))
    if count < MANY or neighbours >= RUN:
        return own
    others = (other for other in reversed(range(len(own.shape))) if other != axis)
    return blocked(own.shape, (axis, *others), count, warps)


def _layout_for(op: Fold, own: Layout, warps: int) -> Layout:
    """A layout of the operands, if it keeps the axis within a warp, or another one."""
    if is_plain(own) and not any(basis[op.axis] for basis in own.bases(WARP)):
        return own
    return fold_layout(op.srcs[0].type.shape, op.axis, warps)
