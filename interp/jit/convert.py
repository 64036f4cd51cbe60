"""Emitters of conversions (interp/handlers/convert.py)."""

from __future__ import annotations

from tilewright.interp.formats import format_of
from tilewright.interp.jit.emit import EMITTERS, Emitter, Name, double, holds, register
from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import convert


@EMITTERS.register(convert.Cast)
def cast(op: convert.Cast, e: Emitter, args: list[Name]) -> Name | None:
    src, dst = op.src.type.dtype, op.dtype
    [x] = args
    if not holds(src) or not holds(dst):
        return None
    if src is dst:
        return x
    if src.is_float and dst.is_float:
        return _float_to_float(e, x, src, dst) if op.rounding is RoundingMode.RN else None
    if src.is_float:
        return _float_to_int(e, x, src, dst)
    return _int_to_float(e, x, src, dst) if dst.is_float else _int_to_int(e, x, src, dst)


def _float_to_float(e: Emitter, x: Name, src: DType, dst: DType) -> Name:
    if dst is dt.float64:
        return e.wide(x)
    if src is dt.float64:
        return e.nearest(x, dst)
    return e.rounded(x, dst)


def _float_to_int(e: Emitter, x: Name, src: DType, dst: DType) -> Name:
    type_, to = register(src), register(dst)
    if dst.is_bool:
        return e(f"fcmp une {type_} {x}, {double(0.0)}")
    low, high = dst.int_range
    # Compared with powers of two, which floats are; what remains converts without a limit.
    above = e.do(f"fcmp oge {type_}", x, double(float(high + 1)))
    below = e.do(f"fcmp ole {type_}", x, double(float(low)))
    inside = e.select(e.do("or i1", above, below), type_, double(0.0), x)
    inside = e.select(e.nan(x, type_), type_, double(0.0), inside)
    out = e(f"fpto{'s' if dst.is_signed else 'u'}i {type_} {inside} to {to}")
    return e.select(above, to, str(high), e.select(below, to, str(low), out))


def _int_to_int(e: Emitter, x: Name, src: DType, dst: DType) -> Name:
    type_, to = register(src), register(dst)
    if dst.is_bool:
        return e(f"icmp ne {type_} {x}, 0")
    one, other = (1 if d.is_bool else d.bitwidth for d in (src, dst))
    if one == other:
        return x
    if one > other:
        return e(f"trunc {type_} {x} to {to}")
    return e(f"{'sext' if src.is_signed else 'zext'} {type_} {x} to {to}")


def _int_to_float(e: Emitter, x: Name, src: DType, dst: DType) -> Name | None:
    word = "sitofp" if src.is_signed else "uitofp"
    if dst in (dt.float32, dt.float64):
        return e(f"{word} {register(src)} {x} to {register(dst)}")
    if dst is dt.float16:
        return e.rounded(e(f"{word} {register(src)} {x} to float"), dst)
    if src.bitwidth > 32:
        return None
    return e.nearest(e(f"{word} {register(src)} {x} to double"), dst)


@EMITTERS.register(convert.Bitcast)
def bitcast(op: convert.Bitcast, e: Emitter, args: list[Name]) -> Name | None:
    src, dst = op.src.type.dtype, op.dtype
    if not (holds(src) and holds(dst)) or any(format_of(d).narrow for d in (src, dst)):
        return None
    one, other = register(src), register(dst)
    return args[0] if one == other else e(f"bitcast {one} {args[0]} to {other}")
