"""Split reductions across warps, so that what is left reduces only what one warp holds.

    before: %m: tile<1xf32, #1> = reduce_max(src=%x, axes=(1))         // %x: tile<1x1024xf32, #0>, 4 warps
    after:  %0: tile<1x4xf32, #2> = reduce_bits(src=%x, axes=(1), keep=(384), kind="max")     // one value per warp
            %1: tile<1x4xf32, #3> = convert_layout(src=%0)                            // every thread gets all four
            %m: tile<1xf32, #1> = reduce_max(src=%1, axes=(1))                        // in registers

Float sums are reassociated: within n * eps * sum(|x|) of the exact sum, as for any order.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.flat import LANE, REGISTER, WARP, distributed, flatten
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.reduce import ArgReduceBits, ReduceBits, kept_shape
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.reduce import (
    ArgMax,
    ArgReduction,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reduction,
)
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite

KIND: dict[type[Op], str] = {ReduceSum: "sum", ReduceProd: "prod", ReduceMax: "max", ReduceMin: "min"}


def split_reductions(c: Compilation) -> None:
    """Needs layouts. Afterwards no reduction crosses warps."""
    function = c.function
    rewrite(function, _split)


def _split(rewriter: Rewriter, op: Op) -> None:
    if isinstance(op, Reduction):
        keep = warp_bits(op.src.type.layout, op.axes)
        if any(keep):
            _split_reduction(rewriter, op, keep)
            return
    elif isinstance(op, ArgReduction):
        keep = warp_bits(op.src.type.layout, (op.axis,))
        if any(keep):
            _split_arg_reduction(rewriter, op, keep[0])
            return
    rewriter.keep(op)


def warp_bits(layout: Layout, axes: tuple[int, ...]) -> tuple[int, ...]:
    """For each axis the bits of its index that differ between warps."""
    return tuple(reduce(or_, (basis[axis] for basis in layout.bases(WARP)), 0) for axis in axes)


def _split_reduction(rewriter: Rewriter, op: Reduction, keep: tuple[int, ...]) -> None:
    layout: Layout = op.src.type.layout
    options = {name: getattr(op, name) for name in ("propagate_nan", "rounding", "ftz") if name in op.fields}
    partial = rewriter.value(ReduceBits(src=op.src, axes=op.axes, keep=keep, kind=KIND[type(op)], **options))
    partial.lay_out(partial_layout(layout, op.axes, keep))
    everywhere = _convert(rewriter, partial, gathered_layout(layout, op.axes, keep))
    result = rewriter.value(type(op)(**{**op.attributes, "src": everywhere}))
    if op.result.type.shape:
        result.lay_out(op.result.type.layout)
    rewriter.replace(op.result, result)


def _split_arg_reduction(rewriter: Rewriter, op: ArgReduction, keep: int) -> None:
    layout: Layout = op.src.type.layout
    axes, masks = (op.axis,), (keep,)
    options: dict[str, Any] = {"largest": isinstance(op, ArgMax), "propagate_nan": op.propagate_nan}
    partial = rewriter.emit(ArgReduceBits(src=op.src, axis=op.axis, keep=keep, **options))
    for value in partial.results:
        value.lay_out(partial_layout(layout, axes, masks))
    values, indices = (_convert(rewriter, v, gathered_layout(layout, axes, masks)) for v in partial.results)
    final = rewriter.emit(ArgReduceBits(src=values, index=indices, axis=op.axis, keep=0, **options))
    for value in final.results:
        value.lay_out(partial_layout(values.type.layout, axes, (0,)))
    result = rewriter.value(Reshape(src=final.results[1], shape=op.result.type.shape))
    if op.result.type.shape:
        result.lay_out(op.result.type.layout)
    rewriter.replace(op.result, result)


def _convert(rewriter: Rewriter, value: Value, layout: Layout) -> Value:
    return rewriter.value(ConvertLayout(src=value)).lay_out(layout)


def _compress(index: int, mask: int) -> int:
    """The bits of `index` at the set positions of `mask`, side by side."""
    out = place = 0
    while mask:
        low = mask & -mask
        out |= (1 << place) if index & low else 0
        mask ^= low
        place += 1
    return out


def partial_layout(layout: Layout, axes: tuple[int, ...], keep: tuple[int, ...]) -> Layout:
    """The layout of the result of `reduce_bits`: kept bits stay in their lanes and warps, the others hold copies."""
    shape = kept_shape(layout.shape, axes, keep)
    masks = dict(zip(axes, keep, strict=True))

    def project(basis: tuple[int, ...]) -> int:
        return flatten([_compress(i, masks[k]) if k in masks else i for k, i in enumerate(basis)], shape)

    register, lane, warp = ([project(b) for b in layout.bases(d)] for d in (REGISTER, LANE, WARP))
    return distributed(shape, [b for b in register if b], lane, warp)


def gathered_layout(layout: Layout, axes: tuple[int, ...], keep: tuple[int, ...]) -> Layout:
    """The layout in which every thread holds all partial results of the elements that it holds of the final one."""
    shape = kept_shape(layout.shape, axes, keep)
    final = transform.reduce(layout, axes)
    ones = tuple(1 if k in axes else n for k, n in enumerate(shape))
    wide = transform.reshape(final, ones)
    register, lane, warp = ([flatten(b, shape) for b in wide.bases(d)] for d in (REGISTER, LANE, WARP))
    parts = [
        flatten([1 << bit if k == axis else 0 for k in range(len(shape))], shape)
        for axis in reversed(axes) for bit in range(shape[axis].bit_length() - 1)
    ]
    return distributed(shape, [*parts, *register], lane, warp)
