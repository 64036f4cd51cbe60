"""Kernels with one defect each: a checked launch reports its kind at its line, and nothing else."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from support.defects import bounds, covers, locking, progress, races, undefined
from support.defects.marks import marked, places

import tilewright as tw

CASES = [*bounds.CASES, *races.CASES, *undefined.CASES, *progress.CASES, *covers.CASES, *locking.CASES]
CLEAN = [*undefined.CLEAN, *covers.CLEAN, *locking.CLEAN, *races.CLEAN]


@pytest.mark.parametrize("function, grid, make", CASES, ids=[case[0].__name__ for case in CASES])
def test_the_defect_is_reported_at_its_line(function: Any, grid: Any, make: Any) -> None:
    kernel = tw.tile_kernel(function)
    found = kernel.interpret(grid, *make(), check=True, on_report="collect")
    wanted = marked(function)
    assert wanted
    seen = [places(report) for report in found if report.severity != "note"]
    assert all(some & wanted for some in seen) and set[Any]().union(*seen) >= wanted, "\n".join(map(str, found))
    alone = kernel.interpret(grid, *make(), mode="single", check=True, on_report="collect")
    assert {r.kind for r in alone} == {r.kind for r in found}, "\n".join(map(str, alone))
    for report in found:
        text = str(report)
        assert "^" in text and report.message in text and (report.block is not None or report.severity != "error")
    if any(report.severity == "error" for report in found):
        with warnings.catch_warnings(), pytest.raises(tw.CheckError):
            warnings.simplefilter("ignore")
            kernel.interpret(grid, *make(), check=True)


@pytest.mark.parametrize("function, grid, make", CLEAN, ids=[case[0].__name__ for case in CLEAN])
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_right_kernels_are_clean(function: Any, grid: Any, make: Any, mode: str) -> None:
    found = tw.tile_kernel(function).interpret(grid, *make(), mode=mode, check=True, on_report="collect")
    assert not found, "\n".join(map(str, found))


def test_a_loop_whose_values_change_meets_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    @tw.tile_kernel
    def counts(out):
        n = 1
        while n != 0:
            n += 2
        tw.store(out, 0, n)

    monkeypatch.setattr("tilewright.interp.checking.progress.MOST_ITERATIONS", 1000)
    [report] = counts.interpret(1, np.zeros(1, np.int32), check=True, on_report="collect")
    assert report.kind == "progress" and "has not ended after" in report.message
    assert report.span.line == inspect.getsourcelines(counts.__wrapped__)[1] + 3


@pytest.mark.parametrize("function, period", [
    (progress.values_toggle, 2), (progress.memory_toggles, 2), (progress.list_in_a_ring, 100)])
def test_a_loop_that_repeats_itself_has_a_period(function: Any, period: int) -> None:
    [(grid, make)] = [(grid, make) for kernel, grid, make in progress.CASES if kernel is function]
    [report] = tw.tile_kernel(function).interpret(grid, *make(), check=True, on_report="collect")
    assert report.message == f"this loop never ends: {period} iterations leave everything as it was"
    assert report.values == {"iterations": period} and (report.related is None) == (function is progress.values_toggle)


def test_loops_that_write_back_what_was_there_may_go_on() -> None:
    """Memory is the same again after two iterations, but a counter is not; or the other way round."""
    @tw.tile_kernel
    def counts(x, out, n):
        k = 0
        while k < n:
            tw.store(x, 0, 1 - tw.load(x, 0, ()))
            k += 1
        while tw.load(out, 0, ()) < n:
            tw.store(out, 0, tw.load(out, 0, ()) + 1)

    out = np.zeros(1, np.int32)
    assert not counts.interpret(1, np.zeros(1, np.int32), out, 700, check=True, on_report="collect") and out[0] == 700


def test_a_deadlock_names_what_it_waits_for() -> None:
    function, grid, make = progress.CASES[0]
    with pytest.raises(tw.CheckError, match=r"waits for flags\[1\], which no block") as caught:
        tw.tile_kernel(function).interpret(grid, *make(), check=True)
    [report] = caught.value.reports
    assert report.block == (0, 0, 0) and report.related.line == report.span.line


def test_the_first_place_that_memory_is_read_at_is_named() -> None:
    @tw.tile_kernel
    def adds(x, y, out):
        first = tw.load(x, 0, 4)
        second = tw.load(y, 0, 4)
        tw.store(out, 0, second * first)

    x, y = tw.uninitialized(np.ones(4, np.float32)), tw.uninitialized(np.ones(4, np.float32))
    [report] = adds.interpret(1, x, y, np.zeros(4, np.float32), check=True, on_report="collect")
    assert report.kind == "undefined" and report.related_label == "memory that nothing has written"
    assert report.related is not None
    assert report.related.line == inspect.getsourcelines(adds.__wrapped__)[1] + 2


@pytest.mark.parametrize("limit, label", [(2, "what is written is written here"), (0, "no block comes here")])
def test_unwritten_elements_name_the_store(limit: int, label: str) -> None:
    @tw.tile_kernel
    def fills(out, limit):
        if tw.bid(0) < limit:
            tw.store(out, tw.bid(0), tw.zeros(4, tw.int32))

    [report] = fills.interpret(4, tw.uninitialized(np.zeros(16, np.int32)), limit, check=True, on_report="collect")
    assert report.kind == "unwritten" and report.related_label == label
    assert report.related is not None
    assert report.related.line == inspect.getsourcelines(fills.__wrapped__)[1] + 3


def test_poison_reaches_rows_that_are_not_there() -> None:
    function, grid, make = next(case for case in undefined.CASES if case[0] is undefined.rows_that_are_not_there)
    args = make()
    tw.tile_kernel(function).interpret(grid, *args, poison=True)
    assert np.isnan(args[2]).all()


def test_a_promise_names_the_block_that_breaks_it() -> None:
    @tw.tile_kernel
    def promised(x, out):
        n = tw.assume_divisible_by(tw.gather(x, tw.bid(0)), 4)
        tw.store(out, tw.bid(0), n)

    x = np.array([4, 8, 6, 12], np.int32)
    [report] = promised.interpret(4, x, np.zeros(4, np.int32), check=True, on_report="collect")
    assert report.kind == "promise" and report.block == (2, 0, 0)
