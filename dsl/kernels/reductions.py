"""Reductions over any axes: sum, mean, product, maximum, minimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, empty, output, view, view_of_output, zeros
from tilewright.kernels.checks import axis_of, check_choice
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import reductions as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.elementwise import spread
from tilewright.kernels.launching import blocks, launch, number, power_above
from tilewright.kernels.tiles import WORDS_PER_BLOCK, strip
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType, bool_, int64

OPS = ("sum", "mean", "prod", "max", "min")
# A reduction with few results is cut into parts, so that a GPU has enough blocks; each has at least so many chunks.
MOST_PARTS, CHUNKS_PER_PART = 256, 8
# Words of a tile of such a part, where results lie side by side, and how many of them at most: sums of the columns of
# 8192 x 2048 bfloat16 elements take 11.1 us on an H200, by tiles of 2048 words, 64 of them across, 12.9.
PART_WORDS, PART_ACROSS = 4096, 128
# Words of a tile along rows. Shorter rows are reduced together, unless too few blocks would be left: sums of 8192 rows
# of 2048 and 8192 columns take 9.2 and 47.8 us on an H100, row by row 9.6 and 48.4, by 2048 words 11.4 and 48.5.
ROW_WORDS, FEW_BLOCKS = 4096, 512


def reduce_reference(x: Any, op: str = "sum", axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The reduction in float64, of integers in int64."""
    import numpy as np

    values = x.astype(np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64)
    return getattr(np, op)(values, axis=None if axis is None else tuple(axis), keepdims=keepdims)


def reduce_backward_reference(grad: Any, x: Any, op: str, axis: Sequence[int] | None = None) -> Any:
    """The gradient of a sum or mean."""
    import numpy as np

    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in axis)
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    share = 1 / count([x.shape[a] for a in axes]) if op == "mean" else 1
    return np.broadcast_to(grad.astype(np.float64).reshape(kept) * share, x.shape)


def _axes(function: str, rank: int, axis: Sequence[int] | None) -> list[int]:
    if axis is None:
        return list(range(rank))
    if not isinstance(axis, Sequence):
        raise TileTypeError(f"{function}: axis is {axis!r}; it must be a tuple of axes, such as ({axis!r},), or None")
    found = [axis_of(function, a, rank) for a in axis]
    if len(set(found)) < len(found):
        raise TileValueError(f"{function}: axis {tuple(axis)} names an axis twice")
    return sorted(found)


