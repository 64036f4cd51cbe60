"""The roles of a kernel: how many warps each has, and how many registers.

`MachinePlan.roles` lists them. The first computes tiles; each of the others is run by the first thread of its warps.
tileir/passes/project.py splits the kernel.
"""

from __future__ import annotations

from tilewright.backend_ptx.resources.occupancy import register_cap
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.engines import MAIN
from tilewright.tileir.plan import Role

PRODUCER, CONSUMER = "producer", MAIN
# What the producer's loop takes at ease, and the least with which it does; the most that setmaxnreg gives (in steps of
# 8). With two CTAs on an SM the rest leaves consumers 96 or 104: attention over 64 channels (4x32x4096, by 128x64) 437
# and 486 TFLOP/s on an H100.
_SMALL, _LEAST, _MOST, _STEP = 40, 24, 240, 8
_GROUP = 4


def plan_roles(
    warps: int, occupancy: int | None, target: Target, reallocate: bool = True, ease: bool = True,
) -> tuple[Role, ...]:
    """The roles of a kernel with `warps` consumer warps.

    ptxas counts threads in whole warpgroups: beside one warpgroup of consumers a single warp leaves each thread 255
    registers. Beside more of them the producer is a warpgroup too, which hands most of its registers to the others
    (setmaxnreg, PTX ISA 9.7.19.5), if it may `reallocate`; without `ease`, all that it can do without.
    """
    alone = Role(CONSUMER, warps), Role(PRODUCER, 1)
    if warps <= _GROUP or not reallocate:
        return alone
    threads = 32 * (warps + _GROUP)
    blocks = max(1, occupancy or 1)
    entry = min(target.registers_per_sm // (threads * blocks) // _STEP * _STEP, _MOST)
    kept = _SMALL if blocks == 1 and ease else _LEAST
    each = (entry * threads - kept * 32 * _GROUP) // (32 * warps) // _STEP * _STEP
    if entry <= _SMALL or each <= entry:
        return alone
    return Role(CONSUMER, warps, min(each, _MOST)), Role(PRODUCER, _GROUP, kept)


def consumer_registers(warps: int, occupancy: int | None, target: Target) -> int:
    """The registers of a thread that computes tiles, of `warps` warps beside those of a producer."""
    role = plan_roles(warps, occupancy, target)[0]
    return role.registers or register_cap(occupancy or 1, 32 * warps, target)
