"""How much of what is read or written again reaches memory: a model of L2 by waves of blocks.

Blocks run in waves: as many as fit all SMs at once, in the order of their numbers. What several blocks of a wave access
in the same step comes from memory once. What a wave has accessed before is still in L2 if all that the wave accesses
fits, and what the wave before has accessed if either fits. If all that the launch accesses fits, memory moves each
sector once.

SMs are freed one by one, so that blocks of two waves run at once, in other steps. Where what a wave accesses does not
fit, the two share nothing: memory moves up to twice as much, though never more than blocks ask for. (A GEMM of 8192^3
by cp.async read 1.6 times what one wave in step would on an H100, 1.1 times on an H200, whose L2 is larger.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.estimating.names import ATOMIC, READ, SECTOR, USABLE, WRITTEN
from tilewright.estimating.sectors import in_array, start_of, way
from tilewright.estimating.traffic import MAX_SINGLE, tile_shape
from tilewright.interp.arrays import ArrayRef
from tilewright.tileir.core import Op

if TYPE_CHECKING:
    from tilewright.estimating.counting import Accessing

# Bits of a place in an array, in a number whose upper bits are a wave's; tiles may begin so far before the array.
PLACE, LOWEST = 42, 1 << 40
MAX_KEPT = 1 << 22  # places that are remembered to find those that a wave accesses again
WAYS = {READ: (READ,), WRITTEN: (WRITTEN,), ATOMIC: (READ, WRITTEN)}


class Waves:
    """Watches a counting run of a machine function. `size`: blocks of a wave, of which there are `total`."""

    def __init__(self, size: int, total: int) -> None:
        self.size = size
        self.count = -(-total // size)
        self.complete = True  # all places are remembered
        self.known = True  # all accesses were looked at
        self._kept = 0
        self._spent = 0
        self._starts: dict[str, int] = {}
        # By array and by READ or WRITTEN: bytes that each wave accesses, as steps see them, and the places by kind.
        self._steps: dict[tuple[str, str], Any] = defaultdict(lambda: np.zeros(self.count, np.int64))
        self._asked: dict[tuple[str, str], Any] = defaultdict(lambda: np.zeros(self.count, np.int64))
        self._places: dict[tuple[str, str, Any], list[Any]] = defaultdict(list)

    def bound(self, values: Sequence[Any]) -> None:
        """The arguments of the launch."""
        for value in values:
            for ref in value if isinstance(value, list) else [value]:
                if isinstance(ref, ArrayRef):
                    self._starts[ref.name] = start_of(ref)

    def bytes(self, l2_bytes: int) -> dict[tuple[str, str], int]:
        """By array and by READ or WRITTEN: what reaches memory, with so large an L2; empty where it is not known."""
        if not self.known:
            return {}
        distinct, fresh = self._by_wave(), self._by_wave()
        for (name, how, _), found in self._places.items():
            keys, sizes = (np.concatenate(parts) for parts in zip(*found, strict=True))
            keys, first = np.unique(keys, return_index=True)
            sizes, waves = sizes[first], keys >> PLACE
            np.add.at(distinct[name, how], waves, sizes)
            new = ~np.isin(keys - (1 << PLACE), keys, assume_unique=True)
            np.add.at(fresh[name, how], waves[new], sizes[new])
        whole = sum(distinct.values(), start=np.zeros(self.count, np.int64))
        room = USABLE * l2_bytes if self.complete else -1.0
        either = np.maximum(whole, np.concatenate([whole[:1], whole[:-1]]))
        apart = {key: np.minimum(steps * min(self.count, 2), self._asked[key]) for key, steps in self._steps.items()}
        return {key: int(np.where(either <= room, fresh[key], np.where(whole <= room, distinct[key], most)).sum())
                for key, most in apart.items()}

    def in_step(self) -> dict[tuple[str, str], int]:
        """By array and by READ or WRITTEN: the bytes that L2 is asked for if all blocks of a wave that ask for the same
        in one step share the request; empty where it is not known."""
        return {key: int(steps.sum()) for key, steps in self._steps.items()} if self.known else {}

    def _by_wave(self) -> dict[tuple[str, str], Any]:
        return {key: np.zeros(self.count, np.int64) for key in self._steps}

    def tile(self, op: Any, ref: ArrayRef, starts: list[Any], blocks: Accessing) -> None:
        shape = tile_shape(op)
        first: Any = ref.offset + self._starts[ref.name]
        rows: Any = np.int64(1)
        inner, item = _inner(ref, op.order), ref.memory.itemsize
        for k, (start, length, axis) in enumerate(zip(starts, shape, op.order, strict=True)):
            first = first + start * ref.strides[axis]
            inside = np.clip(np.minimum(start + length, ref.extents[axis]) - np.maximum(start, 0), 0, None)
            # A row lies in as many sectors as its bytes reach over.
            rows = rows * (inside if k != inner else -(-(inside * item + first % SECTOR) // SECTOR))
        if inner is None:
            rows = rows * -(-item // SECTOR)
        places, sizes = (np.broadcast_to(n, (blocks.count,)) for n in (first, rows * SECTOR))
        self._note(op, ref.name, shape, self._numbers(blocks), places, sizes)

    def elements(self, op: Any, ref: ArrayRef, indices: list[Any], mask: Any, blocks: Accessing) -> None:
        rank, shape = len(op.shape), tuple(op.shape)
        full = (blocks.count, *shape)
        self._spent += int(np.prod(full, dtype=np.int64))
        if self._spent > MAX_SINGLE:
            self.known = False
            return
        valid, places = in_array(ref, indices, mask, rank)
        valid = np.broadcast_to(valid, full).reshape(blocks.count, -1)
        sectors = np.broadcast_to(places + self._starts[ref.name], full).reshape(blocks.count, -1) // SECTOR
        waves = np.broadcast_to(self._numbers(blocks)[:, None], valid.shape)[valid]
        chosen = sectors[valid]
        self._note(op, ref.name, None, waves, chosen, np.full(len(chosen), SECTOR))

    def _numbers(self, blocks: Accessing) -> Any:
        """The wave of each block."""
        x, y, z = blocks.ids
        columns, rows, _ = blocks.chunk.grid
        return (x + columns * (y + rows * z)) // self.size

    def _note(self, op: Op, name: str, kind: Any, waves: Any, places: Any, sizes: Any) -> None:
        """Blocks of these waves access so many bytes at these places, in one step."""
        for how in WAYS[way(op)]:
            np.add.at(self._asked[name, how], waves, sizes)
        keys, first = np.unique((waves.astype(np.int64) << PLACE) + places + LOWEST, return_index=True)
        sizes = sizes[first]
        keys, sizes = keys[sizes > 0], sizes[sizes > 0]
        for how in WAYS[way(op)]:
            np.add.at(self._steps[name, how], keys >> PLACE, sizes)
            self._kept += len(keys)
            if self._kept > MAX_KEPT:
                self.complete = False
            else:
                self._places[name, how, kind].append((keys, sizes))


def _inner(ref: ArrayRef, order: Sequence[int]) -> int | None:
    """The tile axis along which elements lie side by side."""
    return next((k for k, axis in enumerate(order) if abs(ref.strides[axis]) == ref.memory.itemsize), None)
