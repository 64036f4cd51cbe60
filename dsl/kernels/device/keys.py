"""Reductions of runs of equal keys: a run may cross tiles, and each tile knows how many began before it."""

import tilewright as tw
from tilewright.kernels.device.reductions import combine, fold


def heads_of(keys, at):
    """Whether each element begins a run: its key is not that of the one before."""
    there = at < keys.shape[0]
    return there & ((at == 0) | (tw.gather(keys, at) != tw.gather(keys, tw.maximum(at - 1, 0))))


def load_values(values, i, j, dtype, neutral, tile, width):
    """(tile, width) values, with what changes no result behind the last one."""
    t = tw.load(values, (i, j), (tile, width), padding_mode=tw.PaddingMode.ZERO).astype(dtype)
    there = (i * tile + tw.arange(tile, dtype=tw.int32) < values.shape[0])[:, None]
    return tw.where(there, t, tw.full((), neutral, dtype))


def then(op):
    """Two stretches of elements become one: what the second one has since its last head, or both where it has none."""
    def joined(began, first, begins, second):
        return began | begins, tw.where(begins != 0, second, combine(op, first, second))

    return joined


@tw.tile_kernel
def last_runs(keys, values, counts, lasts, op: tw.Constant[str], dtype: tw.Constant[tw.DType],
              neutral: tw.Constant[float], tile: tw.Constant[int], width: tw.Constant[int]):
    """keys: (n,), values: (n, k), counts: (tiles,), how many runs begin in each tile, lasts: (tiles, k), the reduction
    of what is in it of its last run."""
    i, j = tw.bid(0), tw.bid(1)
    place = tw.arange(tile, dtype=tw.int32)
    heads = heads_of(keys, i * tile + place)
    t = load_values(values, i, j, dtype, neutral, tile, width)
    last = tw.max(tw.where(heads, place, 0))
    t = tw.where((place >= last)[:, None], t, tw.full((), neutral, dtype))
    tw.store(lasts, (i, j), fold(op, t.reshape((1, tile, width))).reshape((1, width)))
    if j == 0:
        tw.store(counts, i, tw.sum(heads.astype(tw.int32)))


@tw.tile_kernel
def runs_before(counts, lasts, firsts, carried, count, op: tw.Constant[str], neutral: tw.Constant[float],
                chunk: tw.Constant[int], width: tw.Constant[int]):
    """counts, lasts: as `last_runs` gives them, firsts: (tiles,), how many runs begin before each tile, carried:
    (tiles, k), the reduction of the last one of them before the tile, count: (1,), how many there are."""
    j = tw.bid(0)
    begun = tw.zeros((), tw.int32)
    before = tw.full((1, width), neutral, lasts.dtype)
    for c in range(tw.cdiv(counts.shape[0], chunk)):
        here = tw.load(counts, c, chunk, padding_mode=tw.PaddingMode.ZERO)
        t = load_values(lasts, c, j, lasts.dtype, neutral, chunk, width)
        begins, reduced = tw.scan((tw.broadcast_to((here > 0).astype(tw.int32)[:, None], (chunk, width)), t), 0,
                                  then(op), (0, neutral))
        reduced = tw.where(begins != 0, reduced, combine(op, before, reduced))
        # What is carried into a tile stands behind the tile before.
        at = c * chunk + 1 + tw.arange(chunk, dtype=tw.int32)
        tw.scatter(carried, (at[:, None], (j * width + tw.arange(width, dtype=tw.int32))[None, :]), reduced)
        before = reduced.extract((chunk - 1, 0), (1, width))
        if j == 0:
            tw.store(firsts, c, begun + tw.cumsum(here) - here)
            begun += tw.sum(here)
    tw.store(carried, (0, j), tw.full((1, width), neutral, carried.dtype))
    if j == 0:
        tw.store(count, 0, begun)


@tw.tile_kernel
def write_runs(keys, values, firsts, carried, out_keys, out, op: tw.Constant[str], dtype: tw.Constant[tw.DType],
               neutral: tw.Constant[float], tile: tw.Constant[int], width: tw.Constant[int]):
    """out_keys: (n,), out: (n, k): the key and the reduction of each run, from the element on at which it ends."""
    i, j, n = tw.bid(0), tw.bid(1), keys.shape[0]
    at = i * tile + tw.arange(tile, dtype=tw.int32)
    heads = heads_of(keys, at).astype(tw.int32)
    t = load_values(values, i, j, dtype, neutral, tile, width)
    begun, reduced = tw.scan((tw.broadcast_to(heads[:, None], (tile, width)), t), 0, then(op), (0, neutral))
    before = tw.load(carried, (i, j), (1, width))
    reduced = tw.where(begun != 0, reduced, combine(op, before, reduced))
    key = tw.gather(keys, at)
    ends = (at < n) & ((at == n - 1) | (key != tw.gather(keys, tw.minimum(at + 1, n - 1))))
    run = tw.gather(firsts, i) + tw.cumsum(heads) - 1
    columns = j * width + tw.arange(width, dtype=tw.int32)
    tw.scatter(out, (run[:, None], columns[None, :]), reduced.astype(out.dtype), mask=ends[:, None])
    if j == 0:
        tw.scatter(out_keys, run, key, mask=ends)
