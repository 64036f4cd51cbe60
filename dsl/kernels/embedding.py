"""Rows of a table by token, and the gradient of the table."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, output, rows_of, view, view_of_output, zeros
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import embedding as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.elementwise import spread
from tilewright.kernels.launching import blocks, launch, power_above

TOKENS, WIDTH = 16, 128


def embedding_reference(table: Any, tokens: Any) -> Any:
    """The rows, zeros for tokens outside the table."""
    import numpy as np

    there = (tokens >= 0) & (tokens < len(table))
    return np.where(there[..., None], table[np.where(there, tokens, 0)], 0)


def embedding_backward_reference(grad: Any, tokens: Any, rows: int, deterministic: bool = False) -> Any:
    """The gradient of the table in float64."""
    import numpy as np

    out = np.zeros((rows, grad.shape[-1]))
    flat, above = tokens.reshape(-1), grad.astype(np.float64).reshape(-1, grad.shape[-1])
    there = (flat >= 0) & (flat < rows)
    np.add.at(out, flat[there], above[there])
    return out


@library_function(reference=embedding_backward_reference)
def embedding_backward(grad: Array, tokens: Array, rows: int, deterministic: bool = False) -> Array:
    """The gradient of an embedding's table of so many rows, added up in float32 (float64 of float64).

    With `deterministic` it is a matrix multiply with a matrix of ones and zeros, the same bits in every run; it takes
    time in proportion to rows * tokens. Without, rows are added atomically, in no order.
    """
    name = "embedding_backward"
    check_float(name, grad=grad)
    check_integer(name, tokens=tokens)
    check_shape(name, "grad", grad, (*tokens.shape, grad.shape[-1]), "the tokens and the width of the table")
    above, flat = rows_of(grad), view(tokens, (count(tokens.shape),))
    width = min(WIDTH, power_above(above.shape[1]))
    total = zeros(grad, (rows, above.shape[1]), wide(dtype_of(grad)))
    if deterministic:
        tile = min(64, power_above(rows))
        launch(device.add_rows_in_order, (blocks(rows, tile), blocks(above.shape[1], width)), above, flat, total, tile,
               32, width)
    else:
        launch(device.add_rows, (blocks(flat.shape[0], TOKENS), blocks(above.shape[1], width)), above, flat, total,
               TOKENS, width)
    return total if dtype_of(total) is dtype_of(grad) else spread(total, zeros(grad, total.shape), 1)


def _gradient(grad: Any, table: Any, tokens: Any, deterministic: Any) -> Any:
    return embedding_backward(grad, tokens, table.shape[0], deterministic), None


@library_function(reference=embedding_reference, backward=_gradient)
def embedding(table: Array, tokens: Array, deterministic: bool = False, *, out: Array | None = None) -> Array:
    """table[tokens]: rows of a table; tokens outside it give zeros.

    Arguments: `table`, (rows, width); `tokens`, integers of any shape.
    Options: `deterministic`, of the gradient (`embedding_backward`); `out`, an array to write to, contiguous.
    Result: an array of the dtype of the table, shape (*tokens.shape, width).
    Errors: TileTypeError for tokens that are no integers, TileValueError for a table of another rank.
    """
    check_integer("embedding", tokens=tokens)
    check_rank("embedding", "table", table, 2)
    n, d = count(tokens.shape), table.shape[1]
    result = output("embedding", out, table, (*tokens.shape, d))
    width = min(WIDTH, power_above(d))
    launch(device.take_rows, (blocks(n, TOKENS), blocks(d, width)), table, view(tokens, (n,)),
           view_of_output("embedding", result, (n, d)), TOKENS, width)
    return result
