"""Move loads of what all blocks read, whose tiles wait for a reduction of other tiles, to behind it.

    before: %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            %f: tile<16384xf32, #1> = cast(src=%w, dtype=f32)
            ... the sum of %x over all warps ...
            ... %x * %scale * %f ...
    after:  ... the sum of %x over all warps ...
            %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            %f: tile<16384xf32, #1> = cast(src=%w, dtype=f32)
            ... %x * %scale * %f ...

Registers that wait let fewer blocks run on a multiprocessor, and caches bring such tiles soon. Where few blocks run
anyway, `prefetch_loads` starts the loads early without registers. What each block reads for itself comes from far, and
stays where the kernel says it.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.reduce import ArgReduceBits, ReduceBits
from tilewright.backend_ptx.passes.pressure.places import same_for_all
from tilewright.backend_ptx.resources.registers import is_uniform
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.uses import all_reads
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.fold import Fold
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Broadcast, Reshape

_REDUCTIONS = (Reduction, ArgReduction, ReduceBits, ArgReduceBits, Fold)


def sink_loads(c: Compilation) -> None:
    """Needs layouts, and reductions split where they cross warps."""
    function = c.function
    phase = _phases(function.body)
    if not phase or any(isinstance(op, Product) for op in function.walk()):
        return
    sunk = _sunk(function.body, phase, _movable(function))
    if sunk:
        _rewrite(function.body, sunk)


def _phases(block: Block) -> dict[Op, int]:
    """For each op how many reductions stand before it. Empty where there is none."""
    phase, number = {}, 0
    for op in block.ops:
        number += isinstance(op, _REDUCTIONS)
        phase[op] = number
    return phase if number else {}


def _movable(function: Function) -> set[Op]:
    """Loads that all blocks do, of arrays that the body does not write, and what is computed of these alone, element by
    element."""
    ops = function.body.ops
    dependences = Dependences(function)
    summaries = [dependences.summary(op) for op in ops]
    if any(s.ordered for s in summaries):
        return set()
    written: set[Value] = set().union(*(s.writes for s in summaries))
    out: set[Op] = set()
    for op in ops:
        if isinstance(op, Load):
            weak = bool(op.shape) and op.memory_order is MemoryOrder.WEAK
            if weak and same_for_all(op.index) and dependences.alias_class(op.array) not in written:
                out.add(op)
        elif op.elementwise or isinstance(op, (Reshape, Broadcast)):
            tiles = [v for v in op.operands if not is_uniform(v)]
            if tiles and all(v.op in out for v in tiles):
                out.add(op)
    return out


def _sunk(block: Block, phase: dict[Op, int], movable: set[Op]) -> set[Op]:
    """The ops all of whose users come in a later phase."""
    first: dict[Value, int] = {}  # use of a value, when all has moved
    sunk: set[Op] = set()
    for op in reversed(block.ops):
        where = phase[op]
        if op in movable:
            used = min((first[r] for r in op.results if r in first), default=where)
            if used > where:
                sunk.add(op)
                where = used
        for value in all_reads(op):
            first[value] = min(where, first.get(value, where))
    return sunk


def _rewrite(block: Block, sunk: set[Op]) -> None:
    """Put each of these ops before its first user."""
    old, block.ops = block.ops, []
    waiting = set(sunk)

    def place(op: Op | None) -> None:
        if op in waiting:
            waiting.discard(op)
            put(op)

    def put(op: Op) -> None:
        for value in all_reads(op):
            place(value.op)
        block.ops.append(op)

    for op in old:
        if op not in sunk:
            put(op)
