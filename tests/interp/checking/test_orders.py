"""Races among blocks that synchronise, against the definition: random programs of three blocks, run one after another,
and every pair of their accesses to one element, ordered or not by what was released and acquired between them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.launched import kernel_of

BLOCKS, PLACES, FLAGS = 3, 2, 2
CONFLICTS = {frozenset(pair) for pair in (
    ("write", "write"), ("write", "read"), ("write", "atomic write"), ("write", "atomic read"),
    ("read", "atomic write"))}
ORDERS = {"WEAK": (False, False), "RELAXED": (False, False), "ACQUIRE": (True, False), "RELEASE": (False, True),
          "ACQ_REL": (True, True)}


class Statement(NamedTuple):
    """`what` on element `place` of `array`; `order`: of memory."""

    what: str
    array: str
    place: int
    order: str = "WEAK"

    @property
    def text(self) -> str:
        at, order = f"{self.array}, {self.place}", f"memory_order=tw.MemoryOrder.{self.order}"
        scoped = "" if self.order == "WEAK" else f", {order}, memory_scope=tw.MemoryScope.DEVICE"
        return {"load": f"seen += tw.load({at}, (){scoped})", "store": f"tw.store({at}, 1{scoped})",
                "add": f"seen += tw.atomic_add({at}, 1, {order})",
                "swap": f"seen += tw.atomic_xchg({at}, 1, {order})",
                "swap if 0": f"seen += tw.atomic_cas({at}, 0, 1, {order})"}[self.what]


class Event(NamedTuple):
    """An access: by block, at that block's time; what the block has seen of others, and what the access does."""

    line: int
    block: int
    time: int
    seen: list[int]
    does: str


def statements(pick: random.Random) -> Iterator[Statement]:
    for _ in range(pick.randrange(1, 5)):
        if pick.random() < 0.5:
            array = "f" if pick.random() < 0.15 else "x"
            yield Statement(pick.choice(("load", "store")), array, pick.randrange(PLACES))
        else:
            what = pick.choice(("load", "store", "add", "swap", "swap if 0"))
            orders = {"load": ("RELAXED", "ACQUIRE"), "store": ("RELAXED", "RELEASE")}.get(what, tuple(ORDERS)[1:])
            yield Statement(what, "x" if pick.random() < 0.1 else "f", pick.randrange(FLAGS), pick.choice(orders))


def source(program: list[list[Statement]]) -> tuple[str, list[list[int]]]:
    """The kernel, and the line of each statement."""
    lines = ["import tilewright as tw", "", "@tw.tile_kernel", "def run(x, f, out):", "    seen = 0"]
    numbers: list[list[int]] = []
    for block, own in enumerate(program):
        lines.append(f"    if tw.bid(0) == {block}:")
        numbers.append([])
        for statement in own:
            lines.append(f"        {statement.text}")
            numbers[-1].append(len(lines))
    lines += ["    tw.store(out, tw.bid(0), seen)", ""]
    return "\n".join(lines), numbers


def races(program: list[list[Statement]], numbers: list[list[int]]) -> set[frozenset[int]]:
    """The lines of each two accesses that nothing orders."""
    memory: dict[tuple[str, int], int] = {}
    left: dict[tuple[str, int], list[int]] = {}
    events: dict[tuple[str, int], list[Event]] = {}
    for block, own in enumerate(program):
        seen = [0] * BLOCKS
        for time, (statement, line) in enumerate(zip(own, numbers[block], strict=True), 1):
            seen[block] = time
            key = statement.array, statement.place
            acquires, releases = ORDERS[statement.order]
            known = list(seen)  # whether the release on the element itself has come before is luck
            before = memory.get(key, 0)
            wrote = statement.what != "load" and (statement.what != "swap if 0" or before == 0)
            reads = statement.what != "store"
            if reads and acquires and key in left:
                seen = [max(pair) for pair in zip(seen, left[key], strict=True)]
            does = "write" if statement.what != "load" else "read"
            atomic = "" if statement.order == "WEAK" else "atomic "
            events.setdefault(key, []).append(Event(line, block, time, known, atomic + does))
            if wrote:
                memory[key] = before + 1 if statement.what == "add" else 1
                if releases:
                    old = left.get(key) if reads else None
                    left[key] = list(seen) if old is None else [max(pair) for pair in zip(seen, old, strict=True)]
                elif not reads:
                    left.pop(key, None)
    return {frozenset((a.line, b.line)) for found in events.values() for a, b in itertools.combinations(found, 2)
            if a.block != b.block and frozenset((a.does, b.does)) in CONFLICTS and b.seen[a.block] < a.time}


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_races_are_those_of_the_definition(first: int, tmp_path: Path) -> None:
    """All that is reported is one, and where there is one, something is reported: the log keeps the last access."""
    kinds = set()
    for seed in range(first, first + 20):
        pick = random.Random(seed)
        program = [list(statements(pick)) for _ in range(BLOCKS)]
        text, numbers = source(program)
        kernel = kernel_of(text, tmp_path / f"program{seed}.py")
        x, f, out = np.zeros(PLACES, np.int32), np.zeros(FLAGS, np.int32), np.zeros(BLOCKS, np.int32)
        reports = kernel.interpret(BLOCKS, x, f, out, mode="single", check="races", on_report="collect")
        found = [r for r in reports if r.kind == "race"]
        wanted = races(program, numbers)
        wrong = [r for r in found if frozenset((r.span.line, r.related.line)) not in wanted or r.other_block is None]
        assert not wrong and bool(found) == bool(wanted), (
            f"seed {seed}: reported {[(r.span.line, r.related.line) for r in wrong or found]}, not "
            f"{sorted(map(sorted, wanted))}\n{text}")
        kinds.add(bool(wanted))
    assert kinds == {False, True}


def test_a_store_that_releases_nothing_takes_what_was_left(tmp_path: Path) -> None:
    """Block 2 acquires what block 1 has stored, from which it learns nothing of block 0."""
    first = [Statement("store", "x", 0), Statement("store", "f", 0, "RELEASE")]
    last = [Statement("load", "f", 0, "ACQUIRE"), Statement("load", "x", 0)]
    between = Statement("store", "f", 0, "RELAXED"), Statement("load", "f", 0, "RELAXED")
    for number, (statement, count) in enumerate(zip(between, (1, 0), strict=True)):
        own = [first, [statement], last]
        text, numbers = source(own)
        x, f, out = np.zeros(PLACES, np.int32), np.zeros(FLAGS, np.int32), np.zeros(BLOCKS, np.int32)
        reports = kernel_of(text, tmp_path / f"overwritten{number}.py").interpret(
            BLOCKS, x, f, out, mode="single", check="races", on_report="collect")
        assert len([r for r in reports if r.kind == "race"]) == len(races(own, numbers)) == count


def test_grids_without_clocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As many blocks as clocks are kept for are checked, one more is not, which a note says."""
    own = [Statement("add", "f", 0, "ACQ_REL"), Statement("load", "x", 0), Statement("store", "x", 0)]
    text, _ = source([own] * BLOCKS)
    kernel = kernel_of(text, tmp_path / "many.py")
    for most, notes in ((3, 0), (2, 1)):
        monkeypatch.setattr("tilewright.interp.checking.races.MOST_BLOCKS", most)
        x, f, out = np.zeros(PLACES, np.int32), np.zeros(FLAGS, np.int32), np.zeros(BLOCKS, np.int32)
        found = kernel.interpret(BLOCKS, x, f, out, check="races", on_report="collect")
        assert len([r for r in found if "races are not checked" in r.message]) == notes
