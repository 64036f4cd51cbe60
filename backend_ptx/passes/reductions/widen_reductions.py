"""Widen reductions of 8- and 16-bit elements to 32 bits, the width of shuffles and of arithmetic.

    before: %s: tile<64xbf16> = reduce_sum(src=%x, axes=(1))
    after:  %0: tile<64x128xf32> = cast(src=%x, dtype=f32)
            %1: tile<64xf32> = reduce_sum(src=%0, axes=(1))
            %s: tile<64xbf16> = cast(src=%1, dtype=bf16)

Integers wrap to the same result; extremes are exact. A float16 or bfloat16 sum or product is then accumulated in
float32 and rounded once: within eps(dtype) * |result| of what float32 gives, better than rounding every addition.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
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


def widen_reductions(c: Compilation) -> Preserved:
    """Cast the sources of narrow reductions to 32 bits and their results back."""
    if not c.has(Reduction, ArgReduction):
        return ALL
    rewrite(c.function, {Reduction: _widen, ArgReduction: _widen})
    return NONE


def _widen(rewriter: Rewriter, op: Reduction | ArgReduction) -> None:
    if op.src.type.dtype.bitwidth >= 32:
        rewriter.keep(op)
        return
    narrow = op.src.type.dtype
    wide = rewriter.value(Cast(src=op.src, dtype=wide_dtype(narrow)))
    result = rewriter.value(type(op)(**{**op.attributes, "src": wide}))
    if isinstance(op, Reduction):
        # A directed mode holds for the last rounding as well: two in one direction are as good as one.
        rounding = getattr(op, "rounding", RoundingMode.RN) if narrow.is_float else RoundingMode.RN
        result = rewriter.value(Cast(src=result, dtype=narrow, rounding=rounding))
    rewriter.replace(op.result, result)
