"""What gradients take of products and sums: which are rounded once, and when sums over a loop are added up."""
# mypy: disable-error-code="type-arg, valid-type"

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.ops.arith import Add, Fma, Mul
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.reduce import ReduceSum

ROWS = tw.spec("f32[64,32]")


def twice(x, y, other, out):
    """The product is used twice, so that the kernel rounds it."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, 32))
    p = t * tw.load(y, (i, 0), (1, 32))
    tw.store(other, (i, 0), p)
    tw.store(out, (i, 0), tw.exp(p + t))


@pytest.mark.parametrize("math, fused", [("default", 1), ("exact", 0)])
def test_sums_of_adjoints_take_products_and_what_is_computed_again_does_not(math: str, fused: int) -> None:
    """The exponent p + t is that of the kernel to the bit; the adjoints of its operands meet in one multiply-add."""
    backward = tw.grad(tw.tile_kernel(math=math)(twice), wrt="x", outputs="out", overwrite="x").lower(*[ROWS] * 6)
    ops = [type(op) for op in backward.tile_ir().walk()]
    assert ops.count(Fma) == fused
    assert ops.count(Add) == 2 - fused


@tw.tile_kernel
def squares(x, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, 32))
    tw.store(out, (i, 0), t * tw.sum(t * t, axis=1, keepdims=True))


def test_the_adjoint_of_a_square_is_one_product() -> None:
    """Of a row's sum of squares, which all elements get alike, twice the adjoint is taken before it is spread."""
    backward = tw.grad(squares, wrt="x", outputs="out", overwrite="x")
    function = backward.lower(*[ROWS] * 4).tile_ir()
    long = [type(op) for op in function.walk() if isinstance(op, (Mul, Add, Fma)) and op.result.type.size == 32]
    assert long == [Mul, Mul, Mul, Fma]  # x * x, the cotangent's part along x, and both adjoints of x in one sum
    x, g = np.random.default_rng(1).standard_normal((2, 4, 32)).astype(np.float32)
    got = np.empty_like(x)
    backward[4](x, np.empty_like(x), g, got)
    total = (x * x).sum(1, keepdims=True)
    np.testing.assert_allclose(got, g * total + 2 * x * (g * x).sum(1, keepdims=True), rtol=1e-5, atol=1e-5)


@tw.tile_kernel
def weighted(x, weight, out):
    w = tw.load(weight, 0, 32)[None, :]
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, 32))
        tw.store(out, (i, 0), t / tw.sum(t, axis=1, keepdims=True) * w)


def test_a_sum_over_a_loop_grows_as_soon_as_its_addend_is_there() -> None:
    """Before the row is reduced once more: the addend need not be kept until then."""
    backward = tw.grad(weighted, wrt=("x", "weight"), outputs="out", overwrite="x")
    function = backward.lower(ROWS, tw.spec("f32[32]"), *[ROWS] * 3, tw.spec("f32[32]")).tile_ir()
    loop = next(op for op in function.walk() if isinstance(op, For))
    kinds = [type(op) for op in loop.loop.ops]
    grown = next(k for k, op in enumerate(loop.loop.ops) if loop.loop.params[1] in op.operands)
    assert kinds[grown] is Fma
    assert ReduceSum in kinds[grown:]
