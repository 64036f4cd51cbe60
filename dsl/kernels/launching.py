"""Grids and tiles of the library's launches."""

from __future__ import annotations

from typing import Any

from tilewright.kernel import tile_kernel


def launch(kernel: tile_kernel, grid: tuple[int, ...], *args: Any) -> None:
    """Launch a kernel, unless the grid has no block: then there is nothing to compute."""
    if 0 not in grid:
        kernel[grid](*args)


def power_above(n: int) -> int:
    """The smallest power of two that is not less than n, at least 1. A size that is a symbol becomes a number."""
    return 1 << max(0, int(n) - 1).bit_length()


def blocks(length: int, tile: int) -> int:
    """How many tiles cover a length."""
    return -(-length // tile)
