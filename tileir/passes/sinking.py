"""Loads that run elsewhere: below a reduction, so that their tiles are not live across it, or again in each iteration.

    before: %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            %f: tile<16384xf32, #1> = cast(src=%w, dtype=f32)
            ... the sum of %x over all warps ...
            ... %x * %scale * %f ...
    after:  ... the sum of %x over all warps ...
            %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            %f: tile<16384xf32, #1> = cast(src=%w, dtype=f32)
            ... %x * %scale * %f ...
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Block, Function, Op, Value


def with_what_follows(loads: Collection[Op], function: Function) -> dict[Op, None]:
    """Loads, and what is computed from these alone, element by element; in program order."""
    out: dict[Op, None] = {}
    for op in function.walk():
        tiles = [v for v in op.operands if not is_uniform(v)] if op.elementwise or op.view else []
        if op in loads or (tiles and all(v.op in out for v in tiles)):
            out[op] = None
    return out


def reload(block: Block, hoisted: Collection[Value], movable: Collection[Op]) -> set[Op]:
    """Load tiles in a block that were loaded outside it; the ops that do."""
    needed = set[Op]()
    work = list(hoisted)
    while work:
        op = work.pop().op
        if op is not None and op in movable and op not in needed:
            needed.add(op)
            work += op.operands
    copies: dict[Value, Value] = {}
    made = [op.clone(copies) for op in movable if op in needed]
    for op in block.ops:
        replace_everywhere(op, copies)
    block.ops[:0] = made
    return set(made)


def used_late(block: Block, step: Mapping[Op, int], movable: Collection[Op]) -> set[Op]:
    """The movable ops whose users all stand in a later step; `step` numbers the ops of the block."""
    first: dict[Value, int] = {}  # use of a value, after sinking
    late: set[Op] = set()
    for op in reversed(block.ops):
        where = step[op]
        if op in movable:
            used = min((first[r] for r in op.results if r in first), default=where)
            if used > where:
                late.add(op)
                where = used
        for value in all_reads(op):
            first[value] = min(where, first.get(value, where))
    return late


def sink(block: Block, late: Collection[Op]) -> None:
    """Put each of these ops before its first user."""
    waiting, old, block.ops = set(late), block.ops, []

    def place(op: Op | None) -> None:
        if op in waiting:
            waiting.discard(op)
            put(op)

    def put(op: Op) -> None:
        for value in all_reads(op):
            place(value.op)
        block.ops.append(op)

    for op in old:
        if op not in late:
            put(op)
