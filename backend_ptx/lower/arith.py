"""Constants and element-wise arithmetic."""

from __future__ import annotations

from functools import partial

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.directed import directed_operation
from tilewright.backend_ptx.lower.floats import float_mod, float_power_of_int
from tilewright.backend_ptx.lower.fragments import elem_of, lanes_of
from tilewright.backend_ptx.lower.narrow import constant_bits
from tilewright.backend_ptx.lower.registry import elementwise, lower
from tilewright.backend_ptx.mathlib import emit
from tilewright.tileir.analysis.float_ranges import float_range
from tilewright.tileir.dtypes import DType, uint32, uint64
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops import arith as ops
from tilewright.tileir.ops.convert import Cast


@lower(ops.Constant)
def constant(ctx: Context, op: ops.Constant) -> None:
    dtype, lanes = op.type.dtype, lanes_of(op.result.type)
    elem = elem_of(dtype)
    value = constant_bits(dtype, float(op.value)) if dtype.is_float and elem == "i8" else op.value
    ctx.set(op.result, ctx.b.const(elem, value, lanes))


@lower(ops.Mul)
def product(ctx: Context, op: ops.Mul) -> None:
    """Of two numbers of 32 bits in 64, as random numbers need it, one instruction makes both halves."""
    b, operands = ctx.b, [ctx[v] for v in op.operands]
    wide = op.lhs.type.dtype is uint64 and all(ctx.facts[v].within(*uint32.int_range) for v in op.operands)
    ctx.set(op.result, arithmetic(b, op, *operands) if not wide else b.each(
        partial(instruction("mul.wide.u32").emit1, b), *(b.cast("trunc", v, "i32") for v in operands)))


@elementwise(ops.Div)
def quotient(b: Builder, op: ops.Div, x: Val, y: Val) -> Val:
    """Where its uses tolerate it, by the hardware's reciprocal; `div.full` scales divisors that it does not take."""
    if op.form is not Form.RELATIVE:
        return arithmetic(b, op, x, y)
    low, high = float_range(op.rhs)
    if low >= 2.0**-126 and high <= 2.0**126:
        return emit(b, "quotient_normal", x, y)
    return emit(b, "quotient_from_one", x, y) if low >= 1 else computed(
        b, "div", op.lhs.type.dtype, RoundingMode.FULL, False, x, y)


@elementwise(ops.Add, ops.Sub, ops.Fma)
def arithmetic(b: Builder, op: ops.RoundedBinary | ops.Fma, *operands: Val) -> Val:
    return computed(b, op.opcode, op.result.type.dtype, op.rounding, op.ftz, *operands)


def computed(b: Builder, word: str, dtype: DType, rounding: RoundingMode, ftz: bool, *operands: Val) -> Val:
    """add, sub, mul, div or fma of fragments; reductions use it too."""
    if dtype.is_float:
        return directed_operation(b, word, rounding, ftz, *operands)
    return integers.compute(b, dtype, partial(b.binary, word), *operands)


@lower(ops.FloorDiv, ops.CeilDiv)
def rounded_quotient(ctx: Context, op: ops.Binary) -> None:
    b, dtype, up = ctx.b, op.lhs.type.dtype, isinstance(op, ops.CeilDiv)

    def quotient(x: Val, y: Val) -> Val:
        if not dtype.is_float:
            return integers.quotient(b, dtype, up, [ctx.facts[v] for v in op.operands], x, y)
        name = "llvm.ceil" if up else "llvm.floor"
        return floats.through_f32(b, lambda q: b.intrinsic(name, [q]), floats.arithmetic(b, "fdiv", x, y))

    x, y = ctx[op.lhs], ctx[op.rhs]
    ctx.set(op.result, quotient(x, y) if dtype.is_float else integers.compute(b, dtype, quotient, x, y))


@lower(ops.Mod)
def mod(ctx: Context, op: ops.Mod) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    known = [ctx.facts[v] for v in op.operands]
    ctx.set(op.result, floats.through_f32(b, partial(float_mod, b), x, y) if dtype.is_float else integers.compute(
        b, dtype, lambda p, q: integers.divided(b, dtype, known, p, q)[1], x, y))


@elementwise(ops.Min, ops.Max)
def min_max(b: Builder, op: ops.MinMax, x: Val, y: Val) -> Val:
    return extreme(b, op.opcode, op.lhs.type.dtype, op.propagate_nan, op.ftz, x, y)


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


@elementwise(ops.And, ops.Or, ops.Xor)
def bitwise(b: Builder, op: ops.Binary, x: Val, y: Val) -> Val:
    return integers.compute(b, op.lhs.type.dtype, partial(b.binary, op.opcode), x, y)


@elementwise(ops.Shl, ops.Shr)
def shift(b: Builder, op: ops.Binary, x: Val, y: Val) -> Val:
    dtype = op.lhs.type.dtype
    word = "shl" if op.opcode == "shl" else "ashr" if dtype.is_signed else "lshr"
    # LLVM's shifts by the width or more are poison; ours take the count modulo the width.
    return integers.compute(b, dtype, lambda v, count: b.binary(word, v, b.and_(count, dtype.bitwidth - 1)), x, y)


@lower(ops.Select)
def select(ctx: Context, op: ops.Select) -> None:
    """LLVM would narrow what a mask chooses before it chooses, if the other side is a number; then each element is
    narrowed on its own, where one instruction does two."""
    cond, x, y = (ctx[value] for value in op.operands)
    narrowed = any(isinstance(user, Cast) and user.dtype.bitwidth == 16 for user in ctx.uses.get(op.result, ()))
    if narrowed and x.elem == "float" and y.n and y.const is not None:
        y = ctx.b.splat(instruction("mov.number").emit1(ctx.b, ctx.b.const("float", y.const)), y.n)
    ctx.set(op.result, chosen(ctx.b, cond, x, y))


def chosen(b: Builder, cond: Val, x: Val, y: Val) -> Val:
    """cond ? x : y; i8 through i32."""
    if x.elem == "i8" and x.n:
        return b.cast("trunc", b.select(cond, b.cast("zext", x, "i32"), b.cast("zext", y, "i32")), "i8")
    return b.select(cond, x, y)


@elementwise(ops.Pow)
def pow_(b: Builder, op: ops.Pow, x: Val, y: Val) -> Val:
    base, exponent = op.lhs.type.dtype, op.rhs.type.dtype
    if exponent.is_float:
        return emit(b, "pow", x, y)
    y = integers.widened(b, y, exponent)
    if base.is_float:
        return float_power_of_int(b, x, y, exponent.is_signed)
    return integers.compute(b, base, lambda v: integers.power(b, base, v, y, exponent.is_signed), x)


@elementwise(ops.Atan2)
def atan2(b: Builder, op: ops.Atan2, y: Val, x: Val) -> Val:
    return emit(b, "atan2", y, x)
