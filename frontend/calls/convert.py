"""astype and bitcast."""

from __future__ import annotations

from tilewright.frontend.calls.options import bad, dtype_arg, member
from tilewright.frontend.calls.registry import RULES, call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val
from tilewright.tileir import dtypes as d
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import convert as ops

RN, RZ, RM, RP, RA = RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP, RoundingMode.RA
_FIVE = (RN, RZ, RM, RP, RA)
_NARROW = (d.float16, d.bfloat16, d.float8_e5m2, d.float8_e4m3fn, d.float4_e2m1fn)


def rounding_modes(source: DType, target: DType) -> tuple[RoundingMode, ...]:
    """The modes in which one float format can be rounded to another."""
    scales = source in (d.float64, d.float8_e8m0fnu)
    if target is d.float64:
        return _FIVE
    if target is d.float32:
        if source is d.float8_e8m0fnu:
            return RN, RZ
        return (RN, RZ, RM, RP) if source is d.float64 else _FIVE
    if target is d.tfloat32:
        return (RN, RZ) if scales else (RN, RZ, RA)
    if target is d.bfloat16:
        return RN, RZ
    if target is d.float16:
        return _FIVE if source in _NARROW else (RN, RZ)
    if target is d.float8_e8m0fnu:
        return RZ, RP
    return (RN,)


@call_rule("astype")
def astype(t: Translator, x: Val, dtype: Val, /, *, rounding_mode: Val = None) -> Val:
    x = tile_arg(t, "astype", "x", x)
    dtype = dtype_arg("astype", "dtype", dtype)
    source = x.type.dtype
    floats = source.is_float and dtype.is_float
    if rounding_mode is not None:
        rounding_mode = member("astype", "rounding_mode", rounding_mode, RoundingMode)
        if not floats:
            raise bad("astype", "rounding_mode", f"is for float to float only, not {source} to {dtype}",
                      hints=["leave it out; ct.floor and ct.ceil round before a conversion to integers"])
    if source is dtype:
        return x
    mode = rounding_mode or RN
    if floats and mode not in rounding_modes(source, dtype):
        names = ", ".join(m.name for m in rounding_modes(source, dtype))
        given = f"is {mode.name}" if rounding_mode else "is missing"
        raise bad("astype", "rounding_mode", f"{given}: {source} to {dtype} has {names}",
                  hints=[f"write rounding_mode=ct.RoundingMode.{rounding_modes(source, dtype)[0].name}"])
    if mode is RN:
        return cast(t, x, dtype)
    return t.emit(ops.Cast, src=x, dtype=dtype, rounding=mode)


@call_rule("bitcast")
def bitcast(t: Translator, x: Val, /, dtype: Val) -> Val:
    x = tile_arg(t, "bitcast", "x", x)
    dtype = dtype_arg("bitcast", "dtype", dtype)
    if x.type.dtype is d.bool_ or dtype is d.bool_:
        raise bad("bitcast", "dtype", "cannot be used with bool_, which has no fixed bits",
                  hints=["write x.astype(dtype), which converts the values"])
    if x.type.dtype.bitwidth != dtype.bitwidth:
        widths = f"{dtype} has {dtype.bitwidth} bits, but {x.type.dtype} has {x.type.dtype.bitwidth}"
        raise bad("bitcast", "dtype", widths, hints=["write x.astype(dtype), which converts the values"])
    return x if x.type.dtype is dtype else t.emit(ops.Bitcast, src=x, dtype=dtype)


RULES["Tile.astype"] = RULES["astype"]
