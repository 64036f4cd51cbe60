"""Which results depend on the order in which blocks run: what a kernel that shall be deterministic may not do, and what
a certificate (interp/certifying/) follows to the outputs."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.ops.atomics import Atomic, AtomicRmw


def check_deterministic(function: Function) -> None:
    """Raise TileUnsupportedFeatureError, with its place, for an op whose result depends on the order of blocks."""
    used = {value for op in function.walk() for value in op.operands}
    for op in function.walk():
        reason = what_order_changes(op) or what_order_gives(op, used)
        if reason is not None:
            raise TileUnsupportedFeatureError(
                f"{reason} depends on the order in which blocks run, and the kernel shall be deterministic", op.span,
                hints=["store one partial result for each block, and add these up in a second kernel; or leave "
                       "deterministic=True out"])


def what_order_changes(op: Op) -> str | None:
    """What an atomic operation leaves in memory, if that depends on the order of blocks."""
    if not isinstance(op, Atomic):
        return None
    if not isinstance(op, AtomicRmw):
        return "what a compare-and-swap stores"
    if op.kind == "xchg":
        return "what atomic_xchg leaves"
    if op.kind == "add" and op.array.type.dtype.is_float:
        return "the rounding of a sum by atomic_add of floats"
    return None


def what_order_gives(op: Op, used: Collection[Value]) -> str | None:
    """The result of an atomic operation, if it is among the values that are used."""
    if not isinstance(op, Atomic) or op.result not in used:
        return None
    return f"the old value that atomic_{op.kind if isinstance(op, AtomicRmw) else 'cas'} gives"
