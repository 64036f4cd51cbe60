"""Which branches of a kernel exclude each other: of an `if` outside of loops a block executes one of its two.

In a loop an iteration may take the other one while engines, or warps that run ahead, are still at work for this one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op

Branches = tuple[tuple[Op, int], ...]
"""The ifs around an op that no loop encloses, outermost first, each with the number of the block that the op is in."""


def with_branches(block: Block, around: Branches = (), looped: bool = False) -> Iterator[tuple[Op, Branches]]:
    """The ops of a block and of those within, with their branches. `looped`: a loop encloses the block."""
    for op in block.ops:
        yield op, around
        fork = len(op.blocks) > 1 and not (looped or op.repeats)
        for number, inner in enumerate(op.blocks):
            yield from with_branches(inner, (*around, (op, number)) if fork else around, looped or op.repeats)


def branches_of(unit: Unit, op: Op | Function) -> Branches:
    if isinstance(op, Function):
        return ()
    found: list[tuple[Op, int]] = []
    inside = [op, *unit.around(op)]
    for inner, outer in zip(inside[-2::-1], inside[:0:-1], strict=True):
        if outer.repeats:
            break
        if len(outer.blocks) > 1:
            found.append((outer, outer.blocks.index(unit.homes[inner])))
    return tuple(found)


def branches_of_all(unit: Unit, ops: Iterable[Op | Function]) -> Branches:
    """The branches that are around all of some ops."""
    return functools.reduce(shared_branches, (branches_of(unit, op) for op in ops))


def shared_branches(one: Branches, other: Branches) -> Branches:
    """The branches that are around both."""
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:same]


def exclusive(one: Branches, other: Branches) -> bool:
    """Whether a block executes at most one of two ops."""
    depth = len(shared_branches(one, other))
    return depth < min(len(one), len(other)) and one[depth][0] is other[depth][0]


def most_at_once(sizes: Iterable[tuple[int, Branches]], depth: int = 0) -> int:
    """The sum of what is used in any one execution, of sizes and the branches in which they are used."""
    total = 0
    inside: dict[Op, dict[int, list[tuple[int, Branches]]]] = {}
    for size, where in sizes:
        if len(where) == depth:
            total += size
        else:
            op, number = where[depth]
            inside.setdefault(op, {}).setdefault(number, []).append((size, where))
    return total + sum(max(most_at_once(found, depth + 1) for found in of.values()) for of in inside.values())
