"""The phases of a block of ops, which exchanges among all warps part, and what registers hold meanwhile."""

from __future__ import annotations

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.resources.registers import is_uniform, registers_of
from tilewright.tileir.analysis.uses import all_reads
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.shape import Broadcast, Reshape


def phases_of(block: Block) -> dict[Op, int]:
    """For each op of the block how many exchanges have begun when it runs. Empty where there is none."""
    phase, number = {}, 0
    for op in block.ops:
        number += _exchanges(op)
        phase[op] = number
    return phase if number else {}


def _exchanges(op: Op) -> bool:
    """Whether all warps of the block meet at this op."""
    if isinstance(op, ConvertLayout):
        return plan_conversion(op.src.type.layout, op.result.type.layout).kind == "block"
    return isinstance(op, ClusterGather)


def waiting_registers(block: Block, phase: dict[Op, int]) -> int:
    """The most registers of a thread in tiles that wait for a later phase while the warps meet."""
    last: dict[Value, int] = {}
    for op in block.ops:
        for value in all_reads(op):
            if value.op in phase and not is_uniform(value):
                last[_held(value)] = phase[op]
    return max(
        sum(registers_of(v) for v, end in last.items() if v.op in phase and phase[v.op] < number <= end)
        for number in range(1, max(phase.values()) + 1))


def _held(value: Value) -> Value:
    """The value whose registers hold a view."""
    while isinstance(value.op, (Broadcast, Reshape)):
        value = value.op.src
    return value
