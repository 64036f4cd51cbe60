"""The layouts that matrix multiplies need, decided before those of other tiles."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.layouts.mma import ProductLayouts
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.tileir.core import Op, Value


def layouts_of_products(products: Sequence[Product], warps: int) -> dict[Product, ProductLayouts]:
    """(acc, a, b) of each MMA. If the result of one MMA becomes A of another, each warp owns whole rows of it: the
    fragments then stay in the thread."""
    handed_on = _handed_on(products)
    return {op: op.unit.layouts(op, warps, handed_on) for op in products}


def _handed_on(products: Sequence[Product]) -> bool:
    """Whether A of some MMA is computed, element by element, from the result of another."""
    results = {op.result for op in products}
    return any(_reaches(op.a, results, 0) for op in products)


def _reaches(value: Value, results: set[Value], depth: int) -> bool:
    if value in results:
        return True
    op: Op | None = value.op
    if op is None or not op.elementwise or depth > 32:
        return False
    return any(_reaches(v, results, depth + 1) for v in op.operands)
