"""Element-wise functions of one tile."""

from __future__ import annotations

import math

from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.directed import directed_operation
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.mathlib import emit
from tilewright.tileir.ops import math as ops


@lower(ops.Neg)
def neg(ctx: Context, op: ops.Neg) -> None:
    b, dtype, x = ctx.b, op.src.type.dtype, ctx[op.src]
    if dtype.is_float:
        ctx.set(op.result, b.fneg(x))
    else:
        ctx.set(op.result, integers.compute(b, dtype, lambda v: b.sub(b.like(v, 0), v), x))


@lower(ops.Abs)
def abs_(ctx: Context, op: ops.Abs) -> None:
    b, dtype, x = ctx.b, op.src.type.dtype, ctx[op.src]
    if dtype.is_float:
        ctx.set(op.result, b.intrinsic("llvm.fabs", [x]))
    elif dtype.is_signed:
        # i1 false: the most negative value wraps to itself.
        wrap = b.const("i1", 0)
        ctx.set(op.result, integers.compute(b, dtype, lambda v: b.intrinsic("llvm.abs", [v, wrap]), x))
    else:
        ctx.set(op.result, x)


@lower(ops.Not)
def not_(ctx: Context, op: ops.Not) -> None:
    b, dtype, x = ctx.b, op.src.type.dtype, ctx[op.src]
    if dtype.is_bool:
        ctx.set(op.result, b.xor(x, 1))
    else:
        ctx.set(op.result, integers.compute(b, dtype, lambda v: b.xor(v, -1), x))


@lower(ops.Round)
def round_(ctx: Context, op: ops.Round) -> None:
    b = ctx.b
    ctx.set(op.result, floats.through_f32(b, lambda v: b.intrinsic("llvm.rint", [v]), ctx[op.src]))


@lower(ops.Floor, ops.Ceil, ops.Trunc)
def integral(ctx: Context, op: ops.FloatUnary) -> None:
    b = ctx.b
    name = f"llvm.{op.opcode}"
    ctx.set(op.result, floats.through_f32(b, lambda v: b.intrinsic(name, [v]), ctx[op.src]))


@lower(ops.IsNan)
def isnan(ctx: Context, op: ops.IsNan) -> None:
    x = floats.extended(ctx.b, ctx[op.src])
    ctx.set(op.result, floats.isnan(ctx.b, x))


@lower(ops.IsInf, ops.IsFinite)
def magnitude_test(ctx: Context, op: ops.FloatTest) -> None:
    b = ctx.b
    magnitude = b.intrinsic("llvm.fabs", [floats.extended(b, ctx[op.src])])
    ctx.set(op.result, b.fcmp("oeq" if isinstance(op, ops.IsInf) else "olt", magnitude, math.inf))


@lower(ops.Popcount, ops.Clz)
def bit_count(ctx: Context, op: ops.BitCount) -> None:
    """Of 32 or 64 bits. A narrow integer, zero-extended, has leading zeros of the wider one to take away again."""
    b, dtype, x = ctx.b, op.src.type.dtype, ctx[op.src]
    if dtype.bitwidth < 32:
        x = b.cast("zext", x, "i32")
    if isinstance(op, ops.Popcount):
        count = b.intrinsic("llvm.ctpop", [x])
    else:
        count = b.intrinsic("llvm.ctlz", [x, b.const("i1", 0)])  # i1 false: zero gives the width
    if dtype.bitwidth > 32:
        count = b.cast("trunc", count, "i32")
    spare = max(32 - dtype.bitwidth, 0) if isinstance(op, ops.Clz) else 0
    ctx.set(op.result, b.sub(count, spare) if spare else count)


@lower(ops.Sqrt)
def sqrt(ctx: Context, op: ops.Sqrt) -> None:
    ctx.set(op.result, directed_operation(ctx.b, "sqrt", op.rounding, op.ftz, ctx[op.src]))


@lower(ops.Exp, ops.Tanh)
def with_mode(ctx: Context, op: ops.Exp | ops.Tanh) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src], mode=op.rounding))


@lower(ops.Exp2, ops.Rsqrt)
def with_flushing(ctx: Context, op: ops.Exp2 | ops.Rsqrt) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src], ftz=op.ftz))


@lower(
    ops.Log, ops.Log2, ops.Sin, ops.Cos, ops.Tan, ops.Sinh, ops.Cosh, ops.Asin, ops.Acos, ops.Atan, ops.Asinh,
    ops.Acosh, ops.Atanh, ops.Log1p, ops.Expm1, ops.Erf, ops.Erfc, ops.Sigmoid,
)
def function(ctx: Context, op: ops.FloatUnary) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src]))
