"""Element-wise functions of one tile."""

from __future__ import annotations

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


@lower(ops.Floor, ops.Ceil, ops.Trunc)
def integral(ctx: Context, op: ops.FloatUnary) -> None:
    b = ctx.b
    name = f"llvm.{op.opcode}"
    ctx.set(op.result, floats.through_f32(b, lambda v: b.intrinsic(name, [v]), ctx[op.src]))


@lower(ops.IsNan)
def isnan(ctx: Context, op: ops.IsNan) -> None:
    x = floats.extended(ctx.b, ctx[op.src])
    ctx.set(op.result, floats.isnan(ctx.b, x))


@lower(ops.Sqrt)
def sqrt(ctx: Context, op: ops.Sqrt) -> None:
    ctx.set(op.result, directed_operation(ctx.b, "sqrt", op.rounding, op.ftz, ctx[op.src]))


@lower(ops.Exp, ops.Tanh)
def with_mode(ctx: Context, op: ops.Exp | ops.Tanh) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src], mode=op.rounding))


@lower(ops.Exp2, ops.Rsqrt)
def with_flushing(ctx: Context, op: ops.Exp2 | ops.Rsqrt) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src], ftz=op.ftz))


@lower(ops.Log, ops.Log2, ops.Sin, ops.Cos, ops.Tan, ops.Sinh, ops.Cosh)
def function(ctx: Context, op: ops.FloatUnary) -> None:
    ctx.set(op.result, emit(ctx.b, op.opcode, ctx[op.src]))
