"""Elect one thread for each atomic or ordered access, and broadcast the result to the threads that hold copies.

    before: %x: i32 = atomic_cas(array=%lock, ...)                     // all threads hold the scalar %x
    after:  %0: i32 = atomic_cas(array=%lock, ...)                     // by thread 0, valid there
            %1: tile<1xi32, #0> = reshape(src=%0, shape=(1))
            %2: shared<1xi32> = shared_alloc(type=...)
            shared_store(buffer=%2, value=%1)                          // by the owner of each element
            %3: tile<1xi32, #0> = shared_load(buffer=%2, ...)
            %x: i32 = reshape(src=%3, shape=())

Every thread may perform a weak load itself. A load that races with other CTAs needs one elected thread: threads that
see different values could diverge.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import loaded, put
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layouts.blocked import row_major
from tilewright.tileir.layouts.buffers import linear_shared
from tilewright.tileir.layouts.queries import is_replicated
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite


def elect_thread_for_atomics(c: Compilation) -> Preserved:
    """Needs layouts. Afterwards all threads use the owners' results of atomics and ordered loads."""
    ordered = {op for op in c.function.walk() if _is_ordered(op)}
    if not ordered:
        return ALL
    used, warps = c.uses, c.plan.warps

    def share(rewriter: Rewriter, op: Op) -> None:
        rewriter.keep(op)
        if op in ordered and op.result in used and (not op.result.type.shape or is_replicated(op.result.type.layout)):
            rewriter.replace(op.result, _from_owners(rewriter, op.result, warps))

    rewrite(c.function, share)
    return NONE


def _is_ordered(op: Op) -> bool:
    return isinstance(op, Atomic) or (isinstance(op, Load) and op.memory_order is not MemoryOrder.WEAK)


def _from_owners(rewriter: Rewriter, result: Value, warps: int) -> Value:
    """The owners' value, for all threads."""
    if result.type.shape:
        return loaded(rewriter, put(rewriter, result, linear_shared(result.type.shape)), result.type)
    value = rewriter.value(Reshape(src=result, shape=(1,))).lay_out(row_major((1,), warps))
    return rewriter.value(Reshape(src=_from_owners(rewriter, value, warps), shape=()))
