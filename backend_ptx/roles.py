"""Split a kernel by role: the ops that each role executes.

    one program:  mbarrier_wait(%empty, role="producer"); tma_load(...); mbarrier_wait(%full); %y = wgmma(...); ...
    producer:     the loops with their indices, waits for empty slots, copies        (one thread of a warp of its own)
    consumer:     the loops with everything else                                     (all warps that compute tiles)

`MachinePlan.roles` lists them. The first computes tiles; each of the others is run by the first thread of its warps.
Which role executes an op, the op's effects say. Each role's function is the whole program without what others do, and
without what nobody then needs: loops and branches stay in all, carried tiles only where they are used. So all walk
through the same iterations, and slots and parities agree.
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.engines import ALL, EVERY, MAIN
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op, clone_function
from tilewright.tileir.passes.dce import dce
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


def project(function: Function, role: str) -> Function:
    """The function as one role runs it. All threads execute `initial_ops` together before."""
    out = clone_function(function)
    _drop(out.body, role)
    dce(Unit(out))
    return out


def initial_ops(function: Function) -> list[Op]:
    """What every thread of the CTA does before the roles diverge."""
    return [op for op in function.body.ops if op.effectful and op.effects().role == EVERY]


def _drop(block: Block, role: str) -> None:
    block.ops = [op for op in block.ops if _stays(op, role)]
    for op in block.ops:
        for inner in op.blocks:
            _drop(inner, role)


def _stays(op: Op, role: str) -> bool:
    if op.terminator or not op.effectful:
        return True
    effects = op.effects()
    return not effects.kept or (effects.role or MAIN) in (role, ALL)
