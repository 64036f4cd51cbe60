"""Adjoints of reductions along axes."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, adjoint, constant
from tilewright.tileir.ops import reduce
from tilewright.tileir.ops.arith import Eq

ADJOINTS.add(reduce.ArgReduction, constant)
ADJOINTS.add(reduce.Histogram, constant)


def back(b: Emitter, value: Value, op: Any) -> Value:
    """A reduced tile repeated along the axes that had disappeared."""
    shape = op.src.type.shape
    return b.spread(b.reshape(value, [1 if k in op.axes else n for k, n in enumerate(shape)]), shape)


@adjoint(reduce.ReduceSum)
def total(op: reduce.ReduceSum, g: Value, r: Reverse) -> None:
    r.give(op.src, lambda: back(r.b, g, op))


@adjoint(reduce.ReduceMax, reduce.ReduceMin)
def extreme(op: Any, g: Value, r: Reverse) -> None:
    """The elements that are the extreme share evenly."""

    def share() -> Value:
        b, src = r.b, r.now(op.src)
        chosen = b.compare(Eq, src, back(b, r.now(op.result), op))
        ones = b.select(chosen, b.like(src, 1.0), b.like(src, 0.0))
        each = b.div(g, b.sum(ones, op.axes))
        return b.select(chosen, back(b, each, op), b.like(src, 0.0))

    r.give(op.src, share)


@adjoint(reduce.ReduceProd)
def product(op: reduce.ReduceProd, g: Value, r: Reverse) -> None:
    """Of each element the product of all others: the quotient, where no element is zero; else products without it."""

    def others() -> Value:
        b, src = r.b, r.now(op.src)
        zero, one = b.like(src, 0.0), b.like(src, 1.0)
        is_zero = b.compare(Eq, src, zero)
        rest = back(b, b.value(reduce.ReduceProd(src=b.select(is_zero, one, src), axes=op.axes)), op)
        zeros = back(b, b.sum(b.select(is_zero, one, zero), op.axes), op)
        single = b.select(is_zero, b.select(b.compare(Eq, zeros, one), rest, zero), zero)
        quotient = b.div(rest, b.select(is_zero, one, src))
        return b.mul(back(b, g, op), b.select(b.compare(Eq, zeros, zero), quotient, single))

    r.give(op.src, others)
