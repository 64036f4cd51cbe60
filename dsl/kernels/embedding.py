"""Rows of a table by token, and the gradient of the table."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.arrays import Array, count, dtype_of, empty, output, rows_of, view, view_of_output, zeros
from tilewright.kernels.checks import check_float, check_integer, check_rank, check_shape
from tilewright.kernels.declaration import library_function
from tilewright.kernels.device import embedding as device
from tilewright.kernels.device.common import wide
from tilewright.kernels.launching import blocks, launch, power_above
from tilewright.tileir.dtypes import int32

# Elements of a tile of rows, and columns at most: 4096 rows of 1024 columns take 9.6 us on an H100, by 16 x 128 9.9.
TILE, WIDTH = 2048, 512
# The gradient of a table. Tokens of a block that lists and of one that sorts, and rows of the table of one that places
# lists; elements of a block that adds, and rows of the gradient among them; columns of a block that adds a part of a
# list of more than LONG tokens.
LISTED, RANKED, PLACED = 128, 32, 1024
ELEMENTS, TOGETHER, PART_WIDTH, LONG = 4096, 2, 512, 64


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

    The tokens are listed by row, then each row is written once. With `deterministic` the lists are put in the order of
    the tokens, which gives the same bits in every run; it takes longer the more often one token occurs.
    """
    name = "embedding_backward"
    check_float(name, grad=grad)
    check_integer(name, tokens=tokens)
    check_shape(name, "grad", grad, (*tokens.shape, grad.shape[-1]), "the tokens and the width of the table")
    above, flat = rows_of(grad), view(tokens, (count(tokens.shape),))
    n, d = above.shape
    total = empty(grad, (rows, d))
    counts, used = zeros(grad, (rows,), int32), zeros(grad, (2,), int32)
    starts, firsts = empty(grad, (rows,), int32), empty(grad, (rows,), int32)
    # A list of more than LONG tokens has less than twice as many parts as it would fill.
    most = 2 * blocks(n, LONG)
    ranks, lists, owners = empty(grad, (n,), int32), empty(grad, (n,), int32), empty(grad, (most,), int32)
    parts = empty(grad, (most, d), wide(dtype_of(grad)))
    grid = (blocks(n, LISTED),)
    launch(device.count_tokens, grid, flat, counts, ranks, LISTED)
    launch(device.place_rows, (blocks(rows, PLACED),), counts, used, starts, firsts, PLACED, LONG)
    launch(device.list_tokens, grid, flat, counts, starts, firsts, ranks, lists, owners, LISTED, LONG)
    if deterministic:
        launch(device.rank_tokens, (blocks(n, RANKED),), flat, counts, starts, lists, ranks, RANKED)
        lists = empty(grad, (n,), int32)
        launch(device.list_tokens, grid, flat, counts, starts, firsts, ranks, lists, owners, LISTED, LONG)
    width = min(PART_WIDTH, power_above(d))
    launch(device.add_parts, (most, blocks(d, width)), above, counts, used, starts, firsts, lists, owners, parts, LONG,
           ELEMENTS // width, width)
    width = min(ELEMENTS // TOGETHER, power_above(d))
    tall = ELEMENTS // TOGETHER // width
    launch(device.add_rows, (blocks(rows, tall), blocks(d, width)), above, counts, starts, firsts, lists, parts, total,
           tall, LONG, TOGETHER, width)
    return total


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
    tile = TILE // width
    launch(device.take_rows, (blocks(n, tile), blocks(d, width)), table, view(tokens, (n,)),
           view_of_output("embedding", result, (n, d)), tile, width)
    return result
