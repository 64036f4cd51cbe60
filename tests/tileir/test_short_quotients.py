"""Which quotients, roots and logistic functions are short: those whose uses hide it, and none that serves many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw
from tilewright.tileir.analysis.float_ranges import float_range
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.arith import Add, Div
from tilewright.tileir.ops.math import Sigmoid, Sqrt
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.shorten_quotients import shorten_quotients

half, wide = tw.float16, tw.float32
N = 64


def total(t: Any) -> Any:
    return tw.sum(t, axis=1, keepdims=True)


def largest(t: Any) -> Any:
    return tw.max(t, axis=1, keepdims=True)


CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "silu": (lambda t: (t / (1.0 + tw.exp(-t))).astype(half), ["relative"]),
    "summed": (lambda t: total(1.0 / (t * t + 1.0)), ["relative"]),
    "root": (lambda t: (t / tw.sqrt(1.0 + t * t)).astype(tw.bfloat16), ["relative", "relative"]),
    "logistic": (lambda t: tw.sigmoid(t).astype(half), ["flushed"]),
    "silu by a logistic function": (lambda t: (t * tw.sigmoid(t)).astype(half), ["relative"]),
    "stored": (lambda t: tw.sqrt(t) / (t + 3.0), ["uses", "uses"]),
    "a difference": (lambda t: (t - tw.sigmoid(t) / tw.sqrt(t)).astype(half), ["uses", "uses", "uses"]),
    "by one number": (lambda t: (t / largest(t)).astype(half), ["uses"]),
    "for many": (lambda t: (t * (1.0 / tw.sqrt(largest(t)))).astype(half), ["uses", "uses"]),
    "a mode": (lambda t: tw.truediv(t, t + 2.0, rounding_mode=tw.RoundingMode.RN).astype(half), ["accurate"]),
    "a root's mode": (lambda t: tw.sqrt(t, rounding_mode=tw.RoundingMode.RN).astype(half), ["accurate"]),
    "float64": (lambda t: (t.astype(tw.float64) / (t + 2.0)).astype(half), ["uses"]),
}


def shortened(function: Callable[[Any], Any], mode: str = "default") -> Function:
    @tw.tile_kernel(math=mode)
    def kernel(x, out):
        tw.store(out, 0, tw.reshape(function(tw.load(x, (0, 0), (2, N))), (-1,)))

    f = parse(kernel.ir(tw.spec("f32[?,?]"), tw.spec("f32[?]")))
    shorten_quotients(Unit(f))
    return f


def forms(f: Function) -> list[str]:
    return [op.attributes["form"].value for op in f.walk() if isinstance(op, (Div, Sqrt, Sigmoid))]


@pytest.mark.parametrize("name", CASES)
def test_forms(name: str) -> None:
    function, want = CASES[name]
    assert forms(shortened(function)) == want
    assert not {"relative", "flushed"}.intersection(forms(shortened(function, "exact")))


def test_decisions_say_why() -> None:
    [made] = shortened(CASES["silu"][0]).decisions
    assert (made.name, made.value, made.reason) == ("div", "within 4 ulp", "it is only rounded to float16")


@pytest.mark.parametrize(("divisor", "wanted", "other"), [
    (lambda t: 1.0 + tw.exp(-tw.abs(t)), "rcp.approx.ftz", "0f3E800000"),  # at most 2
    (lambda t: 1.0 + tw.exp(-t), "0f3E800000", "div.full"),  # a quarter of it, as its reciprocal may be flushed
    (lambda t: t + 3.0, "div.full", "rcp.approx"),
], ids=["bounded", "from 1 on", "any"])
def test_code(divisor: Callable[[Any], Any], wanted: str, other: str) -> None:
    @tw.tile_kernel
    def kernel(x, out):
        t = tw.load(x, tw.bid(0), 256)
        tw.store(out, tw.bid(0), (t / divisor(t)).astype(half))

    ptx = kernel.ptx(tw.spec("f32[?]"), tw.spec("f16[?]"), target="sm_90a")
    assert wanted in ptx and other not in ptx and "div.rn" not in ptx


def test_ranges() -> None:
    found = [float_range(op.rhs) for op in shortened(lambda t: 1.0 / (1.0 + tw.exp(-tw.abs(t)))).walk()
             if isinstance(op, Div)]
    assert [known.low for known in found] == [1] and 2 <= found[0].high < 2.001


def test_sums_are_rounded_up() -> None:
    """To the next number of their dtype: 1.0059 to 1.0078 in bfloat16."""
    f = shortened(lambda t: tw.sigmoid(t.astype(tw.bfloat16)) + 0.005859375)
    [found] = [float_range(op.result) for op in f.walk() if isinstance(op, Add)]
    assert 1.0078125 <= found.high < 1.02
