"""Locks that blocks take in different orders: a deadlock that no order of whole blocks shows.

A block holds what it has changed by `atomic_cas` or `atomic_xchg`, until it puts the old value back. It waits for a
lock in a loop that does nothing but try. Blocks that each hold what the next one waits for, round in a ring, wait for
ever, unless another lock or a release that an acquire has seen keeps them apart. Synchronisation by the locks
themselves does not: in another order of blocks it goes the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tilewright.interp.checking.clocks import ACQUIRES, MOST_BLOCKS, RELEASES, Clocks
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.places import block_coordinates, element_of
from tilewright.interp.checking.report import Report
from tilewright.interp.checking.sharing import is_atomic
from tilewright.interp.memory import Change, Region
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import control
from tilewright.tileir.ops.atomics import AtomicCas, AtomicRmw

MOST_WAITS = 1024
MOST_STEPS = 20_000

Key = int  # the address of an element


class Wait(NamedTuple):
    """A block that holds `held`, `one` among them, tries to take `wanted`. `seen` is its clock."""

    one: Key
    wanted: Key
    held: frozenset[Key]
    block: int
    coordinates: tuple[int, ...]
    epoch: int
    seen: Any
    op: Op


class Locks:
    """What the blocks of one launch hold and wait for. They run one after another."""

    def __init__(self, function: Function, grid: tuple[int, int, int], log: Log) -> None:
        blocks = grid[0] * grid[1] * grid[2]
        self._tries = _tries(function)
        self.active = 1 < blocks <= MOST_BLOCKS and _may_nest(function.body, self._tries)
        self._log = log
        self._grid = grid
        self._clocks = Clocks(blocks if self.active else 0)
        self._held: dict[Key, Any] = {}
        self._locks: set[Key] = set()
        self._windows: set[int] = set()
        self._names: dict[Key, str] = {}
        self._waits: dict[tuple[Key, Key, int], Wait] = {}

    def read(self, region: Region, op: Any) -> None:
        """A load has happened."""
        if is_atomic(op) and op.memory_order in ACQUIRES and self._run(region):
            self._clocks.acquire(_keys(region, None))

    def write(self, region: Region, op: Any) -> None:
        """A store has happened."""
        ordered = is_atomic(op)
        if not self._run(region) or not (ordered or (self._held and _window(region) in self._windows)):
            return
        keys = _keys(region, None)
        for key in keys:
            self._held.pop(key, None)
        if ordered:
            self._publish([key for key in keys if key not in self._locks], op, joins=False)

    def update(self, region: Any, change: Change, op: Any, old: Any) -> None:
        """An atomic operation has happened that found `old`."""
        if not self._run(region):
            return
        written = np.broadcast_to(change.kind != "cas" or old == change.values[0], region.shape)
        keys = _keys(region, None)
        if len(keys) == 1 and region.shape in ((), (1,)):
            [key] = keys
            if op in self._tries:
                self._wait(key, region, op)
            if _exchanges(op) and written.all():
                self._change(key, region, np.ravel(old)[0], np.ravel(change.values[-1])[0])
        keys = [key for key in keys if key not in self._locks]
        if not keys:
            return
        if is_atomic(op) and op.memory_order in ACQUIRES:
            self._clocks.acquire(keys)
        if not written.all():
            keys = [key for key in _keys(region, written) if key not in self._locks]
        self._publish(keys, op, joins=True)

    def _run(self, region: Region) -> bool:
        if not self.active or region.chunk.count != 1:
            return False
        x, y, z = (int(np.ravel(i)[0]) for i in region.chunk.ids)
        number = x + self._grid[0] * (y + self._grid[1] * z)
        if number != self._clocks.own:
            self._held = {}
        self._clocks.run(number)
        return True

    def _publish(self, keys: list[Key], op: Any, *, joins: bool) -> None:
        if op.memory_order in RELEASES and is_atomic(op):
            self._clocks.release(keys, joins=joins)
        elif not joins:
            self._clocks.overwrite(keys)

    def _change(self, key: Key, region: Any, old: Any, new: Any) -> None:
        if key in self._held:
            if self._held[key] == new:
                del self._held[key]
        elif old != new:
            self._held[key] = old
            self._windows.add(_window(region))

    def _wait(self, key: Key, region: Any, op: Op) -> None:
        self._locks.add(key)
        if key in self._held:
            return
        lane = (0,) * len(region.shape)
        index = ", ".join(map(str, element_of(region, lane)))
        self._names[key] = f"{region.array.name}[{index}]"
        held, clocks = frozenset(self._held), self._clocks
        for one in held:
            if len(self._waits) < MOST_WAITS:
                wait = Wait(one, key, held, clocks.own, block_coordinates(region.chunk, 0), clocks.epoch,
                            clocks.seen.copy(), op)
                self._waits.setdefault((one, key, clocks.own), wait)

    # ---- the end

    def finish(self) -> None:
        """Look for rings of blocks that wait for each other."""
        following: dict[Key, list[Wait]] = {}
        for wait in self._waits.values():
            following.setdefault(wait.one, []).append(wait)
        steps = iter(range(MOST_STEPS))
        for wait in self._waits.values():
            ring = _ring([wait], following, steps)
            if ring:
                self._log.add(("ring", frozenset(w.op for w in ring)), 1, partial(self._report, ring))

    def _report(self, ring: list[Wait]) -> Report:
        first, second = ring[0], ring[1]
        name = self._names
        others = f", round a ring of {len(ring)} blocks" if len(ring) > 2 else ""
        return Report(
            "progress", f"blocks can wait for each other for ever: block {first.coordinates} holds {name[first.one]} "
            f"and waits for {name[first.wanted]}, which block {second.coordinates} can hold while it waits for "
            f"{name[second.wanted]}{others}", first.op.span, block=first.coordinates, other_block=second.coordinates,
            label=f"block {first.coordinates} waits for {name[first.wanted]} here", related=second.op.span,
            related_label=f"block {second.coordinates} waits for {name[second.wanted]} here",
            reason="blocks run at the same time, and each may get its first lock before another gets its second",
            hint="let all blocks take locks in one order, for example by number: min(a, b) first, then max(a, b)",
        )


def _ring(path: list[Wait], following: dict[Key, list[Wait]], steps: Iterator[int]) -> list[Wait]:
    """The path as a closed ring of blocks that can all wait at the same time; empty if there is none."""
    for wait in following.get(path[-1].wanted, ()):
        if next(steps, None) is None:
            return []
        if not all(_together(wait, other) for other in path):
            continue
        longer = [*path, wait]
        found = longer if wait.wanted == path[0].one else _ring(longer, following, steps)
        if found:
            return found
    return []


def _together(a: Wait, b: Wait) -> bool:
    """Can both wait at the same time? Not if they hold a lock in common, or one is ordered before the other."""
    if a.block == b.block or a.held & b.held:
        return False
    return bool(a.seen[b.block] < b.epoch and b.seen[a.block] < a.epoch)


def _keys(region: Region, where: Any) -> list[Key]:
    """The addresses of the elements that are accessed, of those where `where` holds."""
    offsets, mask = np.asarray(region.offsets()), region.mask
    if offsets.size == 1 and mask is None and where is None:
        return [int(offsets.flat[0]) + _window(region)]
    taken: Any = np.ones(offsets.shape, bool) if mask is None else np.broadcast_to(mask, offsets.shape)
    if where is not None:
        taken = taken & where
    return (np.unique(offsets[taken]) + _window(region)).tolist()  # type: ignore[no-any-return]


def _window(region: Region) -> int:
    return int(region.array.window.__array_interface__["data"][0])


def _exchanges(op: Op) -> bool:
    return isinstance(op, AtomicCas) or (isinstance(op, AtomicRmw) and op.kind == "xchg")


def _tries(function: Function) -> frozenset[Op]:
    """The atomic operations that loops repeat as they are until they succeed, with no other effects beside them.

    One that is tried with other values each time, as where a sum is made by `atomic_cas`, waits for nothing."""
    found: set[Op] = set()
    for loop in function.walk():
        if not isinstance(loop, control.While):
            continue
        inside = [op for op in loop.inside() if op.effectful]
        if all(map(_exchanges, inside)):
            decisive = _behind(loop, [loop.before.terminator.operands[0]])
            found.update(op for op in inside if any(r in decisive for r in op.results) and _always_alike(op, loop))
    return frozenset(found)


def _may_nest(body: Block, tries: frozenset[Op]) -> bool:
    """Can a block try to take a lock while it has another? Not with one loop that tries, which runs once."""
    loops = [(op, again) for op, again in _loops(body, repeated=False) if any(
        inner in tries for block in op.blocks for inner in block.walk())]
    return len(loops) > 1 or any(again for _, again in loops)


def _loops(body: Block, repeated: bool) -> Iterator[tuple[control.While, bool]]:
    """The while loops of a body, and whether they stand in another loop."""
    for op in body.ops:
        if isinstance(op, control.While):
            yield op, repeated
        for block in op.blocks:
            yield from _loops(block, repeated or op.repeats)


def _behind(loop: control.While, values: Sequence[Value]) -> set[Value]:
    """The values that these depend on, of this iteration of a loop or of those before."""
    found: set[Value] = set()
    own, left = _params(loop), list(values)
    carried = [v for block in loop.blocks for v in block.terminator.operands]
    while left:
        value = left.pop()
        if value in found:
            continue
        found.add(value)
        if value in own:
            left += carried
        elif value.op is not None:
            left += [*value.op.operands, *(v for block in value.op.blocks for v in block.terminator.operands)]
    return found


def _always_alike(op: Op, loop: control.While) -> bool:
    """Does each iteration try the same values at the same element?"""
    readers = {r for inner in loop.inside() if inner.effects().reads for r in inner.results}
    return not _behind(loop, op.operands) & (_params(loop) | readers)


def _params(loop: control.While) -> set[Value]:
    return {p for block in loop.blocks for p in block.params}
