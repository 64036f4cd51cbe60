"""Partial gradients: each block adds to its own, and a second kernel adds these up in the order of blocks."""

from __future__ import annotations

import functools
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.tileir.dtypes import int32

TILE = 256


def add_parts(parts: Any, gradient: Any, shape: tuple[int, ...], stream: Any) -> None:
    """Add the partial gradients, whose first axis is the block, to the gradient, which has this shape."""
    size = 1
    for extent in shape:
        size *= extent
    _kernel()[-(-size // TILE)](parts, gradient, stream=stream)


@functools.cache
def _kernel() -> tile_kernel:
    import tilewright.language as tw

    @tile_kernel(deterministic=True)
    def add_parts(parts, gradient):  # type: ignore[no-untyped-def]
        rest = tw.bid(0) * TILE + tw.arange(TILE, dtype=int32)
        at = ()
        for axis in tw.static_iter(range(gradient.ndim - 1, -1, -1)):
            at = (rest if axis == 0 else rest % gradient.shape[axis], *at)  # type: ignore[assignment]
            rest = rest // gradient.shape[axis]
        total = tw.gather(gradient, at).astype(parts.dtype)
        for block in range(parts.shape[0]):
            total = total + tw.gather(parts, (block, *at))
        tw.scatter(gradient, at, total.astype(gradient.dtype))

    return add_parts
