"""Running sums along an axis, and reductions of segments of rows."""

from __future__ import annotations

import itertools
from typing import Any

from tilewright.kernels.arrays import Array, count, output, view, view_of_output
from tilewright.kernels.checks import axis_of, check_choice, check_integer, check_rank
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import scans as device
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.kernels.reductions import computed_and_stored, kernel_op, neutral_of
from tilewright.kernels.tiles import strip
from tilewright.tileir.diagnostics import TileValueError

OPS = ("sum", "prod", "max", "min")


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
