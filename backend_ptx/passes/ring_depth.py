"""How many slots the rings of a kernel get: as many as fit in shared memory beside what else needs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.pipeline_depth import RESERVED
from tilewright.backend_ptx.passes.plan_shared_memory import peak_bytes
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.ops.reduce import ArgReduction, Reduction

# Slots when shared memory does not limit them: more do not hide more.
USUAL, MOST = 6, 8
# Slots for operands that threads gather by asynchronous copies (pipeline_loops): the first of these numbers that leaves
# ENOUGH for the others.
GATHERED, ENOUGH = (4, 3), 3
# For mbarriers and alignment of each buffer.
SLACK = 2 * KIB


class Ring(Protocol):
    """What is decided here of a ring. `bytes` are those of a slot, `latencies` hints of its loads."""

    slots: int
    latencies: list[int | None]

    @property
    def bytes(self) -> int: ...


def decide_slots(function: Function, rings: Sequence[Ring], replaced: Collection[Stage], target: Target) -> str:
    """Set `slots` of each ring; the reason in words. `replaced` are operands that slots hold."""
    other, total = SLACK + other_bytes(function, replaced), sum(r.bytes for r in rings)
    room = shared_of_block(function.options.get("occupancy"), target) - other
    if room // total < 2:
        room = target.shared_per_block - other
    gathered = gathered_bytes(function)
    room = next((r for r in (room - (n - 1) * gathered for n in GATHERED) if r // total >= ENOUGH), room)
    fits = max(1, room // total)
    for ring in rings:
        asked = [h for h in ring.latencies if h is not None]
        ring.slots = min(fits, MOST, max(asked)) if asked else min(fits, USUAL)
    if fits < 2:
        for ring in rings:
            ring.slots = 1
        return f"no ring: two slots of {total / KIB:g} KiB do not fit {room / KIB:g} KiB"
    counts = " and ".join(str(r.slots) for r in rings)
    return f"{counts} slots in {room / KIB:g} KiB, {total / KIB:g} KiB for one of each"


def shared_of_block(occupancy: int | None, target: Target) -> int:
    """Shared memory of each of the blocks that the hint `occupancy` wants on a multiprocessor."""
    if occupancy is None or occupancy == 1:
        return target.shared_per_block
    return target.shared_per_sm // occupancy - RESERVED


def gathered_bytes(function: Function) -> int:
    """Of the staged operands that are gathers."""
    sizes = [op.src.type.size * op.src.type.dtype.bytes for op in function.walk()
             if isinstance(op, Stage) and isinstance(op.src.op, Gather)]
    return sum(sizes)


def other_bytes(function: Function, replaced: Collection[Stage]) -> int:
    """Shared memory for buffers, conversions, exchanges and staged operands that no ring replaces."""
    exchange, staged = peak_bytes(function), 0
    for op in function.walk():
        if isinstance(op, ConvertLayout):
            kind = plan_conversion(op.src.type.layout, op.result.type.layout).kind
            if kind in ("warp", "block"):
                exchange = max(exchange, op.src.type.size * op.src.type.dtype.bytes)
        elif isinstance(op, (Reduction, ArgReduction)):
            exchange = max(exchange, 4 * KIB)
        elif isinstance(op, Stage) and op not in replaced:
            staged += op.src.type.size * op.src.type.dtype.bytes
    return exchange + staged
