"""The grid of a launch: checked, padded to three axes, and the hardware grid that runs it."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

from tilewright.tileir.records import record

MAX_ENTRY = (1 << 24) - 1
_MAX_Y_OR_Z = 65535  # the hardware's limit; x goes to 2^31 - 1
_MAX_X = (1 << 31) - 1


@record
class Grid:
    """`size`: blocks along x, y, z as the kernel sees them. `linear`: the hardware runs them in one dimension."""

    size: tuple[int, int, int]
    linear: bool
    hardware: tuple[int, int, int]

    @property
    def empty(self) -> bool:
        return 0 in self.size

    def in_clusters(self, blocks: int) -> Grid:
        """The grid in which clusters of so many blocks, side by side along x, run each block of this one."""
        return self if blocks == 1 else _longer(self, blocks)

    def packed(self, blocks: int) -> tuple[int, int, int]:
        """The hardware's grid where each of its blocks runs so many of this one, side by side along x."""
        x, y, z = self.size
        return -(-x // blocks), y, z

    def joins(self, counts: tuple[int, ...]) -> bool:
        """Whether so many blocks of each axis can be one."""
        return not self.linear and all(n % count == 0 for n, count in zip(self.size, counts, strict=False))

    def joined(self, counts: tuple[int, ...]) -> Grid:
        """The grid of a kernel whose blocks are so many of this one."""
        return _make(tuple(n // count for n, count in zip(self.size, (*counts, 1), strict=True)))

    def looped(self, most: int) -> tuple[int, int, int]:
        """The hardware's grid of at most so many blocks, which loop over those of this one. ValueError for so many that
        their numbers could exceed 32 bits."""
        blocks = self.size[0] * self.size[1] * self.size[2]
        if blocks > _MAX_X - most:
            raise ValueError(_too_many(self, _MAX_X - most))
        return min(blocks, most), 1, 1


@lru_cache(maxsize=4096)
def _longer(grid: Grid, factor: int) -> Grid:
    return Grid((grid.size[0] * factor, *grid.size[1:]), grid.linear,
                (grid.hardware[0] * factor, *grid.hardware[1:]))


@lru_cache(maxsize=4096)
def _make(size: tuple[int, int, int]) -> Grid:
    linear = size[1] > _MAX_Y_OR_Z or size[2] > _MAX_Y_OR_Z
    return Grid(size, linear, (size[0] * size[1] * size[2], 1, 1) if linear else size)


def make_grid(given: Any) -> Grid:
    """The grid from a tuple of up to three ints. TypeError or ValueError for anything else."""
    if not isinstance(given, tuple):
        raise TypeError(f"the grid must be a tuple of up to three ints, not {type(given).__name__}")
    if len(given) > 3:
        raise ValueError(f"the grid has {len(given)} axes; a grid has at most 3")
    sizes: list[int] = []
    for axis, entry in enumerate(given):
        try:
            size = operator.index(entry)
        except TypeError:
            advice = "; write // or tw.cdiv(n, tile)" if isinstance(entry, float) else ""
            raise TypeError(f"grid axis {axis} must be an int, not {type(entry).__name__}{advice}") from None
        if not 0 <= size <= MAX_ENTRY:
            raise ValueError(f"grid axis {axis} is {size}; it must be between 0 and {MAX_ENTRY}")
        sizes.append(size)
    x, y, z = [*sizes, 1, 1, 1][:3]
    return _make((x, y, z))


def block_place(given: Any, grid: Grid) -> tuple[int, int, int]:
    """The coordinates of a block: an int, or a tuple of up to three. TypeError or ValueError for what is none of the
    grid."""
    axes = given if isinstance(given, tuple) else (given,)
    if len(axes) > 3 or not all(hasattr(entry, "__index__") for entry in axes):
        raise TypeError(f"a block is an int or a tuple of up to three, not {given!r}")
    x, y, z = [*map(operator.index, axes), 0, 0][:3]
    if not all(0 <= entry < size for entry, size in zip((x, y, z), grid.size, strict=True)):
        raise ValueError(f"block {(x, y, z)} is outside the grid {grid.size}")
    return x, y, z


def check_hardware(grid: Grid) -> None:
    """ValueError for a grid that the hardware cannot run, even in one dimension."""
    if grid.hardware[0] > _MAX_X:
        raise ValueError(f"the grid {grid.size} has {grid.hardware[0]} blocks; with more than {_MAX_Y_OR_Z} along y or "
                         f"z, a GPU runs at most {_MAX_X} in all: make x the longest axis, or use larger tiles")


def _too_many(grid: Grid, most: int) -> str:
    return f"the grid {grid.size} has more blocks than this kernel can number, {most}: use larger tiles"
