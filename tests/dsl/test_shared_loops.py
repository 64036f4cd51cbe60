"""Launches of few blocks, of which CTAs of clusters share the iterations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from catalogue.cluster_kernels import added_up
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.launching.grid import make_grid
from tilewright.tune.job import make_job


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.mark.parametrize(("blocks", "ctas"), [(1, 8), (16, 8), (17, 4), (66, 2), (67, 1)])
def test_as_many_ctas_as_there_are_sms_for(cuda: FakeCuda, blocks: int, ctas: int) -> None:
    """Of 132, in launches that make a plan and in those that find it."""
    x, out = (tw.to_device(np.zeros((rows, 32 * blocks), np.float32)) for rows in (100, 2))
    for _ in range(4):
        added_up[(blocks,)](x, out, 16, 32)
        assert cuda.launches[-1].grid == (blocks * ctas, 1, 1)
    assert make_job(added_up, make_grid((blocks,)), (x, out, 16, 32), None).meta["cluster"] == ctas  # and a tuner's


def test_few_blocks_after_many(cuda: FakeCuda) -> None:
    """The first launch, of many, needs no plan for few; a launch that is captured makes none, and takes the one there
    is."""
    x, out = (tw.to_device(np.zeros((rows, 32 * 70), np.float32)) for rows in (100, 2))
    kernel, ctas = added_up.replace_hints(), []
    for blocks, stream in (70, 0), (70, 0), (2, 5), (2, 0), (2, 5), (33, 5), (33, 0):
        cuda.captured = {5}
        kernel[(blocks,)](x, out, 16, 32, stream=stream or None)
        ctas.append(cuda.launches[-1].grid[0] // blocks)
    assert ctas == [1, 1, 1, 8, 8, 1, 4] and kernel.bind((4,), x, out, 16, 32) is not None


def test_a_hint_is_kept(cuda: FakeCuda) -> None:
    x, out = tw.to_device(np.zeros((100, 32), np.float32)), tw.to_device(np.zeros((2, 32), np.float32))
    for ctas in (1, 2):
        added_up.replace_hints(num_ctas=ctas)[(1,)](x, out, 16, 32)
        assert cuda.launches[-1].grid == (ctas, 1, 1)


def test_sms_that_are_left_to_others(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_SPARE_SMS", "120")
    x, out = tw.to_device(np.zeros((100, 96), np.float32)), tw.to_device(np.zeros((2, 96), np.float32))
    added_up[(3,)](x, out, 16, 32)
    assert cuda.launches[-1].grid == (12, 1, 1)
