"""Launches on several devices at once, in one memory: each device is a group of blocks.

Blocks of one device run one after another. Devices alternate: at an access with a memory order, and where a loop waits
for something, the next device goes on, so that blocks of different devices may wait for each other. Only one runs at a
time, so a run is the same each time.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tilewright.interp.blas import one_thread
from tilewright.interp.changes import Written
from tilewright.interp.memory import Change, Memory, Region, Values, Waiting
from tilewright.interp.options import ExecutionOptions
from tilewright.interp.program import Program
from tilewright.tileir.core import Op
from tilewright.tileir.enums import MemoryOrder

Grid = tuple[int, int, int]


class Abandoned(BaseException):
    """Another device's launch has failed: this one ends without a result."""


class Turns:
    """Which of some devices runs. `order`: "asc" (None) or "desc", the order of their turns; an int seeds a random one.
    """

    def __init__(self, devices: int, order: str | int | None = None) -> None:
        self._live = list(range(devices))
        if order == "desc":
            self._live.reverse()
        self._random = random.Random(order) if isinstance(order, int) else None
        self._now = self._live[0]
        self._moved = threading.Condition()
        self._failed = False
        # Of devices in loops that repeat themselves: how often they have looked since memory changed, and how often
        # they must to have seen all of it.
        self._looks: dict[int, tuple[int, int]] = {}

    def start(self, device: int) -> None:
        """A device begins: it waits for its first turn."""
        with self._moved:
            self._await(device)

    def hand_on(self, device: int) -> None:
        """The next device goes on; this one waits until it is its turn again."""
        with self._moved:
            self._now = self._after(device)
            if self._now != device:
                self._moved.notify_all()
                self._await(device)

    def end(self, device: int, failed: bool = False) -> None:
        """A device's launch has ended."""
        with self._moved:
            following = self._after(device, leaves=True)
            self._live.remove(device)
            self._looks.pop(device, None)
            self._failed |= failed
            if self._now == device:
                self._now = following
            self._moved.notify_all()

    def give_up(self) -> None:
        """All launches end."""
        with self._moved:
            self._failed = True
            self._moved.notify_all()

    @property
    def watched(self) -> bool:
        """Does a device wait for memory to change?"""
        return bool(self._looks)

    def changed(self) -> None:
        """Memory is not what it was: what waited may go on."""
        self._looks.clear()

    def waits(self, device: int, period: int) -> bool:
        """A loop leaves all as it was, each `period` iterations. Can another device end that? It has its turn, then."""
        self._looks[device] = self._looks.get(device, (0, 0))[0] + 1, period
        if all(other in self._looks and self._looks[other][0] > self._looks[other][1] for other in self._live):
            return False
        self.hand_on(device)
        return True

    def _after(self, device: int, leaves: bool = False) -> int:
        if self._random is not None:
            return self._random.choice([other for other in self._live if not leaves or other != device] or [device])
        return self._live[(self._live.index(device) + 1) % len(self._live)]

    def _await(self, device: int) -> None:
        self._moved.wait_for(lambda: self._now == device or self._failed)
        if self._failed:
            raise Abandoned


class DeviceMemory(Memory):
    """The memory of the launch on one device; others access it in their turns. In front of another class of memory."""

    waiting = Waiting(
        "which nobody changes any more: all other devices wait, too, or have ended",
        "blocks of one device run one after another, and may wait for those before them, and for other devices",
        "let each device write before it waits; all of them need the same number of launches that meet")

    turns: Turns
    device: int

    def on(self, turns: Turns, device: int) -> DeviceMemory:
        """This memory, as that of a device."""
        self.turns, self.device = turns, device
        return self

    def direct(self, op: Op) -> bool:
        return False

    def patient(self, period: int) -> bool:
        return self.turns.waits(self.device, period)

    def turn(self, op: Op) -> None:
        """An access is about to happen; other devices may come first."""
        if getattr(op, "memory_order", MemoryOrder.WEAK) is not MemoryOrder.WEAK:
            self.turns.hand_on(self.device)

    def read(self, region: Region, op: Op) -> Values:
        self.turn(op)
        return super().read(region, op)

    def write(self, region: Region, values: Values, op: Op) -> None:
        self.turn(op)
        self._note(region, partial(super().write, region, values, op))

    def update(self, region: Region, change: Change, op: Op) -> Values:
        self.turn(op)
        return self._note(region, partial(super().update, region, change, op))

    def _note(self, region: Region, access: Callable[[], Values]) -> Values:
        """Others may wait for what an access changes."""
        if region.kind == "shared" or not self.turns.watched:
            return access()
        written = Written(region)
        out = access()
        if written.changed:
            self.turns.changed()
        return out


def run_devices(
    programs: Sequence[Program], grid: Grid, arguments: Sequence[Sequence[Any]], options: ExecutionOptions,
    memories: Sequence[DeviceMemory] = (),
) -> None:
    """Execute every block of the grid on each device: its program, its arguments, its memory (none: a plain one). The
    first error of any is raised when all have ended."""
    turns = Turns(len(programs), options.order)
    memories = memories or [DeviceMemory() for _ in programs]
    failed: list[BaseException] = []

    def work(device: int) -> None:
        own = replace(options, mode="single", memory=memories[device].on(turns, device))
        before = len(failed)
        try:
            turns.start(device)
            programs[device].run(grid, arguments[device], own)
        except Abandoned:
            pass
        except BaseException as error:
            failed.append(error)
        turns.end(device, len(failed) > before)

    workers = [threading.Thread(target=work, args=(device,), daemon=True) for device in range(len(programs))]
    with one_thread():
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        except BaseException:  # the user has interrupted the run
            turns.give_up()
            raise
    if failed:
        raise failed[0]
