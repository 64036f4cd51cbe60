"""ct.tune: results, sampling, searches in the interpreter, in another process and on a recorded driver."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_cuda
import ml_dtypes
import numpy as np
import pytest
from fake_cuda import FakeCuda

import tilewright as ct
from tilewright.tileir.diagnostics import TileCompilerTimeoutError
from tilewright.tune import Measurement, TileLaunchTimeoutError, TuningResult, exhaustive_search
from tilewright.tune.job import make_job
from tilewright.tune.process import RemoteError, RemoteRuns, Worker
from tilewright.tune.sampling import BUDGET_US, FEWEST, MOST, Samples, measure
from tilewright.tune.worker import prepared


@ct.tile_kernel
def scale(x, y, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, i, ct.load(x, i, n) * 2)


@ct.tile_kernel
def increment(x):
    ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), 16) + 1)


@ct.tile_kernel
def endless(x):
    go = True
    while go:
        ct.store(x, 0, ct.load(x, 0, 16))
        go = True


@ct.tile_kernel
def strict(x, limit: ct.Constant[int]):
    ct.assert_(ct.load(x, 0, 16) < limit, "too large")


def grid(n: int) -> tuple[int, ...]:
    return (ct.cdiv(256, n),)


# ---- results --------------------------------------------------------------------------------------------------------


def made(count: int, failures: int = 0) -> TuningResult[int]:
    found = [Measurement(k, 10.0 * k, 7, 0.25) for k in range(count, 0, -1)]
    return TuningResult(found[-1], found, [(k, "TileTypeError", f"bad {k}\nmore") for k in range(failures)])


def test_summary() -> None:
    text = str(made(3, 1)).splitlines()
    assert text[0] == "3 succeeded, 1 failed"
    assert [line.split() for line in text[1:3]] == [["*", "1", "10.00", "us", "+-", "0.25", "(7", "runs)"],
                                                   ["2", "20.00", "us", "+-", "0.25", "(7", "runs)"]]
    assert text[4] == "! 0: TileTypeError: bad 0" and len(text) == 5


@pytest.mark.parametrize("count, lines, hidden", [(12, 13, ""), (13, 14, ""), (14, 14, "  ... 2 more ..."),
                                                  (30, 14, "  ... 18 more ...")])
def test_long_summaries(count: int, lines: int, hidden: str) -> None:
    text = made(count).summary().splitlines()
    assert len(text) == lines and (hidden == "" or text[11] == hidden)
    assert text[-1].split()[0] == str(count)


def test_summary_options() -> None:
    assert len(made(9).summary(top_k=2, bottom_k=0).splitlines()) == 4
    assert made(3, 20).summary(top_k=2).splitlines()[-1] == "! ... 18 more failures"


def test_results_are_generic_and_frozen() -> None:
    assert TuningResult[int] and Measurement[dict[str, int]]
    with pytest.raises(AttributeError):
        made(1).best = None  # type: ignore[misc,assignment]


# ---- sampling -------------------------------------------------------------------------------------------------------


def samples(*times: float) -> Samples:
    out = Samples()
    for time in times:
        out.add(time)
    return out


def test_mean_and_margin() -> None:
    times = [3.0, 5.0, 9.0, 4.0, 8.5]
    got = samples(*times)
    assert math.isclose(got.mean, np.mean(times)) and got.count == 5
    assert math.isclose(got.margin, 1.96 * np.std(times, ddof=1) / math.sqrt(5))
    assert samples(1.0).margin == math.inf


def test_when_sampling_ends() -> None:
    assert measure(lambda: 100.0, None).count == FEWEST
    noise = itertools.cycle([100.0, 300.0])
    noisy = measure(lambda: next(noise), None)
    assert noisy.count == MOST and noisy.margin > 0.01 * noisy.mean
    slow = iter([BUDGET_US] * 9)
    assert measure(lambda: next(slow), None).count == 2, "one warm-up and two runs are enough for slow ones"
    best = samples(*[10.0] * 5)
    noise = itertools.cycle([100.0, 300.0])
    assert measure(lambda: next(noise), best).count < 20, "what cannot win is not measured exactly"


# ---- searches here --------------------------------------------------------------------------------------------------


def test_search_in_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    calls: list[int] = []

    def args(n: int) -> tuple[Any, ...]:
        calls.append(n)
        return x, y, n

    result = exhaustive_search([16, 3, 64], None, grid, scale, args)
    assert (y == 2).all()
    assert [m.config for m in result.successes] == [16, 64] and result.best in result.successes
    assert result.best.mean_us == min(m.mean_us for m in result.successes)
    [(config, name, message)] = result.failures
    assert (config, name) == (3, "TileTypeError") and "powers of two" in message
    assert calls.count(16) - result.successes[0].num_samples in (1, 2), "arguments are made for each run"
    assert capsys.readouterr().out == f"{result}\n"


def test_quiet_and_generators(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones(256, np.float32)
    result = exhaustive_search((n for n in (16, 32)), 0 if ct.gpu_available() else None, grid, scale,
                               lambda n: (x, np.empty_like(x), n), quiet=True)
    assert len(result.successes) == 2 and capsys.readouterr().out == ""


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the output for a terminal
    monkeypatch.setenv("COLUMNS", "160")
    x = np.ones(256, np.float32)
    exhaustive_search([16, 3], None, grid, scale, lambda n: (x, np.empty_like(x), n))
    out = capsys.readouterr().out
    assert "tuning" in out and "2/2" in out and "best" in out and "1 failed" in out


def test_hints() -> None:
    x = np.ones(256, np.float32)
    seen: list[Any] = []

    def chosen(n: int) -> ct.tile_kernel:
        seen.append(n)
        return scale

    result = exhaustive_search(
        [16, 32, 64], None, grid, chosen, lambda n: (x, np.empty_like(x), n),
        lambda n: {"occupancy": ct.ByTarget(sm_90=n // 16)} if n < 64 else {"colour": 1}, quiet=True)
    assert seen == [16, 32, 64] and [m.config for m in result.successes] == [16, 32]
    assert result.failures[0][1:] == ("TypeError", result.failures[0][2]) and "colour" in result.failures[0][2]


@pytest.mark.parametrize("name, broken", [
    ("ZeroDivisionError", {"grid_fn": lambda n: (1 // 0,)}),
    ("TypeError", {"grid_fn": lambda n: 3}),
    ("ValueError", {"grid_fn": lambda n: (0,)}),
    ("KeyError", {"args_fn": lambda n: {}["x"]}),
    ("TypeError", {"args_fn": lambda n: [1, 2, n]}),
    ("TypeError", {"args_fn": lambda n: (1, 2)}),
    ("ValueError", {"hints_fn": lambda n: {"occupancy": 99}}),
    ("TypeError", {"kernel": lambda n: print}),
])
@pytest.mark.parametrize("timeout", [None, 60])
def test_all_failing(name: str, broken: dict[str, Any], timeout: float | None) -> None:
    x = np.ones(256, np.float32)
    functions: dict[str, Any] = {"grid_fn": grid, "kernel": scale, "args_fn": lambda n: (x, np.empty_like(x), n)}
    with pytest.raises(ValueError, match=rf"none of the 2 configurations ran. The first, 16, failed with {name}"
                       ) as caught:
        exhaustive_search([16, 32], None, quiet=True, single_run_timeout_sec=timeout, **{**functions, **broken})
    assert type(caught.value.__cause__).__name__ == name


def test_bad_calls() -> None:
    with pytest.raises(ValueError, match="the search space is empty"):
        exhaustive_search([], None, grid, scale, lambda n: ())
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        exhaustive_search([1], None, grid, 3, lambda n: ())  # type: ignore[arg-type]
    for timeout, error in ((0, ValueError), (-1.0, ValueError), ("3", TypeError), (True, TypeError)):
        with pytest.raises(error, match="single_run_timeout_sec"):
            exhaustive_search([1], None, grid, scale, lambda n: (),
                              single_run_timeout_sec=timeout)  # type: ignore[arg-type]


def test_compilations_that_take_too_long_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    import tilewright.frontend as frontend

    original = frontend.translate

    def slow(*args: Any, **named: Any) -> Any:
        for _ in range(400):
            time.sleep(0.005)
        return original(*args, **named)

    monkeypatch.setattr(frontend, "translate", slow)
    fresh = scale.replace_hints(occupancy=3)
    x = np.ones(256, np.float32)
    with ct.compiler_timeout(0.1), pytest.raises(ValueError, match="TileCompilerTimeoutError") as caught:
        exhaustive_search([16], None, grid, fresh, lambda n: (x, np.empty_like(x), n), quiet=True)
    assert isinstance(caught.value.__cause__, TileCompilerTimeoutError)


# ---- searches in another process ------------------------------------------------------------------------------------


def test_search_in_another_process() -> None:
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    calls: list[int] = []

    def args(n: int) -> tuple[Any, ...]:
        calls.append(n)
        return x, y, n

    result = exhaustive_search([16, 3, 64], None, grid, scale, args, quiet=True, single_run_timeout_sec=60)
    assert [m.config for m in result.successes] == [16, 64] and not y.any() and calls == [16, 3, 64]
    assert [f[:2] for f in result.failures] == [(3, "TileTypeError")]


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
        view = np.ctypeslib.as_array((ctypes.c_float * 16).from_address(job.arguments[0].info.pointer))
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
    prepared(job)()
    info = job.arguments[5].info
    raw = (ctypes.c_float * 46).from_address(info.pointer)
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


# ---- GPU ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    from tilewright.tune import local

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(local, "_stopwatches", {})
    yield fake_cuda.install(monkeypatch)
    fake_cuda.uninstall()


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


def test_a_broken_context_is_explained(cuda: FakeCuda) -> None:
    x = ct.to_device(np.ones(16, np.float32))
    cuda.broken = True
    with pytest.raises(ValueError, match="CudaError.*CUDA_ERROR_LAUNCH_FAILED.*single_run_timeout_sec"):
        exhaustive_search([1], None, lambda n: (1,), increment.replace_hints(), lambda n: (x,), quiet=True)


def test_job_on_a_gpu(cuda: FakeCuda) -> None:
    """The worker's side, run here on the recorded driver."""
    @ct.tile_kernel
    def both(x, xs, s, out):
        ct.store(out, ct.bid(0), ct.load(x, ct.bid(0), 16) * s + ct.load(xs[0], ct.bid(0), 16))

    arrays = [ct.to_device(np.full(32, k, np.float32)) for k in range(4)]
    args = (arrays[0], arrays[1:3], 2.0, arrays[3])
    job = make_job(both, both[(2,)].grid, args, None)
    assert job.gpu == 0 and len(job.blocks) == 4 and [b.written for b in job.blocks].count(True) == 1
    run = prepared(job)
    out = job.arguments[3].info
    view = np.ctypeslib.as_array((ctypes.c_float * 32).from_address(out.pointer))
    assert out.pointer != arrays[3].pointer and (view == 3).all()
    view[:] = 9  # what a kernel would do
    assert run() > 0 and (view == 3).all()
    launch = cuda.launches[-1]
    assert launch.grid == (2, 1, 1) and launch.params[0] == job.arguments[0].info.pointer
    assert launch.params[5] == 2.0 and launch.params[6] == out.pointer
    assert (arrays[3].to_host() == 3).all()


@pytest.mark.gpu
@pytest.mark.parametrize("timeout", [None, 30.0])
def test_search_on_a_gpu(timeout: float | None) -> None:
    x = ct.to_device(np.arange(1 << 16, dtype=np.float32))
    y = ct.to_device(np.zeros(1 << 16, np.float32))
    result = exhaustive_search(
        [128, 3, 1024, 4096], 0, lambda n: (ct.cdiv(1 << 16, n),), scale, lambda n: (x, y, n),
        lambda n: {"num_worker_warps": 4}, quiet=True, single_run_timeout_sec=timeout)
    assert [m.config for m in result.successes] == [128, 1024, 4096] and len(result.failures) == 1
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
