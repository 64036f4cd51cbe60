"""Races: two blocks access one element, one of them writes, and nothing orders the two accesses.

Each contested range has up to four tables, by what was done: plain writes and reads, atomic writes and reads. An entry
says who did it last: NOBODY, or a code of block and op; `_several(code)` once blocks that did not see each other have
done it, of which the code is one. Without synchronisation any two blocks are unordered. With it, clocks decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.checking.clocks import ACQUIRES, MOST_BLOCKS, RELEASES, Clocks
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.places import called, element_of
from tilewright.interp.checking.report import Report
from tilewright.interp.checking.shadow import ElementPlaces, Range, TilePlaces, claim, ranges_of
from tilewright.interp.checking.sharing import adds_floats, find_sharing, is_atomic
from tilewright.interp.elements import ElementRegion
from tilewright.interp.memory import Change, Region
from tilewright.tileir.core import Function, Op
from tilewright.tileir.enums import MemoryOrder

NOBODY = -1
CONFLICTS = {
    "write": ("write", "read", "atomic write", "atomic read"),
    "read": ("write", "atomic write"),
    "atomic write": ("write", "read"),
    "atomic read": ("write",),
}
"""What may not meet an access of another block, by what the access does."""


class Table:
    """Who did one thing last at each place. Where blocks synchronise, `epochs` says when, and `records` has the
    accesses of entries by several blocks: (places, code, epoch)."""

    def __init__(self, range_: Range, dtype: Any, synchronised: bool) -> None:
        self.codes = range_.table(dtype, NOBODY)
        self.epochs = range_.table(np.int32, 0) if synchronised else None
        self.records: list[tuple[Any, int, int]] = []
        self.size = range_.size


class Access(NamedTuple):
    """One access as the tables see it. `own`: the block's number, or one for each entry; `code`: with the op."""

    places: TilePlaces | ElementPlaces
    own: Any
    code: Any
    several: bool  # do more blocks than one access it?
    repeated: bool  # does each of these blocks access the same elements?
    region: Region
    op: Op


class NamedBlock(NamedTuple):
    """A block, as reports name it; `device`: of launches on several."""

    coordinates: tuple[int, int, int]
    name: str
    device: int | None = None


