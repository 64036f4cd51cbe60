"""Softmax along an axis, with its gradient."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, count, output, view, view_of_output
from tilewright.kernels.checks import axis_of, check_float, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import softmax as device
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.kernels.tiles import rows_and_width, strip
from tilewright.tileir.diagnostics import TileValueError


def softmax_reference(x: Any, axis: int = -1) -> Any:
    """The softmax in float64."""
    import numpy as np

    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_backward_reference(grad: Any, output: Any, axis: int = -1) -> Any:
    """The gradient of the softmax in float64."""
    import numpy as np

    above, share = grad.astype(np.float64), output.astype(np.float64)
    return share * (above - (above * share).sum(axis=axis, keepdims=True))


def _axis(function: str, x: Array, axis: int) -> int:
    rank = len(x.shape)
    if rank == 0:
        raise TileValueError(f"{function}: x has no axis")
    return axis_of(function, axis, rank)


@library_function(reference=softmax_backward_reference)
def softmax_backward(grad: Array, output: Array, axis: int = -1, *, out: Array | None = None) -> Array:
    """The gradient of `softmax`. Arguments: `grad`, the cotangent, and `output`, what `softmax` returned, of one shape;
    `axis` as there. Result: an array of that shape, of the dtype of `output`."""
    check_float("softmax_backward", grad=grad, output=output)
    check_shape("softmax_backward", "grad", grad, output.shape, "the shape of output")
    axis = _axis("softmax_backward", output, axis)
    result = _output("softmax_backward", out, output)
    _along(device.softmax_rows_backward, device.softmax_middle_backward, "softmax_backward", (grad, output), result,
           axis)
    return result


@library_function(reference=softmax_reference, backward=softmax_backward)
def softmax(x: Array, axis: int = -1, *, out: Array | None = None) -> Array:
    """The softmax along one axis, computed in float32 (float64 of float64).

    Arguments: `x`, floats of any shape with an axis; `axis`.
    Options: `out`, an array of the shape and dtype of `x` to write to, contiguous.
    Result: an array like `x`.
    Errors: TileTypeError for another dtype; TileValueError for an axis that is not there.

    Example:
        x = np.log(np.array([[1.0, 2.0, 5.0]]))
        print(softmax(x))  # [[0.125 0.25  0.625]]
        softmax(x, axis=2)  # TileValueError
    """
    check_float("softmax", x=x)
    axis = _axis("softmax", x, axis)
    result = _output("softmax", out, x)
    _along(device.softmax_rows, device.softmax_middle, "softmax", (x,), result, axis)
    return result


def _output(function: str, out: Array | None, like: Array) -> Array:
    return output(function, out, like, like.shape)


def _along(rows: Any, middle: Any, function: str, inputs: tuple[Array, ...], out: Array, axis: int) -> None:
    """Launch the kernel of rows where a block holds a row of the last axis, else the one that walks along the axis."""
    n, outer, inner = out.shape[axis], count(out.shape[:axis]), count(out.shape[axis + 1:])
    plan = rows_and_width(out, n, len(inputs))
    if inner == 1 and plan is not None:
        flat = [*(view(x, (outer, n)) for x in inputs), view_of_output(function, out, (outer, n))]
        launch(rows, (blocks(outer, plan[0]),), *flat, *plan)
        return
    chunk, wide = strip(power_above(n), power_above(inner))
    cube = [*(view(x, (outer, n, inner)) for x in inputs), view_of_output(function, out, (outer, n, inner))]
    launch(middle, (outer, blocks(inner, wide)), *cube, chunk, wide)
