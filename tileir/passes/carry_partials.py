"""Carry the partial results of a reduction through a loop that only accumulates them, and combine them after it.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %t: tile<128xf32>) {
                %s: tile<128xf32> = reduce_sum(src=%x, axes=(1))                        // %x: tile<128x64xf32>
                %u: tile<128xf32> = fma(a=%t, b=%f, c=%s)
                yield(values=(%u))
            }
    after:  %p = for(..., init=(%zeros)) .loop(%k: i32, %t: tile<128x4xf32>) {
                %s: tile<128x4xf32> = reduce_bits(src=%x, axes=(1), keep=(6), kind="sum")  // what each lane holds
                %g: tile<128x4xf32> = broadcast(src=reshape(src=%f, shape=(128, 1)), shape=(128, 4))
                %u: tile<128x4xf32> = fma(a=%t, b=%g, c=%s)
                yield(values=(%u))
            }
            %r: tile<128xf32> = reduce_sum(src=%p, axes=(1))

Whoever calls it says how far a reduction goes inside the loop: a backend leaves out the steps between threads, which
then communicate once. A loop over more of the same range (where a mask begins, say) takes the partial results of the
one before as they are. The carried value may have no other use in the loop; sums start from zero.

Float sums are reassociated: within n * eps * sum(|x|) of the exact sum, as for any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Add, Constant, Fma, Max, Min
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import ReduceMax, ReduceMin, ReduceSum, Reduction
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import constant_value

STEPS: Final[dict[type[Reduction], tuple[type[Op], ...]]] = {
    ReduceSum: (Add, Fma), ReduceMax: (Max,), ReduceMin: (Min,)}
"""The ops that add one more result of a reduction to those of the iterations before."""

Split = Callable[[Builder, Reduction, Value], Value | None]
"""Emits the part of a reduction that stays in the loop, whose axes then have one element for each partial result; given
what the loop carries now, too. None, with nothing emitted, where that is the whole reduction or takes too much room."""
Spread = Callable[[Builder, Value, Value, tuple[int, ...]], Value]
"""Emits a value that stands beside the reduction's result for each of its partial results: given the value, those, and
their axes."""


@dataclass(frozen=True)
class _Carried:
    """A value that a loop carries by its number: `step` combines it, after a `factor` has scaled it, with what `path`
    makes of the result of `reduced`. `result`: the loop's own."""

    loop: For
    number: int
    step: Op
    reduced: Reduction
    path: tuple[Op, ...]
    factor: Value | None

    @property
    def result(self) -> Value:
        return self.loop.results[self.number]

    @property
    def added(self) -> Value:
        return self.path[0].result if self.path else self.reduced.result

    def combines_like(self, other: _Carried) -> bool:
        return type(self.reduced) is type(other.reduced) and self.reduced.attributes == other.reduced.attributes


def carry_partials(unit: Unit, split: Split, spread: Spread) -> Preserved:
    """Changes what loops carry; no analysis holds any more."""
    pass_ = _Pass(unit, split, spread)
    for loop in [op for op in unit.function.walk() if isinstance(op, For)]:
        for number in range(len(loop.init)):
            found = _found(loop, number, unit.uses)
            if found is not None:
                pass_.carry(found)
    return NONE if pass_.totals else ALL


def _found(loop: For, number: int, users: Mapping[Value, list[Op]]) -> _Carried | None:
    body, param = loop.loop, loop.loop.params[1 + number]
    yielded = body.terminator.operands[number]
    step = yielded.op
    if step is None or users.get(param) != [step] or users[yielded] != [body.terminator]:
        return None
    others = [v for v in step.operands if v is not param]
    path: list[Op] = []
    reduced = others[-1].op if others else None
    while reduced is not None and _keeps_order(reduced) and len(users[reduced.result]) == 1:
        path.append(reduced)
        reduced = reduced.operands[0].op
    if not isinstance(reduced, Reduction) or type(step) not in STEPS.get(type(reduced), ()):
        return None
    found = _Carried(loop, number, step, reduced, tuple(path), others[0] if isinstance(step, Fma) else None)
    both = reduced.attributes.keys() & step.attributes
    alike = all(reduced.attributes[name] == step.attributes[name] for name in both)
    inside = {step, reduced, *path}.issubset(body.ops) and len(users[reduced.result]) == 1
    last = not isinstance(step, Fma) or step.c is not param
    return found if alike and inside and last and found.added.type == found.result.type else None


