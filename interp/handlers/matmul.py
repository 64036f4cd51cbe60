"""Matrix products: exact products, sums in the accumulator's format (float32 for 16-bit floats)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.interp.formats import as_float, format_of
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Value
from tilewright.tileir.ops import matmul

Array = Any


@impl(matmul.Mma)
def mma(op: matmul.Mma, low: Lowering) -> Callable[[Array, Array, Array], Array]:
    if op.acc.type.dtype is dt.int32 and op.b not in low.thin:
        return _integer(op)
    rnd, product = format_of(op.acc.type.dtype).round, product_of_mma(op, low)
    return lambda a, b, c: rnd(plus(product(a, b), c))


def product_of_mma(op: matmul.Mma, low: Lowering) -> Callable[[Array, Array], Array]:
    """What is added to the accumulator."""
    if op.b in low.thin:
        return _of_rectangle(op, low)
    a_dtype, b_dtype = op.a.type.dtype, op.b.type.dtype
    product = product_of(op, low, (op.a,), (op.b,))
    return lambda a, b: product(as_float(a, a_dtype), as_float(b, b_dtype))


@impl(matmul.MmaScaled)
def mma_scaled(op: Any, low: Lowering) -> Callable[..., Array]:
    """Operands times their scales are exact in float32 up to its largest number."""
    product = product_of(op, low, (op.a, op.a_scale), (op.b, op.b_scale))
    scaled = [(x.type.dtype, s.type.dtype, axis) for x, s, axis in ((op.a, op.a_scale, -1), (op.b, op.b_scale, -2))]
    block = op.a.type.shape[-1] // op.a_scale.type.shape[-1]

    def times(x: Array, scale: Array, side: int) -> Array:
        dtype, scale_dtype, axis = scaled[side]
        return as_float(x, dtype) * np.repeat(as_float(scale, scale_dtype), block, axis=axis)

    return lambda a, sa, b, sb, c: product(times(a, sa, 0), times(b, sb, 1)) + c


def product_of(op: Any, low: Lowering, a: Sequence[Value], b: Sequence[Value]) -> Callable[[Array, Array], Array]:
    """The product of two sides, which are computed of the values `a` and `b`.

    Where one side is the same for all blocks, their products are one larger product.
    """
    plain = len(op.a.type.shape) == 2
    left, right = any(map(low.varies, a)), any(map(low.varies, b))
    if plain and left and not right:
        return _stack_rows
    if plain and right and not left:
        return _stack_columns
    return np.matmul


def _stack_rows(a: Array, b: Array) -> Array:
    """[C, M, K] @ [K, N]: the tiles of consecutive blocks lie below each other."""
    count, m, k = a.shape
    if a.strides[0] != m * a.strides[1]:
        return np.matmul(a, b)
    return np.matmul(a.reshape(count * m, k), b).reshape(count, m, b.shape[1])


def _stack_columns(a: Array, b: Array) -> Array:
    """[M, K] @ [C, K, N]: the tiles of consecutive blocks lie side by side."""
    count, k, n = b.shape
    if b.strides[0] != n * b.strides[2]:
        return np.matmul(a, b)
    wide = b.transpose(1, 0, 2).reshape(k, count * n)
    return np.matmul(a, wide).reshape(a.shape[0], count, n).transpose(1, 0, 2)


def _of_rectangle(op: matmul.Mma, low: Lowering) -> Callable[[Array, Array], Array]:
    """A tile for each block along one axis, or for each block, times one for each along the other axis, which is the
    slower one."""
    a_dtype, b_dtype = op.a.type.dtype, op.b.type.dtype
    prepare = _exactly(op) if op.acc.type.dtype is dt.int32 else None
    tall = op.a in low.thin

    def closure(a: Array, b: Array) -> Array:
        a, b = (as_float(a, a_dtype), as_float(b, b_dtype)) if prepare is None else (prepare(a), prepare(b))
        rows, m, k = a.shape
        # For each tile of B the products with all of A, or with its part of A, one below the other: the order of the
        # blocks.
        left = a.reshape(rows * m, k) if tall else a.reshape(len(b), -1, k)
        out = np.matmul(left, b).reshape(-1, m, b.shape[2])
        return out if prepare is None else out.astype(np.int64).astype(np.int32)
    return closure


def plus(product: Array, c: Array) -> Array:
    """The sum, in the place of the product where it fits there: nobody else has it."""
    fits = isinstance(product, np.ndarray) and product.dtype == c.dtype and np.ndim(c) <= product.ndim
    return np.add(product, c, out=product if fits else None)


def _exactly(op: matmul.Mma) -> Callable[[Array], Array]:
    """Products of 8-bit integers: below 2**24 (float32) or 2**53 (float64) a float sum is exact, and has BLAS."""
    held = np.float32 if op.a.type.shape[-1] << 16 <= 1 << 24 else np.float64
    return lambda x: x.astype(held)


def _integer(op: matmul.Mma) -> Callable[[Array, Array, Array], Array]:
    exactly = _exactly(op)

    def closure(a: Array, b: Array, c: Array) -> Array:
        return np.matmul(exactly(a), exactly(b)).astype(np.int64).astype(np.int32) + c
    return closure
