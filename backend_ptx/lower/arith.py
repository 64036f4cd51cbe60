"""Constants and element-wise arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.directed import directed_operation
from tilewright.backend_ptx.lower.fragments import elem_of, lanes_of
from tilewright.backend_ptx.lower.narrow import constant_bits
from tilewright.backend_ptx.lower.power import float_power_of_int
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.remainder import float_mod
from tilewright.backend_ptx.mathlib import emit
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith as ops


@lower(ops.Constant)
def constant(ctx: Context, op: ops.Constant) -> None:
    dtype, lanes = op.type.dtype, lanes_of(op.result.type)
    elem = elem_of(dtype)
    value = constant_bits(dtype, float(op.value)) if dtype.is_float and elem == "i8" else op.value
    ctx.set(op.result, ctx.b.const(elem, value, lanes))


@lower(ops.Add, ops.Sub, ops.Mul)
def add_sub_mul(ctx: Context, op: ops.RoundedBinary) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    word = op.opcode
    if not dtype.is_float:
        method: Callable[[Val, Val], Val] = getattr(b, word)
        ctx.set(op.result, integers.compute(b, dtype, method, x, y))
    elif op.rounding is RoundingMode.RN and not op.ftz:
        ctx.set(op.result, floats.arithmetic(b, f"f{word}", x, y))
    else:
        ctx.set(op.result, rounded(ctx, word, op.rounding, op.ftz, x, y))


@lower(ops.Div)
def div(ctx: Context, op: ops.Div) -> None:
    x, y = ctx[op.lhs], ctx[op.rhs]
    if op.rounding is RoundingMode.RN and not op.ftz:
        ctx.set(op.result, floats.arithmetic(ctx.b, "fdiv", x, y))
    else:
        ctx.set(op.result, rounded(ctx, "div", op.rounding, op.ftz, x, y))


@lower(ops.Fma)
def fma(ctx: Context, op: ops.Fma) -> None:
    a, x, c = ctx[op.a], ctx[op.b], ctx[op.c]
    if op.rounding is RoundingMode.RN and not op.ftz:
        ctx.set(op.result, ctx.b.fma(a, x, c))
    else:
        ctx.set(op.result, rounded(ctx, "fma", op.rounding, op.ftz, a, x, c))


def rounded(ctx: Context, word: str, rounding: RoundingMode, ftz: bool, *operands: Val) -> Val:
    """An operation with a rounding mode or flush to zero."""
    return directed_operation(ctx.b, word, rounding, ftz, *operands)


@lower(ops.FloorDiv)
def floordiv(ctx: Context, op: ops.FloorDiv) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    if not dtype.is_float:
        ctx.set(op.result, integers.compute(b, dtype, lambda p, q: integers.floordiv(b, dtype, p, q), x, y))
        return
    quotient = floats.arithmetic(b, "fdiv", x, y)
    ctx.set(op.result, floats.through_f32(b, lambda q: b.intrinsic("llvm.floor", [q]), quotient))


@lower(ops.CeilDiv)
def ceildiv(ctx: Context, op: ops.CeilDiv) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    if not dtype.is_float:
        ctx.set(op.result, integers.compute(b, dtype, lambda p, q: integers.ceildiv(b, dtype, p, q), x, y))
        return
    quotient = floats.arithmetic(b, "fdiv", x, y)
    ctx.set(op.result, floats.through_f32(b, lambda q: b.intrinsic("llvm.ceil", [q]), quotient))


@lower(ops.Mod)
def mod(ctx: Context, op: ops.Mod) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    if dtype.is_float:
        ctx.set(op.result, floats.through_f32(b, lambda p, q: float_mod(b, p, q), x, y))
        return
    ctx.set(op.result, integers.compute(b, dtype, lambda p, q: integers.mod(b, dtype, p, q), x, y))


@lower(ops.Min, ops.Max)
def min_max(ctx: Context, op: ops.MinMax) -> None:
    ctx.set(op.result, extreme(ctx.b, op.opcode, op.lhs.type.dtype, op.propagate_nan, op.ftz, ctx[op.lhs], ctx[op.rhs]))


def extreme(b: Builder, word: str, dtype: DType, propagate_nan: bool, ftz: bool, x: Val, y: Val) -> Val:
    """min or max of fragments; reductions use it too."""
    if dtype.is_bool:
        return b.and_(x, y) if word == "min" else b.or_(x, y)
    if dtype.is_float:
        if ftz:
            x, y = flushed(b, x), flushed(b, y)
        return floats.extreme(b, word, propagate_nan, x, y)
    sign = "s" if dtype.is_signed else "u"
    return integers.compute(b, dtype, lambda p, q: b.intrinsic(f"llvm.{sign}{word}", [p, q]), x, y)


def flushed(b: Builder, v: Val) -> Val:
    """float32 with subnormals replaced by zeros of their sign."""
    small = b.fcmp("olt", b.intrinsic("llvm.fabs", [v]), 2.0**-126)
    return b.select(small, b.intrinsic("llvm.copysign", [b.like(v, 0.0), v]), v)


@lower(ops.And, ops.Or, ops.Xor)
def bitwise(ctx: Context, op: ops.Binary) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    word = op.opcode
    if dtype.is_bool:
        ctx.set(op.result, b.binary(word, x, y))
        return
    ctx.set(op.result, integers.compute(b, dtype, lambda p, q: b.binary(word, p, q), x, y))


@lower(ops.Shl, ops.Shr)
def shift(ctx: Context, op: ops.Binary) -> None:
    b, dtype, x = ctx.b, op.lhs.type.dtype, ctx[op.lhs]
    # LLVM's shifts by the width or more are poison; ours take the count modulo the width.
    count = b.and_(integers.widened(b, ctx[op.rhs], dtype), dtype.bitwidth - 1)
    word = "shl" if op.opcode == "shl" else "ashr" if dtype.is_signed else "lshr"
    ctx.set(op.result, integers.narrowed(b, b.binary(word, integers.widened(b, x, dtype), count), dtype))


@lower(ops.Select)
def select(ctx: Context, op: ops.Select) -> None:
    ctx.set(op.result, chosen(ctx.b, ctx[op.cond], ctx[op.lhs], ctx[op.rhs]))


def chosen(b: Builder, cond: Val, x: Val, y: Val) -> Val:
    """cond ? x : y; i8 through i32."""
    if x.elem == "i8" and x.n:
        return b.cast("trunc", b.select(cond, b.cast("zext", x, "i32"), b.cast("zext", y, "i32")), "i8")
    return b.select(cond, x, y)


@lower(ops.Pow)
def pow_(ctx: Context, op: ops.Pow) -> None:
    b, x, y = ctx.b, ctx[op.lhs], ctx[op.rhs]
    base, exponent = op.lhs.type.dtype, op.rhs.type.dtype
    if exponent.is_float:
        ctx.set(op.result, emit(b, "pow", x, y))
        return
    y = integers.widened(b, y, exponent)
    if base.is_float:
        ctx.set(op.result, float_power_of_int(b, x, y, exponent.is_signed))
    else:
        value = integers.power(b, base, integers.widened(b, x, base), y, exponent.is_signed)
        ctx.set(op.result, integers.narrowed(b, value, base))


@lower(ops.Atan2)
def atan2(ctx: Context, op: ops.Atan2) -> None:
    ctx.set(op.result, emit(ctx.b, "atan2", ctx[op.lhs], ctx[op.rhs]))
