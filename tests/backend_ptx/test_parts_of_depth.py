"""A product outside of loops, whose operands leave no room for a second CTA in shared memory, goes over parts of K."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.ops.warpgroup import Wgmma
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.parser import parse


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tk: tw.Constant[int]):
    x = tw.load(a, (tw.bid(0), 0), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
    y = tw.load(b, (0, 0), (tk, 64), padding_mode=tw.PaddingMode.ZERO)
    tw.store(c, (tw.bid(0), 0), x @ y)


@tw.tile_kernel
def looped(a, b, c, tm: tw.Constant[int], tk: tw.Constant[int]):
    x = tw.load(a, (tw.bid(0), 0), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
    acc = tw.zeros((tm, 64), tw.float32)
    for k in range(a.shape[1] // 64):
        acc += x @ tw.load(b, (k, 0), (tk, 64), padding_mode=tw.PaddingMode.ZERO)
    tw.store(c, (tw.bid(0), 0), acc)


def depth(kernel: tw.tile_kernel, tm: int, tk: int) -> int:
    """K of the multiply that is left."""
    shapes = f"bf16[1024,{tk}]", f"bf16[{tk},64]", "f32[1024,64]" if kernel is looped else "bf16[1024,64]"
    function = parse(kernel.ir(*map(tw.spec, shapes), tm, tk))
    run_passes(function, get_target("sm_90a"), until="select_instructions")
    [product] = [op for op in function.walk() if isinstance(op, Wgmma)]
    return int(product.a.type.shape[1])


@pytest.mark.parametrize("tm, tk, left", [(64, 512, 64), (128, 512, 64), (64, 256, 256), (128, 128, 128)])
def test_where_one_cta_fits(tm: int, tk: int, left: int) -> None:
    assert depth(product, tm, tk) == left


def test_a_product_in_a_loop_stays() -> None:
    assert depth(looped, 64, 512) == 512


def test_results() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 500), (500, 64)))
    c = np.zeros((64, 64), np.float16)
    simulate(product, (1,), (a, b, c, 64, 512), "sm_90a")
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
