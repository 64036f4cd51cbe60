"""Kernels with one defect each: a checked launch reports its kind at its line, and nothing else."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from support.defects import bounds, progress, races, undefined
from support.defects.marks import marked, places

import tilewright as tw

CASES = [*bounds.CASES, *races.CASES, *undefined.CASES, *progress.CASES]


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


@pytest.mark.parametrize("function, grid, make", undefined.CLEAN, ids=[case[0].__name__ for case in undefined.CLEAN])
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


def test_a_deadlock_names_what_it_waits_for() -> None:
    function, grid, make = progress.CASES[0]
    with pytest.raises(tw.CheckError, match=r"waits for flags\[1\], which no block") as caught:
        tw.tile_kernel(function).interpret(grid, *make(), check=True)
    [report] = caught.value.reports
    assert report.block == (0, 0, 0) and report.related.line == report.span.line
