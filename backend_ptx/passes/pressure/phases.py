"""The phases of a block of ops, which exchanges among all warps part, and what registers hold meanwhile."""

from __future__ import annotations

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.queries import registers
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.analysis.uses import all_reads
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

# Registers of a thread beside tiles: addresses, masks, temporaries.
OTHER = 28
RESERVED = KIB  # of each block's shared memory, by the runtime


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


def resident(each: int, threads: int, shared: int, target: Target) -> int:
    """Blocks that fit a multiprocessor: `each` registers in each thread, `shared` bytes in each block."""
    if each > target.registers_per_thread or shared + RESERVED > target.shared_per_block:
        return 0
    return min(target.registers_per_sm // (each * threads), target.shared_per_sm // (shared + RESERVED))


def is_uniform(value: Value) -> bool:
    """Whether a tile is made of one register, or of places: it costs nothing to keep."""
    op = value.op
    if not isinstance(value.type, TileType) or not value.type.shape:
        return True
    if op is None:
        return False
    if isinstance(op, (Constant, Iota)):
        return True
    if isinstance(op, Reshape):
        return is_uniform(op.src)
    if isinstance(op, Broadcast):
        return registers_of(op.src) <= 1 or is_uniform(op.src)
    return op.elementwise and all(is_uniform(v) for v in op.operands)


def registers_of(value: Value) -> int:
    """32-bit registers of a thread."""
    type_ = value.type
    if not isinstance(type_, TileType) or type_.layout is None:
        return 1
    return max(1, registers(type_.layout) * type_.dtype.bytes // 4)
