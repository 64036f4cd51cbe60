"""The memory of a checked launch: every access is looked at, then performed as plain memory does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.changes import Watch
from tilewright.interp.checking.bounds import check_bounds
from tilewright.interp.checking.collisions import check_collisions
from tilewright.interp.checking.contents import Contents
from tilewright.interp.checking.covers import Covers
from tilewright.interp.checking.declared import declared
from tilewright.interp.checking.locks import Locks
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.numerics import Numerics
from tilewright.interp.checking.races import Races
from tilewright.interp.checking.report import DEFAULT_CHECKS, Report, command_line
from tilewright.interp.checking.suspects import find_suspects
from tilewright.interp.memory import Change, Memory, Region, Values
from tilewright.interp.touches import touches
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.memory import Load

Grid = tuple[int, int, int]


class CheckedMemory(Memory):
    """Checks one launch. `checks` are names of `CHECKS`."""

    def __init__(self, checks: frozenset[str] = DEFAULT_CHECKS) -> None:
        self.checks = checks
        self.log = Log(command_line(checks))
        self._bounds = "bounds" in checks
        self._races: Races | None = None
        self._contents: Contents | None = None
        self._covers: Covers | None = None
        self._locks: Locks | None = None
        self.numerics: Numerics | None = None
        self.rounded: set[Op] = set()
        self.watch = Watch()

    @property
    def reports(self) -> list[Report]:
        """What the launch has shown so far."""
        return self.log.reports()

    def begin(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        if "races" in self.checks:
            self._races = self._find_races(function, grid, arguments)
        if "progress" in self.checks:
            locks = Locks(function, grid, self.log)
            self._locks = locks if locks.active else None
        if "undefined" in self.checks:
            self._contents, self._covers = self._find_contents(function, grid, arguments)
            if self._contents.any_declared:
                self.checks |= {"memory"}
        if "numerics" in self.checks:
            self.numerics = Numerics(function, self.log)
        self._launch = function, grid, arguments
        self._quiet = self._find_quiet(function, arguments)

    def _find_races(self, function: Function, grid: Grid, arguments: Sequence[Any]) -> Races | None:
        return Races(function, grid, arguments, self.log)

    def _find_contents(self, function: Function, grid: Grid, arguments: Sequence[Any]) -> tuple[Contents, Covers]:
        contents = Contents(function, arguments, declared(), self.log)
        return contents, Covers(function, grid, arguments, contents.declared)

    def _find_quiet(self, function: Function, arguments: Sequence[Any]) -> frozenset[Op]:
        """The ops whose accesses need no look where they lie inside the array: blocks cannot race for it, and nobody
        has declared that it holds nothing. Of numbers that go wrong, stores tell."""
        seen: set[int] = set()
        for position, argument in enumerate(arguments):
            for ref in argument if isinstance(argument, list) else [argument]:
                if isinstance(ref, ArrayRef) and self._logged(ref):
                    seen.add(position)
        known = touches(function)
        return frozenset(
            op for op, read in known.reads.items()
            if seen.isdisjoint(read | known.writes[op]) and not (known.writes[op] and "numerics" in self.checks)
            and not (self._covers is not None and self._covers.follows(op)))

    def _logged(self, ref: ArrayRef) -> bool:
        """Are there entries for each element of an array?"""
        return bool(self._races is not None and self._races.logs(ref)) or bool(
            self._contents is not None and self._contents.logs(ref))

    def direct(self, op: Op) -> bool:
        return op in self._quiet and not self.watch.active and (
            self._contents is None or not self._contents.expects(op))

    def side_by_side(self) -> bool:
        return self._races is None or not self._races.synchronised

    def rectangles(self, tiles: Iterable[Value]) -> bool:
        suspects: frozenset[Value] = frozenset()
        if self._contents is not None:
            suspects = find_suspects(self._launch[0], "memory" in self.checks)
        return all(value not in suspects and (not isinstance(value.op, Load) or value.op in self._quiet)
                   for value in tiles)

    def share(self, region: Region, whole: Callable[[], Region], op: Op) -> Values:
        if self._bounds:
            check_bounds(whole(), op, self.log)
        return region.read()

    def end(self) -> None:
        if self._contents is not None and self._covers is not None:
            self._contents.finish(self._launch[0])
            self._covers.finish(self.log)
        if self._locks is not None:
            self._locks.finish()

    def expect(self, op: Op, given: Any, where: Any, unsure: Any) -> None:
        """The shadows of values, indices and mask of the op that accesses memory next."""
        assert self._contents is not None
        self._contents.expect(op, given, where, unsure)

    def found(self) -> list[tuple[Any, Any]]:
        """The shadows of what has just been read, each with its blocks."""
        return [] if self._contents is None else self._contents.found()

    def read(self, region: Region, op: Op) -> Values:
        if self._bounds:
            check_bounds(region, op, self.log)
        if self._races is not None:
            self._races.look(region, op, reads=True, writes=False)
            if getattr(op, "memory_order", MemoryOrder.WEAK) is not MemoryOrder.WEAK:
                self._races.synchronise(region, op, reads=True, writes=None)
        if self._contents is not None:
            self._contents.read(region, op)
        if self._locks is not None:
            self._locks.read(region, op)
        if self.watch.active:
            self.watch.read(region, op)
        return region.read()

    def write(self, region: Region, values: Values, op: Op) -> None:
        if self._bounds:
            check_bounds(region, op, self.log)
        if self._races is not None:
            self._races.look(region, op, reads=False, writes=True)
            if getattr(op, "memory_order", MemoryOrder.WEAK) is not MemoryOrder.WEAK:
                self._races.synchronise(region, op, reads=False, writes=True)
        if self._contents is not None and self._covers is not None:
            self._contents.write(region, op)
            self._covers.write(region, op)
        if self._locks is not None:
            self._locks.write(region, op)
        if self.numerics is not None:
            self.numerics.write(region, values, op)
        if self.watch.active:
            self.watch.write(region, lambda: region.write(values))
        else:
            region.write(values)
        if self._races is not None:
            check_collisions(region, values, op, self.log)

    def update(self, region: Region, change: Change, op: Op) -> Values:
        if self._bounds:
            check_bounds(region, op, self.log)
        if self._races is not None:
            self._races.look(region, op, reads=True, writes=True)
        if self._contents is not None:
            self._contents.update(region, op)
        if self.numerics is not None:
            self.numerics.write(region, change.values[0], op)
        if self.watch.active:
            self.watch.read(region, op)
            old = self.watch.write(region, lambda: region.update(change))
        else:
            old = region.update(change)
        if self._races is not None:
            self._races.updated(region, change, op, old)
        if self._locks is not None:
            self._locks.update(region, change, op, old)
        return old
