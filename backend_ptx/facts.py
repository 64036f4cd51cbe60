"""What is known of integer values while lowering: signs, for the edge masks."""

from __future__ import annotations

from collections.abc import Container

from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith, arrays, convert


def never_negative(value: Value, known: Container[Value] = (), depth: int = 8) -> bool:
    """Whether an integer scalar is surely at least 0; `known` holds loop variables that are.

    Sums and products count only where they cannot wrap: block numbers are below 2^24, and what may be larger is not
    added or multiplied here.
    """
    if not value.type.dtype.is_signed:
        return True
    op = value.op
    if op is None or depth == 0:
        return value in known

    def good(*values: Value) -> bool:
        return all(never_negative(v, known, depth - 1) for v in values)

    match op:
        case arith.Constant():
            return op.value >= 0
        case arrays.BlockId() | arrays.NumBlocks() | arrays.Extent():
            return True
        case arith.FloorDiv() | arith.CeilDiv() | arith.Min():
            return good(op.lhs, op.rhs)
        case arith.Max() | arith.And():
            return good(op.lhs) or good(op.rhs)
        case arith.Shr():
            return good(op.lhs)
        case arith.Mod():
            return good(op.rhs)
        case arrays.AssumeDivisible():
            return good(op.src)
        case convert.Cast():
            old = op.src.type.dtype
            return old.is_int and old.bitwidth <= op.dtype.bitwidth and good(op.src)
    return False
