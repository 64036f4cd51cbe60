"""Element by element: a function of a user's over broadcast arrays, gated activations, rotary embedding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.kernels.arrays import (
    Array,
    alike,
    count,
    dtype_of,
    empty,
    is_tensor,
    output,
    rows_of,
    view,
    view_of_output,
)
from tilewright.kernels.checks import check_choice, check_float, check_rank, check_same_dtype, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import elementwise as device
from tilewright.kernels.device.activations import NAMES, ROOT_2_PI
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

# Elements of a tile: 8 for each of 128 threads.
TILE = 1024
# Heads of which a block of rotary embedding takes so many elements each (H100, 4x32x4096x128: 94 us, of one 99).
HEADS = 2
NUMBER = (int, float)


# ---- a user's function ----------------------------------------------------------------------------------------------


def broadcast_shape(function: str, arrays: Sequence[Array]) -> tuple[int, ...]:
    """The common shape of arrays, as NumPy has it. TileValueError where there is none."""
    rank = max((len(x.shape) for x in arrays), default=0)
    padded = [(1,) * (rank - len(x.shape)) + tuple(x.shape) for x in arrays]
    out = []
    for extents in zip(*padded, strict=True):
        lengths = {n for n in extents if n != 1}
        if len(lengths) > 1:
            listed = ", ".join(str(tuple(x.shape)) for x in arrays)
            raise TileValueError(f"{function}: the shapes {listed} do not broadcast",
                                 hints=["aligned at the last axis, lengths must be equal or 1"])
        out.append(lengths.pop() if lengths else 1)
    return tuple(out)


def _merged(shape: Sequence[int], arrays: Sequence[Array]) -> tuple[list[int], list[list[int]]]:
    """The shape of the result, and that of each array, with neighbouring axes made one where each array has both of
    them or neither."""
    padded = [(1,) * (len(shape) - len(x.shape)) + tuple(x.shape) for x in arrays]
    result: list[int] = []
    each: list[list[int]] = [[] for _ in arrays]
    before: list[bool] | None = None
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        whole = [bool(x[axis] != 1) for x in padded]
        if whole == before:
            result[-1] *= n
        else:
            result.append(n)
        for extents, has in zip(each, whole, strict=True):
            if whole != before:
                extents.append(n if has else 1)
            elif has:
                extents[-1] *= n
        before = whole
    return result or [1], [extents or [1] for extents in each]


def _launch_transform(function: Any, values: Sequence[Any], out: Array) -> None:
    arrays = [x for x in values if not isinstance(x, NUMBER)]
    shape, each = _merged(tuple(out.shape), arrays)
    # With several axes some array is broadcast: a thread then takes vectors of two rows, and reads what they share once
    # (a row of 28672 bfloat16 elements to 4096 rows on an H200: 117 us, with one vector a thread 124).
    width = min(power_above(shape[-1]), TILE)
    tile: tuple[int, ...] = (width,)
    if len(shape) > 1:
        tile = (1,) * (len(shape) - 2) + (min(power_above(shape[-2]), 2 * TILE // width), width)
    grid = tuple(blocks(n, t) for n, t in zip(shape, tile, strict=True))[::-1]
    extents = iter(each)
    views = tuple(x if isinstance(x, NUMBER) else view(x, next(extents)) for x in values)
    shared = tuple(None if isinstance(x, NUMBER) else tuple(bool(n == 1) for n in x.shape) for x in views)
    launch(device.transform_tiles, grid if len(grid) <= 3 else (count(grid),), views,
           view_of_output("transform", out, shape), function, shared, tile)


@public
def transform(
    function: Callable[..., Any], *values: Array, dtype: DType | None = None, out: Array | None = None
) -> Array:
    """A function of tiles on each element of arrays that broadcast: one pass over memory, whatever it computes.

    Arguments: `function`, a helper of the kernel language with as many parameters as there are values; `values`, arrays
        of shapes that broadcast as in NumPy, and numbers, which reach it as int32 and float32.
    Options: `dtype` of the result, by default that of the first array; `out`, an array to write to, contiguous.
    Result: an array of the common shape.
    Errors: TileTypeError without an array, and for a tensor that requires grad; TileValueError for shapes that do not
        broadcast; what compiling the function raises.

    Example:
        x, row = np.array([[1.0], [2.0]]), np.array([10.0, 20.0, 30.0])
        print(transform(lambda a, b: a * b + 1.0, x, row))
        # [[11. 21. 31.]
        #  [21. 41. 61.]]
        transform(lambda a, b: a + b, row, np.ones(2))  # TileValueError
    """
    arrays = [x for x in values if not isinstance(x, NUMBER)]
    if not arrays:
        raise TileTypeError("transform: there is no array to transform")
    if any(is_tensor(x) and x.requires_grad for x in arrays):
        raise TileTypeError("transform: a tensor requires grad, and a function of tiles has no gradient here",
                            hints=["make an operator of it by tw.torch.op, or pass x.detach()"])
    shape = broadcast_shape("transform", arrays)
    result = output("transform", out, arrays[0], shape, dtype)
    _launch_transform(function, values, result)
    return result


def _share(t: Any, n: Any) -> Any:
    return t / n


def spread(x: Array, like: Array, n: int) -> Array:
    """x / n, broadcast to the shape of `like`, of its dtype."""
    out = empty(like, like.shape, dtype_of(like))
    _launch_transform(_share, (x, n), out)
    return out


# ---- gates ----------------------------------------------------------------------------------------------------------


def _activation_reference(t: Any, name: str) -> Any:
    import numpy as np

    if name == "relu":
        return np.maximum(t, 0)
    if name == "silu":
        return t / (1 + np.exp(-t))
    if name == "gelu_tanh":
        return 0.5 * t * (1 + np.tanh(ROOT_2_PI * (t + 0.044715 * t**3)))
    if name == "gelu":
        return 0.5 * t * (1 + np.vectorize(math.erf, otypes=[float])(t * math.sqrt(0.5)))
    return t


def activation_reference(t: Any, name: str) -> Any:
    """The activation in float64."""
    import numpy as np

    return _activation_reference(t.astype(np.float64), name)


def slope_reference(t: Any, name: str) -> Any:
    """The derivative of the activation in float64, by central differences of the formula."""
    import numpy as np

    x, h = t.astype(np.float64), 1e-5
    if name == "relu":
        return (x > 0).astype(np.float64)
    return (_activation_reference(x + h, name) - _activation_reference(x - h, name)) / (2 * h)


def gated_reference(gate: Any, up: Any, activation: str = "silu") -> Any:
    """activation(gate) * up in float64."""
    import numpy as np

    return activation_reference(gate, activation) * up.astype(np.float64)


def gated_backward_reference(grad: Any, gate: Any, up: Any, activation: str = "silu") -> Any:
    """The gradients of gate and up."""
    import numpy as np

    above = grad.astype(np.float64)
    return (above * up.astype(np.float64) * slope_reference(gate, activation),
            above * activation_reference(gate, activation))


def _check_gate(function: str, gate: Array, up: Array, activation: str) -> None:
    check_float(function, gate=gate, up=up)
    check_same_dtype(function, gate=gate, up=up)
    check_choice(function, "activation", activation, NAMES)
    check_shape(function, "up", up, gate.shape, "the shape of gate")
    if len(gate.shape) == 0:
        raise TileValueError(f"{function}: gate has no axis")


def flat_tile(shape: Sequence[int], size: int = TILE) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns of an array, and the tile (rows, width) of an element-wise kernel over them, `size` elements."""
    m, n = count(shape[:-1]), shape[-1]
    width = min(power_above(n), size)
    return (m, n), (max(1, min(size // width, power_above(m))), width)


@library_function(reference=gated_backward_reference)
def gated_backward(grad: Array, gate: Array, up: Array, activation: str = "silu") -> tuple[Array, Array]:
    """The gradients of `gated` for gate and up."""
    _check_gate("gated_backward", gate, up, activation)
    check_shape("gated_backward", "grad", grad, gate.shape, "the shape of gate")
    shape, tile = flat_tile(gate.shape)
    dgate, dup = empty(gate, gate.shape), empty(up, up.shape)
    launch(device.gate_tiles_backward, (blocks(shape[1], tile[1]), blocks(shape[0], tile[0])), rows_of(grad),
           rows_of(gate), rows_of(up), view(dgate, shape), view(dup, shape), activation, *tile)
    return dgate, dup


@library_function(reference=gated_reference, backward=gated_backward, autocast="widest")
def gated(gate: Array, up: Array, activation: str = "silu", *, out: Array | None = None) -> Array:
    """activation(gate) * up: SwiGLU with "silu", GeGLU with "gelu" or "gelu_tanh", computed in float32 (float64 of
    float64).

    Arguments: `gate` and `up`, floats of one shape and dtype; halves of one array may be given as slices of it.
    Options: `out`, an array like `gate` to write to, contiguous.
    Result: an array like `gate`.
    Errors: TileTypeError for another dtype, TileValueError for shapes that differ and for an unknown activation.
    """
    _check_gate("gated", gate, up, activation)
    shape, tile = flat_tile(gate.shape)
    result = output("gated", out, gate, gate.shape)
    launch(device.gate_tiles, (blocks(shape[1], tile[1]), blocks(shape[0], tile[0])), rows_of(gate), rows_of(up),
           view_of_output("gated", result, shape), activation, *tile)
    return result


# ---- rotary embedding -----------------------------------------------------------------------------------------------


def rotary_reference(x: Any, cos: Any, sin: Any, inverse: bool = False) -> Any:
    """The turned channels in float64."""
    import numpy as np

    half = cos.shape[1]
    first, second = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    c, s = cos.astype(np.float64), sin.astype(np.float64) * (-1 if inverse else 1)
    return np.concatenate([first * c - second * s, second * c + first * s], axis=-1)


def _rotary_gradient(grad: Any, x: Any, cos: Any, sin: Any, inverse: Any) -> Any:
    return rotary(grad, cos, sin, not inverse), None, None


@library_function(reference=rotary_reference, backward=_rotary_gradient)
def rotary(x: Array, cos: Array, sin: Array, inverse: bool = False, *, out: Array | None = None) -> Array:
    """Rotary position embedding: channels (i, i + d / 2) of each head turn by the angle of their position.

    Arguments: `x`, floats (batch, heads, tokens, d), with any strides; `cos` and `sin`, floats (tokens, d / 2), which
        get no gradient.
    Options: `inverse` turns back, which is also the gradient; `out`, an array like `x` to write to.
    Result: an array like `x`, also in the order of its axes in memory.
    Errors: TileTypeError for another dtype, TileValueError for shapes that do not fit.
    """
    check_float("rotary", x=x, cos=cos, sin=sin)
    check_rank("rotary", "x", x, 4)
    batch, heads, tokens, d = x.shape
    for name, angles in (("cos", cos), ("sin", sin)):
        check_shape("rotary", name, angles, (tokens, d // 2), "the tokens of x and half of its channels")
    if d % 2:
        raise TileValueError(f"rotary: x has {d} channels; their number must be even")
    result = alike(x) if out is None else output("rotary", out, x, x.shape)
    width = power_above(d // 2)
    rows, beside = max(1, min(power_above(tokens), TILE // width)), min(HEADS, power_above(heads))
    launch(device.rotate, (blocks(tokens, rows), blocks(heads, beside), batch), x, cos, sin, result, inverse, beside,
           rows, width)
    return result
