"""Which values of a function could be undefined, so that only they have shadows."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, atomics, memory, shape
from tilewright.tileir.types import TileType


def find_suspects(function: Function, uninitialised: bool) -> frozenset[Value]:
    """Results of the ops that may make undefined values (with `uninitialised`, of all that read memory), and what
    depends on them. What meets at a structured op is taken together."""
    found: set[Value] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for op in function.walk():
            inner = [v for block in op.blocks for v in block.terminator.operands]
            if _makes(op, uninitialised) or any(v in found for v in (*op.operands, *inner)):
                results = (*op.results, *(p for block in op.blocks for p in block.params))
                found.update(v for v in results if isinstance(v.type, TileType))
    return frozenset(found)


def _makes(op: Any, uninitialised: bool) -> bool:
    """May a result be undefined though all operands are defined?"""
    if isinstance(op, memory.Load):
        return uninitialised or op.padding is PaddingMode.UNDETERMINED
    if isinstance(op, memory.Gather):
        return uninitialised or op.undetermined
    if isinstance(op, atomics.AtomicRmw):
        return uninitialised or op.mask is not None or op.check_bounds
    if isinstance(op, atomics.AtomicCas):
        return uninitialised
    if isinstance(op, shape.Extract):
        return not all(isinstance(i.op, arith.Constant) for i in op.index)
    return has_domain(op) and not _fits(op)


def divides(op: Op) -> bool:
    """A division of integers."""
    return isinstance(op, arith.FloorDiv | arith.CeilDiv | arith.Mod) and op.lhs.type.dtype.is_int


def has_domain(op: Op) -> bool:
    """Is the result undefined for some second operands?"""
    return divides(op) or isinstance(op, arith.Shl | arith.Shr)


def outside_of_domain(op: Any, operand: Any) -> Any:
    """Which second operands leave the result undefined: divisors of 0, counts of a shift beside 0..width-1."""
    return operand == 0 if divides(op) else (operand < 0) | (operand >= op.lhs.type.dtype.bitwidth)


def _fits(op: Any) -> bool:
    made: Any = op.rhs.op
    while made is not None and made.opcode == "broadcast":
        made = made.src.op
    return isinstance(made, arith.Constant) and not outside_of_domain(op, made.value)
