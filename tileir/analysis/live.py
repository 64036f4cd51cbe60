"""Live ranges: which values are needed at each op, and what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.engines import REGISTERS

Live = dict[Value, int]
"""The values live at a point, and what each of them takes."""


def live_ranges(block: Block, after: Live, reads: Callable[[Op], Iterable[tuple[Value, int]]],
                holder: Callable[[Value], tuple[Value, int]]) -> Iterator[tuple[Op, Live]]:
    """Each op of a block and of the blocks in it, with what is live after it, and again with what is live before it; a
    mapping that changes from one op to the next.

    `after`: what is needed after the block, or during all of it. `holder` is the value in which another one lives and
    what it takes, `reads` what an op needs of such values.
    """
    alive = dict(after)
    for op in reversed(block.ops):
        results = dict(map(holder, op.results))
        alive.update(results)
        yield op, alive
        for value in results:
            del alive[value]
        if blocks := op.blocks:
            alive.update(holder(v) for inner in blocks for v in taken(inner))
            for inner in blocks:
                yield from live_ranges(inner, alive, reads, holder)
        for value, size in reads(op):
            if size > alive.get(value, 0):
                alive[value] = size
        yield op, alive
    if block.ops and block.params:
        yield block.ops[0], {**alive, **dict(map(holder, block.params))}


def taken(block: Block) -> set[Value]:
    """The values that a block takes from outside."""
    used: set[Value] = set()
    own: set[Value] = set(block.params)
    for op in block.walk():
        used.update(op.operands)
        own.update(op.results)
        for inner in op.blocks:
            own.update(inner.params)
    return used - own


def held_by_outstanding(block: Block) -> dict[Op, list[Value]]:
    """For each wait of the block, and its end, the register operands of MMAs that may be outstanding there."""
    out: dict[Op, list[Value]] = {}
    running: list[Value] = []
    for op in block.ops:
        if not (op.starting or op.awaiting):
            continue
        effects = op.effects()
        running += [s.memory for s in effects.starts if s.engine.multiplies and s.space is REGISTERS and not s.writes]
        for engine, pending, _ in effects.completes:
            if engine.multiplies:
                out[op] = list(running)
                if pending == 0:
                    running.clear()
    if running and block.ops:
        out[block.ops[-1]] = running
    return out
