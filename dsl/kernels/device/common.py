"""What the library's kernels share: dtypes to compute in, masks, exponentials."""

from typing import Any

import tilewright as tw

ZERO, LOWEST = tw.PaddingMode.ZERO, tw.PaddingMode.NEG_INF
LOG2E = 1.4426950408889634


def wide(dtype: Any) -> Any:
    """What is computed in: float64 for float64, else float32."""
    return tw.float64 if dtype == tw.float64 else tw.float32


def load_wide(x, at, shape, padding=ZERO):
    """A tile in the dtype that is computed in."""
    return tw.load(x, at, shape, padding_mode=padding).astype(wide(x.dtype))


def store_as(out, at, t):
    """Store a tile in the dtype of the array."""
    tw.store(out, at, t.astype(out.dtype))


def exp_below(t, top):
    """exp(t - top). As a power of 2 its product and difference are one fused multiply-add."""
    if t.dtype == tw.float64:
        return tw.exp(t - top)
    return tw.exp2(t * LOG2E - top * LOG2E, flush_to_zero=True)


def inside(width, extent):
    """(1, width): which columns of a padded row lie in the array."""
    return (tw.arange(width, dtype=tw.int32) < extent)[None, :]
