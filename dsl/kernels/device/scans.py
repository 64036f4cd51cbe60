"""Running sums along the middle axis of a view, reductions of segments of rows, and segments sorted."""

import tilewright as tw
from tilewright.kernels.device.common import store_as
from tilewright.kernels.device.reductions import combine, fold


@tw.tile_kernel
def scan_middle(x, out, dtype: tw.Constant[tw.DType], reverse: tw.Constant[bool], chunk: tw.Constant[int],
                inner: tw.Constant[int]):
    """x, out: (outer, n, k): sums along n of what stands up to each element, from the end on if reverse."""
    o, i = tw.bid(0), tw.bid(1)
    chunks = tw.cdiv(x.shape[1], chunk)
    before = tw.zeros((1, 1, inner), dtype)
    for step in range(chunks):
        j = chunks - 1 - step if reverse else step
        t = tw.load(x, (o, j, i), (1, chunk, inner), padding_mode=tw.PaddingMode.ZERO).astype(dtype)
        store_as(out, (o, j, i), before + tw.cumsum(t, axis=1, reverse=reverse))
        before += tw.sum(t, axis=1, keepdims=True)


@tw.tile_kernel
def sort_segments(x, offsets, out, last: tw.Constant[float], descending: tw.Constant[bool], width: tw.Constant[int]):
    """out[offsets[s] : offsets[s + 1]] = the elements of x there, at most width, sorted. Nothing comes after `last`."""
    first, stop = tw.gather(offsets, tw.bid(0)), tw.gather(offsets, tw.bid(0) + 1)
    t = tw.load(x.slice(0, first, stop), (0,), (width,), padding_mode=tw.PaddingMode.ZERO)
    t = tw.where(tw.arange(width, dtype=tw.int32) < stop - first, t, tw.full((), last, x.dtype))
    tw.store(out.slice(0, first, stop), (0,), tw.sort(t, descending=descending))


@tw.tile_kernel
def reduce_segments(x, offsets, out, op: tw.Constant[str], dtype: tw.Constant[tw.DType], neutral: tw.Constant[float],
                    chunk: tw.Constant[int], width: tw.Constant[int]):
    """out[s] = the reduction of x[offsets[s] : offsets[s + 1]]. x: (n, k), out: (segments, k)."""
    s, i = tw.bid(0), tw.bid(1)
    mine = x.slice(0, tw.gather(offsets, s), tw.gather(offsets, s + 1))
    acc = tw.full((1, chunk, width), neutral, dtype)
    for j in range(tw.cdiv(mine.shape[0], chunk)):
        t = tw.load(mine, (j, i), (chunk, width), padding_mode=tw.PaddingMode.ZERO).astype(dtype)
        there = (j * chunk + tw.arange(chunk, dtype=tw.int32) < mine.shape[0])[None, :, None]
        acc = combine(op, acc, tw.where(there, t.reshape((1, chunk, width)), tw.full((1, 1, 1), neutral, dtype)))
    store_as(out, (s, i), fold(op, acc).reshape((1, width)))
