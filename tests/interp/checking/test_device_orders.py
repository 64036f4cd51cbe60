"""Races between devices, against the definition: random programs of two devices with two blocks each, in the order in
which they ran, and every pair of their accesses to one element, ordered or not by what was released and acquired."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.launched import kernel_of

from tilewright.interp.checking.devices import CheckedDevice

DEVICES, BLOCKS, PLACES, FLAGS = 2, 2, 2, 2
PLAIN = {frozenset(pair) for pair in (
    ("write", "write"), ("write", "read"), ("write", "atomic write"), ("write", "atomic read"),
    ("read", "atomic write"))}
ORDERS = {"load": ("RELAXED", "ACQUIRE"), "store": ("RELAXED", "RELEASE"),
          "add": ("RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL")}


class Statement(NamedTuple):
    """`what` on element `place` of `array`."""

    what: str
    array: str
    place: int
    order: str
    scope: str

    @property
    def text(self) -> str:
        at = f"{self.array}, {self.place}"
        how = f"memory_order=tw.MemoryOrder.{self.order}, memory_scope=tw.MemoryScope.{self.scope}"
        return {"load": f"seen += tw.load({at}, (), {how})", "store": f"tw.store({at}, 1, {how})",
                "add": f"seen += tw.atomic_add({at}, 1, {how})"}[self.what]


class Event(NamedTuple):
    """An access: by block of device, at that block's time; what the block has seen of others before it."""

    line: int
    device: int
    block: int
    time: int
    seen: list[int]
    does: str
    scope: str


def statement(pick: random.Random) -> Statement:
    if pick.random() < 0.35:
        return Statement(pick.choice(("load", "store")), "x", pick.randrange(PLACES), "WEAK", "NONE")
    what = pick.choice(list(ORDERS))
    scope = pick.choice(("SYS", "SYS", "SYS", "DEVICE"))
    return Statement(what, "f", pick.randrange(FLAGS), pick.choice(ORDERS[what]), scope)


def source(programs: list[list[Statement]]) -> tuple[str, dict[int, tuple[int, Statement]]]:
    """The kernel, and the block and statement of each line."""
    lines = ["import tilewright as tw", "", "@tw.tile_kernel", "def run(x, f, out, device):", "    seen = 0"]
    found = {}
    for block, own in enumerate(programs):
        lines.append(f"    if device * {BLOCKS} + tw.bid(0) == {block}:")
        for one in own:
            lines.append(f"        {one.text}")
            found[len(lines)] = block, one
    lines += ["    tw.store(out, tw.bid(0), seen)", ""]
    return "\n".join(lines), found


def races(ran: list[int], lines: dict[int, tuple[int, Statement]]) -> set[frozenset[int]]:
    """The lines of each two accesses that nothing orders, of those that ran in this order."""
    left: dict[tuple[str, int], dict[Any, list[int]]] = {}
    seen = [[0] * (DEVICES * BLOCKS) for _ in range(DEVICES * BLOCKS)]
    events: list[tuple[tuple[str, int], Event]] = []
    for time, line in enumerate(ran, 1):
        block, one = lines[line]
        own, device = seen[block], block // BLOCKS
        own[block] = time
        known, key = list(own), (one.array, one.place)
        # A release is kept for its own device, and for all of them where its scope is SYS.
        reached = (device, "all") if one.scope == "SYS" else (device,)
        there = left.setdefault(key, {})
        if one.order in ("ACQUIRE", "ACQ_REL"):
            for who in reached:
                own[:] = map(max, own, there.get(who, own))
        if one.what == "store":
            there.clear()
        if one.order in ("RELEASE", "ACQ_REL"):
            for who in reached:
                there[who] = [max(pair) for pair in zip(own, there.get(who, own), strict=True)]
        does = ("" if one.order == "WEAK" else "atomic ") + ("read" if one.what == "load" else "write")
        events.append((key, Event(line, device, block, time, known, does, one.scope)))
    return {frozenset((a.line, b.line)) for (key, a), (other, b) in itertools.combinations(events, 2)
            if key == other and a.block != b.block and conflict(a, b) and b.seen[a.block] < a.time}


def conflict(a: Event, b: Event) -> bool:
    if frozenset((a.does, b.does)) in PLAIN:
        return True
    both = "atomic" in a.does and "atomic" in b.does and "write" in a.does + b.does
    return both and a.device != b.device and (a.scope, b.scope) != ("SYS", "SYS")


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_races_are_those_of_the_definition(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is reported is one, and where there is one, something is reported."""
    ran: list[int] = []
    turn = CheckedDevice.turn

    def recorded(self: CheckedDevice, op: Any) -> None:
        turn(self, op)
        ran.append(op.span.line)

    monkeypatch.setattr(CheckedDevice, "turn", recorded)
    kinds = set()
    for seed in range(first, first + 20):
        pick = random.Random(seed)
        text, lines = source([[statement(pick) for _ in range(pick.randrange(1, 3))] for _ in range(DEVICES * BLOCKS)])
        kernel = kernel_of(text, tmp_path / f"program{seed}.py")
        x, f, out = np.zeros(PLACES, np.int32), np.zeros(FLAGS, np.int32), np.zeros((DEVICES, BLOCKS), np.int32)
        ran.clear()
        reports = kernel.interpret(
            BLOCKS, devices=[(x, f, out[device], device) for device in range(DEVICES)], check="races",
            order=pick.choice(("asc", "desc", seed)), on_report="collect")
        wanted = races([line for line in ran if line in lines], lines)
        found = [frozenset((r.span.line, r.related.line)) for r in reports if r.kind == "race"]
        assert set(found) <= wanted and bool(found) == bool(wanted), (
            f"seed {seed}: {sorted(map(sorted, found))}, not {sorted(map(sorted, wanted))}\n{text}")
        kinds.add(bool(wanted))
    assert kinds == {False, True}
