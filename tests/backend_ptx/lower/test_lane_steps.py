"""Addresses of gathers that lanes share, with numbers of bytes behind them, and one question whether all are inside."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arguments.facts import MAX_FACT_RANK

N = 512  # of 128 threads: 4 lanes each


def at(x, i):
    """Elements of an array of one axis, or of the last one of six."""
    if x.ndim == 1:
        return tw.gather(x, i, padding_value=7)
    return tw.gather(x, (0, 0, 0, 0, 0, i), padding_value=7)


@tw.tile_kernel
def shifted(x, out, shift: int):
    tw.store(out, tw.bid(0), at(x, tw.bid(0) * N + tw.arange(N, dtype=tw.int32) + shift))


@tw.tile_kernel
def reversed_(x, out, shift: int):
    tw.store(out, tw.bid(0), at(x, shift - tw.bid(0) * N - tw.arange(N, dtype=tw.int32)))


@tw.tile_kernel
def unsigned(x, out, shift: int):
    first = tw.astype(tw.bid(0) * N + shift, tw.uint32)
    tw.store(out, tw.bid(0), at(x, first + tw.arange(N, dtype=tw.uint32)))


@tw.tile_kernel
def narrow(x, out, shift: int):
    """Bytes wrap between lanes."""
    i = tw.arange(N, dtype=tw.int32).astype(tw.uint8) + tw.astype(shift, tw.uint8)
    tw.store(out, tw.bid(0), at(x, i))


@tw.tile_kernel
def two_ways(x, out, shift: int):
    """Rows that count up, by a stride that only the launch knows, and columns that count down."""
    r = tw.arange(16, dtype=tw.int32)[:, None] + tw.bid(0) * 16 + shift
    c = 40 - 3 * tw.arange(32, dtype=tw.int32)[None, :]
    t = tw.gather(x, (r, c), padding_value=7) if x.ndim == 2 else tw.gather(x, (0, 0, 0, 0, r, c), padding_value=7)
    tw.store(out, tw.bid(0), tw.reshape(t, (N,)))


@pytest.mark.parametrize(("factor", "shift"), [(11184811, 0), (4194304, -2**30)])
def test_lanes_far_apart(factor: int, shift: int) -> None:
    """Indices of the first and the last lane are inside, beside others that are not; bytes from another lane wrap."""

    @tw.tile_kernel
    def far(x, out):
        tw.store(out, tw.bid(0), tw.gather(x, tw.arange(N, dtype=tw.int32) * factor + shift, padding_value=7))

    x, want, got = np.arange(1000, dtype=np.int32), np.zeros(N, np.int32), np.zeros(N, np.int32)
    far.interpret((1,), x, want)
    far.simulate((1,), x, got, target="sm_90a")
    assert (want != 7).any() and (want == got).all()


@pytest.mark.parametrize(("kernel", "more"), [
    (shifted, False), (shifted, True), (reversed_, False), (reversed_, True), (unsigned, False), (unsigned, True),
    (two_ways, False), (two_ways, True), (narrow, False), (narrow, True)], ids=lambda p: getattr(p, "__name__", str(p)))
def test_lanes(kernel: Any, more: bool) -> None:
    """Of arrays with many axes nobody knows that offsets fit 32 bits."""
    shape = (30, 50) if kernel is two_ways else (1500,)
    x = np.random.default_rng(3).integers(0, 99, shape).astype(np.int32)
    x = x.reshape((1,) * (6 - len(shape)) + shape) if more else x
    assert MAX_FACT_RANK < 6
    for shift in (-3, 0, 5, 700, -2000):
        want, out = np.zeros(2 * N, np.int32), np.zeros(2 * N, np.int32)
        kernel.interpret((2,), x, want, shift)
        kernel.simulate((2,), x, out, shift, target="sm_90a")
        assert (want == out).all(), shift


def test_one_address() -> None:
    """Of four lanes: one pointer that is computed, and where one of them may be outside, one for both ways."""
    ptx = shifted.ptx(tw.spec("i32[?]"), tw.spec("i32[?]"), 3, target="sm_90a")
    loads = re.findall(r"ld\.global[.\w]*\s+%r\d+, \[(%rd\d+)(?:\+\d+)?\]", ptx)
    assert len(loads) == 8
    assert len(set(re.findall(r"\[(%rd\d+)(?:\+(?:512|1024|1536))?\];", "\n".join(
        line for line in ptx.splitlines() if "ld.global" in line and "@" not in line)))) == 1
