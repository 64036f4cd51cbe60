"""Inclusive prefix sum of a long vector: sums of chunks, a scan of them, then a scan of each chunk from its start."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def chunk_sums(x, sums, chunk: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(sums, i, tw.sum(tw.load(x, i, chunk, padding_mode=tw.PaddingMode.ZERO)))


@tw.tile_kernel
def scan_sums(sums, count: tw.Constant[int]):
    """In place, by one block."""
    tw.store(sums, 0, tw.cumsum(tw.load(sums, 0, count, padding_mode=tw.PaddingMode.ZERO)))


@tw.tile_kernel
def scan_chunks(x, sums, out, chunk: tw.Constant[int]):
    i = tw.bid(0)
    before = tw.gather(sums, i - 1, padding_value=0)
    tw.store(out, i, before + tw.cumsum(tw.load(x, i, chunk, padding_mode=tw.PaddingMode.ZERO)))


def main() -> None:
    rng = np.random.default_rng(40)
    n, chunk = 10_000, 512
    x = rng.integers(-1000, 1000, n).astype(np.int32)
    blocks = tw.cdiv(n, chunk)
    for place in places():
        dx, sums, out = place.put(x, np.empty(blocks, np.int32), np.empty_like(x))
        chunk_sums[(blocks,)](dx, sums, chunk)
        scan_sums[(1,)](sums, 1 << (blocks - 1).bit_length())
        scan_chunks[(blocks,)](dx, sums, out, chunk)
        check(f"prefix sum of {n}", place, place.get(out), np.cumsum(x))


if __name__ == "__main__":
    main()
