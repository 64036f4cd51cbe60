"""Loops that load tiles: what the software pipeline works on, at ragged shapes and for few and many rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def running_sum(x, out, first, end, step, m: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for k in range(first, end, step):
        acc = acc + tw.load(x, (i, k), (m, n), padding_mode=ZERO).astype(tw.float32)
    tw.store(out, (i, 0), acc)


@tw.tile_kernel
def turned_sum(x, out, m: tw.Constant[int], n: tw.Constant[int]):
    j = tw.bid(0)
    acc = tw.zeros((n, m), dtype=x.dtype)
    for k in range(tw.cdiv(x.shape[0], m)):
        acc = acc + tw.transpose(tw.load(x, (k, j), (m, n), padding_mode=ZERO))
    tw.store(out, (j, 0), acc)


@tw.tile_kernel
def stencil(x, out, rounds, m: tw.Constant[int], n: tw.Constant[int]):
    j = tw.bid(0)
    for k in range(1, rounds + 1):
        before = tw.load(x, (k - 1, j), (m, n), padding_mode=ZERO)
        here = tw.load(x, (k, j), (m, n), padding_mode=ZERO)
        after = tw.load(x, (k + 1, j), (m, n), padding_mode=ZERO)
        tw.store(out, (k, j), after - 2 * here + before)


@tw.tile_kernel
def rescaled_rows(x, out, n: tw.Constant[int]):
    """The largest element so far is carried, and an inner loop runs in an outer one."""
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        top = tw.full((1, 1), 1.0, dtype=tw.float32)
        total = tw.zeros((1, 1), dtype=tw.float32)
        for k in range(tw.cdiv(x.shape[1], n)):
            t = tw.load(x, (i, k), (1, n), padding_mode=ZERO)
            larger = tw.maximum(top, tw.max(tw.abs(t), axis=1, keepdims=True))
            total = total * (top / larger) + tw.sum(t, axis=1, keepdims=True) / larger
            top = larger
        tw.store(out, (i, 0), total * top)


@tw.tile_kernel
def persistent_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Each block computes several tiles: the rings of one tile's loop are filled again for the next."""
    rows, columns = tw.cdiv(c.shape[0], m), tw.cdiv(c.shape[1], n)
    for t in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = t // columns, t % columns
        acc = tw.zeros((m, n), dtype=tw.float32)
        for step in range(tw.cdiv(a.shape[1], k)):
            left = tw.load(a, (i, step), (m, k), padding_mode=ZERO)
            right = tw.load(b, (step, j), (k, n), padding_mode=ZERO)
            acc = tw.mma(left, right, acc)
        tw.store(c, (i, j), acc)


@tw.tile_kernel
def looked_up_sum(x, rows, out, rounds, n: tw.Constant[int]):
    """The index of each load comes from memory: nothing can be loaded ahead but the indices."""
    acc = tw.zeros((1, n), dtype=x.dtype)
    for k in range(rounds):
        row = tw.load(rows, (k,), (1,)).item()
        acc = acc + tw.load(x, (row, 0), (1, n), padding_mode=ZERO)
    tw.store(out, (0, 0), acc)


def small_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Integers, whose sums are exact in any order."""
    return rng.integers(-8, 9, shape).astype(dtype)


def padded(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    out = np.zeros((rows, columns), x.dtype)
    out[: x.shape[0], : x.shape[1]] = x[:rows, :columns]
    return out


def summed(x: np.ndarray, out: np.ndarray, first: int, end: int, step: int, m: int, n: int) -> tuple[np.ndarray, ...]:
    columns = max(-(-x.shape[1] // n), end, 1)
    tiles = padded(x, out.shape[0], columns * n).reshape(-1, columns, n).astype(np.float32)
    return (tiles[:, first:end:step].sum(1, dtype=np.float32)[:, : out.shape[1]],)


def turned(x: np.ndarray, out: np.ndarray, m: int, n: int) -> tuple[np.ndarray, ...]:
    rounds = -(-x.shape[0] // m)
    tiles = padded(x, rounds * m, out.shape[0]).reshape(rounds, m, -1)
    return (tiles.sum(0).T.astype(x.dtype),)


def differences(x: np.ndarray, out: np.ndarray, rounds: int, m: int, n: int) -> tuple[np.ndarray, ...]:
    tall = padded(x, (rounds + 2) * m, x.shape[1])
    want = np.array(out)
    want[m : (rounds + 1) * m] = tall[2 * m :] - 2 * tall[m:-m] + tall[: -2 * m]
    return (want,)


def by_rows(x: np.ndarray, out: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    return (x.astype(np.float64).sum(1, keepdims=True).astype(np.float32),)


def cases() -> Iterator[Case]:
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        for first, end, step in ((0, 0, 1), (0, 1, 1), (1, 3, 1), (2, 12, 1), (1, 11, 3)):
            yield Case(
                f"running_sum_{np.dtype(dtype).name}_{first}_{end}_{step}", running_sum, (2,),
                lambda r, d=dtype, b=(first, end, step): (
                    small_numbers(r, (7, 3000), d), np.zeros((7, 256), np.float32), *b, 4, 256),
                (1,), summed)
    for dtype, m, n in ((np.float32, 32, 32), (np.float16, 64, 32), (np.int32, 16, 64), (np.int8, 64, 64)):
        yield Case(
            f"turned_sum_{np.dtype(dtype).name}", turned_sum, (2,),
            lambda r, d=dtype, m=m, n=n: (
                small_numbers(r, (300, 2 * n - 3), d) % 3, np.zeros((2 * n - 3, m), d), m, n), (1,), turned)
    for rounds in (0, 1, 2, 6):
        yield Case(
            f"stencil_{rounds}", stencil, (2,),
            lambda r, rounds=rounds: (small_numbers(r, (122, 100)), np.ones((122, 100), np.float32), rounds, 16, 64),
            (1,), differences)
    yield Case(
        "rescaled_rows", rescaled_rows, (2,),
        lambda r: (small_numbers(r, (5, 5002)), np.zeros((5, 1), np.float32), 1024), (1,), by_rows,
        bound=lambda want: 1e-3)
    for columns in (5000, 1024, 7):
        yield Case(
            f"rescaled_rows_{columns}", rescaled_rows, (2,),
            lambda r, columns=columns: (
                small_numbers(r, (5, 5000))[:, :columns], np.zeros((5, 1), np.float32), 1024), (1,), by_rows,
            bound=lambda want: 1e-3)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        yield Case(
            f"persistent_product_{np.dtype(dtype).name}", persistent_product, (3,),
            lambda r, d=dtype: (
                small_numbers(r, (100, 136), d), small_numbers(r, (136, 120), d), np.zeros((100, 120), np.float32),
                32, 64, 32),
            (2,), lambda a, b, c, m, n, k: (a.astype(np.float32) @ b.astype(np.float32),))
    yield Case(
        "looked_up_sum", looked_up_sum, (1,),
        lambda r: (small_numbers(r, (9, 1020)), r.integers(0, 9, 7).astype(np.int32), np.zeros((1, 1020), np.float32),
                   7, 1024),
        (2,), lambda x, rows, out, rounds, n: (x[rows].sum(0, keepdims=True).astype(np.float32),))
