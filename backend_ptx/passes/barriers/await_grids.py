"""Where the hint `programmatic_dependent_launch` asks for it, wait for earlier grids as late as possible.

    before: mbarrier_init(barriers=%full, count=1)
            %x: tile<1024xf32> = load(array=%a, index=(%i), ...)
    after:  mbarrier_init(barriers=%full, count=1)
            grid_wait()
            %x: tile<1024xf32> = load(array=%a, index=(%i), ...)
            ...
            launch_dependents()

A grid that is launched so starts while the one before it still runs. What comes before the wait runs beside that one,
so that it must not touch memory that other launches see, be it to read what is not written yet or to write what is
still read. The wait stands in the body of the kernel, where every thread of every role executes it: a grid that ended
without it could end before the one before, and the next grid would take the end of this one for the end of both.

Dependents may start where this grid's CTAs end. They could start right after the wait, but on an H100 they then hold
places on SMs that other CTAs want (two RMS norms of 1024 rows of 4096 take 12.3 us on a stream, 9.0 without the hint,
6.7 so), and short kernels gain no more by it.
"""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.grids import GridWait, LaunchDependents
from tilewright.tileir.analysis.first_access import first_access
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved


def await_grids(c: Compilation) -> Preserved:
    """The last pass, as others move accesses."""
    if not c.hints.programmatic_dependent_launch:
        return ALL
    if not c.target.has_grid_control:
        c.decide(decisions.no_grid_control(c.target.name))
        return ALL
    position, access = first_access(c.function)
    ops = c.function.body.ops
    for place, op in ((len(ops) - 1, LaunchDependents()), (position, GridWait())):
        op.span = ops[place].span
        ops.insert(place, op)
    c.plan.dependent = True
    c.decide(decisions.waits_for_grids(access.opcode if access else None, access.span if access else c.function.span))
    return NONE
