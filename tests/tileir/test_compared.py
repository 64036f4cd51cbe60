"""Comparisons of floats that are integers: done by integers, and of the same results."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text

FORMS = 8
LIMITS = [0.25, 0.0, 127.0, 127.5, 128.0, -0.0, 1.0, 1 - 2.0**-24, 1 - 2.0**-25, 2.0**-24, 2.0**-25, 2.0**-149,
          -(2.0**-149), -3.0, -127.5, -128.0, 7.0, 7.5, 2.0**24, 2.0**24 + 2, 3e38, -3e38, math.inf,
          -math.inf, math.nan]


def stored(out, t, limit):
    for row, found in tw.static_iter(enumerate((t >= limit, t > limit, t < limit, t <= limit))):
        tw.store(out, (row, 0), found[None, :])
    for row, found in tw.static_iter(enumerate((limit >= t, limit > t, limit < t, limit <= t))):
        tw.store(out, (row + 4, 0), found[None, :])


@tw.tile_kernel
def drawn(x, out, limit: float):
    stored(out, (tw.load(x, 0, 16) >> 8).astype(tw.float32) * 2.0**-24, limit)


@tw.tile_kernel
def counted(x, out, limit: float):
    stored(out, (tw.load(x, 0, 16) >> 1).astype(tw.float32), limit)


@tw.tile_kernel
def masked(x, out, limit: float):
    stored(out, ((tw.load(x, 0, 16) & 511) >> 2).astype(tw.float32), limit)


WORDS = np.array([0, 1, 255, 256, 257, 1 << 30, (1 << 30) - 256, (1 << 30) + 256, 0xFFFFFEFF, 0xFFFFFFFF, 512, 12345678,
                  3 << 30, 1 << 31, 0xFFFF0000, 65536], np.uint32)
SMALL = np.array([-128, -127, -4, -3, -2, -1, 0, 1, 2, 3, 6, 7, 8, 9, 126, 127], np.int8)


def optimised(ir: str) -> str:
    function = parse(ir)
    run_pipeline(function)
    return to_text(function)


@pytest.mark.parametrize("kernel, x, values", [
    (drawn, WORDS, (WORDS >> 8) * 2.0**-24), (counted, SMALL, SMALL >> 1), (masked, WORDS, (WORDS & 511) >> 2)])
def test_integers_are_compared(kernel: tw.tile_kernel, x: np.ndarray, values: np.ndarray) -> None:
    """No element is converted or shifted, and each comparison gives what that of the floats gives, also with a NaN."""
    ir = optimised(kernel.ir(x, np.zeros((FORMS, 16), np.bool_), 0.25))
    assert "dtype=f32" not in ir and "tile<16xf32>" not in ir and "shr(" not in ir, ir
    t = values.astype(np.float32)
    for limit in map(np.float32, LIMITS):
        out = np.zeros((FORMS, 16), np.bool_)
        kernel[1](x, out, float(limit))
        below = [t >= limit, t > limit, t < limit, t <= limit]
        assert np.array_equal(out, np.stack(below + [limit >= t, limit > t, limit < t, limit <= t])), limit


@tw.tile_kernel
def kept(x, y, out):
    t, limit = tw.load(x, 0, 16), tw.load(y, 0, 16)
    tw.store(out, 0, (t.astype(tw.float32) >= limit) & ((t >> 7).astype(tw.float32) * 2.0**-25 < 0.5))


def test_what_floats_round_stays_a_comparison_of_floats() -> None:
    """Integers of more bits than the format has, and limits of which there are as many as elements."""
    x, y, out = WORDS, WORDS[::-1].astype(np.float32), np.zeros(16, np.bool_)
    assert optimised(kept.ir(x, y, out)).count("dtype=f32") == 2
    kept[1](x, y, out)
    assert np.array_equal(out, (x.astype(np.float32) >= y) & ((x >> 7).astype(np.float32) * np.float32(2.0**-25) < 0.5))
