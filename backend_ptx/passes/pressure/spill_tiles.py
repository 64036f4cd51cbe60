"""Spill a loaded tile to shared memory, and rematerialise from it what would be live across cross-warp shuffles.

    before: %x: tile<1x65536xbf16, #0> = load(...)                            // a thread holds 128 elements
            %t: tile<1x65536xf32, #0> = cast(src=%x)
            ... the largest of %t over all warps ...
            %e: tile<1x65536xf32, #0> = exp2(src=%t - %m)
            ... the sum of %e over all warps ...
            store(value=cast(%e * %share), ...)
    after:  %x: tile<1x65536xbf16, #0> = load(...)
            shared_store(buffer=%spilled, value=%x)
            %t = cast(src=%x)
            ... the largest ...
            %x1 = shared_load(buffer=%spilled)
            %e = exp2(src=cast(src=%x1) - %m)
            ... the sum ...
            %x2 = shared_load(buffer=%spilled)
            store(value=cast(exp2(src=cast(src=%x2) - %m) * %share), ...)

Between two cross-warp shuffles a thread then holds a few elements at a time; before, all of them were live across each
shuffle. Every thread reads what it wrote itself. The resource model decides, by the occupancy that registers and shared
memory allow without that and with it.

A tile that a ring prefetches is in shared memory until its iteration ends: it is read again from the slot.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.pressure.bodies import bodies
from tilewright.backend_ptx.passes.pressure.spilling import spill_tiles_of
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved


def spill_tiles(c: Compilation) -> Preserved:
    """Needs rings in place of the loads that they prefetch, and conversions that are still `convert_layout`. Sets the
    plan's occupancy."""
    changed = [spill_tiles_of(c, body, 0) for body in bodies(c.function)]
    return NONE if any(changed) else ALL
