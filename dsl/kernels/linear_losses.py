"""Cross-entropy of a linear layer's outputs, of which only some rows exist at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.kernels.arrays import Array, dtype_of, empty, transposed, zeros
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_same_dtype, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device.common import wide
from tilewright.kernels.elementwise import spread
from tilewright.kernels.losses import (
    cross_entropy,
    cross_entropy_backward,
    cross_entropy_backward_reference,
    cross_entropy_reference,
)
from tilewright.kernels.matmul import multiply
from tilewright.tileir.diagnostics import TileValueError

# Rows whose logits exist at a time: enough tiles for all SMs, of 128256 classes 0.5 GB in bfloat16.
ROWS = 2048


def linear_cross_entropy_reference(
    x: Any, weight: Any, labels: Any, smoothing: float = 0.0, ignored: int = -100
) -> Any:
    """The losses in float64."""
    import numpy as np

    return cross_entropy_reference(x.astype(np.float64) @ weight.astype(np.float64).T, labels, smoothing, ignored)


def linear_cross_entropy_backward_reference(
    grad: Any, x: Any, weight: Any, labels: Any, smoothing: float = 0.0, ignored: int = -100
) -> Any:
    """The gradients of x and weight in float64."""
    import numpy as np

    wide_x, wide_w = x.astype(np.float64), weight.astype(np.float64)
    dz = cross_entropy_backward_reference(grad, wide_x @ wide_w.T, labels, smoothing, ignored)
    return dz @ wide_w, dz.T @ wide_x


def _check(function: str, x: Array, weight: Array, labels: Array) -> None:
    check_float(function, x=x, weight=weight)
    check_same_dtype(function, x=x, weight=weight)
    check_integer(function, labels=labels)
    check_rank(function, "x", x, 2)
    check_rank(function, "weight", weight, 2)
    check_shape(function, "labels", labels, (x.shape[0],), "one for each row of x")
    if x.shape[1] != weight.shape[1]:
        raise TileValueError(f"{function}: x has the shape {tuple(x.shape)} and weight {tuple(weight.shape)}; the last "
                             "axes must be as long as each other")


def _parts(x: Array, weight: Array, labels: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
    """Some rows at a time: where they are, the rows, their logits and their labels. None of rows whose number is a
    symbol, with which torch.compile traces: launches do not run then, and nothing comes of what they are given."""
    if type(x.shape[0]) is not int:
        return
    for start in range(0, x.shape[0], ROWS):
        here = slice(start, min(start + ROWS, x.shape[0]))
        logits = empty(x, (here.stop - start, weight.shape[0]))
        multiply(x[here], transposed(weight), logits)
        yield here, x[here], logits, labels[here]


@library_function(reference=linear_cross_entropy_backward_reference)
def linear_cross_entropy_backward(
    grad: Array, x: Array, weight: Array, labels: Array, smoothing: float = 0.0, ignored: int = -100
) -> tuple[Array, Array]:
    """The gradients of `linear_cross_entropy` for x and weight. The logits are computed a second time, and
    overwritten by their gradients; those of the weight are added up in float32 (float64 of float64)."""
    name = "linear_cross_entropy_backward"
    _check(name, x, weight, labels)
    check_shape(name, "grad", grad, labels.shape, "the shape of labels")
    dx, total = empty(x, x.shape), zeros(weight, weight.shape, wide(dtype_of(weight)))
    for here, rows, logits, mine in _parts(x, weight, labels):
        cross_entropy_backward.plain(grad[here], logits, mine, smoothing, ignored, out=logits)
        multiply(logits, weight, dx[here])
        multiply(transposed(logits), rows, total, c=total, beta=1.0)
    return dx, total if dtype_of(total) is dtype_of(weight) else spread(total, weight, 1)


def _gradient(grad: Any, x: Any, weight: Any, labels: Any, smoothing: Any, ignored: Any) -> Any:
    return *linear_cross_entropy_backward(grad, x, weight, labels, smoothing, ignored), None


@library_function(reference=linear_cross_entropy_reference, backward=_gradient, autocast="region")
def linear_cross_entropy(
    x: Array, weight: Array, labels: Array, smoothing: float = 0.0, ignored: int = -100
) -> Array:
    """`cross_entropy` of x @ weight.T, of which 2048 rows exist at a time: the logits of all rows never do.

    Arguments: `x`, floats (rows, k), of a library whose arrays can be sliced; `weight`, (classes, k) of its dtype; the
        rest as of `cross_entropy`.
    Result: losses (rows,) in float32 (float64 of float64).
    Errors: those of `cross_entropy`.
    """
    _check("linear_cross_entropy", x, weight, labels)
    losses = empty(x, labels.shape, wide(dtype_of(x)))
    for here, _, logits, mine in _parts(x, weight, labels):
        cross_entropy.plain(logits, mine, smoothing, ignored, out=losses[here])
    return losses
