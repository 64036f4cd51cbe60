"""Checked launches on several devices: races between them, where a scope of one device orders nothing.

An access is ordered towards blocks of its own device by the scopes DEVICE and SYS, towards others by SYS alone. So a
release reaches other devices only if its scope and that of the acquire are SYS, and two atomic accesses of one element
by different devices race unless both are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.checking.clocks import Clocks
from tilewright.interp.checking.contents import Contents
from tilewright.interp.checking.covers import Covers
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.memory import CheckedMemory
from tilewright.interp.checking.races import CONFLICTS, NamedBlock, Races
from tilewright.interp.checking.report import Report, command_line
from tilewright.interp.checking.sharing import is_atomic
from tilewright.interp.devices import DeviceMemory, Turns
from tilewright.interp.memory import Region
from tilewright.interp.program import Program
from tilewright.tileir.core import Function, Op
from tilewright.tileir.enums import MemoryScope

Grid = tuple[int, int, int]

NARROW = "device "
"""What the name of an access begins with whose scope is one device."""

BETWEEN = {
    "atomic write": ("device atomic write", "device atomic read"),
    "atomic read": ("device atomic write",),
    "device atomic write": ("atomic write", "atomic read", "device atomic write", "device atomic read"),
    "device atomic read": ("atomic write", "device atomic write"),
}
"""What atomic accesses may not meet of another device."""


def _of(what: str, device: int) -> str:
    """The name of an atomic access by a block of a device: each device's are noted apart."""
    return f"{what}#{device}"


def _conflicts(devices: range) -> dict[str, tuple[str, ...]]:
    """Those of any two blocks, with the accesses of each scope and device, and those between devices."""
    out = {}
    for what, others in CONFLICTS.items():
        both = tuple(name for other in others for name in (
            [_of(scope + other, d) for d in devices for scope in ("", NARROW)] if other in BETWEEN else [other]))
        if what not in BETWEEN:
            out[what] = both
            continue
        for device in devices:
            for own in (what, NARROW + what):
                out[_of(own, device)] = both + tuple(
                    _of(other, d) for d in devices if d != device for other in BETWEEN[own])
    return out


class DeviceClocks(Clocks):
    """A clock for the block that runs on each device. `wide`: does the access at hand reach other devices?"""

    def __init__(self, blocks: int, each: int) -> None:
        super().__init__(blocks)
        self.wide = False
        self._each, self._devices = each, range(blocks // each)
        self._kept: dict[int, tuple[int, int, Any]] = {}

    def run(self, block: int) -> None:
        if block == self.own:
            return
        self._kept[self.own // self._each] = self.own, self.epoch, self.seen
        kept = self._kept.get(block // self._each)
        if kept is not None and kept[0] == block:
            self.own, self.epoch, self.seen = kept
        else:
            super().run(block)

    def acquire(self, places: list[Any]) -> None:
        super().acquire(self._reached(places))

    def release(self, places: list[Any], joins: bool) -> None:
        if not joins:
            self.overwrite(places)
        super().release(self._reached(places), joins)

    def overwrite(self, places: list[Any]) -> None:
        super().overwrite([(place, device) for place in places for device in (None, *self._devices)])

    def _reached(self, places: list[Any]) -> list[Any]:
        """Where clocks lie that the access may leave or find: that of its device, that of all."""
        devices = (self.own // self._each, None) if self.wide else (self.own // self._each,)
        return [(place, device) for place in places for device in devices]


class DeviceRaces(Races):
    """The log of launches on all devices, over one grid. `device`: the one that runs."""

    def __init__(self, functions: Sequence[Function], grid: Grid, arguments: Sequence[Any], log: Log) -> None:
        self.device = 0
        self._each = grid[0] * grid[1] * grid[2]
        self.conflicts = _conflicts(range(len(functions)))
        blocks = self._each * len(functions)
        self._wide_clocks = DeviceClocks(blocks, self._each)
        refs = [ref for values in arguments for value in values
                for ref in (value if isinstance(value, list) else [value]) if isinstance(ref, ArrayRef)]
        self._prepare(functions, grid, blocks, refs, self._wide_clocks, log)

    def synchronise(self, region: Region, op: Any, *, reads: bool, writes: Any) -> None:
        self._wide_clocks.wide = op.memory_scope is MemoryScope.SYS
        super().synchronise(region, op, reads=reads, writes=writes)

    def _what(self, op: Op, writes: bool) -> str:
        what = super()._what(op, writes)
        if not is_atomic(op):
            return what
        narrow = getattr(op, "memory_scope", MemoryScope.SYS) is not MemoryScope.SYS
        return _of(NARROW + what if narrow else what, self.device)

    def _block_numbers(self, region: Region) -> Any:
        return super()._block_numbers(region) + self.device * self._each

    def _place(self, number: int) -> NamedBlock:
        coordinates = super()._place(number % self._each).coordinates
        device = number // self._each
        return NamedBlock(coordinates, f"block {coordinates} of device {device}", device)

    def _words(self, what: str, other: str) -> tuple[str, str]:
        if "atomic" not in what or "atomic" not in other:
            reason, hint = super()._words(what, other)
            return reason, hint + " (MemoryScope.SYS between devices)"
        return ("MemoryScope.DEVICE orders accesses of one device's blocks; other devices take part in those of "
                "MemoryScope.SYS", "write memory_scope=ct.MemoryScope.SYS at both")


class DeviceLog(Log):
    """The log of all devices, for one of them: its reports say which."""

    def __init__(self, log: Log, device: int) -> None:
        self._all, self._device = log, device

    def add(self, key: Any, count: int, make: Callable[[], Report]) -> None:
        def named() -> Report:
            report = make()
            return replace(report, values={"device": self._device, **report.values})

        self._all.add(key, count, named)

    def has(self, key: Any) -> bool:
        return self._all.has(key)

    def reports(self) -> list[Report]:
        return self._all.reports()


class CheckedDevice(DeviceMemory, CheckedMemory):
    """Checks the launch on one device; `races` are those of all. What arrays hold before a launch has written it is not
    looked at: another device may have."""

    def __init__(self, checks: frozenset[str], races: DeviceRaces | None, log: Log) -> None:
        super().__init__(checks)
        self.log = log
        self._all = races

    def on(self, turns: Turns, device: int) -> CheckedDevice:
        self.log = DeviceLog(self.log, device)
        super().on(turns, device)
        return self

    def turn(self, op: Op) -> None:
        super().turn(op)
        if self._all is not None:
            self._all.device = self.device

    def _find_races(self, function: Function, grid: Grid, arguments: Sequence[Any]) -> Races | None:
        return self._all

    def _find_contents(self, function: Function, grid: Grid, arguments: Sequence[Any]) -> tuple[Contents, Covers]:
        return (Contents(function, arguments, (), self.log),
                Covers(function, grid, arguments, frozenset(range(len(arguments)))))


def checked_together(
    checks: frozenset[str], programs: Sequence[Program], grid: Grid, arguments: Sequence[Sequence[Any]],
) -> list[CheckedDevice]:
    """The memories of launches on several devices, which see each other's accesses. They have one log."""
    log = Log(command_line(checks))
    bound = [program.bound(values) for program, values in zip(programs, arguments, strict=True)]
    races = DeviceRaces([p.function for p in programs], grid, bound, log) if "races" in checks else None
    return [CheckedDevice(checks, races, log) for _ in programs]
