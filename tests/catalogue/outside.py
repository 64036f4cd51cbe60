"""Tiles that start before their array or lie wholly behind it: the language does not allow them, and a checked launch
reports them. All executors give padding for them, and store nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.case import Case
from catalogue.elementwise import KERNELS
from catalogue.loops import running_sum, small_numbers, summed
from catalogue.memory import copy1, copy_case, values
from catalogue.views import windows

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def shifted_past_ends(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    left = tw.load(x, (i - 1,), (tile,), padding_mode=ZERO)
    right = tw.load(x, (i + 1,), (tile,), padding_mode=ZERO)
    tw.store(out, (i,), left + right)


@tw.tile_kernel
def stencil_past_ends(x, out, rounds, m: tw.Constant[int], n: tw.Constant[int]):
    j = tw.bid(0)
    for k in range(rounds):
        before = tw.load(x, (k - 1, j), (m, n), padding_mode=ZERO)
        here = tw.load(x, (k, j), (m, n), padding_mode=ZERO)
        after = tw.load(x, (k + 1, j), (m, n), padding_mode=ZERO)
        tw.store(out, (k, j), after - 2 * here + before)


def extremes_of(padding: Any) -> Any:
    lowest = padding is tw.PaddingMode.POS_INF

    @tw.tile_kernel
    def extremes(x, out):
        best = tw.full((32, 64), float("inf") if lowest else -float("inf"), tw.float32)
        for i in range(-1, tw.num_tiles(x, 0, (32, 64)) + 1):
            t = tw.load(x, (i, tw.bid(0)), (32, 64), padding_mode=padding)
            best = tw.minimum(best, t) if lowest else tw.maximum(best, t)
        tw.store(out, (tw.bid(0),), tw.min(best, axis=0) if lowest else tw.max(best, axis=0))

    return extremes


def neighbours(x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
    z = np.concatenate([np.zeros(tile, x.dtype), x, np.zeros(tile, x.dtype)])
    return (z[: len(x)] + z[2 * tile :],)


def differences(x: np.ndarray, out: np.ndarray, rounds: int, m: int, n: int) -> tuple[np.ndarray, ...]:
    tall = np.pad(x, ((m, (rounds + 1) * m), (0, 0)))
    full = tall[2 * m :] - 2 * tall[m:-m] + tall[: -2 * m]
    want = np.array(out)
    want[: rounds * m] = full[: len(want)][: rounds * m]
    return (want,)


def maxima(x: np.ndarray, out: np.ndarray, step: int) -> tuple[np.ndarray, ...]:
    parts = [x[i * step : i * step + 16] for i in range(len(out))]
    return (np.array([part.max() if len(part) else -np.inf for part in parts], x.dtype),)


def cases() -> Iterator[Case]:
    for n in (0, 1, 32):
        yield copy_case(f"outside-copy-{n}", copy1, (2,), (n,), (32,), np.float32)
    for dtype in (np.int8, np.float32):
        yield Case(
            f"outside-add-{np.dtype(dtype).name}", KERNELS["add"], (1,),
            lambda rng, dtype=dtype: (*(np.zeros(0, dtype) for _ in range(3)), 64), (2,), lambda x, y, *_: (x + y,))
    yield Case("outside-shifted", shifted_past_ends, (5,),
               lambda rng: (values(rng, (131,), np.int32), np.zeros(131, np.int32), 32), (1,), neighbours)
    yield Case(
        "outside-running-sum", running_sum, (2,),
        lambda rng: (small_numbers(rng, (7, 2600)), np.zeros((7, 256), np.float32), 2, 12, 1, 4, 256), (1,), summed)
    for rounds in (1, 6):
        yield Case(
            f"outside-stencil-{rounds}", stencil_past_ends, (2,),
            lambda rng, rounds=rounds: (
                small_numbers(rng, (90, 100)), np.ones((90, 100), np.float32), rounds, 16, 64), (1,), differences)
    for step in (16, 24):
        yield Case(f"outside-windows-{step}", windows, (6,),
                   lambda rng, step=step: (values(rng, (77,), np.float32), np.zeros(6, np.float32), step), (1,), maxima)
    for padding, pick, none in ((tw.PaddingMode.POS_INF, np.min, np.inf), (tw.PaddingMode.NEG_INF, np.max, -np.inf)):
        yield Case(
            f"outside-extremes-{padding.value}", extremes_of(padding), (2,),
            lambda rng: (rng.standard_normal((150, 100)).astype(np.float32), np.zeros(128, np.float32)), (1,),
            lambda x, *_, pick=pick, none=none: (np.pad(pick(x, axis=0), (0, 28), constant_values=none),))
