"""Products apart from their sums, so that a sum may be part of the loop that computes on it.

`mma` adds a product to an accumulator, in the accumulator's format. As one step it passes over all elements once more
for that; an op of its own, the addition goes into the loop around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


@impl(Product)
def product(op: Product, low: Lowering) -> Callable[[Any, Any], Any]:
    return product_of_mma(op.mma, low)


def splits(ops: Iterable[Op]) -> dict[matmul.Mma, tuple[Op, Op]]:
    """Those whose sum is one addition of elements: each as a product and the sum, which has the result."""
    return {op: _split(op) for op in ops
            if isinstance(op, matmul.Mma) and op.acc.type.dtype in (dt.float32, dt.float64)}


def _split(op: matmul.Mma) -> tuple[Op, Op]:
    first = Product(a=op.a, b=op.b, mma=op)
    second = arith.Add(lhs=first.result, rhs=op.acc)
    first.span = second.span = op.span
    second.results = op.results
    return first, second
