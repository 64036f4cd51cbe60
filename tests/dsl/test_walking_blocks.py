"""Blocks that walk over tiles: which kernels may run with more of them than launched, and when a launch does so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.backend_ptx.passes.clusters.order_blocks import FEW, MANY
from tilewright.launching.grid import make_grid
from tilewright.launching.processors import WAVES
from tilewright.tune.job import make_job

SMS, FIT = 132, 264  # of the recorded driver


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@tw.tile_kernel
def rows(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (1, 8)) + 1)


@tw.tile_kernel
def tiles(x, out):
    for i in range(tw.bid(0), tw.cdiv(out.shape[1], 2), tw.num_blocks(0)):
        tw.store(out, (0, i), tw.load(x, (0, i), (8, 2)) + 1)


@tw.tile_kernel
def products(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (16, 16)).astype(tw.float16)
        tw.store(out, (i, 0), tw.mma(t, t, tw.zeros((16, 16), tw.float32)))


@tw.tile_kernel
def counts_blocks(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (1, 8)) + tw.num_blocks(0))


@tw.tile_kernel
def names_block(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (1, 8)) + tw.bid(0))


@tw.tile_kernel
def overwrites(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        tw.store(out, (0, 0), tw.load(x, (i, 0), (1, 8)))


@tw.tile_kernel
def moves_up(x, out):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(out, (i + 1, 0), (1, 8)) + tw.load(x, (i, 0), (1, 8)))


@tw.tile_kernel
def adds_up(x, out):
    total = tw.zeros((1, 8), tw.float32)
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        total += tw.load(x, (i, 0), (1, 8))
        tw.store(out, (i, 0), total)


@tw.tile_kernel
def halves(x, out):
    for i in range(tw.bid(0), x.shape[0] // 2, tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (1, 8)))


def walked(kernel: Any) -> tuple[int, ...]:
    x, out = (np.zeros((64, 64), np.float32) for _ in range(2))
    plan: Any = kernel.lower(x, out, target="sm_90a").machine_ir().plan
    return tuple(plan.walked)


def test_what_may_be_walked_over_by_more_blocks() -> None:
    assert walked(rows) == (0, 0, 1, MANY) and walked(tiles) == (1, 1, 2, MANY)


def test_few_tiles_for_each_where_no_ring_brings_them() -> None:
    specs = [tw.spec("f32[64,63]")] * 2  # at odd addresses
    assert tuple(rows.lower(*specs, target="sm_90a").machine_ir().plan.walked) == (0, 0, 1, FEW)


@pytest.mark.parametrize(
    "kernel", [products, counts_blocks, names_block, overwrites, moves_up, adds_up, halves], ids=lambda k: k.__name__)
def test_what_may_not(kernel: Any) -> None:
    """Rings of products prefetch the next tile; a result may not depend on the number of blocks, or on their order."""
    assert walked(kernel) == ()


def test_launches(cuda: FakeCuda) -> None:
    """From as many blocks as SMs on, where these are fewer than have MANY rows, of which there are many."""
    enough = WAVES * FIT * MANY
    for count, grid, want in ((enough, SMS, enough // MANY), (2 * enough, 400, 2 * enough // MANY),
                              (enough, SMS - 1, SMS - 1), (enough - MANY, SMS, SMS), (enough, enough, enough)):
        x, out = (tw.to_device(np.zeros((count, 8), np.float32)) for _ in range(2))
        for _ in range(3):
            rows[(grid,)](x, out)
            assert cuda.launches[-1].grid == (want, 1, 1)
        rows[(grid, 2)](x, out)
        assert cuda.launches[-1].grid == (grid, 2, 1)
        job = make_job(rows, make_grid((grid,)), (x, out), None)  # and a tuner's process
        assert job.meta["walked"] == (0, 0, 1, MANY)
