"""`kernel.bind(grid, *args)`: launches with everything resolved, on a recorded driver and in the interpreter."""
# mypy: disable-error-code="name-defined,type-arg"
# ruff: noqa: F821, UP037

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue.group_kernels import grouped
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.launched import three

import tilewright as tw
from tilewright.backend_ptx.runtime import tables
from tilewright.launching.launcher import Launcher
from tilewright.launching.recording import recorded


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@tw.tile_kernel
def add(x, y, z, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(z, i, tw.load(x, i, n) + tw.load(y, i, n))


def bind(grid: Any, *args: Any, **named: Any) -> Any:
    """A launch of `add`, as a kernel that no other test has launched."""
    return add.replace_hints().bind(grid, *args, **named)


@tw.tile_kernel
def scale(x, a, b, k: tw.ScalarInt64, flag, n: tw.Constant[int] = 16):
    i = tw.bid(0)
    t = tw.load(x, i, n) * a + b
    tw.store(x, i, tw.where(flag, t + tw.astype(k, tw.float32), t))


def test_a_bound_launch_is_the_launch(cuda: FakeCuda) -> None:
    x = three()[0]
    kernel = scale.replace_hints()
    args = x, 2, 0.5, 1 << 40, True
    kernel[(2, 70000)](*args, stream=7)
    bound = kernel.bind((2, 70000), *args)
    assert len(cuda.launches) == 1, "binding runs nothing"
    bound(stream=7)
    assert cuda.launches[0] == cuda.launches[1]
    bound()
    assert cuda.launches[2].stream == 0 and cuda.launches[2].params == cuda.launches[0].params
    assert bound.grid == (2, 70000, 1) and bound.arguments == (*args, 16) and bound.kernel is kernel
    assert repr(bound) == "<bound launch of tile_kernel scale[2, 70000, 1]>"


def test_a_bound_launch_looks_nothing_up(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z = three()
    bound = bind(7, x, y, z, n=16)

    def refuse(*args: Any) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(Launcher, "launch", refuse)
    monkeypatch.setattr(Launcher, "_read", refuse)
    for _ in range(3):
        bound()
    wanted = [x.pointer, 100, 1, y.pointer, 100, 1, z.pointer, 100, 1]
    assert [launch.params for launch in cuda.launches] == [wanted] * 3


def test_it_keeps_its_arrays(cuda: FakeCuda) -> None:
    arrays = three()
    seen = [weakref.ref(array) for array in arrays]
    bound = bind(7, *arrays, 16)
    del arrays
    gc.collect()
    assert all(ref() is not None for ref in seen)
    del bound
    gc.collect()
    assert all(ref() is None for ref in seen)


def test_errors_come_when_it_is_bound(cuda: FakeCuda) -> None:
    x, y, z = three()
    with pytest.raises(TypeError, match="takes 4 arguments"):
        bind(7, x, y, z, 16, 3)
    with pytest.raises(ValueError, match="'x' is on GPU 0, but 'y' is in host memory"):
        bind(7, x, np.zeros(100, np.float32), z, 16)
    with pytest.raises(TypeError, match="must be an int, not float"):
        bind(7.5, x, y, z, 16)
    with pytest.raises(tw.TileTypeError):
        bind(7, x, y, z, 3)
    host = np.zeros(100, np.float32)
    host.flags.writeable = False
    with pytest.raises(ValueError, match="'z' is read-only"):
        bind(7, host, host, host, 16)
    bound = bind(7, x, y, z, 16)
    for wrong in ({"stream": 1.5}, {"streams": 1}):
        with pytest.raises(TypeError, match="stream"):
            bound(**wrong)
    assert not cuda.launches


def test_a_thread_without_a_context_and_an_error_of_the_driver(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = bind(7, *three(), 16)
    cuda.context = 0
    bound()
    assert cuda.context == 100 and len(cuda.launches) == 1
    plan = bound.func.__self__._fixed.plan
    monkeypatch.setattr(plan, "_call", lambda *given: (fake_cuda.CUresult(719),), raising=False)
    with pytest.raises(RuntimeError, match="the launch of kernel add failed: CUDA_ERROR_LAUNCH_FAILED"):
        bound()


def test_empty_grids_run_nothing(cuda: FakeCuda) -> None:
    bind(0, *three(), 16)()
    assert not cuda.launches


def test_lists_and_graphs(cuda: FakeCuda) -> None:
    """The tables live as long as the bound launch, and those of a captured one as long as the process."""
    def some(*shapes: tuple[int, int]) -> list[Any]:
        return [tw.to_device(np.zeros(shape, np.float16)) for shape in shapes]

    args = some((72, 40), (8, 72)), some((40, 64), (72, 128)), some((72, 64), (8, 128))
    kernel = grouped.replace_hints()
    kernel[(2,)](*args, 64, 128, 32)
    bound = kernel.bind(2, *args, 64, 128, 32)
    bound()
    assert cuda.launches[0].params == cuda.launches[1].params
    assert not tables._captured
    cuda.captured.add(5)
    bound(stream=5)
    assert len(tables._captured) == 1
    table = cuda.launches[0].params[0]
    kernel.launcher.gpu._plans.clear()
    kernel.launcher._list_plans = None
    del bound
    gc.collect()
    assert table in cuda.memory, "the graph reads it"


def test_profiles_and_recordings_see_bound_launches(cuda: FakeCuda) -> None:
    bound = bind(7, *three(), 16)
    with tw.profile() as p:
        bound()
    assert len(p.launches) == 1 and len(cuda.launches) == 1
    with recorded() as launches:
        bound()
    assert len(launches) == 1 and len(cuda.launches) == 1
    bound()
    assert len(cuda.launches) == 2


@tw.tile_kernel(grid="cdiv(N, tile)")
def fill(out: tw.Array["N"], value, tile: tw.Constant[int]):
    tw.store(out, tw.bid(0), tw.full((tile,), value, tw.float32))


def test_in_the_interpreter() -> None:
    x = np.arange(8, dtype=np.float32)
    y, z = np.ones_like(x), np.zeros_like(x)
    bound = bind((2,), x, y, z, 4)
    assert not z.any()
    bound()
    assert (z == x + 1).all()
    x += 1
    bound()
    assert (z == x + 1).all()
    bound = fill.bind(None, z, 3.0, 4)
    bound()
    assert bound.grid == (2, 1, 1) and (z == 3).all()
    with pytest.raises(ValueError, match=r"the grid is \(3, 1, 1\), but the decorator of kernel fill gives"):
        fill.bind(3, z, 3.0, 4)
    with pytest.raises(TypeError, match="grid axis 0 must be an int"):
        bind(None, x, y, z, 4)


def test_checked_launches() -> None:
    from tilewright.launching import launcher
    from tilewright.launching.checking import checking

    x = np.zeros(4, np.float32)
    bound = bind(2, x, x, x, 4)  # the second block is outside
    bound()
    try:
        launcher.check_launches(checking(True, "raise"))
        with pytest.raises(tw.CheckError, match="the tile lies outside"):
            bound()
    finally:
        launcher.check_launches(None)
