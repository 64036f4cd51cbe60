"""Widen reductions of 8- and 16-bit elements to 32 bits, the width of shuffles and of arithmetic.

    before: %s: tile<64xbf16> = reduce_sum(src=%x, axes=(1))
    after:  %0: tile<64x128xf32> = cast(src=%x, dtype=f32)
            %1: tile<64xf32> = reduce_sum(src=%0, axes=(1))
            %s: tile<64xbf16> = cast(src=%1, dtype=bf16)

A reduction that another one merges becomes that one, of prepared elements; sum(x * x) for a sum of squares.

Integers wrap to the same result; extremes are exact. A float16 or bfloat16 sum or product is then accumulated in
float32 and rounded once: within eps(dtype) * |result| of what float32 gives, better than rounding every addition.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, float32, int32, uint32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.rewrite import Rewriter, rewrite


def wide_dtype(dtype: DType) -> DType:
    """The 32-bit dtype that holds every value of a narrower one."""
    if dtype.is_float:
        return float32
    return uint32 if dtype.kind == "uint" else int32


def widen_reductions(unit: Unit) -> Preserved:
    """Afterwards reductions have 32 bits or more, and their partial results combine by the same op."""
    if not unit.has(Reduction, ArgReduction):
        return ALL
    rewrite(unit.function, {Reduction: _widen_reduction, ArgReduction: _widen_arg_reduction})
    return NONE


def _widen_reduction(rewriter: Rewriter, op: Reduction) -> None:
    narrow = op.src.type.dtype
    if narrow.bitwidth >= 32 and op.merged_by is None:
        rewriter.keep(op)
        return
    wide = op.prepared(rewriter, _wide(rewriter, op.src))
    kind = op.merged_by or type(op)
    options = {name: value for name, value in op.attributes.items() if name in kind.fields}
    result = rewriter.value(kind(src=wide, **options))
    if narrow.bitwidth < 32:
        # A directed mode holds for the last rounding as well: two in one direction are as good as one.
        rounding = getattr(op, "rounding", RoundingMode.RN) if narrow.is_float else RoundingMode.RN
        result = rewriter.value(Cast(src=result, dtype=narrow, rounding=rounding))
    rewriter.replace(op.result, result)


def _widen_arg_reduction(rewriter: Rewriter, op: ArgReduction) -> None:
    op.src = _wide(rewriter, op.src)
    rewriter.keep(op)


def _wide(rewriter: Rewriter, value: Value) -> Value:
    dtype = value.type.dtype
    return rewriter.value(Cast(src=value, dtype=wide_dtype(dtype))) if dtype.bitwidth < 32 else value
