"""What loops and branches hand on: a parameter or result must be, to the bit, the value that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from tilewright.comparing.sites import Site, Sites
from tilewright.tileir.carried import condition_of
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import For, If, While

Array = Any


class Recorded(Protocol):
    """What probes have recorded."""

    sites: Sites

    def knows(self, value: Value) -> bool:
        """Whether a value is recorded."""

    def operand(self, value: Value, visit: int, site: Site) -> tuple[Array, Array]:
        """A value on both sides at a visit to a place inside its own."""

    def visited(self, value: Value, visit: int, number: int) -> bool:
        """Whether a side came there."""


def made(op: Op) -> Iterator[Value]:
    """The values of a loop or branch itself: its results, and the parameters of its bodies."""
    yield from op.results
    if isinstance(op, For | While | If):
        for block in op.blocks:
            yield from block.params


def sources(op: Op) -> list[Value]:
    """The values that these come from."""
    if isinstance(op, For):
        return [op.lower, op.upper, op.step, *op.init, *op.loop.terminator.operands, op.loop.params[0]]
    if isinstance(op, While):
        end = condition_of(op)
        return [*op.init, *end.operands, *op.after.terminator.operands]
    if isinstance(op, If):
        return [op.cond, *op.then.terminator.operands, *op.orelse.terminator.operands]
    return []


def handed(records: Recorded, op: Op, value: Value, visit: int, number: int) -> Array | None:
    """What a value of a loop or branch must be at a visit, None where that is not known."""
    if not all(records.knows(v) for v in sources(op)):
        return None
    flow = _Flow(records, op, number)
    if isinstance(value.owner, Block):
        return flow.parameter(value, visit)
    return flow.result(op.results.index(value), visit)


class _Flow:
    def __init__(self, records: Recorded, op: Op, number: int) -> None:
        self.records, self.op, self.number = records, op, number
        self.site = records.sites.of_op[op]

    def at(self, value: Value, visit: int, site: Site) -> Array:
        return self.records.operand(value, visit, site)[self.number]

    def parameter(self, value: Value, visit: int) -> Array | None:
        inside = self.records.sites.of_value[value]
        trips, op = inside.trips[-1], self.op
        outer, iteration = divmod(visit, trips)
        if isinstance(op, For):
            position = op.loop.params.index(value) - 1
            if position < 0:
                start, step = self.at(op.lower, outer, self.site), self.at(op.step, outer, self.site)
                first: Array = start + step * step.dtype.type(iteration)
                return first
            if iteration == 0:
                return self.at(op.init[position], outer, self.site)
            return self.at(op.loop.terminator.operands[position], visit - 1, inside)
        assert isinstance(op, While)
        if value in op.after.params:
            return self.at(condition_of(op).values[op.after.params.index(value)], visit, inside)
        position = op.before.params.index(value)
        if iteration == 0:
            return self.at(op.init[position], outer, self.site)
        return self.at(op.after.terminator.operands[position], visit - 1, inside)

    def result(self, position: int, visit: int) -> Array | None:
        op = self.op
        if isinstance(op, If):
            branch = op.then if bool(self.at(op.cond, visit, self.site)) else op.orelse
            return self.at(branch.terminator.operands[position], visit, self.site)
        # Both kinds of loops have a value of the body that each iteration makes.
        assert isinstance(op, For | While)
        mark = op.loop.params[0] if isinstance(op, For) else condition_of(op).cond
        inside = self.records.sites.of_value[mark]
        if len(inside.loops) != len(self.site.loops) + 1:
            return None
        trips = inside.trips[-1]
        visits = [v for v in range(visit * trips, (visit + 1) * trips) if self.records.visited(mark, v, self.number)]
        if isinstance(op, For):
            value = op.loop.terminator.operands[position]
            return self.at(value, visits[-1], inside) if visits else self.at(op.init[position], visit, self.site)
        return self.at(condition_of(op).values[position], visits[-1], inside) if visits else None
