"""Running a few lines of kernel code and reading back what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as ct
from tilewright.frontend import translate
from tilewright.tileir.core import Function


def ir(kernel: Any, *args: Any) -> Function:
    """The Tile IR as the frontend makes it."""
    return translate(kernel.__wrapped__, kernel.arg_specs(*args))


def result(
    function: Callable[..., Any], *args: Any, dtype: Any = np.float64, shape: tuple[int, ...] = (1,)
) -> np.ndarray:
    """What `function(*args)` gives inside a kernel, a tile of `shape` converted to `dtype`."""
    rank = len(shape)

    @ct.tile_kernel
    def kernel(out, args):
        value = ct.astype(function(*args), out.dtype)
        ct.store(out, zeros, ct.broadcast_to(value, shape))

    zeros = (0,) * rank
    out = np.zeros(shape, dtype)
    kernel[(1,)](out, args)
    return out


def value(function: Callable[..., Any], *args: Any) -> float:
    """What `function(*args)` gives inside a kernel, a number."""
    return float(result(function, *args)[0])


def dtype_name(function: Callable[..., Any], *args: Any) -> str:
    """The dtype of what `function(*args)` gives inside a kernel."""
    seen: list[str] = []

    @ct.tile_kernel
    def kernel(args):
        value = function(*args)
        ct.static_eval(note(value.dtype))

    def note(dtype: Any) -> bool:
        seen.append(str(dtype))
        return True

    ir(kernel, args)
    return seen[0]
