"""`fuse(reassociate=True)` and transposes: what of a kernel becomes a factor, an order or nothing of the next one."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import add_rows
from support.fused_kernels import data, linear

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

F32 = np.float32


@tw.tile_kernel
def scaled(x, out, factor, tm: tw.Constant[int], tn: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    tw.store(out, at, (tw.load(x, at, (tm, tn)).astype(tw.float32) * factor).astype(out.dtype))


@tw.tile_kernel
def turned(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (tm, tn))))


@pytest.mark.parametrize("left", [True, False])
def test_scales_of_operands_are_multiplied_with_the_sum(left: bool) -> None:
    """Where bits may change: the operand is multiplied as it is loaded, and no rounding is between."""
    x, w = data(32, 64, dtype=np.float16), data(64, 48, dtype=np.float16)
    out, exact = np.zeros((32, 48), F32), (x.astype(np.float64) @ w.astype(np.float64)) * 0.3
    errors, told = [], []
    for reassociate in (False, True):
        with tw.fuse(reassociate=reassociate) as g:
            t = g.empty(x.shape if left else w.shape, tw.float16)
            scaled[(2, 4) if left else (4, 3)](x if left else w, t, 0.3, 16, 16)
            linear[2, 3](t if left else x, w if left else t, out, 16, 16, 16)
        errors.append(np.abs(out - exact).max())
        told.append(g.explain().count("is multiplied once, with the sum of the products"))
    assert errors[1] < 2e-5 < 1e-3 < errors[0] and told == [0, 1]
    [ran] = g.launches
    text = ran.kernel.ir(*ran.args)
    loop = text[text.index(" for(") : text.index("yield(")]
    assert " mul(" not in loop and " cast(" not in loop and to_text(parse(text)) == text


def test_roundings_between_kernels_are_left_out() -> None:
    x, out = data(64, dtype=np.float32).reshape(8, 8), np.zeros((8, 8), F32)
    found = []
    for reassociate in (False, True):
        with tw.fuse(reassociate=reassociate) as g:
            t = g.empty((8, 8), tw.float16)
            scaled[1, 1](x, t, 1.0 / 3, 8, 8)
            scaled[1, 1](t, out, 3.0, 8, 8)
        found.append(np.abs(out - x).max())
        assert ("1 roundings between kernels are left out" in g.explain()) is reassociate
    assert found[1] < 1e-6 < 1e-5 < found[0]


def test_a_scale_stays_where_it_is_no_number_of_the_launch() -> None:
    """A factor for each row of the other axis cannot be taken out of the sum."""
    x, row, w = data(32, 64, dtype=np.float16), data(32, dtype=np.float32), data(64, 48, dtype=np.float16)
    out = np.zeros((32, 48), np.float16)
    with tw.fuse(reassociate=True) as g:
        t = g.empty((32, 64), tw.float16)
        add_rows[2, 4](x, row, t, 16, 16)
        linear[2, 3](t, w, out, 16, 16, 16)
    assert "multiplied once" not in g.explain()
    np.testing.assert_allclose(out, (x.astype(F32) + row[:, None]) @ w.astype(F32), rtol=2e-2, atol=0.2)


def test_a_transposing_kernel_is_a_load_the_other_way_round() -> None:
    x, w, out = data(64, 32, dtype=np.float16), data(64, 48, dtype=np.float16), np.zeros((32, 48), np.float16)
    with tw.fuse() as g:
        t = g.empty((32, 64), tw.float16)
        turned[4, 2](x, t, 16, 16)
        linear[2, 3](t, w, out, 16, 16, 16)
    [ran] = g.launches
    assert "linear is fused with turned: computed where it is loaded" in g.explain()
    assert ran.kernel.ir(*ran.args).count(" permute(") == 1
    np.testing.assert_allclose(out, x.T.astype(F32) @ w.astype(F32), rtol=2e-3, atol=2e-2)