class _Pass:
    def __init__(self, unit: Unit, split: Split, spread: Spread) -> None:
        self.users, self.homes, self.split, self.spread = unit.uses, unit.homes, split, spread
        # What has become of a loop's result, by the value that combines its partial results.
        self.totals: dict[Value, _Carried] = {}

    def carry(self, found: _Carried) -> None:
        """Change the loop, if all it takes is there."""
        axes, reduced = found.reduced.axes, found.reduced
        before, at_reduction, at_step = (Builder(Block(), op.span) for op in (found.loop, reduced, found.step))
        part = self.split(at_reduction, reduced, found.result)
        start = None if part is None else self._start(before, found, part)
        if part is None or start is None:
            return
        new = {found.added: part}
        if found.factor is not None:
            new[found.factor] = self.spread(at_step, found.factor, part, axes)
        found.step.replace_operands(new)
        _insert(self.homes[found.loop], found.loop, before.block.ops)
        _insert(found.loop.loop, reduced, at_reduction.block.ops)
        _insert(found.loop.loop, found.step, at_step.block.ops)
        found.loop.loop.ops = [op for op in found.loop.loop.ops if op is not reduced and op not in found.path]
        init = [*found.loop.init]
        init[found.number] = start
        found.loop.init = tuple(init)
        for value in (found.loop.loop.params[1 + found.number], found.step.result):
            value.become(part.type)
        self._combine(found, part)

    def _start(self, b: Builder, found: _Carried, part: Value) -> Value | None:
        """The partial results before the first iteration."""
        init = found.loop.init[found.number]
        earlier = self.totals.get(init)
        if earlier is not None and earlier.combines_like(found) and earlier.result.type == part.type:
            self._take_over(init, earlier, found.loop)
            return earlier.result
        if not isinstance(found.reduced, ReduceSum):
            return self.spread(b, init, part, found.reduced.axes)  # an extreme may count more than once
        if constant_value(init) != 0:
            return None
        zero = 0.0 if part.type.dtype.is_float else 0
        return b.value(Constant(value=zero, type=part.type.erased())).retype(part.type)

    def _take_over(self, total: Value, earlier: _Carried, loop: For) -> None:
        """One use less of what combines the partial results of the loop before."""
        self.users[total].remove(loop)
        if not self.users[total]:
            home, op = self.homes[earlier.loop], total.op
            while op is not None and op is not earlier.loop:
                home.ops.remove(op)
                op = op.operands[0].op

    def _combine(self, found: _Carried, part: Value) -> None:
        """Combine the partial results after the loop."""
        b = Builder(Block(), found.loop.span)
        old, result = found.result.type, found.result
        result.become(part.type)
        total = b.value(type(found.reduced)(**{**found.reduced.attributes, "src": result}))
        total.retype(found.reduced.result.type)
        for op in reversed(found.path):
            total = b.value(type(op)(**{**op.attributes, "src": total})).retype(op.result.type)
        assert total.type == old, f"{total.type} in place of {old}"
        total.hint = result.hint
        self.users[total] = self.users.get(result, [])
        for user in self.users[total]:
            user.replace_operands({result: total})
        home = self.homes[found.loop]
        place = home.ops.index(found.loop) + 1
        home.ops[place:place] = b.block.ops
        self.totals[total] = found


def _keeps_order(op: Op) -> bool:
    return isinstance(op, Reshape) or (op.same_elements and not op.elementwise)


def _insert(block: Block, place: Op, ops: list[Op]) -> None:
    """Put ops in front of one of a block's."""
    index = block.ops.index(place)
    block.ops[index:index] = ops
