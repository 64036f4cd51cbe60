"""Shared memory of buffers: the bytes of each, and the most that are live at once (tileir/analysis/buffers.py)."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

from tilewright.backend_ptx.layouts.bulk import SLOT_ALIGN
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.analysis.buffers import Interval, live_buffers, most_live
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Take
from tilewright.tileir.types import SharedType

# A whole row of banks, so that swizzles computed from offset 0 hold everywhere. The hardware's own swizzles, of TMA and
# wgmma, are functions of the address and need more: SLOT_ALIGN.
ALIGNMENT = 128
# The most that cross-warp shuffles of reductions take, usually less.
EXCHANGES = KIB
# For mbarriers and alignment of each buffer.
SLACK = 2 * KIB


class OutOfSharedMemory(TileValueError):
    """A plan whose buffers take `excess` bytes more than a CTA can have; its rings have up to `slots` slots, and
    `largest` bytes is what its largest buffer takes."""

    def __init__(self, *given: Any, excess: int, slots: int, largest: int, **named: Any) -> None:
        super().__init__(*given, **named)
        self.excess, self.slots, self.largest = excess, slots, largest


def buffer_bytes(type_: SharedType) -> int:
    """Bytes that a buffer takes, its alignment included."""
    raw = type_.bytes * type_.copies
    return -(-raw // ALIGNMENT) * ALIGNMENT


def alignment(interval: Interval) -> int:
    """What a buffer's place must be a multiple of."""
    return SLOT_ALIGN if interval.swizzled else ALIGNMENT


def find_intervals(function: Function) -> list[Interval]:
    """The live range of every buffer. Each team of warps has its own of those that no mbarriers order."""
    found = live_buffers(function, SharedAlloc, buffer_bytes)
    for interval in found:
        interval.size *= 1 if interval.guarded else function.plan.teams
    return found


def peak_bytes(function: Function, where: Container[Op] | None = None) -> int:
    """The most bytes of buffers live at once; of those allocated by the ops in `where`, if that is given."""
    return most_live([i for i in find_intervals(function) if where is None or i.op in where])


def lasting_bytes(function: Function, but: Container[Op] = ()) -> int:
    """Bytes of buffers that an engine of one iteration may still read in the next: nothing else in the loop may take
    them. Allocations in `but` do not count."""
    repeated = (inner for op in function.walk() if op.repeats for inner in op.inside())
    starts = (s for op in repeated if op.starting for s in op.effects().starts)
    buffers = {s.memory for s in starts if s.engine.lasting and not s.writes}
    return function.plan.teams * sum(buffer_bytes(buffer.type) for buffer in buffers if buffer.op not in but)


def exchanged_bytes(op: Op) -> int:
    """What an op moves between threads through shared memory."""
    if isinstance(op, Take) or (isinstance(op, ConvertLayout) and op.crosses):
        return op.src.type.bytes  # type: ignore[no-any-return]
    return 0


def staged_bytes(op: Op) -> int:
    """What an op puts into shared memory for wgmma."""
    return op.src.type.bytes if isinstance(op, Stage) else 0


def loop_bytes(function: Function, body: Block, gone: Collection[Op]) -> int:
    """Shared memory that is taken while a loop runs, `gone` apart: its buffers and conversions; conversions above it
    whose results its MMAs read fragment by fragment; operands staged for wgmma; buffers that bulk stores may still
    read."""
    inside = set(body.walk())
    read = {_converted(v) for op in inside if isinstance(op, Product) for v in (op.a, op.b)}
    here = (op for op in function.walk() if op not in gone)
    moved = sum(
        staged_bytes(op) + (exchanged_bytes(op) if op in inside or read.intersection(op.results) else 0) for op in here)
    return moved + peak_bytes(function, inside) + lasting_bytes(function, inside)


def _converted(value: Value) -> Value:
    """The value of an operand that is in shared memory: casts are split along with the MMAs."""
    while isinstance(value.op, Cast):
        value = value.op.src
    return value


def other_bytes(function: Function, gone: Collection[Op]) -> int:
    """Shared memory for buffers, conversions, reductions across warps and staged operands, and SLACK; not for ops
    in `gone`. Conversions take what the plan's limit of them leaves, if registers cut their tiles so finely."""
    most = function.limits.max_exchange
    lasting, teams = lasting_bytes(function), function.plan.teams
    exchange, staged = peak_bytes(function) - lasting, 0
    for op in function.walk():
        if op in gone:
            continue
        staged += teams * staged_bytes(op)
        moved = EXCHANGES if isinstance(op, (Reduction, ArgReduction)) else exchanged_bytes(op)
        if most is not None and isinstance(op, ConvertLayout):
            moved = min(moved, most)
        exchange = max(exchange, teams * moved)
    return exchange + staged + lasting + SLACK
