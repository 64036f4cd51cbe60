"""Changes of dtype: casts with one rounding, saturation at the edges, and bit casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp import codes
from tilewright.interp.formats import as_float, format_of
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir import dtypes as dt
from tilewright.tileir import rounding
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import convert
from tilewright.tileir.rounding import round_f16

Array = Any
Fn = Callable[[Any], Any]


@impl(convert.Cast)
def cast(op: convert.Cast, low: Lowering) -> Fn:
    return cast_fn(op.src.type.dtype, op.dtype, op.rounding)


def cast_fn(src: DType, dst: DType, mode: RoundingMode = RoundingMode.RN) -> Fn:
    """The conversion from held values of `src` to held values of `dst`."""
    if src is dst:
        return lambda x: x
    if src.is_float:
        if dst.is_bool:
            return lambda x: as_float(x, src) != 0
        if dst.is_int:
            return lambda x: float_to_int(as_float(x, src), dst)
        return _float_to_float(src, dst, mode)
    held = format_of(dst).held
    if not dst.is_float:
        return (lambda x: x != 0) if dst.is_bool else lambda x: x.astype(held)
    return _int_to_float(src, dst)


def float_to_int(x: Array, dst: DType) -> Array:
    """Truncate and saturate; NaN gives 0."""
    low, high = dst.int_range
    held = format_of(dst).held
    wide = np.asarray(x, np.float64)
    if dst.bitwidth <= 32:
        clipped = np.clip(wide, float(low), float(high))
        return np.where(np.isnan(wide), 0.0, clipped).astype(held)
    # The largest 64-bit integers are no floats: compare with the power of two above.
    below, above = wide <= float(low), wide >= float(high + 1)
    inside = np.where(below | above | np.isnan(wide), 0.0, wide).astype(held)
    return np.where(above, held.type(high), np.where(below, held.type(low), inside))


def _int_to_float(src: DType, dst: DType) -> Fn:
    if dst in (dt.float32, dt.float64):
        held = format_of(dst).held
        return lambda x: x.astype(held)
    exact = (lambda x: np.asarray(x).astype(np.float64)) if src.bitwidth <= 32 else _odd_float64
    if dst in codes.FORMATS:
        return lambda x: codes.encode_nearest(exact(x), dst)
    if dst is dt.float16:
        # Whatever float32 cannot hold exactly is far beyond float16's range.
        return lambda x: round_f16(x.astype(np.float32))
    return lambda x: rounding.nearest(exact(x), dst)


def _odd_float64(x: Array) -> Array:
    """64-bit integers as float64, rounded to odd: low bits that do not fit are collected in the last one kept."""
    x = np.asarray(x)
    twelve = x.dtype.type(12)
    lost = (x & x.dtype.type(0xFFF)) != 0
    large = ((x >> twelve) | lost.astype(x.dtype)).astype(np.float64) * 4096.0
    fits = (x >> x.dtype.type(52)) == 0
    if x.dtype.kind == "i":
        fits = fits | ((x >> x.dtype.type(52)) == -1)
    return np.where(fits, x.astype(np.float64), large)


def _float_to_float(src: DType, dst: DType, mode: RoundingMode) -> Fn:
    if dst in codes.FORMATS:
        return _to_codes(src, dst, mode)
    if src in codes.FORMATS:
        decoded = codes.value_table(src)
        if dst is dt.float64:
            return lambda x: decoded.take(x).astype(np.float64)
        # Every 8- and 4-bit value fits float32, but not every one fits the 16-bit formats.
        return _narrowing(lambda x: decoded.take(x), dt.float32, dst, mode)
    return _narrowing(lambda x: x, src, dst, mode)


def _narrowing(first: Fn, src: DType, dst: DType, mode: RoundingMode) -> Fn:
    nearest = mode is RoundingMode.RN
    if dst is dt.float64:
        return lambda x: first(x).astype(np.float64)
    if dst is dt.float32 and src is not dt.float64:
        return first
    if nearest and dst is dt.float32:
        return lambda x: first(x).astype(np.float32)
    if nearest and src is not dt.float64:
        rnd = format_of(dst).round
        return lambda x: rnd(first(x))
    return lambda x: rounding.narrow(np.asarray(first(x), np.float64), dst, mode)


def _to_codes(src: DType, dst: DType, mode: RoundingMode) -> Fn:
    if src in codes.FORMATS:
        # Between code formats one table does it.
        table = codes.encode(codes.value_table(src), dst, mode)
        return lambda x: table.take(x)
    if src is dt.float64:
        return lambda x: codes.encode(rounding.odd_float32(x), dst, mode)
    return lambda x: codes.encode(x, dst, mode)


@impl(convert.Bitcast)
def bitcast(op: convert.Bitcast, low: Lowering) -> Fn:
    src, dst = format_of(op.src.type.dtype), format_of(op.dtype)
    if src.held == dst.held and src.plain and dst.plain:
        return lambda x: x
    encode, decode, memory = src.encode, dst.decode, dst.memory
    return lambda x: decode(encode(np.asarray(x)).view(memory))
