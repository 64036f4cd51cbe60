"""Which exponentials and error functions are short: those whose uses round them to few bits or sum them, and none that
a use shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.analysis import tolerances
from tilewright.tileir.analysis.float_ranges import float_range
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.enums import Form
from tilewright.tileir.ops.arith import Fma
from tilewright.tileir.ops.math import Abs, Erf, Exp, Exp2
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.shorten_error_functions import shorten_error_functions
from tilewright.tileir.passes.shorten_exponentials import shorten_exponentials

APPROX, FULL, RZ = tw.RoundingMode.APPROX, tw.RoundingMode.FULL, tw.RoundingMode.RZ
half, wide = tw.float16, tw.float32
N = 64


def maximum(t):
    return tw.max(t, axis=1, keepdims=True)


def total(t):
    return tw.sum(t, axis=1, keepdims=True)


def shifted(t):
    return tw.exp(t - maximum(t))


def share(t):
    e = shifted(t)
    return e / total(e)


def reciprocal(t):
    e = shifted(t)
    return (e * (1.0 / total(e))).astype(half)


def unshifted(t):
    e = tw.exp(t)
    return (e / total(e)).astype(half)


def carried_sum(t):
    acc = tw.zeros((2, N), wide)
    for _ in range(tw.num_blocks(0)):
        acc = acc + tw.exp(t)
        t = t * 0.5
    return acc.astype(half)


def carried_product(t):
    acc = tw.ones((2, N), wide)
    for _ in range(tw.num_blocks(0)):
        acc = acc * tw.exp(t)
    return acc.astype(half)


def online(t):
    top, acc = tw.full((2, 1), -math.inf, wide), tw.zeros((2, 1), wide)
    for _ in range(tw.num_blocks(0)):
        higher = tw.maximum(top, maximum(t))
        acc = acc * tw.exp(top - higher) + total(tw.exp(t - higher))
        top, t = higher, t * 0.5
    return acc


def branch(t):
    if tw.bid(0) > 0:
        e = tw.exp(t)
    else:
        e = t
    return e.astype(tw.bfloat16)


CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    # uses that hide errors
    "rounded": (lambda t: tw.exp(t).astype(half), ["flushed"]),
    "rounded to bfloat16": (lambda t: tw.exp2(t).astype(tw.bfloat16), ["flushed"]),
    "summed": (lambda t: total(tw.exp(t)), ["flushed"]),
    "summed and rounded": (share, ["uses"]),
    "a share": (lambda t: share(t).astype(half), ["flushed"]),
    "by a reciprocal": (reciprocal, ["flushed"]),
    "moved": (lambda t: tw.where(t > 0, -tw.exp(t), 0.0).reshape((N, 2)).transpose().astype(half), ["flushed"]),
    "in a branch": (branch, ["flushed"]),
    "online": (online, ["uses", "flushed"]),
    # what flushing would show, but not relative errors
    "a factor from memory": (lambda t: (tw.exp(t) * t).astype(half), ["relative"]),
    "a great factor": (lambda t: (tw.exp2(t) * 1e30).astype(half), ["uses"]),
    "a small factor": (lambda t: (tw.exp2(t) * 1.25).astype(half), ["flushed"]),
    "a divisor": (lambda t: (t / tw.exp(t)).astype(half), ["relative"]),
    "silu": (lambda t: (t / (1.0 + tw.exp(-t))).astype(half), ["flushed"]),
    "a share of what may be small": (unshifted, ["relative"]),
    # uses that show errors
    "stored": (tw.exp, ["uses"]),
    "summed with few": (lambda t: tw.sum(tw.exp(t), axis=0), ["uses"]),
    "a difference": (lambda t: (tw.exp(t) - 1.0).astype(half), ["uses"]),
    "a sum with any number": (lambda t: (tw.exp(t) + t).astype(half), ["uses"]),
    "compared": (lambda t: (tw.exp(t) < 0.5).astype(half), ["uses"]),
    "in the exponent": (lambda t: tw.exp(tw.exp(t)).astype(half), ["uses", "flushed"]),
    "cut": (lambda t: tw.astype(tw.exp(t), half, rounding_mode=RZ), ["uses"]),
    "added to what a loop carries": (carried_sum, ["uses"]),  # which may be negative, for all that ranges know
    "multiplied up": (carried_product, ["uses"]),
    # error functions: beside one alone, as near -1 a sum with one has their absolute error
    "gelu": (lambda t: (0.5 * t * (1.0 + tw.erf(t * 0.7071))).astype(tw.bfloat16), ["weight"]),
    "gelu, a half inside": (lambda t: (t * (0.5 * tw.erf(t) + 0.5)).astype(half), ["weight"]),
    "one less erf": (lambda t: (1.0 - tw.erf(t)).astype(half), ["beside_one"]),
    "erf rounded": (lambda t: tw.erf(t).astype(half), ["uses"]),
    "erf beside a half": (lambda t: (0.5 + tw.erf(t)).astype(half), ["uses"]),
    "erf times two beside one": (lambda t: (tw.erf(t) * 2.0 + 1.0).astype(half), ["uses"]),
    "gelu of float32": (lambda t: 0.5 * t * (1.0 + tw.erf(t)), ["uses"]),
    "gelu and its erf": (lambda t: (1.0 + tw.erf(t)).astype(half) + tw.erf(t).astype(half), ["uses"]),
    "squared": (lambda t: ((1.0 + tw.erf(t)) * (1.0 + tw.erf(t))).astype(half), ["beside_one"]),
    # what the user has said
    "accurate": (lambda t: tw.exp(t, rounding_mode=FULL).astype(half), ["accurate"]),
    "approximate": (lambda t: tw.exp(t, rounding_mode=APPROX).astype(half), ["uses"]),
    "flushing": (lambda t: tw.exp2(t, flush_to_zero=True).astype(half), ["uses"]),
    "float64": (lambda t: tw.exp(t.astype(tw.float64)).astype(half), ["uses"]),
}


def stored(function: Callable[[Any], Any], mode: str = "default") -> Any:
    """The kernel that stores what a function makes of a tile."""

    @tw.tile_kernel(math=mode)
    def kernel(x, out):
        tw.store(out, 0, tw.reshape(function(tw.load(x, (0, 0), (2, N))), (-1,)))

    return kernel


def shortened(function: Callable[[Any], Any], mode: str = "default") -> Function:
    """That kernel, after both passes."""
    f = parse(stored(function, mode).ir(np.zeros((2, N), np.float32), np.zeros(2 * N, np.float32)))
    shorten_exponentials(Unit(f))
    shorten_error_functions(Unit(f))
    return f


def forms(f: Function) -> list[str]:
    return [op.form.value for op in f.walk() if isinstance(op, (Erf, Exp, Exp2))]


@pytest.mark.parametrize("name", CASES)
def test_forms(name: str) -> None:
    function, want = CASES[name]
    assert forms(shortened(function)) == want


def test_exact_kernels_have_none() -> None:
    assert forms(shortened(CASES["rounded"][0], "exact")) == [Form.ACCURATE.value]


def test_decisions_say_why() -> None:
    [made] = shortened(lambda t: share(t).astype(half)).decisions
    assert (made.name, made.value) == ("exp", "within 64 ulp, zero below 2**-126")
    assert made.reason == "it is only summed and rounded to float16"


def test_ranges() -> None:
    """Of what the quotients above are made of; a power of any number has no upper end."""
    f = shortened(share)
    shown = "sub", "exp", "reduce_sum", "div"
    found = {op.opcode: float_range(op.results[0]) for op in f.walk() if op.opcode in shown}
    assert found == {"sub": (-math.inf, 0), "exp": (0, 1), "reduce_sum": (1, math.inf), "div": (0, 1)}
    other = shortened(lambda t: tw.exp(t - maximum(t * 2.0)))
    assert [float_range(op.results[0]).high for op in other.walk() if op.opcode in ("sub", "exp")] == [math.inf] * 2


def weighted(f: Function) -> list[Fma]:
    """The sums that took the place of products with one and an error function."""
    found = [(op, op.b.op) for op in f.walk() if isinstance(op, Fma)]
    return [op for op, erf in found if isinstance(erf, Erf) and isinstance(erf.src.op, Abs)]


def clipped(t):
    return (tw.maximum(t, 0.0) * (1.0 + tw.erf(t))).astype(half)


@pytest.mark.parametrize(("function", "want"), [
    (CASES["gelu"][0], 1), (CASES["gelu, a half inside"][0], 1),
    (lambda t: (t * 0.5 * (tw.erf(t / 2.0**0.5) + 1.0)).astype(half), 1),
    (lambda t: (CASES["gelu"][0](CASES["gelu"][0](t).astype(wide))), 2),
    (lambda t: (-t * (1.0 + tw.erf(t))).astype(half), 0), (lambda t: (t * (1.0 - tw.erf(t))).astype(half), 0),
    (lambda t: (t * (0.5 * tw.erf(t) + 0.75)).astype(half), 0), (clipped, 0), (CASES["squared"][0], 0),
    (CASES["gelu of float32"][0], 0), (lambda t: (t * 1e30 * (1.0 + tw.erf(t * 1e-30))).astype(tw.bfloat16), 0),
], ids=range(11))
def test_products_with_one_and_an_error_function(function: Callable[[Any], Any], want: int) -> None:
    """They are sums where both factors have the same sign, and what they were made of is gone."""
    f = shortened(function)
    assert len(weighted(f)) == want
    assert len([op for op in f.walk() if isinstance(op, Erf)]) >= want
    x = np.concatenate([np.linspace(-7, 7, 2 * N - 4), [0, np.inf, np.nan, -1e30]]).astype(np.float32).reshape(2, N)
    got, plain = np.zeros(2 * N, np.float32), np.zeros(2 * N, np.float32)
    tw.kernel_from_ir(f)[1](x, got)
    stored(function)[1](x, plain)
    np.testing.assert_allclose(got, plain, rtol=2**-9, atol=2**-20)


def test_fused_launches_keep_the_products_of_their_own() -> None:
    """Two arguments become one value there, whose sign the error function's has."""

    @tw.tile_kernel
    def weigh(x, y, out):
        a, b = (tw.load(v, tw.bid(0), N) for v in (x, y))
        tw.store(out, tw.bid(0), (a * (1.0 + tw.erf(b))).astype(out.dtype))

    @tw.tile_kernel
    def double(x, out):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), N) * 2.0)

    x, out = np.zeros(4 * N, np.float32), np.zeros(4 * N, np.float16)
    with tw.fuse() as g:
        between = g.empty(4 * N, np.float32)
        double[(4,)](x, between)
        weigh[(4,)](between, between, out)
    [launch] = g.launches
    f = parse(launch.kernel.ir(*launch.args))
    shorten_error_functions(Unit(f))
    assert forms(f) == ["beside_one"] and not weighted(f)


def test_ways_of_errors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2**20 products of factors that an error passes through, as many are told apart as differ."""
    asked = []

    def counted(value: Any) -> Any:
        asked.append(value)
        return float_range(value)

    monkeypatch.setattr(tolerances, "float_range", counted)

    def layers(t):
        y = tw.exp(t)
        for n in tw.static_iter(range(20)):
            y = tw.where(t > 0.0, y * (1.0 + 0.01 * n), y * (1.0 + 0.0173 * n))
        return y.astype(half)

    assert forms(shortened(layers)) == ["flushed"]
    assert len(asked) < 10_000
