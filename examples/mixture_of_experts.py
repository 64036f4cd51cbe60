"""A layer of experts: each token goes through two of them. Tokens are sorted by expert, then every tile has one expert.

The sorted order is a list of row numbers, padded so that each expert's part is a whole number of tiles; the rows are
gathered while they are multiplied, and never copied.
"""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def expert_layer(x, weight, rows, experts, share, out, divide: tw.Constant[int], tm: tw.Constant[int],
                 tn: tw.Constant[int], tk: tw.Constant[int]):
    """out[s] = share[s] * x[s // divide] @ weight[e] for each number s in rows, where e is the expert of s's tile.

    x: (inputs, k), weight: (experts, k, n), rows: int32, whole tiles of tm, padding is any number that is no row of
    out, experts: int32 for each tile of rows, share: float32 per row of out.
    """
    i, j = tw.bid(0), tw.bid(1)
    slot = tw.load(rows, i, tm)
    expert = tw.gather(experts, i)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        inner = k * tk + tw.arange(tk, dtype=tw.int32)
        # Padding lies behind the last row, so it reads as zeros and is not written.
        a = tw.gather(x, ((slot // divide)[:, None], inner[None, :]))
        b = tw.load(weight, (expert, k, j), (1, tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(a, b.reshape((tk, tn)), acc)
    acc *= tw.gather(share, slot)[:, None]
    column = j * tn + tw.arange(tn, dtype=tw.int32)
    tw.scatter(out, (slot[:, None], column[None, :]), acc.astype(out.dtype))


@tw.tile_kernel
def gate(up, hidden, tm: tw.Constant[int], tn: tw.Constant[int]):
    """hidden = silu(left) * right; up: (slots, 2 n), its left and its right half; hidden: (slots, n)."""
    i, j = tw.bid(0), tw.bid(1)
    n = hidden.shape[1]
    left = tw.load(up.slice(1, 0, n), (i, j), (tm, tn)).astype(tw.float32)
    right = tw.load(up.slice(1, n, 2 * n), (i, j), (tm, tn)).astype(tw.float32)
    tw.store(hidden, (i, j), (left / (1.0 + tw.exp(-left)) * right).astype(hidden.dtype))


@tw.tile_kernel
def add_choices(parts, out, choices: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int]):
    """out[t] = sum of parts[choices * t + c] over the choices c of token t; choices is a power of two."""
    i, j = tw.bid(0), tw.bid(1)
    rows = tw.load(parts, (i, j), (tm * choices, tn)).astype(tw.float32)
    tw.store(out, (i, j), tw.sum(rows.reshape((tm, choices, tn)), axis=1).astype(out.dtype))


def sorted_slots(chosen: np.ndarray, count: int, tile: int) -> tuple[np.ndarray, np.ndarray]:
    """The slots sorted by expert, each expert's padded to whole tiles, and the expert of each tile.

    Slot t * choices + c is the choice c of token t.
    """
    flat = chosen.reshape(-1)
    order = np.argsort(flat, kind="stable")
    parts, tiles = [], []
    for expert in range(count):
        mine = order[flat[order] == expert]
        parts.append(np.pad(mine, (0, -len(mine) % tile), constant_values=np.iinfo(np.int32).max))
        tiles += [expert] * (len(parts[-1]) // tile)
    return np.concatenate(parts).astype(np.int32), np.array(tiles, np.int32)


def main() -> None:
    rng = np.random.default_rng(46)
    tokens, dim, wide, count, choices, tile = 50, 48, 40, 5, 2, 16
    x = rng.standard_normal((tokens, dim)).astype(np.float16)
    up_weight = (rng.standard_normal((count, dim, 2 * wide)) / np.sqrt(dim)).astype(np.float16)
    down_weight = (rng.standard_normal((count, wide, dim)) / np.sqrt(wide)).astype(np.float16)
    # The router: the largest two of a softmax, scaled so that they sum to 1.
    score = np.exp(rng.standard_normal((tokens, count)))
    chosen = np.argsort(-score, axis=1)[:, :choices]
    share = np.take_along_axis(score, chosen, axis=1)
    share = (share / share.sum(axis=1, keepdims=True)).astype(np.float32)
    want = np.zeros((tokens, dim))
    for t in range(tokens):
        for c, expert in enumerate(chosen[t]):
            a, b = np.split(x[t].astype(np.float64) @ up_weight[expert].astype(np.float64), 2)
            want[t] += share[t, c] * ((a / (1 + np.exp(-a)) * b) @ down_weight[expert].astype(np.float64))
    rows, experts = sorted_slots(chosen, count, tile)
    slots, tn = tokens * choices, 32
    for place in places():
        dx, du, dd, drows, dexperts = place.put(x, up_weight, down_weight, rows, experts)
        ones, dshare = place.put(np.ones(slots, np.float32), share.reshape(-1))
        up, hidden, parts, out = place.put(*(
            np.empty(shape, np.float16) for shape in ((slots, 2 * wide), (slots, wide), (slots, dim), (tokens, dim))))
        expert_layer[(len(experts), tw.cdiv(2 * wide, tn))](
            dx, du, drows, dexperts, ones, up, choices, tile, tn, 16)
        gate[(tw.cdiv(slots, 32), tw.cdiv(wide, 32))](up, hidden, 32, 32)
        expert_layer[(len(experts), tw.cdiv(dim, tn))](hidden, dd, drows, dexperts, dshare, parts, 1, tile, tn, 16)
        add_choices[(tw.cdiv(tokens, 32), tw.cdiv(dim, 32))](parts, out, choices, 32, 32)
        # Four roundings to float16 on the way, of values about as large as the result.
        check(f"{tokens} tokens, {choices} of {count} experts each", place, place.get(out), want, bound=2.0**-8)


if __name__ == "__main__":
    main()
