"""Loops of machine code in checked launches: what they report, and the results, are those of the closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp.jit import POLICY

N = 1024


def twice(at, out):
    i = tw.bid(0)
    tw.scatter(out, tw.load(at, i, 64), tw.full((64,), i, tw.int32))


def padded(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 64)
    u = t * t + 0.5
    tw.store(out, i, tw.sum(tw.where(t > 2.0, u, tw.exp(u))))


def padded_plainly(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 64)
    tw.store(out, i, tw.sum(tw.exp(t) * 2.0 + t))


def edge(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 64)
    tw.store(out, i, t * t - 0.5)


def stale(x, out):
    """A value that a loop carries is undefined in the first iteration alone."""
    i = tw.bid(0)
    t = tw.load(x, i, 64)
    for k in range(2):
        if k == 1:
            tw.store(out, i, t)
        t = tw.zeros((64,), tw.float32) + k
    tw.store(out, i, t * 2.0)


def product(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 16), tw.float32)
    for k in range(tw.num_tiles(a, 1, (16, 16)) + 1):
        acc = tw.mma(tw.load(a, (i, k), (16, 16), padding_mode=tw.PaddingMode.ZERO),
                     tw.load(b, (k, j), (16, 16), padding_mode=tw.PaddingMode.ZERO), acc)
    tw.store(out, (i, j), acc)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def places(lengths: int, *same: int) -> Any:
    at = np.random.default_rng(2).permutation(lengths).astype(np.int32)
    at[list(same)] = at[same[0]]
    return at


CASES = {
    "neighbours meet": (twice, 16, lambda: (places(N, 1, 65, 70), np.zeros(N, np.int32))),
    "distant blocks meet": (twice, 300, lambda: (places(300 * 64, 1, 290 * 64), np.zeros(300 * 64, np.int32))),
    "none meets": (twice, 16, lambda: (places(N, 1, 2), np.zeros(N, np.int32))),
    "padding in a sum": (padded, 16, lambda: (numbers(N - 7), numbers(16))),
    "padding in a sum of all": (padded_plainly, 16, lambda: (numbers(N - 7), numbers(16))),
    "padding at an edge": (edge, 16, lambda: (numbers(N - 7), numbers(N - 7))),
    "padding that is replaced": (stale, 16, lambda: (numbers(N - 7), numbers(N))),
    "operands past the end": (product, (8, 8), lambda: (numbers(128, 120), numbers(120, 128), numbers(128, 128))),
}


@pytest.mark.parametrize("name", CASES)
def test_reports_and_results_are_those_of_closures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, grid, make = CASES[name]
    seen = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        for limit in ("seconds", "work", "elements"):
            monkeypatch.setattr(POLICY, limit, 0)
        args = make()
        found = tw.tile_kernel(function).interpret(grid, *args, check=True, on_report="collect")
        seen.append(([(r.kind, r.message, r.block, r.other_block, r.count) for r in found], args[-1].tobytes()))
    assert seen[0] == seen[1]
    clean = ("none meets", "padding at an edge", "padding that is replaced")
    assert bool(seen[0][0]) == (name not in clean)
    if name == "operands past the end":  # each of 64 blocks loads one tile of each outside
        assert [count for *_, count in seen[0][0]] == [64, 64]


def last_from_memory(x, out):
    i = tw.bid(0)
    t = tw.full((64,), 0.5, tw.float32)
    if i == 15:
        t = tw.load(x, i, 64)
    tw.store(out, i, tw.sum(t))


@pytest.mark.parametrize("length, blocks", [(N - 7, [15]), (N, [])])
def test_what_other_blocks_have_stays_defined(length: int, blocks: list[int]) -> None:
    """Where blocks part, undefined elements are those of the blocks that loaded them."""
    found = tw.tile_kernel(last_from_memory).interpret(
        16, numbers(length), numbers(16), check=True, on_report="collect")
    assert [(r.kind, r.block, r.count) for r in found or ()] == [("undefined", (n, 0, 0), 1) for n in blocks]
