"""What a launch of a gradient allocates on a GPU comes and goes in the order of the launch's stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@tw.tile_kernel
def powers(x, out, n):
    t = u = tw.load(x, 0, 16)
    for _ in range(n):
        u = tw.sin(u) * t
    tw.store(out, 0, u)


@tw.tile_kernel(deterministic=True)
def scaled(x, w, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) * tw.load(w, 0, 16))


def test_workspaces_and_parts_follow_the_stream(cuda: FakeCuda) -> None:
    stream, current = tw.Stream(), tw.Stream()
    x, out, g, x_grad = (tw.to_device(np.ones(16, np.float32)) for _ in range(4))
    backward = tw.grad(powers, wrt="x", outputs="out", workspace=True)
    by_parts = tw.grad(scaled, wrt="w", outputs="out")
    for named, handle in ((stream, stream.handle), (5, 5), (None, 0)):
        backward[1](x, out, 100, g, x_grad, stream=named)
        assert [n for _, n in cuda.freed] == [handle] and cuda.launches[-1].stream == handle
        cuda.freed.clear()
        by_parts[1](x, x, out, g, x_grad, stream=named)
        assert [n for _, n in cuda.freed] == [handle]
        assert [launch.stream for launch in cuda.launches[-2:]] == [handle] * 2, "and what adds the parts up"
        cuda.freed.clear()
    with current:
        backward[1](x, out, 100, g, x_grad)
        backward[1](x, out, 100, g, x_grad, stream=stream)
    assert [n for _, n in cuda.freed] == [current.handle, stream.handle]
