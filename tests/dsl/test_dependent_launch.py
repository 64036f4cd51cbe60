"""Launches that may start before the kernel ahead of them has ended: their attribute, and results on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw


@tw.tile_kernel
def step(x, out, n: tw.Constant[int]):
    """Each block reads what another block of the launch before has written."""
    i, last = tw.bid(0), tw.num_blocks(0) - 1
    tw.store(out, i, tw.load(x, last - i, n) + 1.0)


dependent = step.replace_hints(programmatic_dependent_launch=True)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def two() -> tuple[Any, Any]:
    x, y = (tw.to_device(np.zeros(300, np.float32)) for _ in range(2))
    return x, y


def test_launches_name_the_attribute(cuda: FakeCuda) -> None:
    x, y = two()
    own = step.replace_hints()
    own[(3,)](x, y, 128)
    kernel = own.replace_hints(programmatic_dependent_launch=True)
    kernel[(3,)](x, y, 128)
    kernel[(3,)](y, x, 128)
    tw.launch(5, (2,), own, (x, y, 128), programmatic_dependent_launch=True)
    tw.launch(5, (2,), own, (x, y, 128))
    kernel.bind((1,), x, y, 128)()
    assert [launch.dependent for launch in cuda.launches] == [False, True, True, True, False, True]
    assert [(launch.grid[0], launch.stream) for launch in cuda.launches] == [(3, 0)] * 3 + [(2, 5)] * 2 + [(1, 0)]
    plain, other = (launch.params for launch in cuda.launches[:2])
    assert plain == other and len({launch.threads for launch in cuda.launches}) == 1


def test_the_variant_of_a_launch_is_made_once(cuda: FakeCuda) -> None:
    x, y = two()
    own = step.replace_hints()
    for _ in range(3):
        tw.launch(None, (3,), own, (x, y, 128), programmatic_dependent_launch=True)
    assert len(cuda.linked) == 1
    wide = own.replace_hints(num_worker_warps=8)
    tw.launch(None, (3,), wide, (x, y, 128), programmatic_dependent_launch=True)
    assert [launch.threads for launch in cuda.launches] == [*[cuda.launches[0].threads] * 3, 256]


def test_graphs_capture_it(cuda: FakeCuda) -> None:
    x, y = two()
    kernel = dependent.replace_hints()
    with tw.graph() as g:
        kernel[(3,)](x, y, 128)
        kernel[(3,)](y, x, 128)
    g()
    assert [launch.dependent for launch in cuda.launches] == [True, True]


def test_it_comes_from_the_disk_cache(cuda: FakeCuda) -> None:
    x, y = two()
    for _ in range(2):
        dependent.replace_hints()[(3,)](x, y, 128)
    assert [launch.dependent for launch in cuda.launches] == [True, True]


def test_older_gpus_launch_as_ever(cuda: FakeCuda) -> None:
    cuda.capability = (8, 0)
    x, y = two()
    dependent.replace_hints()[(3,)](x, y, 128)
    assert not cuda.launches[0].dependent


def test_the_interpreter_ignores_it() -> None:
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    dependent[(3,)](x, y, 128)
    assert y[0] == x[256] + 1


def test_values() -> None:
    assert tw.tile_kernel(programmatic_dependent_launch=tw.ByTarget(sm_90=True, default=False))(lambda x: None)
    with pytest.raises(ValueError, match="programmatic_dependent_launch must be True or False"):
        step.replace_hints(programmatic_dependent_launch=1)


@pytest.mark.gpu
@pytest.mark.parametrize("captured", [False, True])
def test_chains_are_right_on_a_gpu(captured: bool) -> None:
    """Grids of different lengths, dependent and not, in a chain: each must see all of the one before."""
    rng = np.random.default_rng(3)
    host = rng.integers(0, 3, 1 << 20).astype(np.float32)
    x, y = tw.to_device(host), tw.to_device(np.zeros_like(host))
    kernels = [dependent if rng.random() < 0.8 else step for _ in range(12)]
    tiles = [int(rng.choice([64, 256, 1024, 4096])) for _ in kernels]

    def chain() -> None:
        for number, (kernel, tile) in enumerate(zip(kernels, tiles, strict=True)):
            kernel[(host.size // tile,)](*((y, x) if number % 2 else (x, y)), tile)

    if captured:
        with tw.graph() as g:
            chain()
    want = host
    for _ in range(20):
        (g if captured else chain)()
        for tile in tiles:
            want = want.reshape(-1, tile)[::-1].reshape(-1) + 1
    np.testing.assert_array_equal(x.to_host(), want)
