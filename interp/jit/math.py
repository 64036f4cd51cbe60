"""Emitters of functions of one operand (interp/handlers/math.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.interp.jit import functions
from tilewright.interp.jit.emit import EMITTERS, HALVES, NEAREST, Emit, Emitter, Name, double, register
from tilewright.interp.lowering import HANDLERS
from tilewright.interp.tables import values_of
from tilewright.tileir import dtypes as dt
from tilewright.tileir.ops import math

# Formulas for float32; other functions of 32 and 64 bits stay with NumPy.
_FORMULAS: dict[Any, Callable[[Emitter, Name], Name]] = {
    math.Exp: functions.exp, math.Exp2: functions.exp2, math.Expm1: functions.expm1, math.Log: functions.log,
    math.Log2: functions.log2, math.Sin: functions.sin, math.Cos: functions.cos, math.Tanh: functions.tanh,
    math.Sigmoid: functions.sigmoid, math.Rsqrt: functions.rsqrt,
}
_TABLES = (math.Tan, math.Sinh, math.Cosh, math.Asin, math.Acos, math.Atan, math.Asinh, math.Acosh, math.Atanh,
           math.Log1p, math.Erf, math.Erfc)


def _function(op: Any, e: Emitter, args: list[Name]) -> Name | None:
    """16-bit floats have a table of what the closure gives for each of them."""
    dtype = op.src.type.dtype
    if dtype in HALVES:
        return _looked_up(op, e, args[0])
    formula = _FORMULAS.get(type(op))
    if dtype is not dt.float32 or formula is None or getattr(op, "ftz", False):
        return None
    y = formula(e, e.wide(args[0]))
    return e(f"fptrunc double {y} to float") if formula is functions.rsqrt else functions.settled(e, y)


for _op in (*_FORMULAS, *_TABLES):
    EMITTERS.add(_op, _function)


def _looked_up(op: Any, e: Emitter, x: Name) -> Name:
    dtype, entry = op.src.type.dtype, HANDLERS.of(op)
    assert entry is not None
    table = values_of(op.opcode, dtype, bool(getattr(op, "ftz", False)), entry.handler(op, None))  # type: ignore[arg-type]
    e.tables.append(table)
    if dtype is dt.float16:
        code = e(f"bitcast half {e(f'fptrunc float {x} to half')} to i16")
    else:
        code = e(f"trunc i32 {e.do('lshr i32', e.bits(x, 'float'), '16')} to i16")
    place = e(f"zext i16 {code} to i64")
    address = table.__array_interface__["data"][0]
    return e(f"load float, ptr {e(f'getelementptr float, ptr inttoptr (i64 {address} to ptr), i64 {place}')}")


@EMITTERS.register(math.Sqrt)
def sqrt(op: math.Sqrt, e: Emitter, args: list[Name]) -> Name | None:
    dtype = op.src.type.dtype
    if op.rounding not in NEAREST or op.ftz:
        return None
    root = e.call(f"llvm.sqrt.f{64 if dtype is dt.float64 else 32}", register(dtype), *args)
    return e.rounded(root, dtype)


@EMITTERS.register(math.Neg)
def neg(op: math.Neg, e: Emitter, args: list[Name]) -> Name:
    dtype = op.src.type.dtype
    return e(f"fneg {register(dtype)} {args[0]}" if dtype.is_float else f"sub {register(dtype)} 0, {args[0]}")


@EMITTERS.register(math.Abs)
def abs_(op: math.Abs, e: Emitter, args: list[Name]) -> Name | None:
    dtype, [x] = op.src.type.dtype, args
    type_ = register(dtype)
    if dtype.is_float:
        return e.call(f"llvm.fabs.f{64 if dtype is dt.float64 else 32}", type_, x)
    return e.select(e(f"icmp slt {type_} {x}, 0"), type_, e(f"sub {type_} 0, {x}"), x) if dtype.is_signed else x


@EMITTERS.register(math.Not)
def not_(op: math.Not, e: Emitter, args: list[Name]) -> Name:
    dtype = op.src.type.dtype
    return e(f"xor {register(dtype)} {args[0]}, {'true' if dtype.is_bool else -1}")


def _integral(word: str) -> Emit:
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        dtype = op.src.type.dtype
        return e.call(f"llvm.{word}.f{64 if dtype is dt.float64 else 32}", register(dtype), *args)
    return rule


for _op, _word in ((math.Floor, "floor"), (math.Ceil, "ceil"), (math.Trunc, "trunc"), (math.Round, "roundeven")):
    EMITTERS.add(_op, _integral(_word))


def _test(how: str, other: float | None) -> Emit:
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        dtype = op.src.type.dtype
        type_ = register(dtype)
        if other is None:
            return e.nan(args[0], type_)
        size = e.call(f"llvm.fabs.f{64 if dtype is dt.float64 else 32}", type_, args[0])
        return e(f"fcmp {how} {type_} {size}, {double(other)}")
    return rule


EMITTERS.add(math.IsNan, _test("uno", None))
EMITTERS.add(math.IsInf, _test("oeq", float("inf")))
EMITTERS.add(math.IsFinite, _test("one", float("inf")))
