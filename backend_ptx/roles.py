"""Take a kernel with rings apart: what its producer runs, and what its consumers run.

    one program:  mbarrier_wait(%empty, role="producer"); tma_load(...); mbarrier_wait(%full); %y = wgmma(...); ...
    producer:     the loops with their indices, waits for empty slots, copies        (one thread of a warp of its own)
    consumers:    the loops with everything else                                     (all other warps)

Each is the whole program without what the other does, and without what nobody then needs: loops and branches stay in
both, carried tiles only where they are used. So both walk through the same rounds, and slots and parities agree.
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.bulk import MbarrierInit
from tilewright.tileir.core import Block, Function, Op, clone_function
from tilewright.tileir.passes.dce import dce

PRODUCER, CONSUMER = "producer", "consumer"


def project(function: Function, role: str) -> Function:
    """The function as one role runs it. All threads initialise mbarriers together before (`initial_ops`)."""
    out = clone_function(function)
    _drop(out.body, role)
    dce(out)
    return out


def initial_ops(function: Function) -> list[MbarrierInit]:
    """What every thread of the block does before roles part."""
    return [op for op in function.body.ops if isinstance(op, MbarrierInit)]


def _drop(block: Block, role: str) -> None:
    block.ops = [op for op in block.ops if _stays(op, role)]
    for op in block.ops:
        for inner in op.blocks:
            _drop(inner, role)


def _stays(op: Op, role: str) -> bool:
    if isinstance(op, MbarrierInit):
        return False
    effects = op.effects()
    if op.terminator or not (effects.writes or effects.ordered or effects.io):
        return True
    return bool(getattr(op, "role", CONSUMER) == role)
