"""Where the hint `programmatic_dependent_launch` asks for it, wait for earlier grids as late as possible.

    before: mbarrier_init(barriers=%full, count=1)
            %x: tile<1024xf32> = load(array=%a, index=(%i), ...)
    after:  mbarrier_init(barriers=%full, count=1)
            grid_wait()
            launch_dependents()
            %x: tile<1024xf32> = load(array=%a, index=(%i), ...)

A grid that is launched so starts while the one before it still runs. What comes before the wait runs beside that one,
so that it must not touch memory that other launches see, be it to read what is not written yet or to write what is
still read. The wait stands in the body of the kernel, where every thread of every role executes it: a grid that ended
without it could end before the one before, and the next grid would take the end of this one for the end of both.

Dependents may start right after the wait, when all CTAs of this grid run: none of these can lose its place to one of
theirs, and no more than two grids of a chain are on the GPU at a time.
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
    made = GridWait(), LaunchDependents()
    for op in made:
        op.span = ops[position].span
    ops[position:position] = made
    c.plan.dependent = True
    c.decide(decisions.waits_for_grids(access.opcode if access else None, access.span if access else c.function.span))
    return NONE
