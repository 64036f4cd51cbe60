"""A chunk of blocks that run together, and how register values follow when it is split and merged."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.options import ExecutionOptions

Regs = list[Any]  # register 0 holds the Chunk


class Chunk:
    """The blocks that a run of closures works on: how many, their coordinates, and how the launch executes.

    `ids[axis]` is an int32 array over the blocks where the axis varies, else one int32. `memory` and `poison` are those
    of the options, at hand for every access.
    """

    __slots__ = ("count", "ids", "grid", "options", "memory", "poison", "_steps")

    def __init__(
        self, count: int, ids: tuple[Any, Any, Any], grid: tuple[int, int, int], options: ExecutionOptions
    ) -> None:
        self.count = count
        self.ids = ids
        self.grid = grid
        self.options = options
        self.memory = options.memory
        self.poison = options.poison
        self._steps: dict[int, tuple[int, int] | None] = {}

    def progression(self, index: Any) -> tuple[int, int] | None:
        """The first of numbers over the blocks and the step between them; None where steps differ. Those of `ids` are
        kept: most accesses are at the block's number."""
        if not any(index is own for own in self.ids):
            return progression(index)
        found = self._steps.get(id(index), ())
        if found == ():
            found = self._steps[id(index)] = progression(index)
        return found  # type: ignore[return-value]

    def take(self, blocks: Any) -> Chunk:
        """The chunk of some of these blocks."""
        ids = tuple(i[blocks] if isinstance(i, np.ndarray) and i.ndim else i for i in self.ids)
        return Chunk(len(blocks), ids, self.grid, self.options)


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
