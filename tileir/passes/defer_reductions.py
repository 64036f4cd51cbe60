"""In loops that only accumulate the results of a reduction, combine those of lanes and warps once, after the loop.

    before: %r = for(...) .loop(%k, %t) { %s = reduce_sum(src=%x, axes=(1))  yield(values=(fma(a=%t, b=%f, c=%s))) }
    after:  %p = for(...) .loop(%k, %t) { %s = reduce_bits(src=%x, axes=(1), keep=(6), kind="sum")  yield(...) }
            %r = reduce_sum(src=%p, axes=(1))                                            // shuffles, barriers

The rewriting is that of `carry_partials`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.flat import LANE, REGISTER, WARP
from tilewright.tileir.layouts.reduced import partial_layout
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.machine_ops.reduce import ReduceBits
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.passes.carry_partials import carry_partials

FEW = 8  # registers of partial results, where the loop carries the sum in a layout of fewer


def defer_reductions(unit: Unit) -> Preserved:
    """Needs layouts."""
    if not (unit.function.limits.defer_reductions and unit.has(For) and unit.has(Reduction)):
        return ALL
    kept = carry_partials(unit, _within_threads, _to_each)
    unit.function.plan.deferred = kept != ALL
    return kept


def _within_threads(b: Builder, op: Reduction, carried: Value) -> Value | None:
    layout = op.src.type.layout
    bases = [*layout.bases(LANE), *layout.bases(WARP)] if layout else []
    keep = tuple(reduce(or_, (basis[axis] for basis in bases), 0) for axis in op.axes)
    partial = partial_layout(layout, op.axes, keep) if any(keep) else None
    if partial is None or _registers(partial) > max(FEW, _registers(carried.type.layout)):
        return None
    return b.value(ReduceBits(src=op.src, keep=keep, kind=op.kind, **op.attributes)).lay_out(partial)


def _registers(layout: Layout | None) -> int:
    return 1 << len(layout.bases(REGISTER)) if layout else 1


def _to_each(b: Builder, value: Value, part: Value, axes: tuple[int, ...]) -> Value:
    shape, layout = part.type.shape, part.type.layout
    one = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    if value.type.shape:
        column = b.value(Reshape(src=value, shape=one)).lay_out(transform.reshape(value.type.layout, one))
        value = converted(b, column, transform.within(layout, one))
    return b.value(Broadcast(src=value, shape=shape)).lay_out(layout)
