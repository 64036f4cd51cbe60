"""What is undefined in memory and on its way there: padding, arrays declared uninitialised, stores of such values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tilewright.interp.access import TileRegion
from tilewright.interp.arrays import ArrayRef, byte_range
from tilewright.interp.checking.declared import forget
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.origins import SHADOW, Origins
from tilewright.interp.checking.places import block_of, called, element_of, first_lane
from tilewright.interp.checking.report import Report
from tilewright.interp.checking.shadow import ElementPlaces, Range, ranges_of
from tilewright.interp.checking.taint import Shadow, joined
from tilewright.interp.checking.uses import undefined
from tilewright.interp.memory import Region
from tilewright.interp.touches import touches
from tilewright.tileir.core import Function, Op
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops.memory import Gather, Load


class Contents:
    """The undefined elements of one launch. `declared` are address ranges of arrays that hold nothing yet."""

    def __init__(
        self, function: Function, arguments: Sequence[Any], declared: Sequence[tuple[int, int]], log: Log
    ) -> None:
        self.origins = Origins(function)
        self._log = log
        self._tables: dict[int, tuple[Range, Any]] = {}
        self._declared: list[tuple[ArrayRef, int]] = []
        self._found: list[tuple[Any, Shadow]] = []
        self._expected: tuple[Op, Shadow, Shadow, Shadow] | None = None
        self._writers: set[Op] = set()
        for position, argument in enumerate(arguments):
            for ref in argument if isinstance(argument, list) else [argument]:
                if isinstance(ref, ArrayRef) and ref.window.size and _within(byte_range(ref), declared):
                    self._declared.append((ref, position))
        if self._declared:
            everything = [r for a in arguments for r in (a if isinstance(a, list) else [a]) if isinstance(r, ArrayRef)]
            self._make_tables(ranges_of(everything))

    def _make_tables(self, ranges: dict[int, Range]) -> None:
        made: dict[int, tuple[Range, Any]] = {}
        for ref, position in self._declared:
            range_ = ranges[byte_range(ref)[0]]
            if id(range_) not in made:
                made[id(range_)] = range_, range_.table(SHADOW, 0)
            table = made[id(range_)][1]
            window = range_.ref(ref, table)
            window.view(int(window.offset), tuple(ref.extents), window.strides)[...] = self.origins.of_array(position)
        self._tables = {address: made[id(range_)] for address, range_ in ranges.items() if id(range_) in made}

    @property
    def any_declared(self) -> bool:
        """Was some array declared to hold nothing?"""
        return bool(self._declared)

    @property
    def declared(self) -> frozenset[int]:
        """The positions of parameters that were declared to hold nothing."""
        return frozenset(position for _, position in self._declared)

    # ---- reads

    def read(self, region: Region, op: Op) -> None:
        """Values of a region are about to be read: remember which of them are undefined."""
        shadow: Shadow = None
        if _leaves_padding(op):
            mask = region.mask
            # Of an access that is reported anyway, what follows from it is not.
            if mask is not None and not self._log.has(("bounds", op)):
                shadow = np.where(mask, SHADOW.type(0), SHADOW.type(self.origins.of(op)))
        entry = self._entry(region)
        if entry is not None:
            shadow = joined([shadow, self._stored(region, op, *entry)])
        if self._expected is not None and self._expected[0] is op:
            self._check_places(region, op, "reads at a place that")
        if shadow is not None:
            self._found.append((region.blocks, shadow))

    def _stored(self, region: Region, op: Op, range_: Range, table: Any) -> Shadow:
        places = range_.places(region)
        held = np.asarray(places.get(table, 0))
        if not held.any():
            return None
        held = np.where(held, SHADOW.type(self.origins.of_reading(op)), SHADOW.type(0))
        return places.spread(held, 0) if isinstance(places, ElementPlaces) else held

    def found(self) -> list[tuple[Any, Shadow]]:
        """The shadows of what has been read since the last call, each with its blocks."""
        out, self._found = self._found, []
        return out

    def _entry(self, region: Region) -> tuple[Range, Any] | None:
        return self._tables.get(byte_range(region.array)[0]) if self._tables else None

    # ---- writes

    def expect(self, op: Op, given: Shadow, where: Shadow, unsure: Shadow) -> None:
        """The shadows of the values, the indices and the mask of the op that accesses memory next."""
        nothing = given is None and where is None and unsure is None
        self._expected = None if nothing else (op, given, where, unsure)

    def expects(self, op: Op) -> bool:
        """May values, indices or mask of this op's next access be undefined?"""
        return self._expected is not None and self._expected[0] is op

    def logs(self, ref: ArrayRef) -> bool:
        """Is there an entry for each element of this array?"""
        return byte_range(ref)[0] in self._tables

    def write(self, region: Region, op: Op) -> None:
        """Values are about to be written (`expect` has told their shadows)."""
        if self._expected is not None and self._expected[0] is op:
            self._check_places(region, op, "writes at a place that")
            self._check_values(region, op)
        entry = self._entry(region)
        if entry is not None:
            range_, table = entry
            range_.places(region).put(table, 0)
            self._writers.add(op)

    def update(self, region: Region, op: Any) -> None:
        """An atomic operation is about to happen. Of the old values that it gives, those of elements that it does not
        access are undefined."""
        if self._expected is not None and self._expected[0] is op:
            self._check_places(region, op, "updates a place that")
            self._check_values(region, op)
        entry, shadow, mask = self._entry(region), None, region.mask
        if entry is not None:
            self._writers.add(op)
            shadow = self._stored(region, op, *entry)
            self._check_old(region, op, *entry)
        if mask is not None and op.opcode == "atomic_rmw" and not np.all(mask):
            shadow = joined([shadow, np.where(mask, SHADOW.type(0), SHADOW.type(self.origins.of(op)))])
        if shadow is not None:
            self._found.append((region.blocks, shadow))

    def _check_old(self, region: Region, op: Any, range_: Range, table: Any) -> None:
        """An atomic operation on an element that nothing has written makes of it what is as undefined. An exchange
        writes it; only who uses the old value is wrong."""
        places = range_.places(region)
        held = np.asarray(places.get(table, 0))
        if held.any() and getattr(op, "kind", "cas") != "xchg":
            wrong = places.spread(held, 0) if isinstance(places, ElementPlaces) else held
            self._report(wrong, region, op, f"{called(op)} updates {{}}, which is undefined",
                         "what it makes of it is undefined, too")
        places.put(table, 0)

    def _check_places(self, region: Region, op: Op, what: str) -> None:
        """Where an index or the mask is undefined and the rest lets the access through, its place is undefined."""
        assert self._expected is not None
        _, _, where, unsure = self._expected
        wrong: Shadow = None
        if where is not None:
            wrong = self._active(where, region, getattr(region, "given", None))
        if unsure is not None:
            wrong = joined([wrong, self._active(unsure, region, None)])
        if wrong is not None and wrong.any():
            self._report(wrong, region, op, f"{called(op)} {what} depends on an undefined value",
                         "an access must know where it goes")

    def _check_values(self, region: Region, op: Op) -> None:
        assert self._expected is not None
        given = self._expected[1]
        if given is None:
            return
        wrong = self._active(given, region, region.mask)
        if wrong.any():
            self._report(wrong, region, op, f"{called(op)} writes an undefined value to {{}}",
                         "what the array then holds is undefined")

    def _active(self, shadow: Any, region: Region, mask: Any) -> Any:
        """A shadow in the shape of the region, where the mask holds."""
        rank = len(region.grid.shape) if isinstance(region, TileRegion) else len(region.tile)  # type: ignore[attr-defined]
        if shadow.ndim > rank:
            if not region.varies:
                shadow = shadow[-1]
            elif region.blocks is not None:
                shadow = shadow[region.blocks]
        shadow = np.broadcast_to(shadow, region.shape)
        if mask is None:
            return shadow
        if np.ndim(mask) == 1 and rank > 1:
            mask = np.reshape(mask, (-1, *(1,) * rank))
        return np.where(mask, shadow, SHADOW.type(0))

    def _report(self, wrong: Any, region: Region, op: Op, message: str, reason: str) -> None:
        lane = first_lane(wrong != 0)
        number = int(wrong[lane])
        index = element_of(region, lane)
        element = f"{region.array.name}[{', '.join(map(str, index))}]"

        def make() -> Report:
            report = undefined(message.format(element), op, number, self.origins, reason)
            return replace(report, array=region.array.name, index=index, block=block_of(region, lane))

        self._log.add(("undefined", op, number), int(np.count_nonzero(wrong)), make)

    # ---- the end

    def finish(self, function: Function) -> None:
        """Elements of declared arrays that the kernel writes, but not all of them, are an error."""
        known = touches(function)
        for ref, position in self._declared:
            if position not in known.written:
                continue
            forget(byte_range(ref))
            range_, table = self._tables[byte_range(ref)[0]]
            window = range_.ref(ref, table)
            left = np.asarray(window.view(int(window.offset), tuple(ref.extents), window.strides)) != 0
            if left.any():
                writing = [op for op in known.accesses[position] if position in known.writes[op]]
                came = [op for op in writing if op in self._writers]
                report = partial(_unwritten, ref.name, left, function, (came or writing)[0], bool(came))
                self._log.add(("unwritten", position, ref.name), 1, report)


def _leaves_padding(op: Op) -> bool:
    """Does the user not say what elements hold that are not accessed?"""
    if isinstance(op, Load):
        return op.padding is PaddingMode.UNDETERMINED
    return isinstance(op, Gather) and op.undetermined


def _unwritten(name: str, left: Any, function: Function, writer: Op, came: bool) -> Report:
    index, count = first_lane(left), int(np.count_nonzero(left))
    return Report(
        "unwritten", f"{count} of {left.size} elements of {name} are never written, "
        f"{name}[{', '.join(map(str, index))}] first", function.span, array=name, index=index,
        values={"unwritten": count, "elements": left.size}, reason=f"{name} was declared uninitialised",
        related=writer.span, related_label="what is written is written here" if came else "no block comes here",
        hint="the grid, a condition or an index is wrong, or a store is missing",
    )


def _within(span: tuple[int, int], declared: Sequence[tuple[int, int]]) -> bool:
    return any(low <= span[0] and span[1] <= high for low, high in declared)
