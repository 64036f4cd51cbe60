"""Products of machine IR: as `mma`, or bit for bit as a target's matrix units compute them (`Lowering.numerics`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.formats import as_float
from tilewright.interp.handlers.matmul import mma, mma_scaled
from tilewright.interp.lowering import Lowering
from tilewright.tileir import dtypes as dt
from tilewright.tileir import rounding
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.fused_sums import Operand, multiply_add, operand, scaled_operand
from tilewright.tileir.tensor_cores import TensorCores

Array = Any
Product = Callable[[Array, Array, Array], Array]


def product_on(op: Any, low: Lowering) -> Product:
    """What computes a product whose instruction is chosen. Sums of integers are exact in any order."""
    if low.numerics is None or op.acc.type.dtype is dt.int32:
        return mma(op, low)
    if op.unit.name == "fma" or op.acc.type.dtype is dt.float64:
        return _chain(op)
    return _fused(op, low.numerics)


def scaled_product_on(op: Any, low: Lowering) -> Callable[[Array, Array, Array, Array, Array], Array]:
    """The same of a block-scaled product."""
    if low.numerics is None:
        return mma_scaled(op, low)
    rule = low.numerics.summation(op.unit.name, op.a.type.dtype, op.unit.depth(op))
    block = op.a.type.shape[-1] // op.a_scale.type.shape[-1]

    def side(x: Array, dtype: DType, scale: Array, scale_dtype: DType, axis: int) -> Operand:
        spread = np.repeat(as_float(scale, scale_dtype), block, axis=axis)
        return scaled_operand(as_float(x, dtype), dtype, spread, scale_dtype)

    a, b, of_a, of_b = (v.type.dtype for v in (op.a, op.b, op.a_scale, op.b_scale))
    return lambda x, sx, y, sy, c: multiply_add(side(x, a, sx, of_a, -1), side(y, b, sy, of_b, -2), c, rule)


def _chain(op: Any) -> Product:
    """One fused multiply-add after the other, in order of k."""
    wide = op.acc.type.dtype is dt.float64

    def multiply(a: Array, b: Array, c: Array) -> Array:
        for k in range(a.shape[-1]):
            left, right = a[..., :, k, None], b[..., k, None, :]
            if wide:
                c = rounding.fma_float64(left, right, c, RoundingMode.RN)
            else:
                c = rounding.fma_float32(left, right, c)
        return c
    return multiply


def _fused(op: Any, cores: TensorCores) -> Product:
    """Sums of tensor cores, as many products at once as an instruction adds."""
    a_dtype, b_dtype = op.a.type.dtype, op.b.type.dtype
    rule = cores.summation(op.unit.name, a_dtype, op.unit.depth(op))
    half = op.acc.type.dtype is dt.float16
    return lambda a, b, c: multiply_add(
        operand(as_float(a, a_dtype), a_dtype), operand(as_float(b, b_dtype), b_dtype), c, rule, half=half)
