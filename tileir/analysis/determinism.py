"""Which results depend on the order in which blocks run: what a kernel that shall be deterministic may not do."""

from __future__ import annotations

from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.ops.atomics import Atomic, AtomicRmw


def check_deterministic(function: Function) -> None:
    """Raise TileUnsupportedFeatureError, with its place, for an op whose result depends on the order of blocks."""
    used = {value for op in function.walk() for value in op.operands}
    for op in function.walk():
        reason = _reason(op, used)
        if reason is not None:
            raise TileUnsupportedFeatureError(
                f"{reason} depends on the order in which blocks run, and the kernel shall be deterministic", op.span,
                hints=["store one partial result for each block, and add these up in a second kernel; or leave "
                       "deterministic=True out"])


def _reason(op: Op, used: set[Value]) -> str | None:
    if not isinstance(op, Atomic):
        return None
    if not isinstance(op, AtomicRmw):
        return "what a compare-and-swap stores"
    if op.kind == "xchg":
        return "what atomic_xchg leaves"
    if op.result in used:
        return f"the old value that atomic_{op.kind} gives"
    if op.kind == "add" and op.array.type.dtype.is_float:
        return "the rounding of a sum by atomic_add of floats"
    return None
