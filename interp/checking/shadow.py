"""Shadow memory: tables with an entry for each element of the arguments, accessed by the regions of the launch.

Arguments whose memory overlaps share one range, so that an element is one entry under whichever name it is accessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Any

import numpy as np

from tilewright.interp.access import TileGrid, TileRegion
from tilewright.interp.arrays import ArrayRef, byte_range
from tilewright.interp.elements import ElementRegion
from tilewright.interp.formats import Format
from tilewright.interp.jit.elements import Where, same, scatter
from tilewright.interp.memory import Region

Table = Any  # an ndarray of one axis with an entry for each place of a range


class Range:
    """Memory of one argument, or of several that overlap: `size` places, `unit` bytes apart, from `base` on."""

    def __init__(self, refs: Iterable[ArrayRef]) -> None:
        spans = [(byte_range(ref), ref.unit) for ref in refs]
        self.base = min(low for (low, _), _ in spans)
        end = max(high for (_, high), _ in spans)
        self.unit = gcd(*(unit for _, unit in spans), *(low - self.base for (low, _), _ in spans))
        self.size = (end - self.base - 1) // self.unit + 1

    def table(self, dtype: Any, fill: Any) -> Table:
        return np.full(self.size, fill, dtype)

    def places(self, region: Region) -> TilePlaces | ElementPlaces:
        """The entries of a region."""
        if isinstance(region, TileRegion):
            return TilePlaces(self, region)
        assert isinstance(region, ElementRegion)
        return ElementPlaces(self, region)

    def ref(self, array: ArrayRef, table: Table) -> ArrayRef:
        """The array's elements in a table."""
        item = table.itemsize
        start = byte_range(array)[0] - self.base
        offset = (start + array.offset) // self.unit * item
        strides = tuple(s // self.unit * item for s in array.strides)
        unit = max(array.unit // self.unit, 1) * item
        return ArrayRef(array.name, table.view(np.uint8), table.dtype, offset, array.extents, strides, unit, table)


def ranges_of(refs: Iterable[ArrayRef]) -> dict[int, Range]:
    """The range of each argument, by the address of its memory."""
    groups: list[list[ArrayRef]] = []
    end = -1
    for ref in sorted((ref for ref in refs if ref.window.size), key=byte_range):
        low, high = byte_range(ref)
        if groups and low < end:
            groups[-1].append(ref)
        else:
            groups.append([ref])
        end = max(end, high)
    out: dict[int, Range] = {}
    for group in groups:
        made = Range(group)
        out.update((byte_range(ref)[0], made) for ref in group)
    return out


class TilePlaces:
    """The entries of tiles: in `get` and `put` with the shape of the region. Those outside of the array read as `fill`,
    and are not written."""

    def __init__(self, range_: Range, region: TileRegion) -> None:
        self._range = range_
        self.region = region
        self.shape = region.shape
        self.block_shape = (-1, *(1,) * len(region.grid.shape))
        self._box = self._find_box()

    def _find_box(self) -> tuple[int, tuple[int, ...]] | None:
        """The first entry and the distances along the axes, of a box that is the same for all blocks and inside."""
        region, array = self.region, self.region.array
        if region.varies or not region.inside or isinstance(array.offset, np.ndarray):
            return None
        unit, at = self._range.unit, byte_range(array)[0] - self._range.base + array.offset
        strides = []
        for start, axis in zip(region.index, region.grid.order, strict=True):
            if isinstance(start, np.ndarray):
                return None
            at += start * array.strides[axis]
            strides.append(array.strides[axis] // unit)
        return int(at) // unit, tuple(strides)

    def _view(self, table: Table) -> Any:
        assert self._box is not None
        (first, strides), item = self._box, table.itemsize
        return np.ndarray(self.shape, table.dtype, table, first * item, tuple(s * item for s in strides))

    def _on(self, table: Table, fill: Any) -> TileRegion:
        region, grid = self.region, self.region.grid
        own = TileGrid(grid.order, grid.shape, grid.steps, Format(None, table.dtype, table.dtype), views=True)  # type: ignore[arg-type]
        ref = self._range.ref(region.array, table)
        chunk: Any = region.chunk
        return TileRegion(own, ref, list(region.index), chunk, region.blocks, region.varies, fill)

    def get(self, table: Table, fill: Any) -> Any:
        if self._box is not None:
            return self._view(table)
        return self._on(table, fill).read()

    def put(self, table: Table, values: Any) -> None:
        if self._box is not None:
            self._view(table)[...] = values
            return
        self._on(table, 0).write(np.broadcast_to(values, self.shape))

    def lanes(self, found: Any) -> Any:
        """The numbers of the entries where `found` holds, which has the region's shape."""
        item = np.empty(1, np.int8)
        region, ref = self.region, self._range.ref(self.region.array, item)
        chunk: Any = region.chunk
        return TileRegion(region.grid, ref, list(region.index), chunk, region.blocks, region.varies).offsets()[found]

    def lane(self, found: Any) -> tuple[int, ...]:
        """The index in the region of the first True of `found`."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(found)), found.shape))


class ElementPlaces:
    """The entries of single elements, those alone that are accessed, as arrays of one axis."""

    def __init__(self, range_: Range, region: ElementRegion) -> None:
        self.region = region
        full = region.shape
        start = byte_range(region.array)[0] - range_.base
        places = region.places
        if region.array.unit != range_.unit or start:
            places = (places * region.array.unit + start) // range_.unit
        places = np.broadcast_to(places, full).reshape(-1)
        self._lanes: Any = None  # all
        if not len(region.array.line):
            self._lanes = np.empty(0, np.int64)
        elif region.valid is not None:
            self._lanes = np.flatnonzero(np.broadcast_to(region.valid, full))
        self._places = places if self._lanes is None else places[self._lanes]
        self.shape = self._places.shape
        self._per_block = max(int(np.prod(region.tile)), 1)

    def get(self, table: Table, fill: Any) -> Any:
        return table[self._places]

    def put(self, table: Table, values: Any) -> None:
        table[self._places] = values

    def lanes(self, found: Any) -> Any:
        return self._places[found]

    def blocks(self, numbers: Any) -> Any:
        """Of each lane its block, of the numbers of the region's blocks."""
        if self._lanes is None:
            return np.repeat(numbers, self._per_block)
        return numbers[self._lanes // self._per_block]

    def lane(self, found: Any) -> tuple[int, ...]:
        flat = int(np.argmax(found))
        flat = flat if self._lanes is None else int(self._lanes[flat])
        return tuple(int(i) for i in np.unravel_index(flat, self.region.shape))

    def take(self, values: Any) -> Any:
        """Of values in the shape of the region those that are accessed."""
        flat = np.broadcast_to(values, self.region.shape).reshape(-1)
        return flat if self._lanes is None else flat[self._lanes]

    def spread(self, values: Any, fill: Any) -> Any:
        """Values of the accessed elements in the shape of the region, the others as `fill`."""
        if self._lanes is None:
            return np.array(values).reshape(self.region.shape)
        out = np.full(int(np.prod(self.region.shape)), fill, values.dtype)
        out[self._lanes] = values
        return out.reshape(self.region.shape)


def claim(range_: Range, region: ElementRegion, table: Table, codes: Any, low: int) -> bool | None:
    """Put codes, by block, if all entries are empty or of the same block: equal up to the `low` lowest bits. False if
    then blocks of the region have met; None where entries are others', or no loop can do it, and nothing was put."""
    ref, unit, item = region.array, range_.unit, table.itemsize
    if ref.varies or not len(ref.line) or any(s % unit for s in (*ref.strides, ref.offset)):
        return None
    at = (byte_range(ref)[0] - range_.base + ref.offset) // unit * item + table.__array_interface__["data"][0]
    mask = None if region.given is None else np.asarray(region.given)
    strides = [s // unit * item for s in ref.strides]
    where = Where(at, ref.extents, strides, [np.asarray(i) for i in region.index], mask)
    # Three passes, as the first and the last can look at many elements at once.
    if not same(where, codes, region.shape, low) or not scatter(where, codes, region.shape):
        return None
    return bool(same(where, codes, region.shape, low))
