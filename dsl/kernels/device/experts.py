"""A mixture of experts: each token's best experts, tokens in the order of experts, and the layer that gathers them."""

import tilewright as tw
from tilewright.kernels.device.common import LOWEST, ZERO, exp_below, load_wide, store_as, wide

NOTHING = (1 << 31) - 1  # a row number behind every array


@tw.tile_kernel
def choose(scores, chosen, shares, choices: tw.Constant[int], tm: tw.Constant[int], width: tw.Constant[int]):
    """The best experts of each token, and their shares: a softmax of the best scores alone.

    scores: (tokens, experts), at most width experts; chosen, shares: (tokens, choices).
    """
    i = tw.bid(0)
    best, expert = tw.topk(load_wide(scores, (i, 0), (tm, width), LOWEST).astype(tw.float32), choices)
    weight = exp_below(best, tw.max(best, axis=1, keepdims=True))
    tw.store(chosen, (i, 0), expert)
    tw.store(shares, (i, 0), weight / tw.sum(weight, axis=1, keepdims=True))


@tw.tile_kernel
def count_slots(chosen, counts, tile: tw.Constant[int], width: tw.Constant[int]):
    """counts[e]: how many slots chose expert e. Additions of integers: any order gives the same. counts: zeros."""
    slot = tw.load(chosen, tw.bid(0), tile, padding_mode=ZERO)
    inside = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32) < chosen.shape[0]
    expert = tw.arange(width, dtype=tw.int32)
    mine = (slot[:, None] == expert[None, :]) & inside[:, None]
    tw.atomic_add(counts, expert, tw.sum(mine.astype(tw.int32), axis=0), memory_order=tw.MemoryOrder.RELAXED)


@tw.tile_kernel
def place_slots(chosen, counts, rows, owners, tile: tw.Constant[int], chunk: tw.Constant[int],
                width: tw.Constant[int]):
    """Block e writes the slots of expert e into rows, in order, behind those of the experts before, and e into owners
    for each of its tiles. What is left of a tile, and of rows, is NOTHING."""
    e = tw.bid(0)
    expert = tw.arange(width, dtype=tw.int32)
    tiles = tw.cdiv(tw.gather(counts, expert, padding_value=0), tile)
    first = tw.sum(tw.where(expert < e, tiles, 0))
    stop = first + tw.sum(tw.where(expert == e, tiles, 0))
    for t in range(first, owners.shape[0] if e == tw.num_blocks(0) - 1 else stop):
        tw.store(rows, t, tw.full((tile,), NOTHING, tw.int32))
        tw.scatter(owners, t, e)
    at = first * tile
    for k in range(tw.num_tiles(chosen, 0, chunk)):
        slot = k * chunk + tw.arange(chunk, dtype=tw.int32)
        here = (tw.load(chosen, k, chunk, padding_mode=ZERO) == e) & (slot < chosen.shape[0])
        rank = tw.cumsum(here.astype(tw.int32))
        tw.scatter(rows, at + rank - 1, slot, mask=here)
        at += tw.sum(here.astype(tw.int32))


@tw.tile_kernel
def multiply_rows(x, weight, rows, owners, shares, out, divide: tw.Constant[int], tm: tw.Constant[int],
                  tn: tw.Constant[int], tk: tw.Constant[int]):
    """out[s] = shares[s] * x[s // divide] @ weight[e].T for each slot s in rows, e the owner of the slot's tile.

    x: (inputs, k), weight: (experts, n, k), rows: whole tiles of tm, shares: (slots,), or None, out: (slots, n).
    """
    j, i = tw.bid(0), tw.bid(1)
    slot, expert = tw.load(rows, i, tm), tw.gather(owners, i)
    acc = tw.zeros((tm, tn), wide(x.dtype))
    for k in range(tw.cdiv(x.shape[1], tk)):
        inner = k * tk + tw.arange(tk, dtype=tw.int32)
        # A slot that is none lies behind the last row, so it reads as zeros and is not written.
        a = tw.gather(x, ((slot // divide)[:, None], inner[None, :]))
        b = tw.load(weight, (expert, j, k), (1, tn, tk), padding_mode=ZERO).reshape((tn, tk))
        acc = tw.mma(a, b.transpose(), acc)
    if shares is not None:
        acc *= tw.gather(shares, slot)[:, None]
    column = j * tn + tw.arange(tn, dtype=tw.int32)
    tw.scatter(out, (slot[:, None], column[None, :]), acc.astype(out.dtype))


@tw.tile_kernel
def add_choices(parts, out, rows: tw.Constant[int], choices: tw.Constant[int], width: tw.Constant[int]):
    """out[t] = the sum of parts[t, c] over the choices c, in their order. parts: (tokens, choices, n)."""
    j, i = tw.bid(0), tw.bid(1)
    store_as(out, (i, j), tw.sum(load_wide(parts, (i, 0, j), (rows, choices, width)), axis=1))
