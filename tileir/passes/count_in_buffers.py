"""Count the elements of tiles in memory that threads share, each by an addition, where a loop only adds up the counts
of its iterations once for all.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %t: tile<256xi32>) {
                %n: tile<256xi32> = histogram(src=%x, bins=256)
                yield(values=(add(lhs=%t, rhs=%n)))
            }
    after:  %b = ...                                                   // a buffer of zeros
            %p = for(..., init=(%zero)) .loop(%k: i32, %t: tile<256xi32>) {
                ...                                                    // 1 is added in %b for each element of %x
                yield(values=(%t))
            }
            %r: tile<256xi32> = add(lhs=%p, rhs=...)                   // what is in %b

Whoever calls it says what a buffer is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import Histogram
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType


class Counters(NamedTuple):
    """What emits a buffer that holds a tile, the op that adds 1 in a `buffer` at each of its `numbers`, and what emits
    the tile that a buffer holds."""

    start: Callable[[Builder, Value], Value]
    adding: Callable[..., Op]
    read: Callable[[Builder, Value, TileType], Value]


def count_in_buffers(unit: Unit, counters: Counters) -> Preserved:
    """Changes what loops carry; no histogram is left."""
    if not unit.has(Histogram):
        return ALL
    loops = [op for op in unit.function.walk() if isinstance(op, For)]
    sums = [s for loop in loops for number in range(len(loop.init)) if (s := _sum(unit, loop, number))]
    rewrite(unit.function, _Counting(counters, sums).of)
    return NONE


class _Sum(NamedTuple):
    """An addition of a histogram to what a loop carries by a number, where it does nothing else with either."""

    loop: For
    number: int
    step: Add
    counted: Histogram


def _sum(unit: Unit, loop: For, number: int) -> _Sum | None:
    param, step = loop.loop.params[1 + number], loop.loop.terminator.operands[number].op
    if not isinstance(step, Add) or unit.uses.get(param) != [step] or len(unit.uses[step.result]) != 1:
        return None
    [counted] = [v.op for v in step.operands if v is not param] or [None]
    if not isinstance(counted, Histogram) or unit.homes[counted] is not loop.loop:
        return None
    return _Sum(loop, number, step, counted) if unit.uses[counted.result] == [step] else None


class _Counting:
    """What becomes of each op. `sums` are those that are read after their loops."""

    def __init__(self, counters: Counters, sums: Sequence[_Sum]) -> None:
        self.counters = counters
        self.sums = {op: s for s in sums for op in (s.step, s.counted)}
        self.buffers: dict[For, list[tuple[_Sum, Block, Value]]] = {}  # and what stands before the loop

    def of(self, rewriter: Rewriter, op: Op) -> None:
        if isinstance(op, Histogram):
            self._count(rewriter, op)
        elif op in self.sums:
            found = self.sums[op]
            rewriter.replace(op.results[0], found.loop.loop.params[1 + found.number])
        elif isinstance(op, For) and op in self.buffers:
            self._around(rewriter, op)
        else:
            rewriter.keep(op)

    def _count(self, rewriter: Rewriter, op: Histogram) -> None:
        found, wanted = self.sums.get(op), op.result.type
        b = rewriter if found is None else Builder(Block(), op.span)
        zeros = Constant(value=0, type=wanted.erased())
        buffer = self.counters.start(b, b.value(zeros).retype(wanted))
        rewriter.emit(self.counters.adding(buffer=buffer, numbers=op.src))
        if found is None:
            rewriter.replace(op.result, self.counters.read(rewriter, buffer, wanted))
        else:
            self.buffers.setdefault(found.loop, []).append((found, b.block, buffer))

    def _around(self, rewriter: Rewriter, loop: For) -> None:
        for _, before, _ in self.buffers[loop]:
            rewriter.extend(before.ops)
        rewriter.keep(loop)
        for found, _, buffer in self.buffers[loop]:
            result = loop.results[found.number]
            total = Add(lhs=result, rhs=self.counters.read(rewriter, buffer, found.counted.result.type))
            rewriter.replace(result, rewriter.value(total).retype(result.type))
