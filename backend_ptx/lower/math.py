"""Element-wise functions of one tile."""

from __future__ import annotations

import math

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.directed import directed_operation
from tilewright.backend_ptx.lower.registry import elementwise
from tilewright.backend_ptx.mathlib import emit
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops import math as ops

# The library has short forms by names that end in these.
_FORMS: dict[object, str] = {
    Form.RELATIVE: "_relative", Form.FLUSHED: "_flushed", Form.BESIDE_ONE: "_beside_one",
    Form.WEIGHT: "_beside_one"}


@elementwise(ops.Neg)
def neg(b: Builder, op: ops.Neg, x: Val) -> Val:
    dtype = op.src.type.dtype
    return b.fneg(x) if dtype.is_float else integers.compute(b, dtype, lambda v: b.sub(b.like(v, 0), v), x)


@elementwise(ops.Abs)
def abs_(b: Builder, op: ops.Abs, x: Val) -> Val:
    dtype = op.src.type.dtype
    if dtype.is_float:
        return b.intrinsic("llvm.fabs", [x])
    if not dtype.is_signed:
        return x
    wrap = b.const("i1", 0)  # the most negative value wraps to itself
    return integers.compute(b, dtype, lambda v: b.intrinsic("llvm.abs", [v, wrap]), x)


@elementwise(ops.Not)
def not_(b: Builder, op: ops.Not, x: Val) -> Val:
    return integers.compute(b, op.src.type.dtype, lambda v: b.xor(v, -1), x)


@elementwise(ops.Floor, ops.Ceil, ops.Trunc, ops.Round)
def integral(b: Builder, op: ops.FloatUnary, x: Val) -> Val:
    name = "llvm.rint" if isinstance(op, ops.Round) else f"llvm.{op.opcode}"
    return floats.through_f32(b, lambda v: b.intrinsic(name, [v]), x)


@elementwise(ops.StopGradient)
def stop_gradient(b: Builder, op: ops.StopGradient, x: Val) -> Val:
    return x


@elementwise(ops.IsNan)
def isnan(b: Builder, op: ops.IsNan, x: Val) -> Val:
    return floats.isnan(b, floats.extended(b, x))


@elementwise(ops.IsInf, ops.IsFinite)
def magnitude_test(b: Builder, op: ops.FloatTest, x: Val) -> Val:
    magnitude = b.intrinsic("llvm.fabs", [floats.extended(b, x)])
    return b.fcmp("oeq" if isinstance(op, ops.IsInf) else "olt", magnitude, math.inf)


@elementwise(ops.Popcount, ops.Clz)
def bit_count(b: Builder, op: ops.BitCount, x: Val) -> Val:
    """Of 32 or 64 bits. A narrow integer, zero-extended, has leading zeros of the wider one to take away again."""
    bits = op.src.type.dtype.bitwidth
    x = b.cast("zext", x, "i64" if bits == 64 else "i32")
    if isinstance(op, ops.Popcount):
        return b.cast("trunc", b.intrinsic("llvm.ctpop", [x]), "i32")
    zeros = b.intrinsic("llvm.ctlz", [x, b.const("i1", 0)])  # i1 false: zero gives the width
    return b.sub(b.cast("trunc", zeros, "i32"), max(32 - bits, 0))


@elementwise(ops.Sqrt)
def sqrt(b: Builder, op: ops.Sqrt, x: Val) -> Val:
    rounding = RoundingMode.APPROX if op.form is Form.RELATIVE else op.rounding
    return directed_operation(b, "sqrt", rounding, op.ftz, x)


@elementwise(
    ops.Exp, ops.Exp2, ops.Log, ops.Log2, ops.Rsqrt, ops.Sin, ops.Cos, ops.Tan, ops.Sinh, ops.Cosh, ops.Tanh, ops.Asin,
    ops.Acos, ops.Atan, ops.Asinh, ops.Acosh, ops.Atanh, ops.Log1p, ops.Expm1, ops.Erf, ops.Erfc, ops.Sigmoid,
)
def function(b: Builder, op: ops.FloatUnary, x: Val) -> Val:
    options = op.attributes
    name = op.opcode + _FORMS.get(options.get("form"), "")
    return emit(b, name, x, mode=options.get("rounding"), ftz=options.get("ftz", False))
