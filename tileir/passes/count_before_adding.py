"""Where many elements of a tile add the same integer to few elements of an array, each is added to once.

    before: %0 = atomic_rmw(array=%counts, indices=(%t), value=%ones, kind="add", shape=(4096))
    after:  %n: tile<256xi32> = histogram(src=%t, bins=256)      // how often each of 0 to 255 comes in %t
            %1 = atomic_rmw(array=%counts, indices=(%every), mask=%n != 0, value=%n * %one, kind="add", shape=(256))

Updates of one element wait for each other: one for each byte of 67 MB takes 17.3 ms on an H100, 0.17 where tiles of
4096 are counted, and 0.045 where CTAs add the sum of all that they count (`add_once`). What the elements of a tile add
together no other block can tell from one addition after the other, as they are in no order; integers wrap to the same
sum. The range of the index says how many elements there may be; the old elements must be unused.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Constant, Mul, Ne, Select
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.reduce import Histogram
from tilewright.tileir.ops.shape import Broadcast, Iota
from tilewright.tileir.passes.add_once import add_once
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.shapes import splat_source
from tilewright.tileir.rewrite import Rewriter, only, rewrite
from tilewright.tileir.types import TileType

# Elements of an array that are counted for at most: 16 KiB of shared memory.
MOST_BINS = 4096


def count_before_adding(unit: Unit) -> Preserved:
    """Makes tiles."""
    if not unit.has(AtomicRmw):
        return ALL
    found = {op: axis for op in unit.function.walk() if isinstance(op, AtomicRmw)
             and (axis := _counted_axis(unit, op)) is not None}
    if not found:
        return ALL
    bins = {op: _bins(unit, op.indices[axis]) for op, axis in found.items()}

    def count(rewriter: Rewriter, op: AtomicRmw) -> None:
        _count(rewriter, op, found[op], bins[op])

    rewrite(unit.function, {AtomicRmw: only(found, count)})
    unit.forget(NONE)
    if add_once(unit):
        unit.forget(NONE)
        dce(unit)
    return NONE


def _bins(unit: Unit, index: Value) -> int:
    """A power of two above each number that an index may be."""
    return 1 << max(unit.facts[index].high, 0).bit_length()


def _counted_axis(unit: Unit, op: AtomicRmw) -> int | None:
    """The one axis of the array along which an update goes to different elements, if it is worth counting."""
    if op.kind != "add" or not op.array.type.dtype.is_int or unit.uses.get(op.result) or not _is_repeated(op.value):
        return None
    axes = [axis for axis, index in enumerate(op.indices) if not _is_repeated(index)]
    if len(axes) != 1:
        return None
    index = op.indices[axes[0]]
    few = _bins(unit, index) <= min(MOST_BINS, index.type.size)
    # What is below zero is outside the array, and is not counted.
    least = int32.int_range[0] if op.check_bounds else 0
    return axes[0] if few and unit.facts[index].low >= least else None


def _is_repeated(value: Value) -> bool:
    """Whether all elements of a tile are one number."""
    return isinstance(value.op, Constant) or splat_source(value) is not None


def _repeated(b: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    """That number as another tile."""
    source = splat_source(value)
    if source is None:
        assert isinstance(value.op, Constant)
        return b.value(Constant(value=value.op.value, type=TileType(value.type.dtype, shape)))
    return b.value(Broadcast(src=source, shape=shape))


def _count(b: Rewriter, op: AtomicRmw, axis: int, bins: int) -> None:
    numbers = b.cast(op.indices[axis], int32)
    if op.mask is not None:
        none = b.value(Constant(value=-1, type=numbers.type))
        numbers = b.value(Select(cond=op.mask, lhs=numbers, rhs=none))
    counts, shape = b.value(Histogram(src=numbers, bins=bins)), (bins,)
    total = Mul(lhs=b.cast(counts, op.array.type.dtype), rhs=_repeated(b, op.value, shape))
    every = b.cast(b.value(Iota(size=bins, dtype=int32)), op.indices[axis].type.dtype)
    indices = [every if at == axis else _repeated(b, index, shape) for at, index in enumerate(op.indices)]
    there = Ne(lhs=counts, rhs=b.value(Constant(value=0, type=counts.type)))
    b.emit(AtomicRmw(
        array=op.array, indices=tuple(indices), mask=b.value(there), value=b.value(total), kind=op.kind, shape=shape,
        check_bounds=op.check_bounds, memory_order=op.memory_order, memory_scope=op.memory_scope))
