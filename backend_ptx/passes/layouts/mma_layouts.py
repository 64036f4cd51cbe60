"""The layouts that matrix products ask for, decided before any other tile gets one."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.layouts.mma import ProductLayouts
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.tileir.core import Op, Value


def layouts_of_products(products: Sequence[Product], warps: int) -> dict[Product, ProductLayouts]:
    """(acc, a, b) of each product. Where one product's result becomes another's A operand, warps own whole rows of
    it, so that the fragments are handed on within each thread."""
    handed_on = _handed_on(products)
    return {op: op.unit.layouts(op, warps, handed_on) for op in products}


def _handed_on(products: Sequence[Product]) -> bool:
    """Whether some product's A operand is computed, element by element, from another product's result."""
    results = {op.result for op in products}
    return any(_reaches(op.a, results, 0) for op in products)


def _reaches(value: Value, results: set[Value], depth: int) -> bool:
    if value in results:
        return True
    op: Op | None = value.op
    if op is None or not op.elementwise or depth > 32:
        return False
    return any(_reaches(v, results, depth + 1) for v in op.operands)