class Races:
    """The log of one launch."""

    conflicts: dict[str, tuple[str, ...]] = CONFLICTS

    def __init__(self, function: Function, grid: tuple[int, int, int], arguments: Any, log: Log) -> None:
        sharing = find_sharing(function, grid, arguments)
        blocks = grid[0] * grid[1] * grid[2]
        contested = [arguments[n] for n in sharing.contested]
        refs = [ref for value in contested for ref in (value if isinstance(value, list) else [value])]
        self._prepare([function], grid, blocks, refs, Clocks(blocks) if sharing.synchronised else None, log)

    def _prepare(
        self, functions: Sequence[Function], grid: tuple[int, int, int], blocks: int, refs: Sequence[ArrayRef],
        clocks: Clocks | None, log: Log,
    ) -> None:
        """Before any access: `refs` are the arrays to be logged, `blocks` how many there are in all."""
        self.log = log
        self._grid = grid
        self._ranges = ranges_of(refs) if blocks > 1 else {}
        self.synchronised = clocks is not None
        self._clocks = clocks
        if self.synchronised and blocks > MOST_BLOCKS:
            self._ranges = {}
            log.add("too large", 1, lambda: Report(
                "race", f"{functions[0].name}: races are not checked, because blocks synchronise and there are "
                f"{blocks} of them, more than {MOST_BLOCKS}", severity="note"))
        self._ops = [op for function in dict.fromkeys(functions) for op in function.walk() if op.effectful]
        self._number = {op: n for n, op in enumerate(self._ops)}
        self._shift = max(len(self._ops) - 1, 1).bit_length()
        most = blocks << self._shift
        self._dtype: Any = np.int16 if most < 1 << 14 else np.int32 if most < 1 << 30 else np.int64
        self._tables: dict[tuple[int, str], Table] = {}
        self._pending: tuple[Access, Table, str] | None = None
        self._found: tuple[Region, TilePlaces | ElementPlaces] | None = None
        self._chunk: Any = None
        self._numbers: Any = None

    def logs(self, ref: ArrayRef) -> bool:
        """Are accesses to this array noted?"""
        return ref.window.__array_interface__["data"][0] in self._ranges

    def look(self, region: Region, op: Op, *, reads: bool, writes: bool) -> None:
        """An access is about to happen."""
        range_ = self._ranges.get(region.array.window.__array_interface__["data"][0])
        if range_ is None:
            return
        what = self._what(op, writes)
        claimed = self._claim(range_, region, op) if what == "write" and isinstance(region, ElementRegion) else None
        if claimed:
            return
        access = self._access(range_, region, op)
        if self._clocks is not None:
            self._clocks.run(int(access.own))
        if 0 in access.places.shape:
            return
        for other in self.conflicts[what]:
            table = self._tables.get((id(range_), other))
            if table is not None and claimed is None:
                self._compare(access, table, what, other)
        if self._clocks is not None and is_atomic(op):
            self._pending = access, self._table(range_, what), what
        else:
            self._enter(access, self._table(range_, what), what)

    def _what(self, op: Op, writes: bool) -> str:
        """The name of what an access does."""
        return ("atomic " if is_atomic(op) else "") + ("write" if writes else "read")

    def _claim(self, range_: Range, region: ElementRegion, op: Op) -> bool | None:
        """The quick way for writes of single elements of which nothing is known but other such writes; as `claim`."""
        others = any((id(range_), other) in self._tables for other in self.conflicts["write"][1:])
        if others or self._clocks is not None or not region.varies:
            return None
        numbers = self._block_numbers(region).reshape(-1, *(1,) * len(region.tile))
        codes = np.asarray((numbers << self._shift) | self._number[op], self._dtype)
        return claim(range_, region, self._table(range_, "write").codes, codes, self._shift)

    def updated(self, region: Any, change: Change, op: Op, old: Any) -> None:
        """An atomic operation has happened that found `old`. A compare-and-swap writes where it finds what it expects.
        """
        if self._clocks is None:
            return
        written: Any = True
        if change.kind == "cas":
            written = np.broadcast_to(old == change.values[0], region.shape)
        self.synchronise(region, op, reads=True, writes=written)

    def synchronise(self, region: Region, op: Any, *, reads: bool, writes: Any) -> None:
        """An access with a memory order has happened; `writes`: which elements it has written, None for none."""
        range_ = self._ranges.get(region.array.window.__array_interface__["data"][0])
        if range_ is None or self._clocks is None or not is_atomic(op):
            return
        places = self._places(range_, region)
        everywhere: Any = np.ones(places.shape, bool)
        if isinstance(places, TilePlaces):
            everywhere = everywhere if region.mask is None else region.mask
        elif writes is not None:
            writes = places.take(writes)
        order: MemoryOrder = op.memory_order
        if reads and order in ACQUIRES:
            self._clocks.acquire(self._keys(range_, places, everywhere))
        if self._pending is not None:
            # Noted behind the acquire: what it has seen comes before the access.
            self._enter(*self._pending)
            self._pending = None
        if writes is None:
            return
        written = self._keys(range_, places, everywhere & writes)
        if order in RELEASES:
            self._clocks.release(written, joins=reads)
        elif not reads:
            self._clocks.overwrite(written)

    def _keys(self, range_: Range, places: Any, where: Any) -> list[Any]:
        lanes = places.lanes(where)
        return [(id(range_), n) for n in (np.unique(lanes) if lanes.size > 1 else lanes).tolist()]

    def _places(self, range_: Range, region: Region) -> TilePlaces | ElementPlaces:
        """Those of an access, which are asked for before it and after."""
        if self._found is None or self._found[0] is not region:
            self._found = region, range_.places(region)
        return self._found[1]

    def _table(self, range_: Range, what: str) -> Table:
        key = id(range_), what
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = Table(range_, self._dtype, self._clocks is not None)
        return found

    def _access(self, range_: Range, region: Region, op: Op) -> Access:
        places = self._places(range_, region)
        numbers = self._block_numbers(region)
        several = len(numbers) > 1
        own: Any = numbers[0]
        if several and region.varies:
            own = places.blocks(numbers) if isinstance(places, ElementPlaces) else numbers.reshape(places.block_shape)
        code = (own << self._shift) | self._number[op]
        return Access(places, own, code, several, several and not region.varies, region, op)

    def _block_numbers(self, region: Region) -> Any:
        """The number in the grid of each block of a region."""
        chunk = region.chunk
        if chunk is not self._chunk:
            x, y, z = (np.asarray(i, self._dtype) for i in chunk.ids)
            numbers = x + self._grid[0] * (y + self._grid[1] * z)
            self._chunk, self._numbers = chunk, np.broadcast_to(numbers, (chunk.count,))
        return self._numbers if region.blocks is None else self._numbers[region.blocks]

    def _unordered(self, access: Access, table: Table, codes: Any) -> Any:
        """Of which entries some block is not ordered before the access."""
        if table.epochs is None or self._clocks is None:
            return (codes != NOBODY) & ((codes >> self._shift) != access.own)
        epochs = access.places.get(table.epochs, 0)
        found = (codes >= 0) & self._clocks.unseen(np.where(codes >= 0, codes >> self._shift, -1), epochs)
        shared = codes < NOBODY
        if np.any(shared):
            found = found | shared & self._among_records(access, table, shared)
        return found

    def _among_records(self, access: Access, table: Table, shared: Any) -> Any:
        """Of which shared entries some record is not ordered before the access."""
        marks = np.zeros(table.size, bool)
        for places, _ in self._unseen(table):
            marks[places] = True
        return access.places.get(marks, False)

    def _unseen(self, table: Table) -> Iterator[tuple[Any, int]]:
        """Places and code of the records that are not ordered before the block that runs."""
        for places, code, epoch in table.records:
            if self._clocks is not None and self._clocks.unseen(code >> self._shift, epoch):
                yield places, code

    def _to_name(self, access: Access, table: Table, codes: Any) -> Any:
        """The codes with those of records in place of shared ones: of several blocks, one that races."""
        if not table.records:
            return codes
        marks = np.full(table.size, NOBODY, self._dtype)
        for places, code in self._unseen(table):
            marks[places] = code
        raced = access.places.get(marks, NOBODY)
        return np.where((codes < NOBODY) & (raced != NOBODY), raced, codes)

    def _compare(self, access: Access, table: Table, what: str, other: str) -> None:
        codes = access.places.get(table.codes, NOBODY)
        if not (codes != NOBODY).any():
            return
        found = np.asarray(self._unordered(access, table, codes))
        if found.any():
            codes = self._to_name(access, table, codes)
            self._report(access, np.broadcast_to(found, access.places.shape), codes, what, other)

    def _enter(self, access: Access, table: Table, what: str) -> None:
        """Note the access in its table; races among the blocks of the access are found here."""
        places = access.places
        if what == "write":
            places.put(table.codes, access.code)
            if table.epochs is not None and self._clocks is not None:
                places.put(table.epochs, self._clocks.epoch)
            if access.repeated:
                self._report(access, np.ones(places.shape, bool), np.asarray(access.code), what, what)
            elif access.several:
                codes = places.get(table.codes, NOBODY)
                lost = (codes != access.code) & (codes != NOBODY)
                if lost.any():
                    self._report(access, lost, codes, what, what)
            return
        codes = places.get(table.codes, NOBODY)
        if table.epochs is not None:
            self._enter_ordered(access, table, codes)
            return
        mine = (codes == NOBODY) | ((codes >> self._shift) == access.own)
        if adds_floats(access.op) and (access.repeated or not np.all(mine)):
            self._note_order(access)
        entries = np.where(mine, access.code, np.where(codes < NOBODY, codes, _several(codes)))
        if access.repeated:
            entries = np.where(entries < NOBODY, entries, _several(entries))
        places.put(table.codes, entries)
        if access.several and not access.repeated:
            kept = places.get(table.codes, NOBODY)
            lost = (kept != entries) & (kept != NOBODY)
            if lost.any():
                table.codes[np.unique(places.lanes(lost))] = _several(np.asarray(access.code).flat[0])
                if adds_floats(access.op):
                    self._note_order(access)

    def _enter_ordered(self, access: Access, table: Table, codes: Any) -> None:
        clocks, places = self._clocks, access.places
        assert clocks is not None and table.epochs is not None
        unordered = np.broadcast_to(self._unordered(access, table, codes), places.shape)
        shared = unordered | (codes < NOBODY)
        if shared.any():
            epochs = places.get(table.epochs, 0)
            for code in np.unique(codes[unordered & (codes >= 0)]).tolist():
                for epoch in np.unique(epochs[unordered & (codes == code)]).tolist():
                    where = unordered & (codes == code) & (epochs == epoch)
                    table.records.append((places.lanes(where), code, epoch))
            table.records.append((places.lanes(shared), int(access.code), clocks.epoch))
        if adds_floats(access.op) and np.any((codes != NOBODY) & ((codes >> self._shift) != access.own)):
            self._note_order(access)
        places.put(table.codes, np.where(shared, _several(access.code), access.code))
        places.put(table.epochs, clocks.epoch)

    def _note_order(self, access: Access) -> None:
        name = access.region.array.name
        self.log.add(("order", access.op), 1, lambda: Report(
            "order", f"blocks add to the same elements of {name}: the last bits of the sums depend on their order",
            access.op.span, severity="note", array=name, reason="sums of floats depend on the order of their terms"))

    def _report(self, access: Access, found: Any, codes: Any, what: str, other: str) -> None:
        lane = access.places.lane(found)
        at = np.broadcast_to(codes, found.shape)[np.unravel_index(int(np.argmax(found)), found.shape)]
        code = int(at) if at >= 0 else int(_several(at))
        other_op = self._ops[code & ((1 << self._shift) - 1)]
        first = int(np.broadcast_to(access.own, found.shape).reshape(-1)[int(np.argmax(found))])
        second = code >> self._shift
        if access.repeated:
            second = first + 1
        words = self._words(what, other)
        self.log.add(("race", frozenset((access.op, other_op))), int(np.count_nonzero(found)), lambda: _race(
            access, element_of(access.region, lane), self._place(first),
            self._place(second) if second != first else None, other_op, (what, other), words))

    def _place(self, number: int) -> NamedBlock:
        x, y, _ = self._grid
        coordinates = number % x, number // x % y, number // (x * y)
        return NamedBlock(coordinates, f"block {coordinates}")

    def _words(self, what: str, other: str) -> tuple[str, str]:
        """Why two accesses are a race, and what to write instead."""
        mixed = what != other and ("atomic" in what) != ("atomic" in other)
        return ("between blocks nothing is ordered by itself" + (
            "; a plain access and an atomic one of other blocks are a race, too" if mixed else ""),
            "give each block elements of its own, use an atomic operation (atomic_add), or order the accesses with a "
            "release and an acquire")


def _several(code: Any) -> Any:
    """From a code to that of several blocks of which it is one, and back."""
    return -2 - code


def _race(
    access: Access, index: tuple[int, ...], block: NamedBlock, other_block: NamedBlock | None, other_op: Op,
    kinds: tuple[str, str], words: tuple[str, str],
) -> Report:
    name = access.region.array.name
    element = f"{name}[{', '.join(map(str, index))}]"
    verb, also = (
        kind.partition("#")[0].removeprefix("device ").replace("atomic ", "atomically ") + "s" for kind in kinds)
    whom = "another block" if other_block is None else other_block.name
    return Report(
        "race", f"{called(access.op)} {verb} {element}, which {whom} {also} in no order",
        access.op.span, array=name, index=index, block=block.coordinates,
        other_block=None if other_block is None else other_block.coordinates, related=other_op.span,
        related_label=f"{whom} {also} it here", label=f"{block.name} {verb} it here", reason=words[0], hint=words[1],
        values={} if block.device is None or other_block is None else {
            "device": block.device, "other_device": other_block.device})
