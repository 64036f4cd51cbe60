"""Start in one iteration of a loop what the next one begins with, where that runs beside the threads: so that it runs
while they compute, and not when they wait for it.

    before: %r = for(lower=%l, upper=%u, ..., init=(%x)) .loop(%k: i32, %acc: tile<64x64xf32>) {
                %a = load(array=%keys, index=(%k), ...)
                %s = wgmma(a=%q, b=%a, acc=%0)
                %p = exp2(src=%s)
                %t = wgmma(a=%p, b=%v, acc=%acc)
                yield(values=(%t))
            }
    after:  %b = load(array=%keys, index=(min(%l, %u)), ...)
            %f = wgmma(a=%q, b=%b, acc=%0)
            %r, %o = for(lower=%l, upper=%u, ..., init=(%x, %f)) .loop(%k: i32, %acc: tile<64x64xf32>, %s: ...) {
                %p = exp2(src=%s)
                %a = load(array=%keys, index=(%k + 1), ...)
                %n = wgmma(a=%q, b=%a, acc=%0)
                %t = wgmma(a=%p, b=%v, acc=%acc)
                yield(values=(%t, %n))
            }

Nobody uses what the last iteration starts, but for a loop that goes on where this one ends: it begins with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import carry, hand_on
from tilewright.tileir.core import Block, Effects, Op, Value
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.passes.start_early import needed_for

Test = Callable[[Op], bool]


class Beginning(NamedTuple):
    """What an iteration begins with: ops that compute the operands of the last of them, those that others need, too,
    and the op above which the next iteration's go."""

    loop: For
    ops: list[Op]
    shared: set[Op]
    place: Op

    @property
    def first(self) -> Op:
        return self.ops[-1]

    def copy(self, b: Builder, variable: Value) -> Value:
        """The same of the iteration with this loop variable."""
        mapping = {self.loop.loop.params[0]: variable}
        for op in self.ops:
            b.emit(op.clone(mapping))
        return mapping[self.first.results[0]]

    def is_like(self, other: Beginning) -> bool:
        """Whether the other one does the same in an iteration with the same loop variable."""
        same = {self.loop.loop.params[0]: other.loop.loop.params[0]}
        for one, two in zip(self.ops, other.ops, strict=False):
            if (one.__class__, one.attributes) != (two.__class__, two.attributes) or (
                    [same.get(v, v) for v in one.operands] != two.operands):
                return False
            same.update(zip(one.results, two.results, strict=True))
        return len(self.ops) == len(other.ops)


def start_ahead(unit: Unit, loops: Sequence[For], starts: Test, harmless: Test) -> set[For]:
    """Of loops in their order those that were changed. `starts` holds for what runs beside the threads; `harmless` for
    ops that may be executed where there is no iteration."""
    changed: set[For] = set()
    ended: dict[tuple[Block, Value], tuple[Beginning, Value]] = {}  # by upper bounds
    for loop in loops:
        found, home = beginning(loop, starts, harmless), unit.homes[loop]
        if found is None:
            continue
        before, init = ended.get((home, loop.lower), (None, None))
        if before is None or init is None or not before.is_like(found):
            b = Builder(Block(), found.first.span)
            init = found.copy(b, b.value(arith.Min(lhs=loop.lower, rhs=loop.upper)))
            at = home.ops.index(loop)
            home.ops[at:at] = b.block.ops
            before = None
        result = _carry(found, init)
        if before is None and isinstance(loop.step.op, arith.Constant) and loop.step.op.value == 1:
            ended[home, loop.upper] = found, result
        changed.add(loop)
    if changed:
        unit.forget(NONE)
    return changed


def beginning(loop: For, starts: Test, harmless: Test) -> Beginning | None:
    """What an iteration begins with, where that needs nothing of the iteration before, and nothing else needs what it
    loads."""
    ops, carried = loop.loop.ops, set(loop.loop.params[1:])
    beside = [op for op in ops if starts(op)]
    if len(beside) < 2 or beside[0] not in needed_for(ops[:ops.index(beside[-1])], beside[-1]):
        return None
    wanted = needed_for(ops[:ops.index(beside[0])], beside[0])
    begin = [*(op for op in ops if op in wanted), beside[0]]
    shared, read = set[Op](), {v for op in ops if op not in begin for v in all_reads(op)}
    for op in reversed(begin):
        effects = op.effects()
        if op is not begin[-1]:
            if not read.isdisjoint(op.results):
                shared.add(op)
                read.update(op.operands)
            if op.blocks or effects._replace(reads=()) != Effects() or (
                    effects.reads and (op in shared or not harmless(op))):
                return None
        if not carried.isdisjoint(op.operands):
            return None
    return Beginning(loop, begin, shared, beside[-1])


def _carry(found: Beginning, init: Value) -> Value:
    """Make the loop begin its next iteration, with `init` for its first one; gives what the last one began."""
    loop, body, begun = found.loop, found.loop.loop, found.first.results[0]
    [param], [result] = carry(loop, [init], [begun.hint])
    b = Builder(Block(), found.first.span)
    following = found.copy(b, b.value(arith.Add(lhs=body.params[0], rhs=loop.step)))
    left = [op for op in body.ops if op not in found.ops or op in found.shared]
    for op in left:
        replace_everywhere(op, {begun: param})
    at = left.index(found.place)
    body.ops = [*left[:at], *b.block.ops, *left[at:]]
    hand_on(body, [following])
    return result
