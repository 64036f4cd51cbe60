"""Unchecked launches end with an error in loops that would never end, and go on in those that only take long."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.defects import progress

import tilewright as tw
from tilewright.interp import patience
from tilewright.interp.handlers import control


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE", 64)
    monkeypatch.setattr(patience, "GRACE", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", ["chunked", "single"])
@pytest.mark.parametrize("function, grid, make", progress.CASES, ids=[case[0].__name__ for case in progress.CASES])
def test_an_endless_loop_is_an_error_at_its_line(function: Any, grid: Any, make: Any, mode: str) -> None:
    kernel = tw.tile_kernel(function)
    [report] = kernel.interpret(grid, *make(), mode=mode, check="progress", on_report="collect")
    with pytest.raises(tw.TileError, match="this loop (never ends|waits for)") as caught:
        kernel.interpret(grid, *make(), mode=mode)
    assert caught.value.span == report.span and f"in block {report.block}" in str(caught.value)


def test_a_deadlock_says_who_waits_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "GRACE", 0.0)
    function, grid, make = progress.CASES[0]
    with pytest.raises(tw.TileError) as caught:
        tw.tile_kernel(function)[(grid,)](*make())
    text = str(caught.value)
    assert "this loop waits for flags[1], which no block that runs before has changed" in text
    assert "the loop reads it here" in text and "in block (0, 0, 0)" in text and "nothing says that a later one" in text


def test_a_period_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "GRACE", 0.0)
    with pytest.raises(tw.TileError, match="this loop never ends: 2 iterations leave everything as it was"):
        tw.tile_kernel(progress.values_toggle)[(1,)](progress.ints(1), progress.ints(1))


@tw.tile_kernel
def takes_long(x, out, n):
    """Blocks leave after different numbers of iterations; what one loop carries, the other one has in memory."""
    i = tw.bid(0)
    k, sign = 0, 1
    while k < n * (i + 1):
        sign = -sign
        k += 1
    while tw.load(x, i, ()) < n * (i + 1):
        tw.store(x, i, tw.load(x, i, ()) + 1)
    tw.store(out, i, k * sign)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_long_loops_go_on(mode: str) -> None:
    x, out = np.zeros(3, np.int32), np.zeros(3, np.int32)
    takes_long.interpret(3, x, out, 301, mode=mode)
    assert x.tolist() == [301, 602, 903] and out.tolist() == [-301, 602, -903]


def test_another_thread_may_end_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE", 64)
    monkeypatch.setattr(patience, "GRACE", 60.0)
    flags, out = progress.ints(4), progress.ints(4)
    other = threading.Timer(0.2, lambda: flags.fill(1))
    other.start()
    tw.tile_kernel(progress.later_block).interpret(4, flags, out)
    other.join()
    assert out.tolist() == [1, 1, 1, 1]
