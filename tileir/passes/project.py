"""Split a kernel by role: the ops that each role executes.

    one program:  mbarrier_wait(%empty, role="producer"); tma_load(...); mbarrier_wait(%full); %y = wgmma(...); ...
    producer:     the loops with their indices, waits for empty slots, copies        (one thread of a warp of its own)
    consumer:     the loops with everything else                                     (all warps that compute tiles)

Which role executes an op, the op's effects say. Each role's function is the whole program without what others do, and
without what nobody then needs: loops and branches stay in all, carried tiles only where they are used. So all walk
through the same iterations, and slots and parities agree.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op, Value, clone_function
from tilewright.tileir.engines import ALL, EVERY, MAIN
from tilewright.tileir.passes.dce import dce


def project(function: Function, role: str, copies: dict[Value, Value] | None = None) -> Function:
    """The function as one role runs it. All threads execute `initial_ops` together before. `copies` gains what becomes
    of each value, if it is still there."""
    out = clone_function(function, copies)
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
    return op.terminator or not op.acts or (op.effects().role or MAIN) in (role, ALL)