def _groups(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring axes as ranges, the last ones first: (first, behind the last)."""
    out: list[tuple[int, int]] = []
    for a in axes:
        if out and out[-1][1] == a:
            out[-1] = (out[-1][0], a + 1)
        else:
            out.append((a, a + 1))
    return out[::-1]


def neutral_of(op: str, dtype: DType) -> float | int:
    """The number that changes no result of a reduction."""
    if op in ("sum", "prod"):
        return int(op == "prod")
    if not dtype.is_int:
        return -math.inf if op == "max" else math.inf
    signed = dtype.name.startswith("int")
    low = -(1 << (8 * dtype.bytes) - 1) if signed else 0
    return low if op == "max" else low + (1 << (8 * dtype.bytes)) - 1


def kernel_op(op: str, dtype: DType) -> str:
    """The name of a reduction in kernels: the extremes of integers know no NaN."""
    return {"max": "most", "min": "least"}.get(op, op) if dtype.is_int else op


def computed_and_stored(function: str, op: str, x: Array) -> tuple[DType, DType]:
    """What is computed in, and the dtype of the result."""
    dtype = dtype_of(x)
    if dtype is bool_ or (op == "mean" and not dtype.is_float):
        raise TileTypeError(f"{function}: x has the dtype {dtype}, of which there is no {op}",
                            hints=["convert it first"])
    if dtype.is_float:
        return wide(dtype), dtype
    return (int64, int64) if op in ("sum", "prod") else (dtype, dtype)


def middle(x: Array, out: Array, op: str, dtype: DType, divisor: int | None) -> None:
    """Reduce a view (outer, n, inner) along n into (outer, 1, inner), in two passes where there are few results."""
    outer, n, inner = x.shape
    alone = number(inner) == 1
    chunk, across = strip(power_above(n), power_above(inner), ROW_WORDS if alone else WORDS_PER_BLOCK)
    rows = max(1, min(ROW_WORDS // chunk, power_above(outer) // FEW_BLOCKS)) if alone else 1
    neutral, op = neutral_of(op, dtype), kernel_op(op, dtype)
    groups, columns = blocks(outer, rows), blocks(inner, across)

    def parts_of(columns: int, chunk: int) -> int:
        results = number(groups) * number(columns)
        return min(MOST_PARTS // max(1, results), blocks(number(n), chunk * CHUNKS_PER_PART))

    if parts_of(columns, chunk) > 1:
        tall, broad = (chunk, across) if alone else strip(power_above(n), power_above(inner), PART_WORDS, PART_ACROSS)
        parts = parts_of(blocks(inner, broad), tall)
        partial = empty(x, (outer, parts, inner), dtype)
        launch(device.reduce_middle, (groups, blocks(inner, broad), parts), x, partial, op, dtype, neutral, None,
               (rows, tall, broad), False)
        x, n, chunk = partial, parts, min(chunk, power_above(parts))
    launch(device.reduce_middle, (groups, columns, 1), x, out, op, dtype, neutral, divisor, (rows, chunk, across),
           number(n) <= chunk)


def sum_of_parts(parts: Array, dtype: DType) -> Array:
    """The sum of the rows of (parts, n), in their order."""
    out = empty(parts, (1, 1, parts.shape[1]), dtype)
    middle(view(parts, (1, *parts.shape)), out, "sum", dtype_of(parts), None)
    return view(out, (parts.shape[1],))


@library_function(reference=reduce_backward_reference)
def reduce_backward(grad: Array, x: Array, op: str, axis: Sequence[int] | None = None) -> Array:
    """The gradient of a sum or mean by `reduce`: `grad`, with the reduced axes or without, spread over x."""
    if op not in ("sum", "mean"):
        raise TileValueError(f"reduce: {op} has no gradient here; sum and mean have one")
    axes = _axes("reduce_backward", len(x.shape), axis)
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    return spread(view(grad, kept), x, count([x.shape[a] for a in axes]) if op == "mean" else 1)


def _gradient(grad: Any, x: Any, op: Any, axis: Any) -> Any:
    return reduce_backward(grad, x, op, axis)


@library_function(reference=reduce_reference, backward=_gradient)
def reduce(
    x: Array, op: str = "sum", axis: Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None
) -> Array:
    """Reduce over axes: "sum", "mean", "prod", "max" or "min". Deterministic: the order depends on the shape alone.

    Arguments: `x`, of any dtype that can be computed with; `op`; `axis`, a tuple of axes, or None for all.
    Options: `keepdims` keeps the reduced axes with length 1; `out`, an array to write to, contiguous.
    Result: an array of the dtype of `x`; sums and products of integers are int64. Floats are added up in float32
        (float64 in float64). NaN among the elements gives NaN.
    Errors: TileTypeError for bools and for means of integers; TileValueError for an axis that is not there, and for a
        maximum or minimum of no element.
    """
    check_choice("reduce", "op", op, OPS)
    axes = _axes("reduce", len(x.shape), axis)
    computed, stored = computed_and_stored("reduce", op, x)
    shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
    final = shape if keepdims else [n for a, n in enumerate(x.shape) if a not in axes]
    n = count([x.shape[a] for a in axes])
    if n == 0 and op in ("max", "min") and 0 not in final:
        raise TileValueError(f"reduce: there is no {op} of no element; x has the shape {tuple(x.shape)}")
    result = output("reduce", out, x, final, stored)
    target = view_of_output("reduce", result, shape)
    groups = _groups(axes) or [(0, 0)]
    for k, (first, stop) in enumerate(groups):
        last = k == len(groups) - 1
        kept = [*x.shape[:first], *[1] * (stop - first), *x.shape[stop:]]
        into = target if last else zeros(x, kept, computed)
        inner = count(x.shape[stop:])
        cube = (count(x.shape[:first]), count(x.shape[first:stop]), inner)
        middle(view(x, cube), view(into, (cube[0], 1, inner)), "sum" if op == "mean" else op, computed,
               n if op == "mean" and last else None)
        x = into
    return result
