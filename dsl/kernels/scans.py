"""Running sums along an axis, reductions of segments of rows, and segments sorted."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tilewright.kernels.arrays import Array, count, output, view, view_of_output
from tilewright.kernels.checks import axis_of, check_choice, check_integer, check_rank
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import scans as device
from tilewright.kernels.launching import blocks, launch, number, power_above
from tilewright.kernels.reductions import computed_and_stored, kernel_op, neutral_of
from tilewright.kernels.tiles import strip
from tilewright.tileir.diagnostics import TileValueError

OPS = ("sum", "prod", "max", "min")
# The longest segment that a block sorts.
LONGEST_SORTED = 4096


def cumsum_reference(x: Any, axis: int = -1, reverse: bool = False) -> Any:
    """The running sums in float64, of integers in int64."""
    import numpy as np

    values = x.astype(np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64)
    return np.flip(np.cumsum(np.flip(values, axis), axis=axis), axis) if reverse else np.cumsum(values, axis=axis)


def segmented_reduce_reference(x: Any, offsets: Any, op: str = "sum") -> Any:
    """The reduction of each segment in float64, of integers in int64."""
    import numpy as np

    values = x.astype(np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64)
    segments = [values[a:b] for a, b in itertools.pairwise(offsets)]
    return np.stack([getattr(np, op)(s, axis=0) for s in segments])


def segmented_sort_reference(x: Any, offsets: Any, longest: int = 0, descending: bool = False) -> Any:
    """Each segment sorted, with NaNs last, or first if descending."""
    import numpy as np

    out = x.copy()
    for a, b in itertools.pairwise(offsets):
        out[a:b] = np.sort(x[a:b])[::-1] if descending else np.sort(x[a:b])
    return out


def _gradient(grad: Any, x: Any, axis: Any, reverse: Any) -> Any:
    return cumsum(grad, axis, not reverse)


@library_function(reference=cumsum_reference, backward=_gradient)
def cumsum(x: Array, axis: int = -1, reverse: bool = False, *, out: Array | None = None) -> Array:
    """The sum of what stands up to each element of an axis, itself included.

    Arguments: `x`, numbers of any shape with an axis; `axis`.
    Options: `reverse` sums from the end on; `out`, an array to write to, contiguous.
    Result: an array of the dtype of `x`, of integers int64. Floats are added up in float32 (float64 in float64). One
        block goes along an axis, so that a GPU needs many other elements to be busy.
    Errors: TileTypeError for bools, TileValueError for an axis that is not there.
    """
    if len(x.shape) == 0:
        raise TileValueError("cumsum: x has no axis")
    axis = axis_of("cumsum", axis, len(x.shape))
    computed, stored = computed_and_stored("cumsum", "sum", x)
    result = output("cumsum", out, x, x.shape, stored)
    cube = (count(x.shape[:axis]), x.shape[axis], count(x.shape[axis + 1:]))
    chunk, inner = strip(power_above(cube[1]), power_above(cube[2]))
    launch(device.scan_middle, (cube[0], blocks(cube[2], inner)), view(x, cube),
           view_of_output("cumsum", result, cube), computed, reverse, chunk, inner)
    return result


@library_function(reference=segmented_reduce_reference)
def segmented_reduce(x: Array, offsets: Array, op: str = "sum", *, out: Array | None = None) -> Array:
    """The reduction of x[offsets[s] : offsets[s + 1]] along its first axis, for each segment s.

    Arguments: `x`, numbers (n, ...); `offsets`, integers (segments + 1,), not decreasing, from 0 to n; `op`, "sum",
        "prod", "max" or "min": of an empty segment 0, 1, and the least and the largest number there is.
    Options: `out`, an array to write to, contiguous.
    Result: an array (segments, ...) of the dtype of `x`; sums and products of integers are int64.
    Errors: TileTypeError for bools, TileValueError for an unknown op.
    """
    name = "segmented_reduce"
    check_choice(name, "op", op, OPS)
    check_integer(name, offsets=offsets)
    check_rank(name, "offsets", offsets, 1)
    if len(x.shape) == 0 or offsets.shape[0] == 0:
        raise TileValueError(f"{name}: x has the shape {tuple(x.shape)} and offsets {tuple(offsets.shape)}; x must "
                             "have an axis, and offsets an entry more than there are segments")
    computed, stored = computed_and_stored(name, op, x)
    segments, k = offsets.shape[0] - 1, count(x.shape[1:])
    result = output(name, out, x, (segments, *x.shape[1:]), stored)
    width = min(power_above(k), 64)
    chunk = max(1, 2048 // width)
    launch(device.reduce_segments, (segments, blocks(k, width)), view(x, (x.shape[0], k)), offsets,
           view_of_output(name, result, (segments, k)), kernel_op(op, computed), computed, neutral_of(op, computed),
           chunk, width)
    return result


@library_function(reference=segmented_sort_reference)
def segmented_sort(
    x: Array, offsets: Array, longest: int = 0, descending: bool = False, *, out: Array | None = None
) -> Array:
    """The elements of x[offsets[s] : offsets[s + 1]] in ascending order, for each segment s.

    Arguments: `x`, numbers (n,); `offsets`, integers (segments + 1,), not decreasing, the first 0 and the last n;
        `longest`, the most elements that a segment has, at most 4096, or 0 where n is no more than that.
    Options: `descending`; `out`, an array like `x` to write to, which may be `x`.
    Result: an array like `x`. NaNs are last, or first if descending; -0.0 is before 0.0.
    Errors: TileTypeError for bools, TileValueError where segments may be too long.
    """
    name = "segmented_sort"
    check_integer(name, offsets=offsets)
    check_rank(name, "offsets", offsets, 1)
    check_rank(name, "x", x, 1)
    dtype = computed_and_stored(name, "max", x)[1]
    n = number(x.shape[0])
    most = longest or n
    if not 0 <= most <= LONGEST_SORTED:
        raise TileValueError(f"{name}: longest is {longest}, and x has {n} elements; a block sorts at most "
                             f"{LONGEST_SORTED}", hints=["give the length of the longest segment as longest="])
    result = output(name, out, x, x.shape)
    # What fills a tile comes last: NaN is last of all floats, and first in descending order.
    last = neutral_of("max" if descending else "min", dtype) if descending or dtype.is_int else math.nan
    launch(device.sort_segments, (offsets.shape[0] - 1,), x, offsets, result, last, descending, power_above(most))
    return result
