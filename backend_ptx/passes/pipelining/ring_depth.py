"""How many slots the rings of a kernel get: as many as fit in shared memory beside what else needs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.matmul.operands import source_of
from tilewright.backend_ptx.passes.matmul.outstanding import still_read
from tilewright.backend_ptx.resources.occupancy import shared_of_cta
from tilewright.backend_ptx.resources.shared import EXCHANGES, lasting_bytes, peak_bytes
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.plan import Decision

# Slots when shared memory does not limit them: more do not hide more.
USUAL, MOST = 6, 8
# Slots for operands that threads gather (pipeline_loops) and compute (ring_stages): the first pair that leaves ENOUGH
# for the others.
FILLED, ENOUGH = ((4, 3), (3, 3), (3, 2)), 3
# For mbarriers and alignment of each buffer.
SLACK = 2 * KIB


class Ring(Protocol):
    """What is decided here of a ring. `bytes` are those of a slot, `latencies` hints of its loads."""

    slots: int
    latencies: list[int | None]

    @property
    def bytes(self) -> int: ...


def decide_slots(
    function: Function, rings: Sequence[Ring], replaced: Collection[Stage], target: Target,
) -> Decision:
    """Set `slots` of each ring. `replaced` are operands that slots hold."""
    other, total = SLACK + other_bytes(function, replaced), sum(r.bytes for r in rings)
    room = shared_of_cta(function.hints.occupancy, target) - other
    if room // total < 2:
        room = target.shared_per_block - other
    gathered, computed = filled_bytes(function, replaced)
    beside = ((g - 1) * gathered + (c - 1) * computed for g, c in FILLED)
    room = next((room - b for b in beside if (room - b) // total >= ENOUGH), room)
    most = function.limits.max_stages
    fits = max(1, room // total if most is None else min(room // total, most))
    for ring in rings:
        asked = [h for h in ring.latencies if h is not None]
        ring.slots = min(fits, MOST, max(asked)) if asked else min(fits, USUAL)
    if fits < 2:
        for ring in rings:
            ring.slots = 1
        return decisions.no_rings(room, total)
    return decisions.rings([r.slots for r in rings], room, total)


def filled_bytes(function: Function, replaced: Collection[Stage]) -> tuple[int, int]:
    """Of the staged operands in loops whose products run on: those that are gathered, and those that are computed."""
    gathered = computed = 0
    for stage in still_read(function).difference(replaced):
        assert isinstance(stage, Stage)
        size = stage.src.type.size * stage.src.type.dtype.bytes
        if isinstance(source_of(stage.src)[0].op, Gather):
            gathered += size
        else:
            computed += size
    return gathered, computed


def other_bytes(function: Function, replaced: Collection[Stage]) -> int:
    """Shared memory for buffers, conversions, exchanges and staged operands that no ring replaces."""
    lasting = lasting_bytes(function)
    exchange, staged = peak_bytes(function) - lasting, 0
    for op in function.walk():
        if isinstance(op, ConvertLayout):
            kind = plan_conversion(op.src.type.layout, op.result.type.layout).kind
            if kind in ("warp", "block"):
                exchange = max(exchange, op.src.type.size * op.src.type.dtype.bytes)
        elif isinstance(op, (Reduction, ArgReduction)):
            exchange = max(exchange, EXCHANGES)
        elif isinstance(op, Stage) and op not in replaced:
            staged += op.src.type.size * op.src.type.dtype.bytes
    return exchange + staged + lasting
