"""Changes of dtype."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "astype", "bitcast",
]


@builtin("astype")
def astype(x: Any, dtype: DType, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """Every element converted to another dtype.

    Operands: a tile or number; `dtype`, any dtype.
    Result: a tile of the same shape. Integers wrap. Floats truncate to integers and saturate; NaN gives 0. To bool: is
        it not 0. To a narrower float: the nearest value; past the largest, float16, bfloat16 and float32 become
        infinite, and the float8 and float4 formats saturate.
    Options: `rounding_mode`, for float to float where the pair of formats has the mode; float8_e8m0fnu needs RZ or RP.
    Errors: TileTypeError for a mode that the formats do not have, and one without a float on both sides.

    Example:
        t = ct.arange(4, dtype=ct.float32, start=-1.5)
        print(t.astype(ct.int32), ct.astype(t, ct.uint8))    # [-1, 0, 0, 1] [0, 0, 0, 1]
        print(t.astype(ct.bool_))                            # [1, 1, 1, 1]
        print((t * 1000.0).astype(ct.float8_e4m3fn))         # [-448.000000, -448.000000, 448.000000, 448.000000]
        print(ct.float32(0.3).astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ))   # 0.250000
        t.astype(ct.float16, rounding_mode=ct.RoundingMode.APPROX)                           # TileTypeError
    """


@builtin("bitcast")
def bitcast(x: Any, /, dtype: DType) -> Tile:
    """The bits of every element, read as another dtype of the same width.

    Operands: a tile; `dtype`, of the same width in bits, not bool_.
    Result: a tile of the same shape.
    Errors: TileTypeError for another width, and for bool_.

    Example:
        one = ct.full((2,), 1.0, ct.float32)
        print(f"{ct.bitcast(one, ct.uint32):x}")             # [3f800000, 3f800000]
        ct.bitcast(one, ct.int64)                            # TileTypeError
    """
