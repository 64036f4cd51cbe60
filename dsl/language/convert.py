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
    """Convert every element.

    Integers wrap; floats truncate to integers and saturate, NaN gives 0; anything to bool is != 0. `rounding_mode` is
    for float to float, where the pair of formats has it; float8_e8m0fnu needs RZ or RP.
    """


@builtin("bitcast")
def bitcast(x: Any, /, dtype: DType) -> Tile:
    """Read the bits of every element as another dtype of the same width (not bool_)."""
