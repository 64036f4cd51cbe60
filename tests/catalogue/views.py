"""Views: slices of arrays, tiled views with steps and paddings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from catalogue.case import Case
from catalogue.memory import values

import tilewright as tw


@tw.tile_kernel
def ragged(x, starts, out, tile: tw.Constant[int]):
    # Each block sums its own run of rows; what is past the run's end counts as outside.
    i = tw.bid(0)
    low, high = tw.load(starts, (i,), ()), tw.load(starts, (i + 1,), ())
    rows = x.slice(0, low, high)
    total = tw.zeros((1, 32), tw.float32)
    for k in range(tw.num_tiles(rows, 0, (tile, 32))):
        part = tw.load(rows, (k, 0), (tile, 32), padding_mode=tw.PaddingMode.ZERO)
        total += tw.sum(part, 0, keepdims=True)
    tw.store(out, (i, 0), total)


@tw.tile_kernel
def sliced_store(x, out):
    part = out.slice(1, 3, 20).slice(0, 2, 7)
    tw.store(part, (tw.bid(0), 0), tw.load(x, (tw.bid(0), 0), (4, 32)))


@tw.tile_kernel
def windows(x, out, step: tw.Constant[int]):
    # Overlapping tiles: tile i starts at element i * step.
    view = x.tiled_view((16,), padding_mode=tw.PaddingMode.NEG_INF, traversal_steps=(step,))
    best = view.load((tw.bid(0),))
    tw.store(out, (tw.bid(0),), tw.max(best, 0, keepdims=True))


@tw.tile_kernel
def view_copy(x, out):
    source = x.tiled_view((8, 32), padding_mode=tw.PaddingMode.ZERO)
    target = out.tiled_view((8, 32))
    for j in range(source.num_tiles(-1)):
        target.store((tw.bid(0), j), source.load((tw.bid(0), j)) * 2)
    target.store((tw.bid(0), 0), 7, check_bounds=True)


def ragged_reference(x: np.ndarray, starts: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
    return (np.stack([x[a:b].sum(0) for a, b in itertools.pairwise(starts)]),)


def sliced_reference(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
    out[2:7, 3:20] = x[:5, :17]
    return (out,)


def windows_reference(x: np.ndarray, out: np.ndarray, step: int) -> tuple[np.ndarray, ...]:
    parts = [x[i * step : i * step + 16] for i in range(len(out))]
    return (np.array([part.max() for part in parts], x.dtype),)


def copy_reference(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
    want = x * 2
    want[:, :32] = 7
    return (want,)


def cases() -> Iterator[Case]:
    yield Case("ragged", ragged, (4,),
               lambda rng: (rng.integers(-9, 9, (50, 32)).astype(np.float32), np.array([0, 7, 7, 30, 50], np.int32),
                            np.zeros((4, 32), np.float32), 8), (2,), ragged_reference)
    yield Case("sliced-store", sliced_store, (2,),
               lambda rng: (values(rng, (8, 32), np.int32), values(rng, (12, 40), np.int32)), (1,), sliced_reference)
    for step in (1, 5, 16, 24):
        yield Case(f"windows-{step}", windows, (6,),
                   lambda rng, step=step: (values(rng, (5 * step + 9,), np.float32), np.zeros(6, np.float32), step),
                   (1,), windows_reference)
    for dtype in (np.int16, np.float32):
        yield Case(f"view-copy-{np.dtype(dtype).name}", view_copy, (4,),
                   lambda rng, dtype=dtype: (rng.integers(0, 99, (29, 75)).astype(dtype), np.zeros((29, 75), dtype)),
                   (1,), copy_reference)
