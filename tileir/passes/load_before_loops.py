"""Load tiles that are used behind a loop before it, where they fit beside what it holds: their latency passes while it
runs.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<64x64xf32>) { ... %s = wgmma(...) yield(values=(%s)) }
            %0: i32 = mul(lhs=%j, rhs=%two)
            %t: tile<1xf32> = load(array=%scales, index=(%0), ...)
            %y = mul(lhs=wgmma_wait(accs=(%r)), rhs=broadcast(src=%t, shape=(64, 64)))
    after:  %0: i32 = mul(lhs=%j, rhs=%two)
            %t: tile<1xf32> = load(array=%scales, index=(%0), ...)
            %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<64x64xf32>) { ... %s = wgmma(...) yield(values=(%s)) }
            %y = mul(lhs=wgmma_wait(accs=(%r)), rhs=broadcast(src=%t, shape=(64, 64)))

Those of one loop keep the order of the program.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.tileir.analysis.places import movable_loads
from tilewright.tileir.analysis.unit import ALL, Analysis, Preserved, Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.passes.start_early import bring_up


def load_before_loops(unit: Unit, starts: Callable[[Op], bool], fits: Callable[[Value], bool]) -> Preserved:
    """Loads whose tile fits, of arrays that the kernel does not write, move above the first loop before them in their
    block that has an op for which `starts` holds, with what computes their indices."""
    if not any(starts(op) for op in unit.function.walk()):
        return ALL
    movable, moved = movable_loads(unit), False
    for load in [op for op in unit.function.walk() if op in movable]:
        ops = (block := unit.homes[load]).ops
        loops = (op for op in ops[:ops.index(load)] if op.repeats and any(map(starts, op.blocks[-1].ops)))
        if fits(load.result) and (loop := next(loops, None)):
            moved |= bring_up(block, load, loop)
    return ALL - {Analysis.USES} if moved else ALL
