"""MMAs whose operands are padding alone are left out: the depth of a product ends within its last tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

ZERO, UNDETERMINED = tw.PaddingMode.ZERO, tw.PaddingMode.UNDETERMINED


@tw.tile_kernel
def product(a, b, c, tk: tw.Constant[int], padding: tw.Constant[tw.PaddingMode], tm: tw.Constant[int] = 128):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, 256), tw.float32)
    for k in range(tw.cdiv(a.shape[1], tk)):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=padding)
        acc = tw.mma(x, tw.load(b, (k, j), (tk, 256), padding_mode=padding), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def later(a, b, c, tk: tw.Constant[int]):
    """The rows of b are others than the columns of a."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((128, 256), tw.float32)
    for k in range(tw.cdiv(a.shape[1], tk)):
        x = tw.load(a, (i, k), (128, tk), padding_mode=ZERO)
        acc = tw.mma(x, tw.load(b, (k + 1, j), (tk, 256), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def once(a, b, c):
    x, y = tw.load(a, (0, 0), (128, 64), padding_mode=ZERO), tw.load(b, (0, 0), (64, 256), padding_mode=ZERO)
    tw.store(c, (0, 0), tw.mma(x, y, tw.ones((128, 256), tw.float32)))


def parts(kernel: Any, a: str, b: str, *more: Any) -> int:
    """The lengths of k that one product may take."""
    found = kernel.compiled(tw.spec(a), tw.spec(b), tw.spec("f32[128,256]"), *more, target="sm_90a")
    return len({line.count("wgmma.mma_async") for line in found.ptx.splitlines() if "wgmma.mma_async" in line})


@pytest.mark.parametrize("tk, ways", [(16, 1), (64, 3)])
def test_a_product_may_take_half_of_its_steps_and_so_on(tk: int, ways: int) -> None:
    assert parts(product, "f16[128,520]", "f16[520,256]", tk, ZERO) == ways


def test_others_take_all() -> None:
    assert parts(product, "f16[128,528]", "f16[528,256]", 64, ZERO) == 1  # a multiple of an instruction's depth
    assert parts(product, "f16[128,520]", "f16[520,256]", 64, UNDETERMINED) == 1
    assert parts(product, "f16[64,520]", "f16[520,256]", 64, ZERO, 64) == 1  # takes longer than what is left out
    assert parts(product, "f16[?,?]", "f16[?,?]", 64, ZERO) == 1
    assert parts(later, "f16[128,520]", "f16[520,256]", 64) == 1
    assert parts(once, "f16[128,56]", "f16[56,256]") == 1


@pytest.mark.parametrize("k", [8, 88, 104])
def test_every_length_of_the_last_tiles_on_the_simulated_gpu(k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((40, k)).astype(np.float16), rng.standard_normal((k, 72)).astype(np.float16)
    c = np.zeros((40, 72), np.float32)
    simulate(product, (1, 1), (a, b, c, 64, ZERO), "sm_90a")
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("columns, rows", [(72, 104), (104, 72)])
def test_both_operands_end_before_steps_are_left_out(columns: int, rows: int) -> None:
    """Behind the end of the one, the other still has numbers: infinite ones, in another step, make NaN of zeros."""
    a, b = np.ones((64, columns), np.float16), np.ones((rows, 64), np.float16)
    a[:, 88:], b[88:] = np.inf, np.inf
    c = np.zeros((64, 64), np.float32)
    simulate(product, (1, 1), (a, b, c, 64, ZERO), "sm_90a")
    assert np.isnan(c).all()
