"""What functions of 16-bit floats give for each of their values: one table stands for the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.formats import format_of
from tilewright.tileir.dtypes import DType

Array = Any
_tables: dict[tuple[str, DType, bool], Array] = {}


def values_of(name: str, dtype: DType, ftz: bool, fn: Callable[[Array], Array]) -> Array:
    """The held results for all 65,536 codes. `name` and `ftz` say which function `fn` is."""
    key = name, dtype, ftz
    table = _tables.get(key)
    if table is None:
        fmt = format_of(dtype)
        with np.errstate(all="ignore"):
            codes = np.arange(1 << 16, dtype=np.uint16).view(fmt.memory)
            table = _tables[key] = np.ascontiguousarray(fn(fmt.decode(codes)), np.float32)
    return table
