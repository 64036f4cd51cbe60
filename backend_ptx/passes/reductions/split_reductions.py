"""Split reductions across warps, so that each remaining reduction stays within a warp.

    before: %m: tile<1xf32, #1> = reduce_max(src=%x, axes=(1))         // %x: tile<1x1024xf32, #0>, 4 warps
    after:  %0: tile<1x4xf32, #2> = reduce_bits(src=%x, axes=(1), keep=(384), kind="max")     // one value per warp
            %1: tile<1x4xf32, #3> = convert_layout(src=%0)                            // every thread gets all four
            %m: tile<1xf32, #1> = reduce_max(src=%1, axes=(1))                        // in registers

Float sums are reassociated: within n * eps * sum(|x|) of the exact sum, as for any order.
"""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.reduced import gathered_layout, partial_layout, warp_bits
from tilewright.backend_ptx.ops.layout import converted
from tilewright.backend_ptx.ops.reduce import ArgReduceBits, ReduceBits
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite


def split_reductions(c: Compilation) -> Preserved:
    """Needs layouts. Afterwards no reduction crosses warps."""
    if not c.has(Reduction, ArgReduction):
        return ALL
    rewrite(c.function, {Reduction: _split_reduction, ArgReduction: _split_arg_reduction})
    return NONE


def _split_reduction(rewriter: Rewriter, op: Reduction) -> None:
    layout: Layout = op.src.type.layout
    keep = warp_bits(layout, op.axes)
    if not any(keep):
        rewriter.keep(op)
        return
    partial = rewriter.value(ReduceBits(src=op.src, keep=keep, kind=op.kind, **op.attributes))
    partial.lay_out(partial_layout(layout, op.axes, keep))
    everywhere = converted(rewriter, partial, gathered_layout(layout, op.axes, keep))
    result = rewriter.value(type(op)(**{**op.attributes, "src": everywhere}))
    if op.result.type.shape:
        result.lay_out(op.result.type.layout)
    rewriter.replace(op.result, result)


def _split_arg_reduction(rewriter: Rewriter, op: ArgReduction) -> None:
    layout: Layout = op.src.type.layout
    axes = (op.axis,)
    masks = warp_bits(layout, axes)
    if not any(masks):
        rewriter.keep(op)
        return
    options: dict[str, Any] = {"largest": op.largest, "propagate_nan": op.propagate_nan}
    partial = rewriter.emit(ArgReduceBits(src=op.src, axis=op.axis, keep=masks[0], **options))
    for value in partial.results:
        value.lay_out(partial_layout(layout, axes, masks))
    values, indices = (converted(rewriter, v, gathered_layout(layout, axes, masks)) for v in partial.results)
    final = rewriter.emit(ArgReduceBits(src=values, index=indices, axis=op.axis, keep=0, **options))
    for value in final.results:
        value.lay_out(partial_layout(values.type.layout, axes, (0,)))
    result = rewriter.value(Reshape(src=final.results[1], shape=op.result.type.shape))
    if op.result.type.shape:
        result.lay_out(op.result.type.layout)
    rewriter.replace(op.result, result)
