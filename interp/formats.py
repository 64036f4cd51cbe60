"""How each dtype is held in registers and in memory, and how values round to it.

Held: bool and integers as themselves, float32 and float64 as themselves, float16, bfloat16 and tfloat32 as float32
arrays whose values are exact in the narrow format, 8- and 4-bit floats as uint8 codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.interp import codes
from tilewright.interp.jit import halves
from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.rounding import nearest, round_bf16, round_f16, round_tf32

Array = Any  # an ndarray or a NumPy scalar


def _same(x: Array) -> Array:
    return x


def _bf16_encode(x: Array) -> Array:
    # The value is exact in bfloat16, so its upper half is the code; NaN payloads survive.
    return (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16).view(ml_dtypes.bfloat16)


def _to_float32(x: Array) -> Array:
    return x.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Format:
    """`decode` turns memory into held values, `encode` back (exact: the values fit); `round` rounds float32 to it."""

    dtype: DType
    held: np.dtype[Any]
    memory: np.dtype[Any]
    decode: Callable[[Array], Array] = _same
    encode: Callable[[Array], Array] = _same
    round: Callable[[Array], Array] = _same

    @property
    def plain(self) -> bool:
        """Memory and registers hold the same bits, so a view of memory is a value."""
        return self.decode is _same

    @property
    def narrow(self) -> bool:
        """Held as float32 and rounded after every operation."""
        return self.round is not _same


@cache
def format_of(dtype: DType) -> Format:
    """The format record of a dtype."""
    float32 = np.dtype(np.float32)
    if dtype is dt.bool_:
        return Format(dtype, np.dtype(np.bool_), np.dtype(np.bool_))
    if dtype is dt.float16:
        return Format(dtype, float32, np.dtype(np.float16), halves.decode, halves.encode, round_f16)
    if dtype is dt.bfloat16:
        return Format(dtype, float32, np.dtype(ml_dtypes.bfloat16), _to_float32, _bf16_encode, round_bf16)
    if dtype is dt.tfloat32:
        return Format(dtype, float32, float32, round=round_tf32)
    if dtype in codes.FORMATS:
        return Format(dtype, np.dtype(np.uint8), np.dtype(np.uint8))
    native = np.dtype(dtype.name)
    return Format(dtype, native, native)


def array_dtype(dtype: DType) -> np.dtype[Any]:
    """The dtype that a host array of this element type has."""
    if dtype in codes.FORMATS:
        name = codes.FORMATS[dtype].numpy_name
        return np.dtype(getattr(ml_dtypes, name)) if name else np.dtype(np.uint8)
    return format_of(dtype).memory


def as_float(x: Array, dtype: DType) -> Array:
    """The numeric value of a held float: codes become float32, everything else stays."""
    return codes.decode(x, dtype) if dtype in codes.FORMATS else x


def constant(value: bool | int | float, dtype: DType) -> Array:
    """A held scalar with the given value."""
    if dtype in codes.FORMATS:
        return codes.constant(float(value), dtype)
    with np.errstate(all="ignore"):
        fmt = format_of(dtype)
        if dtype.is_float and fmt.held == np.float32:
            return np.asarray(nearest(np.float64(value), dtype))[()]
        return fmt.held.type(value)
