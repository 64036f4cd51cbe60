"""Matrix products."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = [
    "mma", "matmul",
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
