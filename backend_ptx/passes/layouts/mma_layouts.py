"""The layouts that matrix products ask for, decided before any other tile gets one."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.layouts.mma import ProductLayouts, block_layouts, fragment_layouts
from tilewright.backend_ptx.layouts.warpgroup import warpgroup_layouts
from tilewright.backend_ptx.ops.matmul import MmaSync, Product
from tilewright.backend_ptx.ops.warpgroup import Wgmma
from tilewright.backend_ptx.passes.matmul.select_instructions import fragment_of, warpgroup_fragment
from tilewright.tileir.core import Op, Value


def layouts_of_products(products: Sequence[Product], warps: int) -> dict[Product, ProductLayouts]:
    """(acc, a, b) of each product. Where one product's result becomes another's A operand, warps own whole rows of
    it, so that the fragments are handed on within each thread."""
    handed_on = _handed_on(products)
    return {op: _layouts(op, warps, handed_on) for op in products}


def _layouts(op: Product, warps: int, rows_only: bool) -> ProductLayouts:
    shape, k = op.acc.type.shape, op.a.type.shape[-1]
    if isinstance(op, Wgmma):
        return warpgroup_layouts(shape, k, warpgroup_fragment(op.kind), warps)
    if isinstance(op, MmaSync):
        return fragment_layouts(shape, k, fragment_of(op.instruction), warps, rows_only)
    return block_layouts(shape, k, warps)


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
