"""Grids and tiles of the library's launches."""

from __future__ import annotations

from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.kernels.plans import note_launch


def launch(kernel: tile_kernel, grid: tuple[int, ...], *args: Any) -> None:
    """Launch a kernel, unless the grid has no block: then there is nothing to compute."""
    if 0 not in grid:
        over = kernel[grid]
        note_launch(over, args)
        over(*args)


def number(n: int) -> int:
    """An extent as a number. Of a symbol, with which torch.compile traces a function whose launches do not run, it is
    what the symbol stands for at present, and the trace does not come to depend on it: tiles and grids serve nothing
    then, and a model must not be compiled anew for each batch."""
    if type(n) is int:
        return n
    hint = getattr(getattr(n, "node", None), "hint", None)
    return hint if type(hint) is int else int(n)


def power_above(n: int) -> int:
    """The smallest power of two that is not less than n, at least 1. A size that is a symbol becomes a `number`."""
    return 1 << max(0, number(n) - 1).bit_length()


def blocks(length: int, tile: int) -> int:
    """How many tiles cover a length."""
    return -(-length // tile)
