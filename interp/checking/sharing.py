"""Which arrays of a launch blocks could race for: found in the IR, so that most accesses need no log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.interp.affine import Forms, own_axes
from tilewright.interp.hazards import only_updates
from tilewright.interp.touches import touches
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.ops.atomics import Atomic, AtomicRmw
from tilewright.tileir.types import ArrayType

WITHIN_A_BLOCK = (MemoryScope.BLOCK, MemoryScope.CLUSTER, MemoryScope.NONE)


class Sharing(NamedTuple):
    """`contested`: positions of parameters whose accesses must be logged, because blocks could race for them, or
    synchronise by them. `synchronised`: may an access of one block
    wait for one of another? Such blocks run one after another."""

    contested: frozenset[int]
    synchronised: bool


def find_sharing(function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> Sharing:
    """Look at all accesses of a function, in one launch."""
    known = touches(function)
    accesses = known.accesses
    used = {v for op in function.walk() for v in op.operands}
    synchronised = False
    for op in function.walk():
        effects = op.effects()
        synchronised |= effects.ordered and not only_updates(op, used)
    forms = Forms(function, grid, arguments)
    wide = {axis for axis in (0, 1, 2) if grid[axis] > 1}
    contested = {position for position in known.written
                 if wide and not _ordered_anyway(forms, function.params[position], accesses[position], wide)}
    if all(is_atomic(op) for position in contested for op in accesses[position]):
        return Sharing(frozenset(contested), False)  # whatever blocks learn of each other, nothing needs it
    if synchronised:
        contested |= {n for n, ops in accesses.items() if any(op.effects().ordered for op in ops)}
    return Sharing(frozenset(contested), synchronised)


def _ordered_anyway(forms: Forms, root: Value, ops: list[Op], wide: set[int]) -> bool:
    """Whether no two blocks can race for `root`: it is only updated atomically, by operations of which the
    order does not show, or each block has elements of its own."""
    if all(isinstance(op, Atomic) and is_atomic(op) and not adds_floats(op) for op in ops):
        return True
    return isinstance(root.type, ArrayType) and wide <= own_axes(forms, root, ops)


def adds_floats(op: Op) -> bool:
    """Does the order of such operations show in the result?"""
    return isinstance(op, AtomicRmw) and op.kind == "add" and op.array.type.dtype.is_float


def is_atomic(op: Op) -> bool:
    """Is the access one that other blocks may make at the same time?"""
    order, scope = getattr(op, "memory_order", MemoryOrder.WEAK), getattr(op, "memory_scope", MemoryScope.NONE)
    return order is not MemoryOrder.WEAK and scope not in WITHIN_A_BLOCK
