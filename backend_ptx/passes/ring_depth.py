"""How many slots the rings of a kernel get: as many as fit in shared memory beside what else needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.reduce import ArgReduction, Reduction

# Slots when shared memory does not limit them: more do not hide more.
USUAL, MOST = 6, 8
# For mbarriers and alignment of each buffer.
SLACK = 2 * KIB


class Ring(Protocol):
    """What is decided here of a group of loads."""

    slots: int


def decide_slots(
    function: Function, sizes: Sequence[tuple[int, list[int | None]]], groups: Sequence[Ring], target: Target,
) -> str:
    """Set `slots` of each group from (bytes of a round, hints) of each; the reason in words."""
    room = target.shared_per_block - SLACK - other_bytes(function)
    total = sum(size for size, _ in sizes)
    fits = max(1, room // total)
    for (_, hints), group in zip(sizes, groups, strict=True):
        asked = [h for h in hints if h is not None]
        group.slots = min(fits, MOST, max(asked)) if asked else min(fits, USUAL)
    if fits < 2:
        for group in groups:
            group.slots = 1
        return f"no ring: two slots of {total / KIB:g} KiB do not fit {room / KIB:g} KiB"
    counts = " and ".join(str(g.slots) for g in groups)
    return f"{counts} slots in {room / KIB:g} KiB, {total / KIB:g} KiB for one of each"


def other_bytes(function: Function) -> int:
    """Shared memory for conversions, exchanges and staged operands that no ring replaces."""
    most = 0
    for op in function.walk():
        if isinstance(op, ConvertLayout):
            kind = plan_conversion(op.src.type.layout, op.result.type.layout).kind
            if kind in ("warp", "block"):
                most = max(most, op.src.type.size * op.src.type.dtype.bytes)
        elif isinstance(op, (Reduction, ArgReduction)):
            most = max(most, 4 * KIB)
    return most


def staged_bytes(function: Function) -> int:
    """Of operands that threads put into shared memory themselves."""
    return sum(op.src.type.size * op.src.type.dtype.bytes for op in function.walk() if isinstance(op, Stage))
