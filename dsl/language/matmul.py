"""Matrix products."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = [
    "mma", "mma_scaled", "matmul",
]


@builtin("mma")
def mma(x: Any, y: Any, /, acc: Any, *, use_fast_acc: bool = False) -> Tile:
    """x @ y + acc, on the tensor cores of a GPU where they have the dtypes.

    Operands: x (..., M, K), y (..., K, N), acc (..., M, N); two axes or more, batch axes of x and y broadcast. x and y
        have one dtype (int8 and uint8 may mix). acc: float16 or float32 for float16, float8_e4m3fn and float8_e5m2;
        float32 for bfloat16, float32 and tfloat32; float64 for float64; int32 for int8 and uint8.
    Result: a tile of the shape and dtype of acc. float32 operands are multiplied as float32; cast them to tfloat32 for
        the tensor cores' faster format. Integers wrap. Floats are summed in the format of acc, in no fixed order: to
        within K * eps * sum |x||y| of the exact sums.
    Options: `use_fast_acc`, for float8 only, is about tensor cores of compute capability 9.0, which add products of
        float8 with few bits, to within 2**-12 * sum |x||y|. False: they add along the K of one call, whose product is
        then added to acc in float32. True: they add to acc too, call after call, which is faster and loses more.
    Errors: TileTypeError for shapes or dtypes that do not fit.

    Example:
        x = ct.ones((2, 4), ct.float16)
        y = ct.ones((4, 2), ct.float16)
        print(ct.mma(x, y, ct.zeros((2, 2), ct.float32)))    # [[4.000000, 4.000000], [4.000000, 4.000000]]
        ct.mma(x, y, ct.zeros((2, 2), ct.int32))             # TileTypeError
        ct.mma(x, x, ct.zeros((2, 2), ct.float32))           # TileTypeError
    """


@builtin("matmul")
def matmul(x: Any, y: Any, /) -> Tile:
    """x @ y.

    Operands: tiles of one axis or more that promote to a float dtype, int8 or uint8; x (..., M, K), y (..., K, N). A
        tile of one axis counts as a row on the left and as a column on the right.
    Result: a tile of the promoted dtype. It is accumulated in that dtype (int8 in int32, bfloat16 in float32) and
        converted back; for float16 with float32 accumulation use `mma`.
    Errors: TileTypeError for inner lengths that differ, scalars, and dtypes that do not promote or that no product
        takes (int32, ...).

    Example:
        m = ct.arange(4, dtype=ct.float32).reshape((2, 2))
        v = ct.ones((2,), ct.float32)
        print(ct.matmul(m, m))                               # [[2.000000, 3.000000], [6.000000, 11.000000]]
        print(m @ v, v @ v)                                  # [1.000000, 5.000000] 2.000000
        m @ ct.ones((4, 2), ct.float32)                      # TileTypeError
    """


@builtin("mma_scaled")
def mma_scaled(x: Any, x_scale: Any, y: Any, y_scale: Any, /, acc: Any) -> Tile:
    """(x * scales of x) @ (y * scales of y) + acc, with one scale for each run of B elements along K.

    Operands: x (..., M, K) and y (..., K, N), two or three axes, of one float8 or float4 dtype; x_scale (..., M, K / B)
        and y_scale (..., K / B, N) of one dtype; acc (..., M, N) of float32. B is 32 for float8_e4m3fn and float8_e5m2
        with float8_e8m0fnu scales; for float4_e2m1fn it is 16 or 32 with float8_e8m0fnu or float8_e5m3fnu, and 16 with
        float8_e4m3fn.
    Result: a float32 tile of the shape of acc. Products are summed as by `mma` in float32. x times its scale is exact
        from 2**-133 on, below 2**128; only float8_e8m0fnu scales of float8 reach beyond: smaller ones may be rounded to
        a multiple of 2**-133, larger ones may be infinite. What a float8_e4m3fn scale below zero does is unspecified.
    Errors: TileTypeError for shapes or dtypes that do not fit.

    Example:
        x = ct.ones((16, 32), ct.float8_e4m3fn)
        y = ct.ones((32, 8), ct.float8_e4m3fn)
        half = ct.full((16, 1), 0.5, ct.float8_e8m0fnu)
        two = ct.full((1, 8), 2.0, ct.float8_e8m0fnu)
        out = ct.mma_scaled(x, half, y, two, ct.zeros((16, 8), ct.float32))
        print(ct.max(out), ct.min(out))                      # 32.000000 32.000000
        ct.mma_scaled(x, two, y, half, ct.zeros((16, 8), ct.float32))   # TileTypeError
    """
