"""Vector clocks: what a block has seen of others through releases and acquires.

Blocks of a launch that synchronises run one after another. A block's accesses carry its epoch, which each of its
releases ends. Block c has seen an access of block b with epoch e if c's clock has at least e for b.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.tileir.enums import MemoryOrder

ALWAYS = np.iinfo(np.int32).max
ACQUIRES = (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL)
RELEASES = (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)

MOST_BLOCKS = 8192
"""Of larger grids no clocks are kept: they take memory with the square of the number of blocks."""


class Clocks:
    """The clock of the block that runs, and those that its predecessors have left at places in memory."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._left: dict[Any, Any] = {}
        self.own = -1
        self.epoch = 1
        # One entry more, for the number -1 of nobody.
        self.seen: Any = np.empty(0)

    def run(self, block: int) -> None:
        """The accesses from now on are those of this block."""
        if block == self.own:
            return
        self.own, self.epoch = block, 1
        self.seen = np.zeros(self._blocks + 1, np.int32)
        self.seen[block] = self.seen[-1] = ALWAYS

    def acquire(self, places: list[Any]) -> None:
        for place in places:
            left = self._left.get(place)
            if left is not None:
                np.maximum(self.seen, left, out=self.seen)

    def release(self, places: list[Any], joins: bool) -> None:
        """Leave the clock at places; `joins`: an atomic update, which keeps what others have left there."""
        left = self.seen.copy()
        left[self.own] = self.epoch
        left[-1] = 0
        for place in places:
            before = self._left.get(place) if joins else None
            self._left[place] = left if before is None else np.maximum(before, left)
        self.epoch += 1

    def overwrite(self, places: list[Any]) -> None:
        """A store that releases nothing: who reads it learns nothing."""
        for place in places:
            self._left.pop(place, None)

    def unseen(self, blocks: Any, epochs: Any) -> Any:
        """Which of these accesses the running block has not seen."""
        return self.seen[blocks] < epochs
