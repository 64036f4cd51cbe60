"""Matrix multiplies with what follows them: alpha and beta, and the linear layer with its gradient."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import (
    Array,
    count,
    dtype_of,
    empty,
    is_tensor,
    on_host,
    output,
    rows_of,
    transposed,
    view,
)
from tilewright.kernels.arrays import view_of_output as view_of_out
from tilewright.kernels.checks import (
    check_choice,
    check_float,
    check_rank,
    check_same_dtype,
    check_shape,
)
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import matmul as device
from tilewright.kernels.device.activations import NAMES
from tilewright.kernels.elementwise import activation_reference, flat_tile, slope_reference
from tilewright.kernels.launching import blocks, launch, number, power_above
from tilewright.kernels.reductions import reduce
from tilewright.kernels.tiles import (
    PAIRS,
    WORDS_PER_BLOCK,
    at_once,
    columns_beside,
    in_parts,
    matmul_tiles,
    with_rest,
)
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import float32

GROUP = 8  # rows of tiles whose operands stay in L2 while blocks walk over columns


def multiply(
    a: Array, b: Array, out: Array, *, c: Array | None = None, alpha: float = 1.0, beta: float = 0.0,
    bias: Array | None = None, residual: Array | None = None, activation: str = "none", rate: float = 0.0,
    seed: int = 0, tf32: bool = False,
) -> None:
    """Launch a kernel of matrix multiplies: (batches,) (m, k) by (k, n)."""
    m, n, k = number(out.shape[-2]), number(out.shape[-1]), number(a.shape[-1])
    batches = number(out.shape[0]) if len(out.shape) == 3 else 1
    tf32 = tf32 and dtype_of(a) is float32
    alone = bias is residual is None and activation == "none" and not rate and (alpha, beta) == (1.0, 0.0)
    # Dropout's random numbers are ten rounds of integer arithmetic for each element of a tile: a smaller one.
    tile = matmul_tiles(out, dtype_of(a), m, n, k, batches, 128 * 128 if rate else 128 * 256, alone, tf32,
                        is_tensor(a) and number(a.stride(-1)) != 1)
    rows, columns = blocks(m, tile[0]), blocks(n, tile[1])
    tiles = batches * rows * columns
    # 8192 x 1024 x 1024 with bias, GELU and residual by 128 x 256, on an H100: 44 us so, 49 with a block for each tile.
    grid = _at_once(out, tiles, tile)
    single, size = alone and len(out.shape) == 2 and not tf32, dtype_of(a).bytes
    deep, more, parts = in_parts(size, m, n, k, tile) if single else (tile, 0, 1)
    if parts > 1:
        _multiply_parts(a, b, out, deep, more, parts)
        return
    if single and (more := columns_beside(size, m, n, k, tile)):
        grid = _at_once(out, blocks(m, 256) * blocks(n, 128 + more), (256, 256))
        launch(device.multiply_beside, (grid,), a, b, out, 256, 128, tile[2], more, GROUP)
        return
    whole, rest = with_rest(size, m, n, k, batches, tile) if alone and not tf32 else (tile, 0)
    if rest:
        columns = n // whole[1]
        grid = batches * blocks(m, whole[0]) * columns
        launch(device.multiply_with_rest, (grid,), a, b, out, False, *whole, rest, GROUP, columns)
        return
    if alone and len(out.shape) == 2 and tile[:2] in PAIRS:
        launch(device.multiply_walking, (grid,), a, b, out, tf32, *tile, GROUP)
        return
    if alone:
        launch(device.multiply, (rows, columns, batches), a, b, out, tf32, *tile)
        return
    launch(device.multiply_then, (grid,), a, b, c, bias, residual, out, None if alpha == 1.0 else alpha,
           None if beta == 0.0 else beta, activation, rate or None, seed, tf32, *tile, GROUP)


def _at_once(out: Array, tiles: int, tile: tuple[int, ...]) -> int:
    """How many blocks walk over so many tiles of this shape."""
    return tiles if on_host(out) else min(tiles, at_once(out, tile))


def _multiply_parts(a: Array, b: Array, out: Array, tile: tuple[int, int, int], more: int, parts: int) -> None:
    """The product of few tiles, of so many more columns, and much k: a block for each of at most so many parts of k,
    whose sums are added up."""
    m, n, k = number(out.shape[0]), number(out.shape[1]), number(a.shape[1])
    steps = blocks(blocks(k, tile[2]), parts)
    parts = blocks(blocks(k, tile[2]), steps)
    sums = empty(a, (parts, m, n), float32)
    grid = blocks(m, tile[0]), blocks(n, tile[1] + more), parts
    launch(device.multiply_parts, grid, a, b, sums, *tile, more, steps)
    most, width = power_above(parts), min(64, max(16, power_above(n)))
    rows = max(1, min(16, WORDS_PER_BLOCK // (most * width)))
    launch(device.add_parts, (blocks(m, rows), blocks(n, width)), sums, out, most, rows, width)


# ---- matmul ---------------------------------------------------------------------------------------------------------


def matmul_reference(
    a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 0.0, precision: str = "float32"
) -> Any:
    """alpha a @ b + beta c in float64."""
    import numpy as np

    out = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    return out if beta == 0 else out + beta * c.astype(np.float64)


def _matmul_gradient(grad: Any, a: Any, b: Any, c: Any, alpha: Any, beta: Any, precision: Any) -> Any:
    da = matmul(grad, b.mT, None, alpha, 0.0, precision)
    db = matmul(a.mT, grad, None, alpha, 0.0, precision)
    return da, db, None if c is None else grad * beta


@library_function(reference=matmul_reference, backward=_matmul_gradient, autocast="region", apart=("a", "b"))
def matmul(
    a: Array, b: Array, c: Array | None = None, alpha: float = 1.0, beta: float = 0.0, precision: str = "float32", *,
    out: Array | None = None,
) -> Array:
    """alpha * a @ b + beta * c, added up in float32 (float64 of float64). With beta = 0, c is not read.

    Arguments: `a` (m, k) and `b` (k, n), or batches of them with a first axis each, floats of one dtype with any
        strides: a transposed view costs no copy. `c`, (m, n) or batches of it. `alpha` and `beta` are float32.
    Options: `precision`, "tf32" rounds float32 operands for the tensor cores; `out`, an array to write to, which may be
        c itself.
    Result: an array of the dtype of `a`.
    Errors: TileTypeError for dtypes that differ; TileValueError for shapes that do not fit, and for beta without c.

    Example:
        a = np.arange(6.0).reshape(2, 3)
        print(matmul(a, a.T, alpha=2.0))
        # [[ 10.  28.]
        #  [ 28. 100.]]
        matmul(a, a)  # TileValueError
    """
    _check_operands("matmul", a, b, precision)
    shape = (*a.shape[:-1], b.shape[-1])
    if beta != 0.0 and c is None:
        raise TileValueError(f"matmul: beta is {beta}, but there is no c")
    check_float("matmul", c=c)
    check_shape("matmul", "c", c, shape, "the shape of a @ b")
    result = output("matmul", out, a, shape)
    multiply(a, b, result, c=c, alpha=alpha, beta=beta, tf32=precision == "tf32")
    return result


def _check_operands(function: str, a: Array, b: Array, precision: str) -> None:
    check_float(function, a=a, b=b)
    check_same_dtype(function, a=a, b=b)
    check_rank(function, "a", a, 2, 3)
    check_rank(function, "b", b, len(a.shape))
    check_choice(function, "precision", precision, ("float32", "tf32"))
    if tuple(a.shape[:-2]) != tuple(b.shape[:-2]) or a.shape[-1] != b.shape[-2]:
        raise TileValueError(f"{function}: a has the shape {tuple(a.shape)} and b {tuple(b.shape)}; the columns of a "
                             "must be as many as the rows of b, and the batches as many")


# ---- the linear layer -----------------------------------------------------------------------------------------------


def _dropout_reference(t: Any, rate: float, seed: int) -> Any:
    """Dropout as the kernel has it: the random numbers are those of tw.random.uniform, made by a kernel."""
    import numpy as np

    if not rate:
        return t
    keep = np.zeros(t.shape, np.float64)
    device.kept_tiles[(blocks(t.shape[0], 16), blocks(t.shape[1], 16))](keep, seed, rate, 16)
    return t * keep / (1 - rate)


def linear_reference(
    x: Any, weight: Any, bias: Any = None, residual: Any = None, activation: str = "none", rate: float = 0.0,
    seed: int = 0, precision: str = "float32",
) -> Any:
    """residual + dropout(activation(x @ weight.T + bias)) in float64."""
    import numpy as np

    z = x.astype(np.float64).reshape(-1, x.shape[-1]) @ weight.astype(np.float64).T
    z = z if bias is None else z + bias.astype(np.float64)
    out = _dropout_reference(activation_reference(z, activation), rate, seed).reshape(*x.shape[:-1], -1)
    return out if residual is None else out + residual.astype(np.float64)


def linear_backward_reference(
    grad: Any, x: Any, weight: Any, bias: Any = None, activation: str = "none", rate: float = 0.0, seed: int = 0,
    precision: str = "float32",
) -> Any:
    """The gradients of x, weight and bias in float64."""
    import numpy as np

    rows = x.astype(np.float64).reshape(-1, x.shape[-1])
    z = rows @ weight.astype(np.float64).T + (0 if bias is None else bias.astype(np.float64))
    dz = _dropout_reference(grad.astype(np.float64).reshape(z.shape), rate, seed) * slope_reference(z, activation)
    db = np.zeros(0) if bias is None else dz.sum(axis=0)
    return (dz @ weight.astype(np.float64)).reshape(x.shape), dz.T @ rows, db


def _check_linear(function: str, x: Array, weight: Array, bias: Array | None, activation: str, rate: float) -> None:
    check_float(function, x=x, weight=weight, bias=bias)
    check_same_dtype(function, x=x, weight=weight)
    check_choice(function, "activation", activation, NAMES)
    check_rank(function, "weight", weight, 2)
    if len(x.shape) == 0 or x.shape[-1] != weight.shape[1]:
        raise TileValueError(f"{function}: x has the shape {tuple(x.shape)} and weight {tuple(weight.shape)}; the last "
                             "axes must be as long as each other")
    check_shape(function, "bias", bias, (weight.shape[0],), "one for each row of weight")
    if not 0.0 <= rate < 1.0:
        raise TileValueError(f"{function}: rate is {rate}; it must be from 0 to less than 1")


@library_function(reference=linear_backward_reference)
def linear_backward(
    grad: Array, x: Array, weight: Array, bias: Array | None = None, activation: str = "none", rate: float = 0.0,
    seed: int = 0, precision: str = "float32",
) -> tuple[Array, Array, Array]:
    """The gradients of `linear` for x, weight and bias, of which the last is empty where there is no bias. What the
    activation was given is computed a second time."""
    name = "linear_backward"
    _check_linear(name, x, weight, bias, activation, rate)
    check_shape(name, "grad", grad, (*x.shape[:-1], weight.shape[0]), "the shape of the result")
    rows, dz, tf32 = rows_of(x), rows_of(grad), precision == "tf32"
    shape = (rows.shape[0], weight.shape[0])
    if activation != "none" or rate:
        z = None
        if activation != "none":
            z = empty(x, shape)
            multiply(rows, transposed(weight), z, bias=bias, tf32=tf32)
        above, dz = dz, empty(x, shape)
        _, tile = flat_tile(shape)
        launch(device.epilogue_backward, (blocks(shape[1], tile[1]), blocks(shape[0], tile[0])), above, z, dz,
               activation, rate or None, seed, *tile)
    dx, dw = empty(x, x.shape), empty(weight, weight.shape)
    multiply(dz, weight, view(dx, rows.shape), tf32=tf32)
    multiply(transposed(dz), rows, dw, tf32=tf32)
    return dx, dw, empty(weight, (0,)) if bias is None else reduce.plain(dz, "sum", (0,))


def _linear_gradient(
    grad: Any, x: Any, weight: Any, bias: Any, residual: Any, activation: Any, rate: Any, seed: Any, precision: Any
) -> Any:
    dx, dw, db = linear_backward(grad, x, weight, bias, activation, rate, seed, precision)
    return dx, dw, None if bias is None else db, None if residual is None else grad


@library_function(reference=linear_reference, backward=_linear_gradient, autocast="region",
                  apart=("x", "weight", "bias"))
def linear(
    x: Array, weight: Array, bias: Array | None = None, residual: Array | None = None, activation: str = "none",
    rate: float = 0.0, seed: int = 0, precision: str = "float32", *, out: Array | None = None,
) -> Array:
    """residual + dropout(activation(x @ weight.T + bias)) in one pass: the sums stay in registers.

    Arguments: `x`, floats (..., k); `weight`, (n, k) of its dtype; `bias`, floats (n,), or None; `residual`, floats
        (..., n), or None.
    Options: `activation`, "none", "relu", "gelu", "gelu_tanh" or "silu"; `rate` and `seed` of the dropout; `precision`
        as of `matmul`; `out`, an array to write to, contiguous.
    Result: an array (..., n) of the dtype of `x`.
    Errors: TileTypeError for dtypes that differ; TileValueError for shapes that do not fit and for unknown names.
    """
    _check_linear("linear", x, weight, bias, activation, rate)
    shape = (*x.shape[:-1], weight.shape[0])
    check_float("linear", residual=residual)
    check_shape("linear", "residual", residual, shape, "the shape of the result")
    result = output("linear", out, x, shape)
    flat = view_of_out("linear", result, (count(x.shape[:-1]), weight.shape[0]))
    multiply(rows_of(x), transposed(weight), flat, bias=bias, residual=None if residual is None else rows_of(residual),
             activation=activation, rate=rate, seed=seed, tf32=precision == "tf32")
    return result
