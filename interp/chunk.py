"""A chunk of blocks that run together, and how register values follow when it is split and merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.interp.options import ExecutionOptions

Regs = list[Any]  # register 0 holds the Chunk


class Chunk:
    """The blocks that a run of closures works on: how many, their coordinates, and how the launch executes.

    `ids[axis]` is an int32 array over the blocks where the axis varies, else one int32. `memory` and `poison` are those
    of the options, at hand for every access. `sides`: of a rectangle (interp/rectangles.py), its length along each of
    its axes, that of the faster one first.
    """

    __slots__ = ("count", "ids", "grid", "options", "memory", "poison", "sides", "_steps", "_sides")

    def __init__(
        self, count: int, ids: tuple[Any, Any, Any], grid: tuple[int, int, int], options: ExecutionOptions,
        sides: dict[int, int] | None = None,
    ) -> None:
        self.count = count
        self.ids = ids
        self.grid = grid
        self.options = options
        self.memory = options.memory
        self.poison = options.poison
        self.sides = sides
        self._sides: dict[int, Chunk] = {}
        self._steps: dict[int, tuple[int, int] | None] = {}

    def progression(self, index: Any) -> tuple[int, int] | None:
        """The first of numbers over the blocks and the step between them; None where steps differ. Those of `ids` are
        kept: most accesses are at the block's number."""
        x, y, z = self.ids
        if index is not x and index is not y and index is not z:
            return progression(index)
        key = id(index)
        if key not in self._steps:
            self._steps[key] = progression(index)
        return self._steps[key]

    def side(self, axis: int, numbers: Sequence[Any]) -> tuple[Chunk, list[Any]]:
        """The chunk of one block for each position along an axis of a rectangle, and these numbers in its blocks."""
        assert self.sides is not None
        (first, length), _ = self.sides.items()
        one = slice(0, length) if axis == first else slice(0, None, length)
        side = self._sides.get(axis)
        if side is None:
            side = self._sides[axis] = self.take(np.arange(self.count)[one])
        own = dict(zip(map(id, self.ids), side.ids, strict=True))
        return side, [own.get(id(n), n[one]) if isinstance(n, np.ndarray) and n.ndim else n for n in numbers]

    def take(self, blocks: Any) -> Chunk:
        """The chunk of some of these blocks."""
        ids = tuple(i[blocks] if isinstance(i, np.ndarray) and i.ndim else i for i in self.ids)
        chunk = Chunk(len(blocks), ids, self.grid, self.options)
        chunk.memory = self.memory
        return chunk


def progression(numbers: Any) -> tuple[int, int] | None:
    """The first of some integers and the step between them; None where steps differ."""
    first, count = int(numbers[0]), len(numbers)
    if count == 1:
        return first, 0
    step = int(numbers[1]) - first
    if first + step * (count - 1) != int(numbers[-1]):
        return None
    if count > 2 and not (numbers[2:] - numbers[1:-1] == step).all():
        return None
    return first, step


def take(value: Any, blocks: Any) -> Any:
    """A varying value for some of the blocks; arrays in memory and shared buffers have their own `take`. None stays."""
    if isinstance(value, np.ndarray):
        return value[blocks]
    return None if value is None else value.take(blocks)


def split(regs: Regs, blocks: Any, varying_slots: tuple[int, ...]) -> Regs:
    """Registers for some of the blocks of a chunk; only the listed slots are followed."""
    sub = regs.copy()
    sub[0] = regs[0].take(blocks)
    for slot in varying_slots:
        if sub[slot] is not None:
            sub[slot] = take(sub[slot], blocks)
    return sub


def spread(value: Any, count: int) -> Any:
    """A uniform value as one that varies by block; None stays."""
    if value is None:
        return None
    if isinstance(value, np.ndarray | np.generic):
        return np.broadcast_to(value, (count, *value.shape))
    return value.spread(count)
