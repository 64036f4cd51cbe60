"""Where a loop only adds what it counts to an array, add the sum of all iterations once, behind it.

    before: for(...) .loop(%k: i32) {
                %n: tile<256xi32> = histogram(src=%x, bins=256)
                %o = atomic_rmw(array=%counts, indices=(%every), mask=%n != 0, value=%n * %one, kind="add", shape=(256))
            }
    after:  %s: tile<256xi32> = for(..., init=(%zeros)) .loop(%k: i32, %t: tile<256xi32>) {
                %n: tile<256xi32> = histogram(src=%x, bins=256)
                yield(values=(%t + %n))
            }
            %o = atomic_rmw(array=%counts, indices=(%every), mask=%s != 0, value=%s * %one, kind="add", shape=(256))

Additions of integers are in no order, and wrap to the same sum; what a block adds no other one can tell before it ends.
Updates of one element wait for each other: 67 MB of random bytes in tiles of 4096 take 173 us on an H100 where each
tile is added, 45 where each of the CTAs that fit adds once.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import carry, hand_on
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import Histogram


def only_counts(unit: Unit) -> bool:
    """Whether all that blocks do is to count, once each, and add that to arrays."""
    return unit.has(Histogram) and _only_adds(unit, unit.function.body, list(unit.function.walk()))


def add_once(unit: Unit) -> bool:
    """Whether something has changed."""
    loops = [op for op in unit.function.walk() if isinstance(op, For) and _only_adds(unit, op.loop, list(op.inside()))]
    for loop in loops:
        for op in [op for op in loop.loop.ops if isinstance(op, AtomicRmw)]:
            _defer(unit, loop, op)
    return bool(loops)


def _only_adds(unit: Unit, block: Block, inside: Sequence[Op]) -> bool:
    """Whether all that the ops of a block do, and those inside of them, is to add what each counts once to arrays that
    they do not read."""
    atomics = [op for op in inside if op.repeats or op.acts]
    alias_class = unit.dependences.alias_class
    added = {alias_class(memory) for op in atomics for memory in op.effects().writes}
    read = {alias_class(memory) for op in inside if op.effectful and op not in atomics for memory in op.effects().reads}
    return bool(atomics) and added.isdisjoint(read) and all(_counted(unit, op, block) is not None for op in atomics)


def _counted(unit: Unit, op: Op, block: Block) -> tuple[Histogram, Sequence[Op]] | None:
    """The histogram of a block that an atomic addition adds up, and what in the block the addition is computed of
    beside it, in order; None if that is anything that changes from iteration to iteration, or may."""
    if not isinstance(op, AtomicRmw) or op.kind != "add" or unit.uses.get(op.result) or unit.homes[op] is not block:
        return None
    counted, needed, work = set[Histogram](), set[Op]({op}), list(op.operands)
    while work:
        value = work.pop()
        made = value.op
        if value in block.params and block is not unit.function.body:
            return None
        if made is None or made in needed or unit.homes[made] is not block:
            continue
        if isinstance(made, Histogram):
            counted.add(made)
        elif made.effectful or made.blocks or not made.effects().none:
            return None
        else:
            needed.add(made)
            work += made.operands
    if len(counted) != 1 or not {user for made in counted for user in unit.uses[made.result]} <= needed:
        return None
    return counted.pop(), [made for made in block.ops if made in needed]


def _defer(unit: Unit, loop: For, op: AtomicRmw) -> None:
    found = _counted(unit, op, loop.loop)
    assert found is not None
    histogram, needed = found
    home, type_ = unit.homes[loop], histogram.result.type
    before, inside, behind = (Builder(Block(), span) for span in (loop.span, op.span, op.span))
    [total], [result] = carry(loop, [before.value(Constant(value=0, type=type_))], ["counts"])
    hand_on(loop.loop, [inside.value(Add(lhs=total, rhs=histogram.result))])
    mapping: dict[Value, Value] = {histogram.result: result}
    for made in needed:
        behind.emit(made.clone(mapping))
    body, place = loop.loop, home.ops.index(loop)
    body.ops = [*(made for made in body.ops[:-1] if made is not op), *inside.block.ops, body.ops[-1]]
    home.ops[place:place + 1] = [*before.block.ops, loop, *behind.block.ops]
