"""What a launch of a gradient allocates on a GPU: nothing where it recomputes, else in the order of its stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import derivative_kernels as forward
from support import fake_cuda
from support.differentiable import recurrence
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


def made(*shape: int) -> Any:
    return tw.to_device(np.ones(shape, np.float32))


@pytest.mark.parametrize("name", ["loop", "attention", "softmax", "scan"])
def test_gradients_that_recompute_allocate_nothing(cuda: FakeCuda, name: str) -> None:
    """Neither what a loop carries, nor the scores of attention, whose logarithms of sums are a residual."""
    q, out, lse, g, t = made(2, 40, 16), made(2, 40, 16), made(2, 40), made(2, 40, 16), made(16)
    cases: dict[str, tuple[Any, ...]] = {
        "loop": (powers, (t, made(16), 100), "x", {}, (made(16), made(16))),
        "attention": (forward.attention, (q, made(2, 40, 16), made(2, 40, 16), out, lse, 0.25, 16, 16, 16, True),
                      ("q", "k", "v"), {"residuals": ("out", "lse")}, (g, *(made(2, 40, 16) for _ in range(3)))),
        "softmax": (forward.softmax, (made(3, 16), made(3, 16), 1, 16), "x", {}, (made(3, 16), made(3, 16))),
        "scan": (recurrence, (made(3, 8), made(3, 8), made(3, 8), 8), ("a", "b"), {}, [made(3, 8) for _ in range(3)]),
    }
    kernel, given, wrt, options, extra = cases[name]
    backward = tw.grad(kernel, wrt=wrt, outputs="out", **options)
    there, launches = set(cuda.memory), len(cuda.launches)
    cuda.freed.clear()
    backward[3, 2](*given, *extra)
    assert (set(cuda.memory), len(cuda.launches) - launches, cuda.freed) == (there, 1, [])
