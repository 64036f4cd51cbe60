"""Products apart from their sums, so that a sum may be part of the loop that computes on it.

`mma` adds a product to an accumulator, in the accumulator's format. As one step it passes over all elements once more
for that; an op of its own, the addition goes into the loop around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.interp.handlers.matmul import product_of_mma
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Op, Value, attribute, operand
from tilewright.tileir.ops import arith, matmul
from tilewright.tileir.types import Type


class Product(Op):
    """What an `mma` adds to its accumulator. It stands in no function: lowerings make it."""

    a: Value = operand()
    b: Value = operand()
    mma: Any = attribute()

    def infer(self) -> tuple[Type, ...]:
        return (self.mma.result.type,)


@impl(Product)  # type: ignore[arg-type]
def product(op: Product, low: Lowering) -> Callable[[Any, Any], Any]:
    return product_of_mma(op.mma, low)


def split(op: Op) -> tuple[Op, Op] | None:
    """An `mma` as a product and its sum, which has the result; None where the sum is more than one addition."""
    if type(op) is not matmul.Mma or op.acc.type.dtype not in (dt.float32, dt.float64):
        return None
    first = Product(a=op.a, b=op.b, mma=op, span=op.span)
    second = arith.Add(lhs=first.result, rhs=op.acc, span=op.span)
    second.results = op.results
    return first, second
