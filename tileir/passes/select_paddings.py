"""In loops, load zeros outside the array and select the padding afterwards, for backends whose copies fill in zeros.

    before: .loop(%k) { %t: tile<1x4096xf32> = load(array=%x, index=(%i, %k), padding="neg_inf", ...) }
    after:  .loop(%k) {
                %0: tile<1x4096xf32> = load(array=%x, index=(%i, %k), padding="zero", ...)
                %1: tile<1x4096xi1> = lt(lhs=iota over the columns, rhs=extent - 4096 * %k)    // and so for each axis
                %t: tile<1x4096xf32> = select(cond=%1, lhs=%0, rhs=-inf)
            }

A narrow float whose only use is a cast to float32 is padded after the cast, where a select is one instruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.places import may_be_cut
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import float32, int32, int64
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.rewrite import Rewriter, only, rewrite

_NUMBER = {
    PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: math.nan, PaddingMode.POS_INF: math.inf,
    PaddingMode.NEG_INF: -math.inf,
}


def select_paddings(unit: Unit, pays: Callable[[Load], bool]) -> Preserved:
    """For the loads of loops that need it, and for which it pays. Makes tiles, so layouts must come later."""
    loops = (op for op in unit.function.walk() if isinstance(op, For))
    loads = (op for loop in loops for op in loop.loop.ops if isinstance(op, Load))
    chosen = {op for op in loads if _is_possible(op, unit.facts) and pays(op)}
    if not chosen:
        return ALL
    known, users = unit.facts, unit.uses  # before the function changes
    masks: dict[Value, tuple[Value, float]] = {}

    def pad_load(rewriter: Rewriter, op: Load) -> None:
        # A new value, as the users of the old one will be renamed.
        zero = {**op.attributes, "padding": PaddingMode.ZERO, "array": op.array, "index": op.index}
        value = rewriter.value(Load(**zero))
        masked = inside(rewriter, op, known), _NUMBER[op.padding]
        widened = (isinstance(user, Cast) and user.dtype is float32 for user in users.get(op.result, ()))
        if op.result.type.dtype.bitwidth < 32 and all(widened):
            masks[value] = masked
        else:
            value = _padded(rewriter, value, *masked)
        rewriter.replace(op.result, value)

    def pad_cast(rewriter: Rewriter, op: Cast) -> None:
        rewriter.keep(op)
        if op.src in masks:
            rewriter.replace(op.result, _padded(rewriter, op.result, *masks[op.src]))

    rewrite(unit.function, {Load: only(chosen, pad_load), Cast: pad_cast})
    return NONE


def _is_possible(op: Load, known: Facts) -> bool:
    """Whether a load of floats may read beyond the array, and pads with something else than zero."""
    return (op.padding in _NUMBER and op.check_bounds and op.memory_order is MemoryOrder.WEAK
            and op.result.type.dtype.is_float and any(may_be_cut(op, axis, known) for axis in range(len(op.shape))))


def _padded(b: Builder, value: Value, mask: Value, number: float) -> Value:
    padding = b.value(arith.Constant(value=number, type=value.type))
    return b.value(arith.Select(cond=mask, lhs=value, rhs=padding))


def inside(b: Builder, op: Load, known: Facts) -> Value:
    """True for the elements that lie in the array."""
    axes = [axis for axis in range(len(op.shape)) if may_be_cut(op, axis, known)]
    parts = [_inside_along(b, op, axis, known) for axis in axes]
    return reduce(lambda x, y: b.value(arith.And(lhs=x, rhs=y)), parts)


def _inside_along(b: Builder, op: Load, axis: int, known: Facts) -> Value:
    """Along one axis: from -origin up to below extent - origin. The origin of a tile far outside needs 64 bits; clamped
    to the tile's length, it fits in 32."""
    length, index = op.shape[axis], op.index[axis]

    def cut(distance: Value) -> Value:
        low = b.value(arith.Max(lhs=distance, rhs=b.number(0, int64)))
        end = b.cast(b.value(arith.Min(lhs=low, rhs=b.number(length, int64))), int32)
        return b.value(Broadcast(src=end, shape=op.shape))

    origin = b.value(arith.Mul(lhs=b.cast(index, int64), rhs=b.number(op.steps[axis], int64)))
    extent = b.cast(b.value(Extent(array=op.array, axis=op.order[axis])), int64)
    places = _places(b, op.shape, axis)
    below = b.value(arith.Lt(lhs=places, rhs=cut(b.value(arith.Sub(lhs=extent, rhs=origin)))))
    if known[index].low >= 0:
        return below
    above = b.value(arith.Ge(lhs=places, rhs=cut(b.value(arith.Sub(lhs=b.number(0, int64), rhs=origin)))))
    return b.value(arith.And(lhs=below, rhs=above))


def _places(b: Builder, shape: tuple[int, ...], axis: int) -> Value:
    """The index along an axis of every element."""
    iota = b.value(Iota(size=shape[axis], dtype=int32))
    if len(shape) > 1:
        line = tuple(n if k == axis else 1 for k, n in enumerate(shape))
        iota = b.value(Broadcast(src=b.value(Reshape(src=iota, shape=line)), shape=shape))
    return iota
