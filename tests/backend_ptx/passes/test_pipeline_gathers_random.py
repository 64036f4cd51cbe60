"""Random loops of gathers through the whole backend: simulated code and interpreter agree, whatever was pipelined."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.thorough import part

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

ZERO = tw.PaddingMode.ZERO
DTYPES = (np.int8, np.int16, np.int32, np.float16, np.float32)
Array = np.ndarray[Any, Any]


def places(rows, k, first, rows_form, columns_form, shift, tr, tc):
    """Rows and columns of a round."""
    counted = tw.arange(tr, dtype=tw.int32)
    if rows_form == 0:
        row = tw.load(rows, (k,), (tr,), padding_mode=ZERO)
    elif rows_form == 1:
        row = tw.load(rows, (k // 2,), (tr,), padding_mode=ZERO) * 2 + k % 2
    elif rows_form == 2:
        row = (k * tr + counted) // 2
    else:
        row = first + k
    if columns_form == 0:
        column = shift + tw.arange(tc, dtype=tw.int32)
    elif columns_form == 1:
        column = k * tc + tw.arange(tc, dtype=tw.int32)
    else:
        column = tw.arange(tc, dtype=tw.int32) % 16 + 16 * k
    return row[:, None], column[None, :]


@tw.tile_kernel
def mixed(x, y, rows, out, n: int, lower: int, upper: int, step: tw.Constant[int],
          one: tw.Constant[tuple[Any, ...]], other: tw.Constant[tuple[Any, ...]], masked: tw.Constant[int],
          padding: tw.Constant[int], twice: tw.Constant[bool], tr: tw.Constant[int], tc: tw.Constant[int]):
    first = tw.load(rows, (0,), (tr,), padding_mode=ZERO)
    acc = tw.zeros((tr, tc), tw.float32)
    turned = tw.zeros((tc, tr), tw.float32)
    for k in range(lower, upper, step):
        row, column = places(rows, k, first, one[0], one[1], one[2], tr, tc)
        if masked == 1:
            acc += tw.gather(x, (row, column), mask=row < n, padding_value=padding).astype(tw.float32)
        elif masked == 2:
            acc += tw.gather(x, (row, column), mask=column < n, padding_value=padding).astype(tw.float32)
        else:
            acc += tw.gather(x, (row, column), padding_value=padding).astype(tw.float32)
        if twice:
            row, column = places(rows, k, first, other[0], other[1], other[2], tr, tc)
            turned += tw.gather(y, (row, column)).transpose().astype(tw.float32) * 2.0
    tw.store(out, (0, 0), acc + turned.transpose())


def array(r: random.Random, rng: np.random.Generator, tc: int) -> Array:
    """Small integers, at a place and with a pitch of 16 bytes, most often."""
    dtype = r.choice(DTYPES)
    height, width = r.choice([8, 40, 64]), r.choice([tc, 2 * tc, 2 * tc + 16, tc - 5])
    pitch = -(-width // 16) * 16 if r.random() < 0.9 else width
    raw = np.zeros(height * pitch * np.dtype(dtype).itemsize + 256, np.uint8)
    start = -raw.ctypes.data % 256 + (0 if r.random() < 0.9 else np.dtype(dtype).itemsize)
    out = raw[start:start + height * pitch * np.dtype(dtype).itemsize].view(dtype).reshape(height, pitch)[:, :width]
    out[...] = rng.integers(-3, 4, out.shape).astype(dtype)
    return out


def draw(seed: int) -> list[Any]:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    tr, tc = r.choice([(8, 128), (32, 256), (64, 64), (64, 128), (32, 128), (1, 256)])
    form = lambda: (r.randint(0, 3), r.randint(0, 2), r.choice([0, 0, 0, 16, 8, -16, 3]))  # noqa: E731
    step, lower = r.choice([1, 1, 2, 3]), r.choice([0, 0, 1, -1])
    rows = rng.integers(-2, 45, 7 * tr).astype(r.choice([np.int32, np.int64]))
    return [array(r, rng, tc), array(r, rng, tc), rows, np.zeros((tr, tc), np.float32), r.randint(0, 50), lower,
            lower + r.choice([0, 1, 2, 5, 8]), step, form(), form(), r.choice([0, 0, 1, 2]), r.choice([0, 0, 0, 0, 1]),
            r.random() < 0.7, tr, tc]


@pytest.mark.parametrize("seed", part(range(80), 3))
def test_random(seed: int) -> None:
    args = draw(seed)
    wanted = np.zeros_like(args[3])
    mixed.interpret((1,), *args[:3], wanted, *args[4:])
    kernel = mixed.replace_hints(num_worker_warps=random.Random(seed).choice([4, 8, None]))
    simulate(kernel, (1,), args, ("sm_80", "sm_90a")[seed % 2], schedule="random", seed=seed)
    assert np.array_equal(args[3], wanted)
