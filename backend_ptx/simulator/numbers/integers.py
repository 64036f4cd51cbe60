"""The same bits as signed or unsigned integers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def signed(a: Array) -> Array:
    """The same bits as signed integers; i1 is 0 or -1."""
    if a.dtype.kind == "b":
        return -a.astype(np.int8)
    return a.view(f"i{a.dtype.itemsize}")


def unsigned(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return a.view(f"u{a.dtype.itemsize}")
