"""Routing for a mixture of experts, on the device: from scores to the sorted rows that `mixture_of_experts` reads.

The order is that of the tokens: a slot's place is a count of those before it, so the result is the same in every run.
Nothing is read back: the grid of the layer is the largest number of tiles that there can be.
"""

import numpy as np
from _places import check, places
from mixture_of_experts import sorted_slots

import tilewright as tw

NOTHING = np.iinfo(np.int32).max  # a row number behind every array


@tw.tile_kernel
def choose(score, chosen, share, choices: tw.Constant[int], tm: tw.Constant[int], wide: tw.Constant[int]):
    """The best experts of each token, and their shares: a softmax of the best scores alone.

    score: (tokens, experts) with at most `wide` experts; share: float32, (tokens, choices); chosen: int32, one for each
    slot, where slot t * choices + c is the choice c of token t.
    """
    i = tw.bid(0)
    logits = tw.load(score, (i, 0), (tm, wide), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
    best, expert = tw.topk(logits, choices)
    weight = tw.exp(best - tw.max(best, axis=1, keepdims=True))
    tw.store(chosen, i, expert.reshape((tm * choices,)))
    tw.store(share, (i, 0), weight / tw.sum(weight, axis=1, keepdims=True))


@tw.tile_kernel
def count(chosen, counts, tile: tw.Constant[int], wide: tw.Constant[int]):
    """counts[e]: how many slots chose expert e. Additions of integers: any order gives the same. counts: zeros."""
    slot = tw.load(chosen, tw.bid(0), tile, padding_mode=tw.PaddingMode.ZERO)
    inside = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32) < chosen.shape[0]
    expert = tw.arange(wide, dtype=tw.int32)
    mine = (slot[:, None] == expert[None, :]) & inside[:, None]
    tw.atomic_add(counts, expert, tw.sum(mine.astype(tw.int32), axis=0), memory_order=tw.MemoryOrder.RELAXED)


@tw.tile_kernel
def place(chosen, counts, rows, experts, tile: tw.Constant[int], chunk: tw.Constant[int], wide: tw.Constant[int]):
    """Block e writes the slots of expert e into rows, in order, and e for each of its tiles.

    rows: int32, filled with NOTHING; experts: int32, one for each tile of rows.
    """
    e = tw.bid(0)
    expert = tw.arange(wide, dtype=tw.int32)
    tiles = tw.cdiv(tw.gather(counts, expert), tile)
    first = tw.sum(tw.where(expert < e, tiles, 0))
    mine = tw.sum(tw.where(expert == e, tiles, 0))
    for t in range(mine):
        tw.scatter(experts, first + t, e)
    at = first * tile
    for k in range(tw.num_tiles(chosen, 0, chunk)):
        slot = k * chunk + tw.arange(chunk, dtype=tw.int32)
        here = ((tw.load(chosen, k, chunk, padding_mode=tw.PaddingMode.ZERO) == e) & (slot < chosen.shape[0]))
        rank = tw.cumsum(here.astype(tw.int32))
        tw.scatter(rows, at + rank - 1, slot, mask=here)
        at += tw.sum(here.astype(tw.int32))


def main() -> None:
    rng = np.random.default_rng(56)
    for tokens, experts, choices, tile in (50, 5, 2, 16), (300, 8, 4, 16), (7, 3, 1, 16):
        score = rng.standard_normal((tokens, experts), dtype=np.float32)
        slots, wide = tokens * choices, 8
        tiles = tw.cdiv(slots, tile) + experts  # at most: each expert leaves one tile unfinished
        best = np.argsort(-score, axis=1, kind="stable")[:, :choices]
        weight = np.exp(np.take_along_axis(score, best, axis=1).astype(np.float64))
        want_rows, want_experts = sorted_slots(best, experts, tile)
        for where in places():
            dscore, chosen, share = where.put(
                score, np.empty(slots, np.int32), np.empty((tokens, choices), np.float32))
            choose[(tw.cdiv(tokens, 16),)](dscore, chosen, share, choices, 16, wide)
            counts, rows, owner = where.put(np.zeros(wide, np.int32), np.full(tiles * tile, NOTHING, np.int32),
                                            np.zeros(tiles, np.int32))
            count[(tw.cdiv(slots, 64),)](chosen, counts, 64, wide)
            place[(experts,)](chosen, counts, rows, owner, tile, 64, wide)
            what = f"{tokens} tokens, {choices} of {experts} experts"
            check(f"{what}: shares", where, where.get(share), weight / weight.sum(axis=1, keepdims=True), bound=1e-6)
            used = len(want_rows)
            check(f"{what}: rows", where, where.get(rows)[:used], want_rows)
            check(f"{what}: tiles", where, where.get(owner)[:used // tile], want_experts)


if __name__ == "__main__":
    main()
