"""compiler_timeout: a compilation that takes too long is given up on time, wherever it is started."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.launching.timeouts import current_limit, limited
from tilewright.tileir.diagnostics import TileCompilerTimeoutError


def make_add() -> Any:
    @tw.tile_kernel
    def add(x, y):
        tw.store(y, (tw.bid(0),), tw.load(x, (tw.bid(0),), (16,)) + 1)

    return add


NEVER = 60.0  # seconds after which a test that hangs fails


def endless_pass(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the passes of Tile IR sleep in small steps, as Python code does, and come to no end unless they are stopped;
    says whether they did."""
    import tilewright.tileir.passes as passes

    log: list[str] = []

    def endless(*args: Any, **named: Any) -> None:
        log.append("started")
        end = time.monotonic() + NEVER
        while time.monotonic() < end:
            time.sleep(0.005)
        log.append("finished")

    monkeypatch.setattr(passes, "run_pipeline", endless)
    return log


def test_launch_is_given_up_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = endless_pass(monkeypatch)
    x, y = np.ones(16, np.float32), np.zeros(16, np.float32)
    add = make_add()
    with tw.compiler_timeout(0.2), pytest.raises(TileCompilerTimeoutError, match="kernel add took longer than 0.2 s"):
        add[(1,)](x, y)
    assert not y.any()
    for thread in threading.enumerate():
        if thread.name == "compiling add":
            thread.join(NEVER)
    assert "finished" not in log, "the abandoned compilation went on"


def test_next_launch_compiles_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.ones(16, np.float32), np.zeros(16, np.float32)
    add = make_add()
    with monkeypatch.context() as patch:
        endless_pass(patch)
        with tw.compiler_timeout(0.1), pytest.raises(TileCompilerTimeoutError):
            add[(1,)](x, y)
    add[(1,)](x, y)
    assert (y == 2).all()


@pytest.mark.parametrize("verb", ["ir", "llvm", "ptx"])
def test_inspection_is_limited(monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    endless_pass(monkeypatch)
    with tw.compiler_timeout(0.1), pytest.raises(TileCompilerTimeoutError):
        getattr(make_add(), verb)(tw.spec("f32[64]"), tw.spec("f32[64]"))


def test_a_quick_compilation_is_the_same_under_a_limit() -> None:
    spec = tw.spec("f32[64]")
    without = make_add().ptx(spec, spec)
    with tw.compiler_timeout(60):
        assert make_add().ptx(spec, spec) == without


def test_errors_of_the_kernel_come_through() -> None:
    @tw.tile_kernel
    def wrong(x):
        tw.load(x, (0, 0), (4,))

    with tw.compiler_timeout(60), pytest.raises(tw.TileTypeError, match="load"):
        wrong[(1,)](np.zeros(4, np.float32))


def test_blocks_nest_and_end() -> None:
    outer = tw.compiler_timeout(5)
    with outer:
        with tw.compiler_timeout(2.5):
            assert current_limit() == 2.5
        with outer:
            assert current_limit() == 5
        assert current_limit() == 5
    assert current_limit() is None
    assert repr(outer) == "compiler_timeout(5)"


def test_a_limit_belongs_to_its_thread() -> None:
    seen: list[float | None] = []
    with tw.compiler_timeout(5):
        thread = threading.Thread(target=lambda: seen.append(current_limit()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_COMPILER_TIMEOUT_SEC", "0.1")
    assert current_limit() == 0.1
    with tw.compiler_timeout(3):
        assert current_limit() == 3
    endless_pass(monkeypatch)
    with pytest.raises(TileCompilerTimeoutError):
        make_add().ir(tw.spec("f32[64]"), tw.spec("f32[64]"))
    for bad in ("0", "-1", "soon", "nan"):
        monkeypatch.setenv("TILEWRIGHT_COMPILER_TIMEOUT_SEC", bad)
        with pytest.raises(ValueError, match="TILEWRIGHT_COMPILER_TIMEOUT_SEC must be a number of seconds above zero"):
            make_add().ir(tw.spec("f32[64]"), tw.spec("f32[64]"))


@pytest.mark.parametrize("seconds, error", [
    (0, ValueError), (-1.0, ValueError), (float("inf"), ValueError), (float("nan"), ValueError), ("3", TypeError),
    (True, TypeError), (None, TypeError),
])
def test_bad_limits(seconds: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="compiler_timeout"):
        tw.compiler_timeout(seconds)


LATE = """
import threading, time
from tilewright.launching.timeouts import _stop

def late():  # the work is done already when the stop arrives
    for _ in range(5000):
        time.sleep(0.001)

thread = threading.Thread(target=late)
thread.start()
_stop(thread)
thread.join(3)
print(thread.is_alive())
"""


def test_the_end_of_an_abandoned_thread_is_silent() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_inner_work_has_no_watch_of_its_own() -> None:
    with tw.compiler_timeout(5):
        assert limited("outer", lambda: limited("inner", threading.current_thread)).name == "compiling outer"
