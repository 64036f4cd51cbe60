"""Rows of a table by token, and the gradient of the table: by atomic additions, or in order by matrix multiplies."""

import tilewright as tw
from tilewright.kernels.device.common import ZERO, wide


@tw.tile_kernel
def take_rows(table, tokens, out, tile: tw.Constant[int], width: tw.Constant[int]):
    """out[t] = table[tokens[t]], zeros for tokens outside the table."""
    i, j = tw.bid(0), tw.bid(1)
    token = tw.load(tokens, i, tile, padding_mode=ZERO)
    column = j * width + tw.arange(width, dtype=tw.int32)
    tw.store(out, (i, j), tw.gather(table, (token[:, None], column[None, :]), padding_value=0))


@tw.tile_kernel
def add_rows(grad, tokens, total, tile: tw.Constant[int], width: tw.Constant[int]):
    """total[tokens[t]] += grad[t], in no order. total: zeros in float32 or float64."""
    i, j = tw.bid(0), tw.bid(1)
    row = i * tile + tw.arange(tile, dtype=tw.int32)
    token = tw.load(tokens, i, tile, padding_mode=ZERO)
    # Rows behind the last one go to a row that is not there, and so do tokens outside the table.
    token = tw.where(row < tokens.shape[0], token, total.shape[0])
    column = j * width + tw.arange(width, dtype=tw.int32)
    above = tw.load(grad, (i, j), (tile, width), padding_mode=ZERO).astype(total.dtype)
    tw.atomic_add(total, (token[:, None], column[None, :]), above)


@tw.tile_kernel
def add_rows_in_order(grad, tokens, total, rows: tw.Constant[int], tile: tw.Constant[int], width: tw.Constant[int]):
    """total[v] = sum of grad[t] over the tokens t that are v: a product with a matrix of ones and zeros."""
    v, j = tw.bid(0), tw.bid(1)
    mine = v * rows + tw.arange(rows, dtype=tw.int32)[:, None]
    acc = tw.zeros((rows, width), wide(grad.dtype))
    for i in range(tw.cdiv(tokens.shape[0], tile)):
        token = tw.load(tokens, i, tile, padding_mode=ZERO)[None, :]
        chosen = tw.where(token == mine, 1.0, 0.0).astype(grad.dtype)
        # Behind the last token the gradient is padded with zeros.
        acc = tw.mma(chosen, tw.load(grad, (i, j), (tile, width), padding_mode=ZERO), acc)
    tw.store(total, (v, j), acc.astype(total.dtype))
