"""Split reductions across warps, so that each remaining reduction stays within a warp.

    before: %m: tile<1xf32, #1> = reduce_max(src=%x, axes=(1))         // %x: tile<1x1024xf32, #0>, 4 warps
    after:  %0: tile<1x4xf32, #2> = reduce_bits(src=%x, axes=(1), keep=(384), kind="max")     // one value per warp
            %1: tile<1x4xf32, #3> = convert_layout(src=%0)                            // every thread gets all four
            %m: tile<1xf32, #1> = reduce_max(src=%1, axes=(1))                        // in registers

Float sums are reassociated: within n * eps * sum(|x|) of the exact sum, as for any order.
"""

from __future__ import annotations

from typing import Any

from tilewright.tileir.analysis.unit import Preserved, Unit
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.reduced import gathered_layout, partial_layout, warp_bits
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.machine_ops.reduce import ArgReduceBits, ReduceBits
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds


def split_reductions(unit: Unit) -> Preserved:
    """Needs layouts. Afterwards no reduction crosses warps."""
    return rewrite_kinds(unit, {Reduction: _split, ArgReduction: _split})


def _split(rewriter: Rewriter, op: Reduction | ArgReduction) -> None:
    keep = warp_bits(op.src.type.layout, op.reduced_axes)
    if not any(keep):
        rewriter.keep(op)
        return
    result = _values(rewriter, op, keep) if isinstance(op, Reduction) else _extremes(rewriter, op, keep)
    if op.result.type.shape:
        result.lay_out(op.result.type.layout)
    rewriter.replace(op.result, result)


def _values(rewriter: Rewriter, op: Reduction, keep: tuple[int, ...]) -> Value:
    layout: Layout = op.src.type.layout
    partial = rewriter.value(ReduceBits(src=op.src, keep=keep, kind=op.kind, **op.attributes))
    partial.lay_out(partial_layout(layout, op.axes, keep))
    everywhere = converted(rewriter, partial, gathered_layout(layout, op.axes, keep))
    return rewriter.value(type(op)(**{**op.attributes, "src": everywhere}))


def _extremes(rewriter: Rewriter, op: ArgReduction, keep: tuple[int, ...]) -> Value:
    """Values with their indices; the result is the index."""
    layout: Layout = op.src.type.layout
    axes = op.reduced_axes
    options: dict[str, Any] = {"largest": op.largest, "propagate_nan": op.propagate_nan}
    partial = rewriter.emit(ArgReduceBits(src=op.src, axis=op.axis, keep=keep[0], **options))
    for value in partial.results:
        value.lay_out(partial_layout(layout, axes, keep))
    values, indices = (converted(rewriter, v, gathered_layout(layout, axes, keep)) for v in partial.results)
    final = rewriter.emit(ArgReduceBits(src=values, index=indices, axis=op.axis, keep=0, **options))
    for value in final.results:
        value.lay_out(partial_layout(values.type.layout, axes, (0,)))
    return rewriter.value(Reshape(src=final.results[1], shape=op.result.type.shape))
