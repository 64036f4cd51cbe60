"""The phases of a body, separated by cross-warp shuffles through shared memory, and the registers live across these.

A body is that of the kernel, of a loop or of a branch: a row in a persistent loop crosses the same shuffles as the only
row of a CTA.
"""

from __future__ import annotations

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.resources.registers import is_uniform, registers_of
from tilewright.tileir.analysis.uses import all_reads, viewed
from tilewright.tileir.core import Block, Function, Op, Value


def bodies(function: Function) -> list[Block]:
    """The kernel's body and those of its loops and branches, outer ones first.

    Bodies of loops and branches with MMAs are left out: their loads are operands, which rings hold.
    """
    out = [function.body]
    for op in function.walk():
        out += [block for block in op.blocks if not any(isinstance(inner, Product) for inner in block.walk())]
    return out


def phases_of(block: Block) -> dict[Op, int]:
    """The phase of each op of the block: the number of cross-warp shuffles up to and including it. Empty without
    any."""
    phase, number = {}, 0
    for op in block.ops:
        number += _exchanges(op)
        phase[op] = number
    return phase if number else {}


def _exchanges(op: Op) -> bool:
    """Whether all warps of the CTA synchronise at this op."""
    if isinstance(op, ConvertLayout):
        return plan_conversion(op.src.type.layout, op.result.type.layout).kind == "block"
    return isinstance(op, ClusterGather)


def waiting_registers(block: Block, phase: dict[Op, int]) -> int:
    """The most registers of a thread in tiles that are live across the start of a phase."""
    last: dict[Value, int] = {}
    for op in block.ops:
        for value in all_reads(op):
            if value.op in phase and not is_uniform(value):
                last[viewed(value)] = phase[op]
    return max(
        sum(registers_of(v) for v, end in last.items() if v.op in phase and phase[v.op] < number <= end)
        for number in range(1, max(phase.values()) + 1))


def outside_registers(block: Block) -> int:
    """Registers of a thread in tiles that a body takes from outside or carries: they are live throughout."""
    own = {r for op in block.ops for r in op.results}
    taken = {viewed(v) for op in block.ops for v in all_reads(op) if v not in own}
    inner = {v for op in block.ops for b in op.blocks for i in b.walk() for v in i.results}
    inner |= {v for op in block.ops for b in op.blocks for v in _params(b)}
    tiles = (v for v in taken - own - inner if not is_uniform(v))
    return sum(count for count in map(registers_of, tiles) if count > 1)


def _params(block: Block) -> list[Value]:
    return [*block.params, *(p for op in block.walk() for b in op.blocks for p in b.params)]

