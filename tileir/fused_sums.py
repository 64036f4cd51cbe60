"""Sums of products as tensor cores compute them, on NumPy arrays: the records are those of tileir/tensor_cores.py.

Terms are scaled by a power of two so that the bits to keep are integers; float64 holds these and their sums exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.tileir.analysis.floats import float_format
from tilewright.tileir.dtypes import DType, float4_e2m1fn, tfloat32
from tilewright.tileir.tensor_cores import Summation

Array = Any
# The exponent of zeros and of subnormal accumulators: that of the least normal float32.
LEAST = -126
_FAR = -2000  # the exponent of a zero operand: whatever it is added to stays below LEAST
_NAN = np.uint32(0x7FFFFFFF)
_PIECE = 1 << 15  # products at once: their float64 values stay in the cache


class Operand(NamedTuple):
    """Numbers as float64, and the exponents that their products count with."""

    values: Array
    exponents: Array

    def part(self, index: Any) -> Operand:
        return Operand(self.values[index], self.exponents[index])


def operand(numbers: Array, dtype: DType) -> Operand:
    """Numbers of a dtype as an operand. Subnormal ones have the least exponent of the format."""
    if dtype is tfloat32:  # the hardware reads the upper 19 bits
        numbers = (np.ascontiguousarray(numbers, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    values = np.asarray(numbers, np.float64)
    return Operand(values, _exponents(values, float_format(dtype).min_exponent, _FAR))


def scaled_operand(numbers: Array, dtype: DType, scales: Array, scale: DType) -> Operand:
    """Numbers times their scales, whose exponents count too; of 4-bit floats they count alone."""
    given, factors = operand(numbers, dtype), operand(scales, scale)
    alone = dtype is float4_e2m1fn
    return Operand(given.values * factors.values, factors.exponents + (0 if alone else given.exponents))


def _exponents(values: Array, least: int, of_zero: int) -> Array:
    exponents = (values.view(np.int64) >> 52 & 0x7FF).astype(np.int16)
    exponents -= np.int16(1023)
    np.maximum(exponents, np.int16(least), out=exponents)
    exponents[values == 0] = of_zero
    return exponents


def multiply_add(a: Operand, b: Operand, c: Array, rule: Summation, *, half: bool = False) -> Array:
    """a @ b + c in float32: a [..., M, K], b [..., K, N], c [..., M, N]; leading axes broadcast.

    `half`: the accumulator is a float16, given and returned as float32. NaN are the canonical one.
    """
    shape = np.broadcast_shapes(c.shape[:-2], a.values.shape[:-2], b.values.shape[:-2])
    (m, k), n = a.values.shape[-2:], b.values.shape[-1]
    out = np.empty((*shape, m, n), np.float32)
    out[...] = c
    left, right = (Operand(*(np.broadcast_to(x, (*shape, *x.shape[-2:])) for x in given)) for given in (a, b))
    together = min(rule.together, k)
    most = max(1, _PIECE // (together * n))
    with np.errstate(all="ignore"):
        for place in _places(shape, m * n * together):
            for row in range(0, m, most):
                rows = (*place, slice(row, row + most))
                for start in range(0, k, together):
                    depth = slice(start, start + together)
                    out[rows] = _step(left.part((*rows, depth)), right.part((*place, depth)), out[rows], rule, half)
    return out


def _places(shape: tuple[int, ...], size: int) -> Any:
    """Indices of the leading axes, of which each gives about `_PIECE` products."""
    if not shape:
        return [()]
    many = max(1, _PIECE // size)
    return [(*outer, slice(i, i + many)) for outer in np.ndindex(*shape[:-1]) for i in range(0, shape[-1], many)]


def _step(a: Operand, b: Operand, c: Array, rule: Summation, half: bool) -> Array:
    """One sum."""
    special = None
    if not (np.isfinite(a.values).all() and np.isfinite(b.values).all() and np.isfinite(c).all()):
        # Finite products and sums are far below float64's range: whatever is not finite here comes from an operand.
        special = np.matmul(a.values, b.values) + c
        a, b = (Operand(np.where(np.isfinite(x.values), x.values, 0.0), x.exponents) for x in (a, b))
        c = np.where(np.isfinite(c), c, np.float32(0))
    products = a.values[..., None] * b.values[..., None, :, :]
    exponents = a.exponents[..., None] + b.exponents[..., None, :, :]
    if rule.first > 1:
        products = products.reshape(*products.shape[:-2], -1, rule.first, products.shape[-1]).sum(-2)
        exponents = np.where(products == 0, np.int16(_FAR), exponents[..., :: rule.first, :])
    total = _cut_sum(products, exponents.max(-2), c, rule.fraction)
    found = _half(total) if half else _cut(total, rule.result)
    if special is not None:
        found = np.where(np.isfinite(special), found, special.astype(np.float32))
        found.view(np.uint32)[np.isnan(special)] = _NAN
    return found


def _cut_sum(products: Array, top: Array, c: Array, fraction: int) -> Array:
    """The exact sum of products [..., M, K, N] and c, each cut below the largest exponent; `top` is the products'."""
    added = np.asarray(c, np.float64)
    np.maximum(top, _exponents(added, LEAST, LEAST), out=top)
    places = fraction - top.astype(np.int64)
    scale = _power(places)
    products *= scale[..., None, :]
    np.trunc(products, out=products)
    total = products.sum(-2)
    total += np.trunc(added * scale)
    total *= _power(-places)
    return total + 0.0  # a sum of zeros has no sign


def _power(exponents: Array) -> Array:
    """Powers of two, normal in float64."""
    return (exponents + 1023 << 52).view(np.float64)


def _cut(total: Array, fraction: int) -> Array:
    """Cut toward zero to a float32 of so many fractional bits; beyond the range it is infinite."""
    cut = (total.view(np.uint64) & np.uint64((1 << 64) - (1 << 52 - fraction))).view(np.float64)
    tiny = np.abs(total) < 2.0**LEAST
    if tiny.any():
        cut[tiny] = np.trunc(total[tiny] * 2.0 ** (fraction - LEAST)) * 2.0 ** (LEAST - fraction)
    return cut.astype(np.float32)


def _half(total: Array) -> Array:
    """Rounded to the nearest float16, ties to even."""
    return total.astype(np.float16).astype(np.float32)
