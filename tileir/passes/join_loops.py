"""A loop that does nothing but run another one becomes one loop over the iterations of both.

    before: %d = for(lower=%0, upper=%taps, step=%1, init=(%acc)) .loop(%r: i32, %a) {
                %y = add(lhs=%row, rhs=%r)
                %c = for(lower=%0, upper=%depth, step=%1, init=(%a)) .loop(%k: i32, %b) { ... }
                yield(values=(%c))
            }
    after:  %d = for(lower=%0, upper=%taps * %depth, step=%1, init=(%0, %0, %acc)) .loop(%n, %r, %k, %b) {
                %y = add(lhs=%row, rhs=%r)
                ...
                yield(values=(%r + 1 if %k + 1 >= %depth else %r, 0 if %k + 1 >= %depth else %k + 1, ...))
            }

Rings prefetch the tiles of later iterations of one loop. Where the inner loop is short they ran dry at each of its
ends: a convolution of 3x3 by 128 channels, whose loop over channels has two iterations, takes 72 us in place of 87, one
of 5x5 155 in place of 196, sums over many rows of one iteration each 40 in place of 57 (H100).

Both loops count in each iteration then, so loops that load little stay as they are. Together they have less than 2^31
iterations (`docs/limits.md`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import prod

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Add, Constant, Ge, Max, Mul, Select, Sub
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, constant_value
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

# Bytes that an iteration loads, from where on counting takes no time: an SM has 8 KiB from memory in 500 cycles.
LEAST_BYTES = 8192


def join_loops(unit: Unit) -> Preserved:
    """Only loops that are alone in another one are joined with it, so loops must be split earlier."""
    if not any(isinstance(op, For) and _alone(op) is not None for op in unit.function.walk()):
        return ALL
    Rewriter(RuleTable("joining", {For: _join})).run(unit.function)
    unit.forget(NONE)
    dce(unit)
    return NONE


def _join(op: For, b: Rewriter) -> Sequence[Value] | None:
    nest = _nest(op)
    if len(nest) == 1:
        return None
    changing, _ = _changing(nest[:-1])
    for before in (other for loop in nest[:-1] for other in loop.loop.ops[:-2] if other not in changing):
        b.visit(before)
    trips, above, params = [_trips(b, loop) for loop in nest], b.block, nest[-1].loop.params[1:]
    zero, one, numbers = b.number(0), b.number(1), [loop.loop.params[0] for loop in nest]
    with b.into([number.type for number in (numbers[0], *numbers, *params)],
                ["iteration", *(value.hint for value in (*numbers, *params))]) as body:
        counters, carried = body.params[1:len(nest) + 1], body.params[len(nest) + 1:]
        for loop, counter in zip(nest, counters, strict=True):
            b.replace(loop.loop.params[0], _variable(b, loop, counter))
        for before in (other for loop in nest[:-1] for other in loop.loop.ops[:-2] if other in changing):
            if isinstance(before, Broadcast | Reshape) and is_tile(before.src):
                b.replace(before.result, _viewed(b, above, before, b.renamed.get(before.src, before.src)))
            else:
                b.visit(before)
        values = b.inline(nest[-1].loop, [b.renamed[numbers[-1]], *carried])
        b.emit(Yield(values=(*_counted(b, counters, trips), *values)))
    every = reduce(lambda x, y: b.value(Mul(lhs=x, rhs=y)), trips)
    made = b.emit(For(lower=zero, upper=every, step=one, init=(*[zero] * len(nest), *op.init), loop=body))
    return made.results[len(nest):]


def _nest(op: For) -> list[For]:
    """Loops of which each is alone in the one before it, as far as they become one."""
    inner = _alone(op)
    return [op] if inner is None else [op, *_nest(inner)]


def _counted(b: Builder, counters: Sequence[Value], trips: Sequence[Value]) -> list[Value]:
    """How many iterations of each loop are behind the next one: the last counts first."""
    out: list[Value] = []
    carry, zero = b.number(1), b.number(0)
    for counter, most in zip(reversed(counters), reversed(trips), strict=True):
        after = b.value(Add(lhs=counter, rhs=carry))
        full = b.value(Ge(lhs=after, rhs=most))
        out.append(b.value(Select(cond=full, lhs=zero, rhs=after)))
        carry = b.cast(full, int32)
    return out[::-1]


def _viewed(b: Rewriter, above: Block, view: Broadcast | Reshape, value: Value) -> Value:
    """A view of a tile of the loop. That of a sum is the sum of views, those of what does not change made above the
    loop: so are conversions to their layouts then, which threads could not do for an iteration to come."""
    op, shape = value.op, view.shape
    if isinstance(op, Constant):
        return b.value(Constant(value=op.value, type=TileType(value.type.dtype, shape)))
    if not any(other is op for other in b.block.ops) and value not in b.block.params:
        return Builder(above, view.span).value(type(view)(src=value, shape=shape))
    if isinstance(op, Broadcast) and not op.src.type.shape:
        return b.value(Broadcast(src=op.src, shape=shape))
    if isinstance(op, Add | Sub | Mul):
        lhs, rhs = (_viewed(b, above, view, side) for side in (op.lhs, op.rhs))
        return b.value(type(op)(lhs=lhs, rhs=rhs, **op.attributes))
    return b.value(type(view)(src=value, shape=shape))


def _alone(op: For) -> For | None:
    """The loop that is all that a loop runs, where both are worth being one."""
    *before, inner, end = op.loop.ops if len(op.loop.ops) > 1 else (op, op)
    if not isinstance(inner, For) or not isinstance(end, Yield) or not (_is_simple(op) and _is_simple(inner)):
        return None
    nest = _nest(inner)
    _, changing = _changing([op, *nest[:-1]])
    uses = Counter(value for other in op.loop.walk() for value in other.operands)
    fits = (inner.init == tuple(op.loop.params[1:]) and end.values == tuple(inner.results)
            and all(uses[value] == 1 for value in (*inner.init, *inner.results))
            and changing.isdisjoint(loop.upper for loop in nest) and all(map(_is_repeatable, before)))
    ops = list(nest[-1].loop.walk())
    loaded = sum(prod(other.shape) * other.result.type.dtype.bytes for other in ops if isinstance(other, Load | Gather))
    return inner if fits and loaded >= LEAST_BYTES and not any(other.repeats for other in ops) else None


def _changing(nest: Sequence[For]) -> tuple[set[Op], set[Value]]:
    """What loops compute beside running the next one that depends on the iteration: the ops and their results."""
    ops, values = set[Op](), {param for loop in nest for param in loop.loop.params}
    for op in (op for loop in nest for op in loop.loop.ops[:-2] if not values.isdisjoint(op.operands)):
        ops.add(op)
        values.update(op.results)
    return ops, values


def _is_simple(op: For) -> bool:
    """Whether a loop counts 0, 1, 2 and so on, or has a number of iterations that is known."""
    lower, upper, step = map(constant_value, (op.lower, op.upper, op.step))
    return op.lower.type.dtype is int32 and lower is not None and step is not None and (
        upper is not None or (lower == 0 and step == 1))


def _is_repeatable(op: Op) -> bool:
    """Whether an iteration of the inner loop may compute it, too."""
    small = op.cheap or op.view or op.rematerializable or isinstance(op, Broadcast)
    return not op.effectful and not op.blocks and (small or not any(map(is_tile, op.results)))


def _trips(b: Rewriter, op: For) -> Value:
    """How many iterations a loop has."""
    bounds = [int(n) for n in map(constant_value, (op.lower, op.upper, op.step)) if n is not None]
    if len(bounds) == 3:
        return b.number(len(range(*bounds)))
    return b.value(Max(lhs=b.renamed.get(op.upper, op.upper), rhs=b.number(0)))


def _variable(b: Builder, op: For, number: Value) -> Value:
    """The variable of a loop in an iteration."""
    if constant_value(op.lower) == 0 and constant_value(op.step) == 1:
        return number
    first, step = (b.number(int(n)) for n in map(constant_value, (op.lower, op.step)) if n is not None)
    return b.value(Add(lhs=first, rhs=b.value(Mul(lhs=number, rhs=step))))
