"""Cross-entropy of logits and labels, with label smoothing, and its gradient."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, dtype_of, output
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import losses as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.launching import launch, power_above
from tilewright.tileir.diagnostics import TileValueError

# Elements of a row that a block looks at in one iteration.
CHUNK = 4096


def _targets(logits: Any, labels: Any, smoothing: float, ignored: int) -> Any:
    import numpy as np

    m, n = logits.shape
    kept = labels != ignored
    target = np.full((m, n), smoothing / n)
    target[np.arange(m)[kept], labels[kept]] += 1 - smoothing
    return target * kept[:, None], kept


def _log_shares(logits: Any) -> Any:
    import numpy as np

    t = logits.astype(np.float64)
    t = t - t.max(axis=1, keepdims=True)
    return t - np.log(np.exp(t).sum(axis=1, keepdims=True))


def cross_entropy_reference(logits: Any, labels: Any, smoothing: float = 0.0, ignored: int = -100) -> Any:
    """The losses in float64."""
    target, _ = _targets(logits, labels, smoothing, ignored)
    return -(target * _log_shares(logits)).sum(axis=1)


def cross_entropy_backward_reference(
    grad: Any, logits: Any, labels: Any, smoothing: float = 0.0, ignored: int = -100
) -> Any:
    """The gradient of the logits in float64."""
    import numpy as np

    target, kept = _targets(logits, labels, smoothing, ignored)
    return (np.exp(_log_shares(logits)) * kept[:, None] - target) * grad.astype(np.float64)[:, None]


def _check(function: str, logits: Array, labels: Array, smoothing: float) -> float | None:
    """The smoothing, None where there is none."""
    check_float(function, logits=logits)
    check_integer(function, labels=labels)
    check_rank(function, "logits", logits, 2)
    check_shape(function, "labels", labels, (logits.shape[0],), "one for each row of logits")
    if not 0.0 <= smoothing <= 1.0:
        raise TileValueError(f"{function}: smoothing is {smoothing}; it must be from 0 to 1")
    if logits.shape[1] == 0:
        raise TileValueError(f"{function}: logits has no class")
    return smoothing or None


def _chunk(logits: Array) -> int:
    return min(power_above(logits.shape[1]), CHUNK)


@library_function(reference=cross_entropy_backward_reference)
def cross_entropy_backward(
    grad: Array, logits: Array, labels: Array, smoothing: float = 0.0, ignored: int = -100, *, out: Array | None = None
) -> Array:
    """The gradient of `cross_entropy` for the logits. `out` may be `logits` itself: it is then overwritten."""
    name = "cross_entropy_backward"
    wanted = _check(name, logits, labels, smoothing)
    check_float(name, grad=grad)
    check_shape(name, "grad", grad, (logits.shape[0],), "one for each row of logits")
    result = output(name, out, logits, logits.shape)
    launch(device.cross_entropy_rows_backward, (logits.shape[0],), grad, logits, labels, result, wanted, ignored,
           _chunk(logits))
    return result


def _gradient(grad: Any, logits: Any, labels: Any, smoothing: Any, ignored: Any) -> Any:
    return cross_entropy_backward(grad, logits, labels, smoothing, ignored), None


@library_function(reference=cross_entropy_reference, backward=_gradient)
def cross_entropy(
    logits: Array, labels: Array, smoothing: float = 0.0, ignored: int = -100, *, out: Array | None = None
) -> Array:
    """The cross-entropy of each row, computed in float32 (float64 of float64), whatever the number of classes.

    Arguments: `logits`, floats (rows, classes); `labels`, integers (rows,): one outside the classes gives NaN or an
        undefined loss, except `ignored`.
    Options: `smoothing`, the share of the target that is spread over all classes; `ignored`, the label of rows whose
        loss and gradient are 0; `out`, floats (rows,) to write to.
    Result: losses (rows,) in float32 (float64 of float64).
    Errors: TileTypeError for other dtypes, TileValueError for shapes that do not fit.
    """
    wanted = _check("cross_entropy", logits, labels, smoothing)
    result = output("cross_entropy", out, logits, (logits.shape[0],), wide(dtype_of(logits)))
    launch(device.cross_entropy_rows, (logits.shape[0],), logits, labels, result, wanted, ignored, _chunk(logits))
    return result
