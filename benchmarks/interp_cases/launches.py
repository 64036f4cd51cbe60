"""What does not depend on the size of the data: launches of little work, and blocks that run one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.interp_cases.case import Case, normal


@tw.tile_kernel
def add(x, y, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 128) + tw.load(y, i, 128))


def small() -> Case:
    """A launch of one block: what a launch costs."""
    x, y = normal(128), normal(128, seed=1)
    out = np.zeros_like(x)
    return Case("one small launch", lambda: add[1](x, y, out), out, lambda: x + y, 0.0)


@tw.tile_kernel
def total(x, out):
    i = tw.bid(0)
    tw.store(out, 0, tw.load(out, 0, 1) + tw.sum(tw.load(x, i, 128)))


def serial(blocks: int = 100) -> Case:
    """Blocks that read what others write run one after another."""
    x, out = normal(128 * blocks), np.zeros(1, np.float32)

    def ours() -> None:
        out[...] = 0
        total[blocks](x, out)

    return Case("100 serial blocks", ours, out, lambda: plain_total(x), 1e-3)


def plain_total(x: Any) -> Any:
    out = np.zeros(1, np.float32)
    for i in range(0, len(x), 128):
        out += x[i : i + 128].sum()
    return out


CASES: tuple[Callable[[], Case], ...] = ()
