"""The benchmarks' kernels over rows and their products with few rows, at tiny shapes, ragged ones too."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from benchmarks import gemv_kernels, row_kernels
from catalogue.case import Case
from online_softmax import online_softmax
from softmax import softmax

import tilewright as tw

EPS = 1e-5
BF16 = ml_dtypes.bfloat16


def bfloats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(BF16)


def whole_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small ones, whose products and sums are exact: NumPy's products of matrices round by the shape of the whole."""
    return rng.integers(-4, 5, shape).astype(BF16)


def norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    t = x.astype(np.float64)
    if bias is not None:
        t = t - t.mean(axis=1, keepdims=True)
    t = t / np.sqrt((t * t).mean(axis=1, keepdims=True) + EPS) * weight.astype(np.float64)
    return t if bias is None else t + bias.astype(np.float64)


def near(steps: float, slack: float = 0.0):
    return lambda want: steps * np.abs(want) + slack


def norms() -> Iterator[Case]:
    # Columns: a whole tile, an end between groups of 16, an end inside one.
    for n in (64, 48, 50):
        for rows in (1, 4):
            yield Case(
                f"rms norm of {n} columns, {rows} at a time", row_kernels.rms_norm, (-(-6 // rows),),
                lambda rng, n=n, rows=rows: (
                    bfloats(rng, 6, n), bfloats(rng, n), np.zeros((6, n), BF16), EPS, rows, 64), (2,),
                lambda x, w, out, *_: (norm(x, w, None),), near(2.0**-8, 1e-6))
            yield Case(
                f"layer norm of {n} columns, {rows} at a time", row_kernels.layer_norm, (-(-6 // rows),),
                lambda rng, n=n, rows=rows: (
                    bfloats(rng, 6, n), bfloats(rng, n), bfloats(rng, n), np.zeros((6, n), BF16), EPS, rows, 64), (3,),
                lambda x, w, b, out, *_: (norm(x, w, b),), near(2.0**-8, 1e-5))


def wide() -> Iterator[Case]:
    """Rows that a block parks in shared memory, as its registers would let but one block run, or spill."""
    for width, n in ((32768, 32768), (32768, 32000), (65536, 65535)):
        yield Case(
            f"softmax of {n} columns", softmax, (2,),
            lambda rng, n=n, width=width: (bfloats(rng, 2, n), np.zeros((2, n), BF16), width), (1,),
            lambda x, *_: (shares(x.astype(np.float64)),), near(2.0**-8, 1e-9))
    yield Case(
        "rms norm of 30000 columns", row_kernels.rms_norm, (2,),
        lambda rng: (bfloats(rng, 2, 30000), bfloats(rng, 30000), np.zeros((2, 30000), BF16), EPS, 1, 32768), (2,),
        lambda x, w, out, *_: (norm(x, w, None),), near(2.0**-8, 1e-6))
    # Weight and bias are on their way while the row is summed.
    for n in (16384, 16000, 15001):
        yield Case(
            f"layer norm of {n} columns", row_kernels.layer_norm, (2,),
            lambda rng, n=n: (
                bfloats(rng, 2, n), bfloats(rng, n), bfloats(rng, n), np.zeros((2, n), BF16), EPS, 1, 16384), (3,),
            lambda x, w, b, out, *_: (norm(x, w, b),), near(2.0**-8, 1e-5))


def persistent() -> Iterator[Case]:
    """Rows in a loop, more and fewer than blocks: rings of narrow rows, of one warp too, wide ones spilled, weights
    that come back into the loop, and rows of a cluster."""
    for n, width, m, blocks in ((32000, 32768, 3, 1), (32768, 32768, 3, 2), (4000, 4096, 7, 2), (65536, 65536, 2, 1)):
        yield Case(
            f"persistent softmax of {m} rows of {n} columns", row_kernels.persistent_softmax, (blocks,),
            lambda rng, m=m, n=n, width=width: (bfloats(rng, m, n), np.zeros((m, n), BF16), 1, width), (1,),
            lambda x, *_: (shares(x.astype(np.float64)),), near(2.0**-7, 1e-9))
    for n, width, m, blocks in ((32000, 32768, 3, 2), (4000, 4096, 7, 2), (65000, 65536, 2, 1), (1000, 1024, 11, 2)):
        yield Case(
            f"persistent rms norm of {m} rows of {n} columns", row_kernels.persistent_rms_norm, (blocks,),
            lambda rng, m=m, n=n, width=width: (
                bfloats(rng, m, n), bfloats(rng, n), np.zeros((m, n), BF16), EPS, 1, width), (2,),
            lambda x, w, out, *_: (norm(x, w, None),), near(2.0**-7, 1e-6))
        yield Case(
            f"persistent layer norm of {m} rows of {n} columns", row_kernels.persistent_layer_norm, (blocks,),
            lambda rng, m=m, n=n, width=width: (
                bfloats(rng, m, n), bfloats(rng, n), bfloats(rng, n), np.zeros((m, n), BF16), EPS, 1, width), (3,),
            lambda x, w, b, out, *_: (norm(x, w, b),), near(2.0**-7, 1e-5))


def padded_loops() -> Iterator[Case]:
    """Loads of a loop with paddings that asynchronous copies do not know."""
    for n, dtype in ((5000, np.float32), (4999, np.float16), (4992, BF16)):
        yield Case(
            f"softmax of {n} columns in chunks, {np.dtype(dtype).name}", online_softmax, (3,),
            lambda rng, n=n, dtype=dtype: (
                (4 * rng.standard_normal((3, n))).astype(dtype), np.zeros((3, n), dtype), 2048), (1,),
            lambda x, *_: (shares(x.astype(np.float64)),), near(2.0**-8, 1e-7))
    for padding, pick, none in ((tw.PaddingMode.POS_INF, np.min, np.inf), (tw.PaddingMode.NEG_INF, np.max, -np.inf)):
        yield Case(
            f"extremes by tiles that overlap the last edges, {padding.value}", extremes_of(padding), (2,),
            lambda rng: (rng.standard_normal((150, 100)).astype(np.float32), np.zeros(128, np.float32)), (1,),
            lambda x, *_, pick=pick, none=none: (np.pad(pick(x, axis=0), (0, 28), constant_values=none),))


def extremes_of(padding: Any) -> Any:
    lowest = padding is tw.PaddingMode.POS_INF

    @tw.tile_kernel
    def extremes(x, out):
        best = tw.full((32, 64), float("inf") if lowest else -float("inf"), tw.float32)
        for i in range(tw.num_tiles(x, 0, (32, 64))):
            t = tw.load(x, (i, tw.bid(0)), (32, 64), padding_mode=padding)
            best = tw.minimum(best, t) if lowest else tw.maximum(best, t)
        tw.store(out, (tw.bid(0),), tw.min(best, axis=0) if lowest else tw.max(best, axis=0))

    return extremes


def shares(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def products() -> Iterator[Case]:
    yield Case(
        "gemv over rows", gemv_kernels.gemv_rows, (5,),
        lambda rng: (bfloats(rng, 18, 300), bfloats(rng, 300), np.zeros(18, np.float32), 4, 128), (2,),
        lambda w, x, *_: (w.astype(np.float64) @ x.astype(np.float64),), near(0, 1e-4))

    def split(rng: np.random.Generator, m: int, k: int, n: int, splits: int) -> tuple[Any, ...]:
        parts = np.full((splits, m, n), np.nan, np.float32)
        return parts, np.zeros(n, np.int32), np.zeros((m, n), np.float32)

    yield Case(
        "gemv over columns, split", gemv_kernels.gemv_columns, (2, 3),
        lambda rng: (bfloats(rng, 200, 100), bfloats(rng, 200), *split(rng, 1, 200, 100, 3), 16, 64), (3, 4),
        lambda w, x, p, turns, *_: (turns * 0, (x.astype(np.float64) @ w.astype(np.float64))[None]), near(0, 1e-4))
    for turned, splits, m, tm in itertools.product((True, False), (1, 3), (13, 61), (16, 64)):
        if m <= tm:
            yield Case(
                f"skinny product, {m} rows, {'w.T' if turned else 'w'}, {splits} splits of {tm} rows",
                gemv_kernels.skinny, (3, splits),
                lambda rng, t=turned, s=splits, m=m, tm=tm: (
                    whole_numbers(rng, m, 200), whole_numbers(rng, *((72, 200) if t else (200, 72))),
                    *split(rng, m, 200, 72, s), tm, 32, 64, t, s > 1), (3, 4),
                lambda x, w, p, turns, y, tm, tn, tk, t, s: (
                    turns * 0, x.astype(np.float32) @ (w.T if t else w).astype(np.float32)))


def cases() -> Iterator[Case]:
    yield from norms()
    yield from wide()
    yield from persistent()
    yield from padded_loops()
    yield from products()
