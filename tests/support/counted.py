"""What a launch accesses, element by element: a memory of the interpreter that keeps all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.interp.memory import Change, Memory, Region
from tilewright.tileir.core import Function, Op


class Recorder(Memory):
    """`reads` and `writes`: by array the byte offset of each element, with how often it was accessed."""

    def __init__(self) -> None:
        self.reads: dict[str, Counter[int]] = {}
        self.writes: dict[str, Counter[int]] = {}

    def begin(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        pass

    def read(self, region: Region, op: Op) -> Any:
        self._note(self.reads, region)
        return super().read(region, op)

    def write(self, region: Region, values: Any, op: Op) -> None:
        self._note(self.writes, region)
        super().write(region, values, op)

    def update(self, region: Region, change: Change, op: Op) -> Any:
        self._note(self.reads, region)
        self._note(self.writes, region)
        return super().update(region, change, op)

    def _note(self, table: dict[str, Counter[int]], region: Region) -> None:
        if region.kind == "shared":
            return
        offsets, mask = np.asarray(region.offsets()), region.mask
        if mask is not None:
            offsets = offsets[np.broadcast_to(mask, offsets.shape)]
        times = 1 if region.varies else region.count
        counted = table.setdefault(region.array.name, Counter())
        for offset, number in zip(*np.unique(offsets, return_counts=True), strict=True):
            counted[int(offset)] += int(number) * times
