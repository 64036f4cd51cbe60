"""Sectors of 32 bytes that the requests of warps ask for, over a whole launch: counted from the machine function.

Requests of tiles whose first elements lie alike in a sector, and that edges cut alike, touch as many sectors; each kind
is looked at once. Gathers and scatters are looked at element by element.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.estimating.names import ATOMIC, READ, SECTOR, WRITTEN
from tilewright.estimating.requests import Machine, Requests
from tilewright.estimating.traffic import MAX_SINGLE, tile_shape
from tilewright.interp.access import over_tile
from tilewright.interp.arrays import ArrayRef
from tilewright.tileir.core import Op

if TYPE_CHECKING:
    from tilewright.estimating.counting import Accessing

AT_ONCE = 1 << 21  # elements of gathers that are looked at together


@dataclass(frozen=True, slots=True)
class Sectors:
    """What the requests for one array ask for, to read, to write, or to update it.

    `requests`: instructions of warps, and boxes of bulk copies. `asked`: the different sectors of each request, added
    up. `fetched`: those that reach L2 where L1 keeps the sectors of a tile while its threads load it; writes and bulk
    copies pass L1 by. `common`: of these, the ones of tiles that all CTAs load.
    """

    requests: int = 0
    asked: int = 0
    fetched: int = 0
    common: int = 0

    def __add__(self, other: Sectors) -> Sectors:
        return Sectors(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def times(self, count: int) -> Sectors:
        return Sectors(*(n * count for n in astuple(self)))

    def scaled(self, factor: float) -> Sectors:
        """The same for so many times as many accesses."""
        return Sectors(*(round(n * factor) for n in astuple(self)))

    def shared(self, share: float) -> Sectors:
        """The same where L1 keeps common tiles for other CTAs, so that only a share of them reaches L2."""
        return replace(self, fetched=self.fetched - self.common + math.ceil(self.common * share), common=0)


@dataclass
class _Kinds:
    """The tiles that an op accesses in one array: how often each kind is, by a number of which `shape` and `strides`
    are the rest."""

    requests: Requests
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    common: bool
    counts: Counter[tuple[int, ...]] = field(default_factory=Counter)

    @cached_property
    def offsets(self) -> Any:
        """Bytes from the tile's first element to each of them."""
        out: Any = np.zeros(self.shape, np.int64)
        for axis, (length, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            out = out + (np.arange(length) * stride).reshape(-1, *(1,) * (len(self.shape) - 1 - axis))
        return np.asarray(out).reshape(-1)

    def total(self) -> Sectors:
        found = Sectors()
        for (first, *bounds), count in self.counts.items():
            found += self._of(first, bounds).times(count)
        ctas = self.requests.ctas
        common = found.fetched if self.common and self.requests.cached else 0
        return Sectors(found.requests // ctas, found.asked // ctas, found.fetched // ctas, common)

    def _of(self, first: int, bounds: Sequence[int]) -> Sectors:
        """Of one tile whose first element lies so many bytes into a sector and whose elements from lows to highs are
        inside."""
        rank = len(self.shape)
        inside: Any = np.ones(self.shape, np.bool_)
        for axis, (length, low, high) in enumerate(zip(self.shape, bounds[:rank], bounds[rank:], strict=True)):
            along = np.arange(length)
            inside &= ((along >= low) & (along < high)).reshape(-1, *(1,) * (rank - 1 - axis))
        made, inside = self.requests, inside.reshape(-1)
        flats, here = made.flats, inside[made.flats] & made.owner
        if made.single is not None and not inside.all():
            # Only what an edge cuts goes element by element.
            single, owner = made.single
            elements = inside[single]
            whole = elements.reshape(-1, made.width, elements.shape[1]).all(axis=1)
            flats = np.concatenate([flats, single])
            here = np.concatenate([here & whole, elements & owner & ~np.repeat(whole, made.width, axis=0)])
        return counted((first + self.offsets)[flats] // SECTOR, here, made.cached)


def counted(sectors: Any, here: Any, cached: bool) -> Sectors:
    """Of the requests of one tile: the sector of each lane, and whether it accesses it, arrays [requests, lanes]."""
    touched = np.sort(np.where(here, sectors, np.iinfo(np.int64).min), axis=1)
    valid = touched > np.iinfo(np.int64).min
    new = valid.copy()
    new[:, 1:] &= touched[:, 1:] != touched[:, :-1]
    asked = int(new.sum())
    fetched = len(np.unique(touched[new])) if cached else asked
    return Sectors(int(valid.any(axis=1).sum()), asked, fetched)


class SectorCount:
    """Watches a counting run of one role of a machine function."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # Accesses of single elements: all, and those that were not too many to be looked at, by array and way.
        self._all: Counter[tuple[str, str]] = Counter()
        self._looked: Counter[tuple[str, str]] = Counter()
        self._starts: dict[str, int] = {}  # of the memory of each array, in a sector
        self._tiles: dict[tuple[Op, str, tuple[int, ...], bool], _Kinds] = {}
        self._elements: dict[tuple[str, str], Sectors] = {}

    def bound(self, values: Sequence[Any]) -> None:
        """The arguments of the launch."""
        for value in values:
            for ref in value if isinstance(value, list) else [value]:
                if isinstance(ref, ArrayRef):
                    self._starts[ref.name] = start_of(ref)

    def totals(self) -> Iterator[tuple[str, str, Sectors]]:
        """(array, READ or WRITTEN or ATOMIC, sectors), each perhaps several times."""
        for (op, name, *_), kinds in self._tiles.items():
            yield name, way(op), kinds.total()
        for key, found in self._elements.items():
            yield *key, found.scaled(self._all[key] / self._looked[key])

    @property
    def scaled(self) -> set[str]:
        """The arrays of which not all accesses were looked at, so that the rest is taken to be like those."""
        return {name for name, how in self._all if self._looked[name, how] < self._all[name, how]}

    def tile(self, op: Any, ref: ArrayRef, starts: list[Any], blocks: Accessing) -> None:
        varies = any(np.ndim(s) for s in starts) or ref.varies
        rows, shape = blocks.count if varies else 1, tile_shape(op)
        strides = tuple(ref.strides[axis] for axis in op.order)
        key = op, ref.name, strides, varies
        if key not in self._tiles:
            self._tiles[key] = _Kinds(self.machine.requests(op), shape, strides, not varies)
        first: Any = ref.offset + self._starts[ref.name]
        lows, highs = [], []
        for start, length, axis in zip(starts, shape, op.order, strict=True):
            first = first + start * ref.strides[axis]
            lows.append(np.clip(-start, 0, length))
            highs.append(np.clip(ref.extents[axis] - start, 0, length))
        columns = [np.broadcast_to(np.asarray(n, np.int64), (rows,)) for n in (first % SECTOR, *lows, *highs)]
        counts, times = self._tiles[key].counts, 1 if varies else blocks.count
        for kind, count in _rows(columns, (SECTOR, *(n + 1 for n in (*shape, *shape)))):
            counts[kind] += count * times

    def elements(self, op: Any, ref: ArrayRef, indices: list[Any], mask: Any, blocks: Accessing) -> None:
        rank, shape = len(op.shape), tuple(op.shape)
        valid, places = in_array(ref, indices, mask, rank)
        places = places + self._starts[ref.name]
        varies = any(np.ndim(v) > rank for v in (valid, places))
        rows = blocks.count if varies else 1
        size = int(np.prod(shape, dtype=np.int64))
        key = ref.name, way(op)
        self._all[key] += blocks.count * size
        if self._looked[key] and self._looked.total() + rows * size > MAX_SINGLE:
            return
        self._looked[key] += blocks.count * size
        full = (rows, *shape)
        valid = np.broadcast_to(valid, full).reshape(rows, -1)
        sectors = np.broadcast_to(places, full).reshape(rows, -1) // SECTOR
        requests, found = self.machine.requests(op), Sectors()
        together = max(AT_ONCE // size, 1)
        for first in range(0, rows, together):
            found += _of_blocks(requests, sectors[first : first + together], valid[first : first + together])
        self._elements[key] = self._elements.get(key, Sectors()) + found.times(1 if varies else blocks.count)


def start_of(ref: ArrayRef) -> int:
    """Bytes between the last boundary of sectors and an array's memory."""
    return int(ref.window.__array_interface__["data"][0]) % SECTOR


def way(op: Op) -> str:
    """What an op does to its array."""
    effects, array = op.effects(), op.array  # type: ignore[attr-defined]
    reads, writes = array in effects.reads, array in effects.writes
    return ATOMIC if reads and writes else WRITTEN if writes else READ


def in_array(ref: ArrayRef, indices: list[Any], mask: Any, rank: int) -> tuple[Any, Any]:
    """Which of the single elements at these indices are accessed, and the byte of each in its array."""
    valid: Any = np.asarray(True) if mask is None else np.asarray(mask)
    places: Any = over_tile(ref.offset, rank)
    for index, extent, stride in zip(indices, ref.extents, ref.strides, strict=True):
        along = np.asarray(index, np.int64)
        valid = valid & (along >= 0) & (along < over_tile(extent, rank))
        places = places + along * stride
    return valid, places


def _of_blocks(requests: Requests, sectors: Any, valid: Any) -> Sectors:
    """Those of gathers or scatters: the sector of each element and which are accessed, arrays [blocks, elements]."""
    lanes = requests.flats.shape[1]
    # Sectors of different blocks are not fetched together.
    sectors = sectors - sectors.min()
    sectors = sectors + (np.arange(len(sectors)) * (int(sectors.max()) + 1))[:, None]

    def lay_out(of: Any, flats: Any) -> Any:
        return of[:, flats].reshape(-1, lanes)

    here = lay_out(valid, requests.flats) & np.tile(requests.owner, (len(sectors), 1))
    if requests.single is None:
        return counted(lay_out(sectors, requests.flats), here, requests.cached)
    # Threads of which no access is cut move whole ones; the others element by element.
    flats, owner = requests.single
    elements, warps = lay_out(valid, flats), len(sectors) * requests.warps
    each = elements.reshape(-1, requests.width, lanes)
    cut = (each[:, requests.cut, :] != each[:, :1, :]).any(axis=1).reshape(warps, -1, lanes).any(axis=1)
    here &= ~np.repeat(cut, len(here) // warps, axis=0)
    whole = counted(lay_out(sectors, requests.flats), here, requests.cached)
    single = elements & np.tile(owner, (len(sectors), 1)) & np.repeat(cut, len(elements) // warps, axis=0)
    return whole + counted(lay_out(sectors, flats), single, requests.cached)


def _rows(columns: list[Any], sizes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The different rows of some columns of numbers, each from 0 up to below its size, and how many there are."""
    if float(np.prod([float(n) for n in sizes])) < 2.0**62:
        keys, counts = np.unique(np.ravel_multi_index(tuple(columns), sizes), return_counts=True)
        rows = np.stack(np.unravel_index(keys, sizes), axis=1)
    else:
        rows, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        yield tuple(row), count
