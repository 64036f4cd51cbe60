"""RMS, layer and group normalisation, with the residual connection and gradients."""

from __future__ import annotations

import functools
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.kernels.arrays import Array, count, dtype_of, empty, output, rows_of, view, view_of_output
from tilewright.kernels.checks import check_float, check_same_dtype, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import norms as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.launching import blocks, launch, number, power_above
from tilewright.kernels.reductions import sum_of_parts
from tilewright.kernels.tiles import rows_and_width, strip
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError

# The SMs of an H200. Blocks add up their rows' share of the weights' gradients, of which the registers of an SM hold
# 8192 columns, and of two blocks 2048 each. A fixed number, so that the gradient has the same bits on every device.
PARTS, COLUMNS, NARROW = 132, 8192, 2048
# Elements of a group that a block holds: it is then read once, and not three times.
GROUP = 32768


# ---- references -----------------------------------------------------------------------------------------------------


def rms_norm_reference(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """The normalised rows in float64."""
    import numpy as np

    wide_x = x.astype(np.float64)
    normal = wide_x / np.sqrt((wide_x**2).mean(axis=-1, keepdims=True) + eps)
    return normal if weight is None else normal * weight.astype(np.float64)


def add_rms_norm_reference(x: Any, residual: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """The normalised rows of the sum, and the sum, in float64."""
    import numpy as np

    total = (x.astype(np.float64) + residual.astype(np.float64)).astype(x.dtype)
    return rms_norm_reference(total, weight, eps), total


def layer_norm_reference(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The normalised rows in float64."""
    import numpy as np

    wide_x = x.astype(np.float64)
    normal = (wide_x - wide_x.mean(-1, keepdims=True)) / np.sqrt(wide_x.var(-1, keepdims=True) + eps)
    normal = normal if weight is None else normal * weight.astype(np.float64)
    return normal if bias is None else normal + bias.astype(np.float64)


def norm_backward_reference(
    grad: Any, x: Any, weight: Any = None, eps: float = 1e-6, centred: bool = False, added: Any = None
) -> Any:
    """The gradients of x, weight and bias in float64."""
    import numpy as np

    above, t = grad.astype(np.float64), x.astype(np.float64)
    t = t - t.mean(-1, keepdims=True) if centred else t
    scale = 1 / np.sqrt((t**2).mean(-1, keepdims=True) + eps)
    normal = t * scale
    scaled = above if weight is None else above * weight.astype(np.float64)
    slope = scaled - normal * (scaled * normal).mean(-1, keepdims=True)
    slope = (slope - scaled.mean(-1, keepdims=True) if centred else slope) * scale
    axes = tuple(range(x.ndim - 1))
    dx = slope if added is None else slope + added.astype(np.float64)
    return dx, (above * normal).sum(axis=axes), above.sum(axis=axes) if centred else np.zeros(0)


def group_norm_reference(x: Any, groups: int, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """The normalised groups in float64."""
    import numpy as np

    t = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    t = ((t - t.mean(-1, keepdims=True)) / np.sqrt(t.var(-1, keepdims=True) + eps)).reshape(x.shape)
    channel = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    return t * weight.astype(np.float64).reshape(channel) + bias.astype(np.float64).reshape(channel)


def group_norm_backward_reference(grad: Any, x: Any, groups: int, weight: Any, eps: float = 1e-5) -> Any:
    """The gradients of x, weight and bias in float64."""
    import numpy as np

    channel = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    above, t = grad.astype(np.float64), x.astype(np.float64).reshape(x.shape[0], groups, -1)
    t = t - t.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((t**2).mean(-1, keepdims=True) + eps)
    normal = t * scale
    scaled = (above * weight.astype(np.float64).reshape(channel)).reshape(t.shape)
    dx = (scaled - normal * (scaled * normal).mean(-1, keepdims=True) - scaled.mean(-1, keepdims=True)) * scale
    axes = (0, *range(2, x.ndim))
    return dx.reshape(x.shape), (above * normal.reshape(x.shape)).sum(axis=axes), above.sum(axis=axes)


# ---- rows -----------------------------------------------------------------------------------------------------------


def _plan(function: str, x: Array) -> tuple[int, int]:
    if len(x.shape) == 0:
        raise TileValueError(f"{function}: x has no axis")
    found = rows_and_width(x, x.shape[-1])
    if found is None:
        raise TileUnsupportedFeatureError(f"{function}: rows of {x.shape[-1]} elements are longer than a block holds, "
                                          "65536")
    return found


def _check(function: str, x: Array, weight: Array | None, bias: Array | None = None) -> tuple[int, int]:
    check_float(function, x=x, weight=weight, bias=bias)
    plan = _plan(function, x)
    for name, vector in (("weight", weight), ("bias", bias)):
        check_shape(function, name, vector, (x.shape[-1],), "the last axis of x")
    return plan


def _norm(
    function: str, x: Array, residual: Array | None, weight: Array | None, bias: Array | None, eps: float,
    centred: bool, out: Array | None,
) -> tuple[Array, Array | None]:
    rows, width = _check(function, x, weight, bias)
    result = output(function, out, x, x.shape)
    shape = (count(x.shape[:-1]), x.shape[-1])
    total = None if residual is None else empty(x, x.shape)
    flat = None if total is None else view(total, shape)
    launch(device.norm_rows, (blocks(shape[0], rows),), rows_of(x), None if residual is None else rows_of(residual),
           weight, bias, view_of_output(function, result, shape), flat, eps, centred, rows, width)
    return result, total


@functools.cache
def backward_kernel(width: int) -> tile_kernel:
    """The kernel for gradients of rows of this padded width: CTAs of a cluster hold COLUMNS each, so that the sums of
    gradients stay in registers."""
    kernel = device.norm_rows_backward
    return kernel if width <= COLUMNS else kernel.replace_hints(num_ctas=blocks(width, COLUMNS))


@library_function(reference=norm_backward_reference)
def norm_backward(
    grad: Array, x: Array, weight: Array | None = None, eps: float = 1e-6, centred: bool = False,
    added: Array | None = None,
) -> tuple[Array, Array, Array]:
    """The gradients of `rms_norm`, and with `centred` of `layer_norm`, in one pass over x and grad.

    Arguments: `grad`, the cotangent, and `x`, of one shape; `weight` and `eps` as in the forward pass; `added`, what is
        added to the gradient of x, such as the cotangent of a sum that was normalised.
    Result: the gradients of x, of the weight and of the bias, which is empty of `rms_norm`. They have the same bits in
        every run.
    """
    name = "norm_backward"
    _, width = _check(name, x, weight)
    check_float(name, grad=grad, added=added)
    check_shape(name, "grad", grad, x.shape, "the shape of x")
    check_shape(name, "added", added, x.shape, "the shape of x")
    m, n = count(x.shape[:-1]), x.shape[-1]
    rows = max(1, min(8, NARROW // width))
    most = 2 * PARTS if width <= NARROW else PARTS // blocks(width, COLUMNS)
    parts = min(blocks(number(m), rows), most)
    dx, dtype = empty(x, x.shape), dtype_of(x if weight is None else weight)
    of_weight, of_bias = (empty(x, (parts, n), wide(dtype_of(x))) if there else None for there in (True, centred))
    launch(backward_kernel(width), (parts,), rows_of(grad), None if added is None else rows_of(added), rows_of(x),
           weight, view(dx, (m, n)), of_weight, of_bias, eps, centred, rows, width)
    dw = sum_of_parts(of_weight, dtype)
    return dx, dw, empty(x, (0,), dtype) if of_bias is None else sum_of_parts(of_bias, dtype)


def _rms_gradient(grad: Any, x: Any, weight: Any, eps: Any) -> Any:
    dx, dw, _ = norm_backward(grad, x, weight, eps)
    return dx, None if weight is None else dw


def _add_rms_gradient(grads: Any, outputs: Any, weight: Any, eps: Any) -> Any:
    dx, dw, _ = norm_backward(grads[0], outputs[1], weight, eps, False, grads[1])
    return dx, dx, None if weight is None else dw


def _layer_gradient(grad: Any, x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    dx, dw, db = norm_backward(grad, x, weight, eps, True)
    return dx, None if weight is None else dw, None if bias is None else db


@library_function(reference=rms_norm_reference, backward=_rms_gradient)
def rms_norm(x: Array, weight: Array | None = None, eps: float = 1e-6, *, out: Array | None = None) -> Array:
    """x / sqrt(mean of squares + eps) * weight, along the last axis, computed in float32 (float64 of float64).

    Arguments: `x`, floats of any shape, rows of at most 65536; `weight`, floats, one for each column, or None.
    Options: `out`, an array like `x` to write to, contiguous.
    Result: an array like `x`.
    Errors: TileTypeError for another dtype, TileValueError for shapes that do not fit, TileUnsupportedFeatureError for
        longer rows.
    """
    return _norm("rms_norm", x, None, weight, None, eps, False, out)[0]


@library_function(reference=add_rms_norm_reference, backward=_add_rms_gradient, autocast="widest")
def add_rms_norm(
    x: Array, residual: Array, weight: Array | None = None, eps: float = 1e-6
) -> tuple[Array, Array]:
    """`rms_norm` of x + residual, and x + residual itself: one pass over memory.

    Arguments: `x` and `residual`, floats of one shape and dtype; the rest as in `rms_norm`.
    Result: the normalised rows and the sum, arrays like `x`.
    Errors: those of `rms_norm`.
    """
    check_same_dtype("add_rms_norm", x=x, residual=residual)
    check_shape("add_rms_norm", "residual", residual, x.shape, "the shape of x")
    result, total = _norm("add_rms_norm", x, residual, weight, None, eps, False, None)
    return result, total


@library_function(reference=layer_norm_reference, backward=_layer_gradient)
def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5, *, out: Array | None = None
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias, along the last axis, computed in float32 (float64 of float64).

    Arguments, options, result and errors: as of `rms_norm`; `bias`, one float for each column, or None.
    """
    return _norm("layer_norm", x, None, weight, bias, eps, True, out)[0]


# ---- groups ---------------------------------------------------------------------------------------------------------


def _group_plan(function: str, x: Array, groups: int, weight: Array) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """The view (examples * groups, channels, places) and the tile of it that a block holds."""
    check_float(function, x=x, weight=weight)
    if len(x.shape) < 2 or groups < 1 or x.shape[1] % groups:
        raise TileValueError(f"{function}: x has the shape {tuple(x.shape)}; its second axis, the channels, must be a "
                             f"multiple of groups, {groups}")
    check_shape(function, "weight", weight, (x.shape[1],), "the channels of x")
    channels = x.shape[1] // groups
    shape = (x.shape[0] * groups, channels, count(x.shape[2:]))
    wide_channels = power_above(channels)
    return shape, (wide_channels, max(1, strip(power_above(shape[2]), 1, 4096)[0] // wide_channels))


@library_function(reference=group_norm_backward_reference)
def group_norm_backward(
    grad: Array, x: Array, groups: int, weight: Array, eps: float = 1e-5
) -> tuple[Array, Array, Array]:
    """The gradients of `group_norm` for x, weight and bias. They have the same bits in every run."""
    name = "group_norm_backward"
    shape, tile = _group_plan(name, x, groups, weight)
    check_shape(name, "grad", grad, x.shape, "the shape of x")
    dx, sums = empty(x, x.shape), [empty(x, shape[:2], wide(dtype_of(x))) for _ in range(2)]
    launch(device.norm_groups_backward, (shape[0],), view(grad, shape), view(x, shape),
           view(weight, (groups, shape[1])), view(dx, shape), *sums, eps, *tile)
    by_channel = [view(part, (x.shape[0], x.shape[1])) for part in sums]
    return dx, sum_of_parts(by_channel[0], dtype_of(weight)), sum_of_parts(by_channel[1], dtype_of(weight))


def _group_gradient(grad: Any, x: Any, groups: Any, weight: Any, eps: Any) -> Any:
    return group_norm_backward(grad, x, groups, weight, eps)


@library_function(reference=group_norm_reference, backward=_group_gradient)
def group_norm(
    x: Array, groups: int, weight: Array, bias: Array, eps: float = 1e-5, *, out: Array | None = None
) -> Array:
    """Normalise groups of channels of each example, then scale and shift each channel.

    Arguments: `x`, floats, (examples, channels, ...); `groups`, of channels; `weight` and `bias`, (channels,).
    Options: `out`, an array like `x` to write to, contiguous.
    Result: an array like `x`.
    Errors: TileTypeError for another dtype; TileValueError for shapes that do not fit.
    """
    shape, tile = _group_plan("group_norm", x, groups, weight)
    check_float("group_norm", bias=bias)
    check_shape("group_norm", "bias", bias, (x.shape[1],), "the channels of x")
    result = output("group_norm", out, x, x.shape)
    by_group, places = (groups, shape[1]), power_above(shape[2])
    kernel, tile = ((device.norm_whole_groups, (tile[0], places)) if tile[0] * places <= GROUP else
                    (device.norm_groups, tile))
    launch(kernel, (shape[0],), view(x, shape), view(weight, by_group), view(bias, by_group),
           view_of_output("group_norm", result, shape), eps, *tile)
    return result
