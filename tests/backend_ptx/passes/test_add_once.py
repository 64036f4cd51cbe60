"""Loops that only count add the sum of their iterations once; blocks that only count are iterations of such a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.frontend import ir

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.passes.count_before_adding import count_before_adding

N = 256


def add(counts, t):
    tw.atomic_add(counts, t, 1)


@tw.tile_kernel
def rows(x, counts):
    for i in range(tw.bid(0), tw.num_tiles(x, 0, N), tw.num_blocks(0)):
        t = tw.load(x, i, N).astype(tw.int32)
        add(counts, t & 15)
        tw.atomic_add(counts, (t >> 3) & 7, -2)


@tw.tile_kernel
def weighted(x, counts):
    """What is added changes from iteration to iteration."""
    for i in range(tw.num_tiles(x, 0, N)):
        tw.atomic_add(counts, tw.load(x, i, N).astype(tw.int32) & 15, i)


@tw.tile_kernel
def stored_beside(x, counts):
    for i in range(tw.num_tiles(x, 0, N)):
        add(counts, tw.load(x, i, N).astype(tw.int32) & 15)
        tw.store(counts, 2, i)


@tw.tile_kernel
def read_beside(x, counts):
    for i in range(tw.num_tiles(x, 0, N)):
        add(counts, (tw.load(x, i, N).astype(tw.int32) + tw.load(counts, 0, ())) & 15)


@tw.tile_kernel
def sometimes(x, counts):
    for i in range(tw.num_tiles(x, 0, N)):
        if i % 2 == 0:
            add(counts, tw.load(x, i, N).astype(tw.int32) & 15)


def arrays() -> tuple[Any, Any]:
    return np.random.default_rng(7).integers(0, 256, 5 * N).astype(np.uint8), np.zeros(20, np.int32)


def function(kernel: Any) -> Function:
    f = ir(kernel, *arrays())
    run_pipeline(f)
    return f


@pytest.mark.parametrize(("kernel", "deferred"), [
    (rows, True), (weighted, False), (stored_beside, False), (read_beside, False), (sometimes, False),
], ids=lambda p: getattr(p, "__name__", ""))
def test_loops(kernel: Any, deferred: bool) -> None:
    f = function(kernel)
    count_before_adding(Unit(f))
    assert (sum(isinstance(op, AtomicRmw) for op in f.body.ops) == 2) is deferred
    (x, want), (_, found) = arrays(), arrays()
    kernel[(1,)](x, want)
    kernel.simulate((1,), x, found, target="sm_90a", schedule="random", seed=2)
    assert (want == found).all()


@tw.tile_kernel
def blocks(x, counts):
    add(counts, tw.load(x, tw.bid(0), N).astype(tw.int32) & 15)


@tw.tile_kernel
def written_blocks(x, counts, last):
    add(counts, tw.load(x, tw.bid(0), N).astype(tw.int32) & 15)
    tw.store(last, tw.bid(0), tw.bid(0))


@pytest.mark.parametrize(("kernel", "looped"), [(blocks, True), (written_blocks, False)])
def test_blocks(kernel: Any, looped: bool) -> None:
    """Two CTAs run five blocks."""
    x, counts = arrays()
    args = (x, counts) if looped else (x, counts, np.zeros(5, np.int32))
    f = ir(kernel, *args)
    f.switches = replace(f.switches, loop_over_blocks=True)
    run_pipeline(f)
    made = lower_function(f, get_target("sm_90a"))
    assert made.looped is looped
    simulate_lowered(made, (5,), args, schedule="random", seed=3)
    assert (counts[:16] == np.bincount(x & 15, minlength=16)).all()
