"""Whether a producer is computed where it is loaded: by how often, and by what an element costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fused_kernels import data, linear

import tilewright as tw
from tilewright.combining import planning

HALF = np.float16


@tw.tile_kernel
def halved(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn)) * 0.5)


@tw.tile_kernel
def divided(x, scale, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32) / tw.load(scale, i, tm)[:, None]
    tw.store(out, (i, j), tw.minimum(tw.maximum(t, -127.0), 127.0).astype(out.dtype))


X, SCALE = data(32, 64, dtype=HALF), np.abs(data(32)) + np.float32(1)


def product(prologue: Any, n: int) -> tuple[Any, Any]:
    """The fusion of a prologue with a product of n columns, in tiles of 16, and what it made."""
    out = np.zeros((32, n), HALF)
    with tw.fuse() as g:
        t = g.empty((32, 64), HALF)
        prologue(t)
        linear[2, n // 16](t, data(64, n, dtype=HALF), out, 16, 16, 16)
    return g, out


@pytest.mark.parametrize("prologue, n, fused", [
    (lambda t: halved[2, 4](X, t, 16, 16), 16, True), (lambda t: halved[2, 4](X, t, 16, 16), 64, True),
    (lambda t: divided[2, 4](X, SCALE, t, 16, 16), 16, True), (lambda t: divided[2, 4](X, SCALE, t, 16, 16), 64, False),
])
def test_what_is_dear_is_computed_once(prologue: Any, n: int, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column of tiles of the product computes the prologue again. A quantisation in front of a product of 4096
    columns took twice as long fused. Launches so short that each one is felt are fused in any case."""
    assert len(product(prologue, n)[0].launches) == 1
    monkeypatch.setattr(planning, "SMALL", 1e-12)
    g, out = product(prologue, n)
    assert len(g.launches) == (1 if fused else 2)
    assert ("recomputing bounds it" in g.explain()) != fused
    monkeypatch.undo()
    np.testing.assert_array_equal(out, product(prologue, n)[1])
