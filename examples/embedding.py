"""Rows of a table by token: gathered with one index per row; tokens outside the table give zeros."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def embed(table, tokens, out, tile: tw.Constant[int], width: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    token = tw.load(tokens, i, tile, padding_mode=tw.PaddingMode.ZERO)
    column = j * width + tw.arange(width, dtype=tw.int32)
    # (tile, 1) and (1, width) broadcast to the (tile, width) elements that are read.
    tw.store(out, (i, j), tw.gather(table, (token[:, None], column[None, :]), padding_value=0))


def main() -> None:
    rng = np.random.default_rng(29)
    vocabulary, size, count = 500, 100, 77
    table = rng.standard_normal((vocabulary, size)).astype(np.float16)
    tokens = rng.integers(-3, vocabulary + 3, count)
    inside = (tokens >= 0) & (tokens < vocabulary)
    want = np.where(inside[:, None], table[np.clip(tokens, 0, vocabulary - 1)], 0).astype(np.float16)
    for place in places():
        dt, dk, out = place.put(table, tokens, np.empty((count, size), np.float16))
        embed[(tw.cdiv(count, 16), tw.cdiv(size, 64))](dt, dk, out, 16, 64)
        check(f"embedding of {count} tokens", place, place.get(out), want)


if __name__ == "__main__":
    main()
