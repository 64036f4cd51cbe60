"""ct.tune with a time limit: kernels run in another process, which may end, hang or fail."""

from __future__ import annotations

import ctypes
import pickle
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.tune_kernels import array_of, endless, grid, increment, scale

import tilewright as ct
from tilewright.tune import exhaustive_search
from tilewright.tune.job import make_job
from tilewright.tune.process import RemoteError, RemoteRuns, Worker
from tilewright.tune.worker import prepared


@ct.tile_kernel
def strict(x, limit: ct.Constant[int]):
    ct.assert_(ct.load(x, 0, 16) < limit, "too large")


def test_search_in_another_process() -> None:
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    calls: list[int] = []

    def args(n: int) -> tuple[Any, ...]:
        calls.append(n)
        return x, y, n

    result = exhaustive_search([16, 3, 64], None, grid, scale, args, quiet=True, single_run_timeout_sec=60)
    assert [m.config for m in result.successes] == [16, 64] and not y.any() and calls == [16, 3, 64]
    assert [f[:2] for f in result.failures] == [(3, "TileTypeError")]


@ct.tile_kernel
def applied(x, out, f: ct.Constant[Any], tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, i, f(ct.load(x, i, tile)))


def test_in_place_with_a_function_as_a_constant() -> None:
    """What is no data stays here; an array under two names is one array there."""
    x = np.arange(64, dtype=np.float32)
    job = pickle.loads(pickle.dumps(make_job(applied, applied[4].grid, (x, x, lambda t: t * 2, 16), None)))
    run = prepared(job)
    for _ in range(2):
        run()
        view = np.ctypeslib.as_array((ctypes.c_float * 64).from_address(job.arguments[1].info.pointer))
        assert np.array_equal(view, 2 * x)
    assert (x == np.arange(64)).all()


def test_a_kernel_that_never_ends() -> None:
    x = np.ones(256, np.float32)
    result = exhaustive_search(
        [16, 0, 32], None, lambda n: (1,), lambda n: scale if n else endless,
        lambda n: (x, np.empty_like(x), n) if n else (x,), quiet=True, single_run_timeout_sec=0.5)
    assert [m.config for m in result.successes] == [16, 32]
    assert result.failures == ((0, "TileLaunchTimeoutError", "a run of kernel endless took longer than 0.5 s"),)


def test_errors_of_the_other_process_have_their_names() -> None:
    x = np.full(16, 5, np.int32)
    result = exhaustive_search([3, 9], None, lambda n: (1,), strict, lambda n: (x, n), quiet=True,
                               single_run_timeout_sec=60)
    assert [m.config for m in result.successes] == [9]
    assert result.failures[0][:2] == (3, "TileAssertionError") and "too large" in result.failures[0][2]


def test_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.tune import process

    monkeypatch.setattr(process, "_PROGRAM", "import sys; {path!r}; sys.stdin.buffer.read(1); sys.exit(7)")
    with pytest.raises(ValueError, match="RuntimeError: the process that ran the kernel ended with status 7"):
        exhaustive_search([1], None, lambda n: (1,), increment, lambda n: (np.ones(16, np.float32),), quiet=True,
                          single_run_timeout_sec=60)


def test_what_a_kernel_prints_does_not_disturb_the_answers() -> None:
    @ct.tile_kernel
    def talk(x):
        print("sum", ct.sum(ct.load(x, 0, 16)))

    result = exhaustive_search([1], None, lambda n: (1,), talk, lambda n: (np.ones(16, np.float32),), quiet=True,
                               single_run_timeout_sec=60)
    assert len(result.successes) == 1


def test_each_run_sees_the_same_memory() -> None:
    x = np.zeros(16, np.float32)
    job = make_job(increment, increment[(1,)].grid, (x,), None)
    run = prepared(job)
    for _ in range(3):
        run()
        view = np.ctypeslib.as_array((ctypes.c_float * 16).from_address(array_of(job, 0).pointer))
        assert (view == 1).all(), "what a run writes is undone before the next"
    assert not x.any()


def test_memory_keeps_its_shape() -> None:
    @ct.tile_kernel
    def mixed(even, odd, xs, half, flag, out):
        t = ct.load(even, 0, 16) + ct.load(odd, 0, 16) + ct.load(xs[1], 0, 16)
        ct.store(out, 0, ct.where(flag, t + ct.astype(ct.load(half, 0, 16), ct.float32), t))

    base = np.arange(33, dtype=np.float32)
    lists = [np.ones(16, np.float32), np.full(16, 2, np.float32)]
    half = np.arange(16, dtype=np.float32).astype(ml_dtypes.bfloat16)
    out = np.zeros((16, 3), np.float32)[:, 1]
    args = (base[:32:2], base[1:33:2], lists, half, True, out)
    job = make_job(mixed, mixed[(1,)].grid, args, None)
    assert len(job.blocks) == 5, "the two halves of one array are one block"
    assert [b.written for b in job.blocks].count(True) == 1
    run = prepared(job)  # it owns the memory that is looked at below
    run()
    raw = (ctypes.c_float * 46).from_address(array_of(job, 5).pointer)
    got = np.ctypeslib.as_array(raw)[::3]
    mixed[(1,)](*args)
    assert np.array_equal(got, out) and out.any()


def test_worker_finds_the_package_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    worker = Worker()
    try:
        run = RemoteRuns(worker, increment, increment[(1,)].grid, (np.zeros(16, np.float32),), None, 60)
        assert run() > 0
        with pytest.raises(RemoteError):
            worker.ask(("job", 3), 60, "late")
        assert worker._process is None, "a failure ends the process"
    finally:
        worker.end()
