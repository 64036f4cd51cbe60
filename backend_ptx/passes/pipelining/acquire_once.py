"""Acquire the tensor maps of an entry of a list again only when it is another entry than the last one.

    before: %acc = for(...) .loop(%tile: i32) {
                tma_acquire(array=%a)                                       // %a = list_item(list=%as, index=%g)
                ...
                yield(values=(...))
            }
    after:  %none: i32 = constant(value=2147483647, ...)
            %acc, %last = for(..., init=(..., %none)) .loop(%tile: i32, ..., %acquired: i32) {
                %other: i1 = ne(lhs=%g, rhs=%acquired)
                tma_acquire(array=%a, active=%other)
                ...
                yield(values=(..., %g))
            }

A fence makes TMA forget the map, and the next copy waits until it has come from memory again. Maps stay as they are as
long as a kernel runs, so a thread needs one fence for each (CUDA programming guide, "Using TMA to transfer
multi-dimensional arrays").
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.bulk import TmaAcquire
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder, Constants
from tilewright.tileir.carried import carry_past
from tilewright.tileir.core import Block
from tilewright.tileir.ops.arith import Ne
from tilewright.tileir.ops.arrays import ListItem


def acquire_once(unit: Unit) -> None:
    """For all `tma_acquire` that loops repeat."""
    constants = Constants(unit.function)
    found = [op for op in unit.function.walk() if isinstance(op, TmaAcquire)]
    for op in (op for op in found if any(outer.repeats for outer in unit.around(op))):
        item = op.array.op
        assert isinstance(item, ListItem), f"{op.array.type} has no maps in a table"
        none = constants(item.index.type.dtype.int_range[1], item.index.type.dtype)
        last = carry_past(op, unit.around(op), unit.homes, none, item.index, "acquired")
        b = Builder(Block(), op.span)
        op.active = b.value(Ne(lhs=item.index, rhs=last))
        home = unit.homes[op].ops
        home[home.index(op):home.index(op)] = b.block.ops
    unit.function.body.ops[:0] = constants.top.block.ops
