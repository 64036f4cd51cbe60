"""The roles of a kernel: how many warps each has, and how many registers.

`MachinePlan.roles` lists them. The first computes tiles; each of the others is run by the first thread of its warps.
tileir/passes/project.py splits the kernel.
"""

from __future__ import annotations

from tilewright.backend_ptx.targets import Target
from tilewright.tileir.engines import MAIN
from tilewright.tileir.plan import Role

PRODUCER, CONSUMER = "producer", MAIN
# What the producer's loop takes, and the most that setmaxnreg gives (in steps of 8).
_SMALL, _MOST, _STEP = 40, 240, 8
_GROUP = 4


def plan_roles(warps: int, occupancy: int | None, target: Target, reallocate: bool = True) -> tuple[Role, ...]:
    """The roles of a kernel with `warps` consumer warps.

    ptxas counts threads in whole warpgroups: beside one warpgroup of consumers a single warp leaves each thread 255
    registers. Beside more of them the producer is a warpgroup too, which hands most of its registers to the others
    (setmaxnreg, PTX ISA 9.7.19.5), if it may `reallocate`.
    """
    alone = Role(CONSUMER, warps), Role(PRODUCER, 1)
    if warps <= _GROUP or not reallocate:
        return alone
    threads = 32 * (warps + _GROUP)
    blocks = max(1, occupancy or 1)
    entry = min(target.registers_per_sm // (threads * blocks) // _STEP * _STEP, _MOST)
    each = (entry * threads - _SMALL * 32 * _GROUP) // (32 * warps) // _STEP * _STEP
    if entry <= _SMALL or each <= entry:
        return alone
    return Role(CONSUMER, warps, min(each, _MOST)), Role(PRODUCER, _GROUP, _SMALL)
