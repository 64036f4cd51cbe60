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
    """x @ y + acc, in the dtype of acc. x: (..., M, K), y: (..., K, N), acc: (..., M, N).

    Operands have one dtype (int8 and uint8 may mix). acc: float16 for float16 and float8; float32 for float16,
    bfloat16, float32, tfloat32 and float8; float64 for float64; int32 for eight-bit integers.

        acc = ct.mma(a, b, acc)
    """


@builtin("matmul")
def matmul(x: Any, y: Any, /) -> Tile:
    """x @ y for tiles of one axis or more; the operands promote, and the result has their dtype."""


@builtin("mma_scaled")
def mma_scaled(x: Any, x_scale: Any, y: Any, y_scale: Any, /, acc: Any) -> Tile:
    """(x * scales of x) @ (y * scales of y) + acc, a scale for each run of elements along the inner axis.

    x: (..., M, K), y: (..., K, N) of one eight- or four-bit float dtype; x_scale: (..., M, K / B), y_scale:
    (..., K / B, N). B is 32 for float8_e4m3fn and float8_e5m2 with float8_e8m0fnu scales; for float4_e2m1fn 16 or 32
    with float8_e8m0fnu or float8_e5m3fnu, 16 with float8_e4m3fn. acc: float32.
    """
