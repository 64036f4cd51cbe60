"""What a load yields outside the array, as a constant."""

from __future__ import annotations

import math

from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.narrow import constant_bits
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode

_FLOAT = {
    PaddingMode.UNDETERMINED: 0.0, PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: math.nan,
    PaddingMode.POS_INF: math.inf, PaddingMode.NEG_INF: -math.inf,
}


def padding_number(mode: PaddingMode, dtype: DType) -> float | int:
    """The constant of the element's LLVM type; integers, which have neither infinities nor NaN, get 0."""
    value = _FLOAT[mode]
    if not dtype.is_float:
        return 0
    if value < 0 and not dtype.has_sign:
        value = math.nan  # nothing stands for a negative number
    return constant_bits(dtype, value) if elem_of(dtype) == "i8" else value
