"""Quotients by sums: which become products, and what these give where the reciprocal or the root is no usual number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.ops.math import Rsqrt
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.multiply_by_reciprocals import multiply_by_reciprocals

half, wide = tw.bfloat16, tw.float32
N = 64


def total(t: Any) -> Any:
    return tw.sum(t, axis=1, keepdims=True)


def norm(t: Any) -> Any:
    centred = t - total(t) / N
    return centred / tw.sqrt(total(centred * centred) / N + 1e-5)


# What a kernel makes of a tile, and how many of its quotients of whole rows become products.
CASES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a sum": (lambda t: (t / total(t)).astype(half), 1),
    "a root": (lambda t: norm(t).astype(half), 1),
    "added to others": (lambda t: (norm(t) * 3.0 + t).astype(half), 1),
    "summed": (lambda t: tw.broadcast_to(total(t / total(t)), (2, N)), 1),
    "stored": (lambda t: t / total(t), 0),
    "compared": (lambda t: tw.where(t / total(t) > 0.5, t, 0.0).astype(half), 0),
    "a maximum": (lambda t: (t / tw.max(t, axis=1, keepdims=True)).astype(half), 0),
    "few summands": (lambda t: (t / tw.broadcast_to(total(tw.reshape(t, (4, N // 2)))[:2], (2, N))).astype(half), 0),
    "a mode": (lambda t: tw.truediv(t, total(t), rounding_mode=tw.RoundingMode.RN).astype(half), 0),
}


def kernel_of(function: Callable[[Any], Any], mode: str = "default") -> Any:
    @tw.tile_kernel(math=mode)
    def kernel(x, out):
        tw.store(out, (0, 0), function(tw.load(x, (0, 0), (2, N))))

    return kernel


def made(function: Callable[[Any], Any], dtype: type = np.float32, mode: str = "default") -> Function:
    f = parse(kernel_of(function, mode).ir(np.zeros((2, N), np.float32), np.zeros((2, N), dtype)))
    multiply_by_reciprocals(Unit(f))
    return f


def quotients(f: Function) -> int:
    return sum(isinstance(op, Div) and op.lhs.type.size == 2 * N for op in f.walk())


@pytest.mark.parametrize("name", CASES)
def test_quotients(name: str) -> None:
    function, products = CASES[name]
    before = parse(kernel_of(function).ir(np.zeros((2, N), np.float32), np.zeros((2, N), np.float32)))
    assert quotients(before) - quotients(made(function)) == products
    assert quotients(made(function, mode="exact")) == quotients(before)


def test_what_it_divides_by_is_computed_at_the_sum() -> None:
    """Not behind what is loaded in between."""

    @tw.tile_kernel
    def weighted(x, w, out):
        t = tw.load(x, (0, 0), (2, N))
        square = total(t * t)
        weight = tw.load(w, (0, 0), (2, N))
        tw.store(out, (0, 0), (t / tw.sqrt(square + 1.0) * weight).astype(half))

    f = parse(weighted.ir(*np.zeros((3, 2, N), np.float32)))
    multiply_by_reciprocals(Unit(f))
    codes = [op.opcode for op in f.body.ops]
    assert codes.index("rsqrt") < len(codes) - 1 - codes[::-1].index("load")
    assert any(isinstance(op, Rsqrt) for op in f.walk())
    [said] = f.decisions
    assert (said.name, said.reason) == ("div", "the divisor is a sum's, and the quotient is only rounded to bfloat16")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["a sum", "a root"])
@pytest.mark.parametrize("first", [0.0, -0.0, 2.0**-149, 2.0**-130, -(2.0**-127), 2.0**-60, 1.0, 2.0**100, 2.0**127,
                                   np.inf, -np.inf, np.nan], ids=str)
def test_unusual_divisors(name: str, first: float) -> None:
    """The products are the quotients to one unit of bfloat16, zeros, infinities and NaN at the same places."""
    f = parse(kernel_of(CASES[name][0]).ir(np.zeros((2, N), np.float32), np.zeros((2, N), np.float32)))
    x = np.zeros((2, N), np.float32)
    x[0, 0], x[1] = first, np.linspace(-1, 2, N) * min(abs(first), 2.0**100)
    want, got = np.zeros((2, 2, N), np.float32)
    compile_function(f).run((1, 1, 1), [x, want])
    multiply_by_reciprocals(Unit(f))
    compile_function(f).run((1, 1, 1), [x, got])
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
    np.testing.assert_allclose(got, want, rtol=2.0**-7, atol=0, equal_nan=True)


def test_fused_launches_keep_the_form_of_their_own_uses() -> None:
    """An intermediate of float32 vanishes, and with it the use that kept its bits."""

    @tw.tile_kernel
    def shares(x, out):
        t = tw.load(x, (tw.bid(0), 0), (1, N))
        e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
        tw.store(out, (tw.bid(0), 0), e / total(e))

    @tw.tile_kernel
    def rounded(x, out):
        tw.store(out, (tw.bid(0), 0), tw.load(x, (tw.bid(0), 0), (1, N)).astype(out.dtype))

    x, out = np.zeros((4, N), np.float32), np.zeros((4, N), np.float16)
    with tw.fuse() as g:
        between = g.empty((4, N), np.float32)
        shares[(4,)](x, between)
        rounded[(4,)](between, out)
    [launch] = g.launches
    text = launch.kernel.ir(*launch.args)
    assert text.count('form="accurate"') == 2


def test_long_chains_and_shared_operands_take_no_time() -> None:
    """Nor do they recurse: a number is squared, and scaled 2000 times, before it divides."""

    @tw.tile_kernel
    def scaled(x, out):
        t = tw.load(x, (0, 0), (2, N))
        s = total(t)
        for _ in tw.static_iter(range(24)):
            s = s * s
        for _ in tw.static_iter(range(500)):
            s = s / 1.0001 * 0.99
        tw.store(out, (0, 0), (t / s).astype(half))

    f = parse(scaled.ir(*np.zeros((2, 2, N), np.float32)))
    multiply_by_reciprocals(Unit(f))
    assert quotients(f) == 0


@pytest.mark.parametrize("count", [
    lambda t: total((t > 0).astype(wide)), lambda t: total(t.astype(tw.float64)).astype(wide)])
def test_counts_and_sums_of_float64_are_exact(count: Callable[[Any], Any]) -> None:
    assert quotients(made(lambda t: (t / count(t) - 1.0).astype(half))) == 1


def test_a_fused_quotient_without_a_repeated_divisor_is_a_division() -> None:
    """As where a launch's tiles became as small as its divisor's."""
    f = parse("""
