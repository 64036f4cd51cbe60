"""The bodies of a kernel, their phases, and the tiles that are live across these.

A body is that of the kernel, of a loop or of a branch: a row in a persistent loop crosses the same barriers as the only
row of a CTA. Cross-warp shuffles through shared memory, at which all warps of the CTA synchronise, divide it into
phases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from tilewright.backend_ptx.ops.cluster import ClusterGather, exchanges
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.resources.registers import kept_by
from tilewright.tileir.analysis.live import taken
from tilewright.tileir.analysis.uses import all_reads, viewed
from tilewright.tileir.analysis.words import is_uniform, registers_of
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.machine_ops.arith import DivideBy
from tilewright.tileir.machine_ops.layout import ConvertLayout


class Body:
    """A body. `phase` of each op: the number of cross-warp shuffles up to and including it, `step`: that of reductions;
    both are empty where there are none. `repeats`: it is in a loop. `multiplies`: MMAs are in it."""

    def __init__(self, block: Block, repeats: bool, multiplies: bool) -> None:
        self.block, self.repeats, self.multiplies = block, repeats, multiplies
        self.phase = _numbered(block, _crosses_warps)
        self.step = _numbered(block, lambda op: op.reduces or isinstance(op, DivideBy))
        self._registers: dict[frozenset[Value], int] = {}

    @cached_property
    def last(self) -> int:
        """The number of its last phase."""
        return max(self.phase.values(), default=0)

    def registers(self, without: Collection[Value] = ()) -> int:
        """The most registers of a thread in tiles that are live across the start of a phase, but for those in
        `without`. Tiles that the body takes from outside are live throughout, those that it carries until they are
        read last; OTHER covers single registers."""
        key = frozenset(without)
        if key not in self._registers:
            self._registers[key] = self._crossing(key)
        return self._registers[key]

    def _crossing(self, without: Collection[Value]) -> int:
        last: dict[Value, int] = {}
        here = {*self.block.params, *(v for op in self.block.ops for v in op.results)}.difference(without)
        for op in self.block.ops:
            for value in all_reads(op):
                if value in here:
                    last[viewed(value if self.repeats else kept_by(viewed(value)))] = self.phase[op]
        outside = {viewed(v) for v in taken(self.block)}.difference(map(viewed, without))
        held = {v: count for v in (*last, *outside) if not is_uniform(v) and (count := registers_of(v)) > 1}
        crossing = (sum(count for v, count in held.items() if v in outside or self._made(v) < start <= last[v])
                    for start in range(1, self.last + 1))
        return max(crossing, default=0)

    def _made(self, value: Value) -> int:
        """The phase in which a value is computed: what the body carries is there before."""
        return 0 if value.op is None else self.phase.get(value.op, self.last)


def bodies(function: Function) -> Iterator[Body]:
    """Those with reductions or cross-warp shuffles, outer ones first.

    Loops and branches with MMAs are left out: their loads are operands, which rings hold.
    """
    def inside(block: Block, repeats: bool) -> Iterator[Body]:
        multiplies = any(isinstance(op, Product) for op in block.walk())
        body = Body(block, repeats, multiplies)
        if (body.phase or body.step) and (not multiplies or block is function.body):
            yield body
        for op in block.ops:
            for inner in op.blocks:
                yield from inside(inner, repeats or op.repeats)

    return inside(function.body, False)


def _numbered(block: Block, counts: Callable[[Op], bool]) -> dict[Op, int]:
    """For each op of the block, how many up to and including it count. Empty if none does."""
    out, number = {}, 0
    for op in block.ops:
        number += counts(op)
        out[op] = number
    return out if number else {}


def _crosses_warps(op: Op) -> bool:
    """Whether all warps of the CTA synchronise at this op."""
    if isinstance(op, ConvertLayout):
        return plan_conversion(op.src.type.layout, op.result.type.layout).kind == "block"
    return isinstance(op, ClusterGather) or exchanges(op)
