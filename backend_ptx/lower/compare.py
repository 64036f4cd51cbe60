"""Comparisons of elements, and of places with a bound that never falls inside a group of neighbouring elements."""

from __future__ import annotations

from math import gcd

from tilewright.backend_ptx.layouts.queries import vector_along
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.narrow import unpacked
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith as ops
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape

_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
_FLOAT = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


@lower(ops.Eq, ops.Ne, ops.Lt, ops.Le, ops.Gt, ops.Ge)
def compare(ctx: Context, op: ops.Compare) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    group = group_of(ctx, op)
    if group > 1:
        first = list(range(0, x.n, group))
        one = comparison(b, op.opcode, dtype, b.shuffle(x, first), b.shuffle(y, first))
        ctx.set(op.result, b.shuffle(one, [r // group for r in range(x.n)]))
        return
    ctx.set(op.result, comparison(b, op.opcode, dtype, x, y))


def comparison(b: Builder, word: str, dtype: DType, x: Val, y: Val) -> Val:
    """`word` is eq, ne, lt, le, gt or ge; the result is i1."""
    if dtype.is_float:
        if x.elem == "i8":
            x, y = unpacked(b, dtype, x), unpacked(b, dtype, y)
        return b.fcmp(_FLOAT[word], floats.extended(b, x), floats.extended(b, y))
    predicate = (_SIGNED if dtype.is_signed else _UNSIGNED)[word]
    return b.icmp(predicate, integers.widened(b, x, dtype), integers.widened(b, y, dtype))


def group_of(ctx: Context, op: ops.Compare) -> int:
    """How many neighbouring registers compare alike: `place < bound` is the same for all places of a group if the bound
    is a multiple of the group's length, as columns past the end of a row whose length is a multiple of 16 are.
    """
    if op.opcode in ("lt", "ge"):
        places, bound = op.lhs, op.rhs
    elif op.opcode in ("gt", "le"):
        places, bound = op.rhs, op.lhs
    else:
        return 1
    if not op.result.type.shape:
        return 1
    axis = place_axis(ctx, places)
    if axis is None or not _same_along(bound, axis):
        return 1
    width = vector_along(op.result.type.layout, axis)
    return gcd(width, _origin_divisor(ctx, places), ctx.facts[bound].divisor)


def place_axis(ctx: Context, value: Value) -> int | None:
    """The axis along which the elements of a tile are consecutive integers; along the others they are equal."""
    op, shape = value.op, value.type.shape
    if isinstance(op, Iota):
        return 0
    if isinstance(op, ops.Add):
        axes = [place_axis(ctx, v) for v in op.operands]
        for axis, other in zip(axes, reversed(op.operands), strict=True):
            if axis is not None and _same_along(other, axis):
                return axis
    if isinstance(op, Broadcast) and len(op.src.type.shape) == len(shape):
        axis = place_axis(ctx, op.src)
        return axis if axis is not None and op.src.type.shape[axis] == shape[axis] else None
    if isinstance(op, Reshape):
        axis = place_axis(ctx, op.src)
        return None if axis is None else _moved(op, axis)
    return None


def _moved(op: Reshape, axis: int) -> int | None:
    """Where an axis is after a reshape that only adds or drops axes of length 1."""
    old, new = op.src.type.shape, op.shape
    kept_old = [k for k, n in enumerate(old) if n != 1]
    kept_new = [k for k, n in enumerate(new) if n != 1]
    if [old[k] for k in kept_old] != [new[k] for k in kept_new] or axis not in kept_old:
        return None
    return kept_new[kept_old.index(axis)]


def _same_along(value: Value, axis: int) -> bool:
    """Whether the elements of a tile along an axis are surely equal."""
    op = value.op
    if isinstance(op, ops.Constant) or not value.type.shape:
        return True
    if not isinstance(op, Broadcast):
        return bool(value.type.shape[axis] == 1)
    return not op.src.type.shape or op.src.type.shape[axis] == 1


def _origin_divisor(ctx: Context, value: Value) -> int:
    """A number that divides the first of the consecutive integers (0 if that is 0)."""
    op = value.op
    if isinstance(op, ops.Add):
        axes = [place_axis(ctx, v) for v in op.operands]
        places, base = op.operands if axes[0] is not None and _same_along(op.operands[1], axes[0]) \
            else reversed(op.operands)
        return gcd(_origin_divisor(ctx, places), ctx.facts[base].divisor)
    if op is not None and op.view:
        return _origin_divisor(ctx, op.operands[0])
    return 0