func @k(%a: array<?x?xf32, strides=?x1>, %b: array<?x?xf32, strides=?x1>) {
  %z: i32 = constant(value=0, type=tile<i32>)
  %t: tile<1x64xf32> = load(array=%a, index=(%z, %z), shape=(1, 64), steps=(1, 64), order=(0, 1))
  %q: tile<1x64xf32> = div(lhs=%t, rhs=%t, form="relative")
  store(array=%b, index=(%z, %z), value=%q, steps=(1, 64), order=(0, 1))
  return()
}
""")
    multiply_by_reciprocals(Unit(f))
    assert [op.opcode for op in f.walk()].count("div") == 1


@pytest.mark.parametrize("depth, scaled, products", [(64, False, 1), (64, True, 1), (32, False, 0)])
def test_sums_of_products_by_any_number(depth: int, scaled: bool, products: int) -> None:
    """Scores by their greatest: within the bound of the product of matrices, whatever uses them."""
    @tw.tile_kernel
    def kernel(a, b, out, cap: float):
        s = tw.mma(tw.load(a, (0, 0), (16, depth)), tw.load(b, (0, 0), (depth, N)), tw.zeros((16, N), wide))
        tw.store(out, (0, 0), cap * tw.tanh((s * 0.3 if scaled else s) / cap))

    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(16, depth)).astype(np.float16), rng.normal(size=(depth, N)).astype(np.float16)
    outs = [np.zeros((16, N), np.float32) for _ in range(2)]
    before, after = (parse(kernel.ir(a, b, outs[0], 30.0)) for _ in range(2))
    multiply_by_reciprocals(Unit(after))
    divisions = [sum(isinstance(op, Div) and op.lhs.type.size == 16 * N for op in f.walk()) for f in (before, after)]
    assert divisions == [1, 1 - products]
    for f, out in zip((before, after), outs, strict=True):
        compile_function(f).run((1, 1, 1), [a, b, out, 30.0])
    np.testing.assert_allclose(outs[1], outs[0], rtol=1e-6)


def test_products_of_integers_are_exact() -> None:
    """The floor of 41 by 41 is 1."""
    @tw.tile_kernel
    def kernel(a, b, out, number: float):
        x = tw.load(b, (0, 0), (64, 64)).astype(tw.float16).transpose()
        s = tw.mma(tw.load(a, (0, 0), (64, 64)), x, tw.zeros((64, 64), tw.float32))
        tw.store(out, (0, 0), tw.floor(s / number))

    f = parse(kernel.ir(*(np.zeros((64, 64), dtype) for dtype in (np.float16, np.int8, np.float32)), 41.0))
    multiply_by_reciprocals(Unit(f))
    assert [op.lhs.type.size for op in f.walk() if isinstance(op, Div)] == [64 * 64]
