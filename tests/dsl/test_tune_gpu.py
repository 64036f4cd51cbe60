"""ct.tune on a recorded driver, and on a GPU: what is timed, on which stream, and how errors are told."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.tune_kernels import array_of, endless, grid, increment, scale

import tilewright as ct
from tilewright.tune import TileLaunchTimeoutError, exhaustive_search
from tilewright.tune.choosing import TURNS
from tilewright.tune.job import make_job
from tilewright.tune.sampling import FEWEST
from tilewright.tune.worker import prepared


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    from tilewright.tune import local

    monkeypatch.setattr(local, "_stopwatches", {})
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def test_events_time_the_launch(cuda: FakeCuda) -> None:
    x, y = (ct.to_device(np.ones(256, np.float32)) for _ in range(2))
    times = {16: 0.004, 64: 0.002, 128: 0.003}
    kernel = scale.replace_hints()
    now: list[int] = []

    def args(n: int) -> tuple[Any, ...]:
        now.append(n)
        return x, y, n

    cuda.step_ms = lambda: times[now[-1]]
    result = exhaustive_search([16, 64, 128], 77, grid, kernel, args, quiet=True)
    assert result.best.config == 64
    assert [round(m.mean_us, 6) for m in result.successes] == [4.0, 2.0, 3.0]
    assert {launch.stream for launch in cuda.launches} == {77} and {s for _, s in cuda.events} == {77}
    assert len(cuda.launches) == 3 * (FEWEST + 2) and len(cuda.events) == 2


def test_autotune_leaves_arrays_as_they_were(cuda: FakeCuda) -> None:
    """All are compiled before one is timed; what runs write is put back before the next."""
    x, y = (ct.to_device(np.ones(256, np.float32)) for _ in range(2))
    tuned = ct.autotune(space={"n": (16, 64, 128)})(scale)
    cuda.step_ms = lambda: 0.002
    tuned[lambda config: grid(config.n)](x, y)
    assert tuned.result is not None
    assert len(cuda.linked) == 3 and len(tuned.result.successes) == 3
    before = len(cuda.launches)
    assert before == 3 * (FEWEST + 2) + 3 * TURNS + 1, "all three are as fast, and timed again in turn"
    tuned[2](x, y, 128)
    assert len(cuda.launches) == before + 1


def test_a_broken_context_is_explained(cuda: FakeCuda) -> None:
    x = ct.to_device(np.ones(16, np.float32))
    cuda.broken = True
    with pytest.raises(ValueError, match="CudaError.*CUDA_ERROR_LAUNCH_FAILED.*single_run_timeout_sec"):
        exhaustive_search([1], None, lambda n: (1,), increment.replace_hints(), lambda n: (x,), quiet=True)


def test_job_on_a_gpu(cuda: FakeCuda) -> None:
    """The worker's side, run here on the recorded driver."""
    @ct.tile_kernel(programmatic_dependent_launch=True)
    def both(x, xs, s, out):
        ct.store(out, ct.bid(0), ct.load(x, ct.bid(0), 16) * s + ct.load(xs[0], ct.bid(0), 16))

    arrays = [ct.to_device(np.full(32, k, np.float32)) for k in range(4)]
    args = (arrays[0], arrays[1:3], 2.0, arrays[3])
    job = make_job(both, both[(2,)].grid, args, None)
    assert job.gpu == 0 and len(job.blocks) == 4 and [b.written for b in job.blocks].count(True) == 1
    run = prepared(job)
    out = array_of(job, 3)
    view = np.ctypeslib.as_array((ctypes.c_float * 32).from_address(out.pointer))
    assert out.pointer != arrays[3].pointer and (view == 3).all()
    view[:] = 9  # what a kernel would do
    assert run() > 0 and (view == 3).all()
    launch = cuda.launches[-1]
    assert launch.grid == (2, 1, 1) and launch.params[0] == array_of(job, 0).pointer and launch.dependent
    assert launch.params[5] == 2.0 and launch.params[6] == out.pointer
    assert (arrays[3].to_host() == 3).all()


@pytest.mark.gpu
@pytest.mark.parametrize("timeout", [None, 300.0])  # far more than a run takes on a busy host
def test_search_on_a_gpu(timeout: float | None) -> None:
    x = ct.to_device(np.arange(1 << 16, dtype=np.float32))
    y = ct.to_device(np.zeros(1 << 16, np.float32))
    result = exhaustive_search(
        [128, 3, 1024, 4096], 0, lambda n: (ct.cdiv(1 << 16, n),), scale, lambda n: (x, y, n),
        lambda n: {"num_worker_warps": 4}, quiet=True, single_run_timeout_sec=timeout)
    assert [m.config for m in result.successes] == [128, 1024, 4096], result.failures
    assert len(result.failures) == 1
    assert all(0.5 < m.mean_us < 100 for m in result.successes)
    changed = y.to_host()
    assert not changed.any() if timeout else np.array_equal(changed, 2 * np.arange(1 << 16, dtype=np.float32))


@pytest.mark.gpu
def test_a_gpu_kernel_that_never_ends() -> None:
    x = ct.to_device(np.ones(16, np.float32))
    result = exhaustive_search(
        [0, 1], 0, lambda n: (1,), lambda n: increment if n else endless, lambda n: (x,), quiet=True,
        single_run_timeout_sec=5)
    assert [m.config for m in result.successes] == [1]
    assert result.failures[0][1] == TileLaunchTimeoutError.__name__
    assert (x.to_host() == 1).all()
