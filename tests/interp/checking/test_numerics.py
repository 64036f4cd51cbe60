"""`check="all"` finds where numbers go wrong; `check=True` says nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.defects import numerics
from support.defects.marks import marked

import tilewright as tw


@pytest.mark.parametrize("function, grid, make", numerics.CASES, ids=[case[0].__name__ for case in numerics.CASES])
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_the_line_is_named(function: Any, grid: Any, make: Any, mode: str) -> None:
    kernel = tw.tile_kernel(function)
    found = kernel.interpret(grid, *make(), mode=mode, check="numerics", on_report="collect")
    seen = {(report.kind, report.span.line) for report in found if report.severity != "note"}
    assert seen == marked(function), "\n".join(map(str, found))
    for report in found:
        assert "^" in str(report) and report.block is not None and report.values and report.as_json()
    assert kernel.interpret(grid, *make(), mode=mode, check=True, on_report="collect") == []


@pytest.mark.parametrize("function, grid, make", numerics.CLEAN, ids=[case[0].__name__ for case in numerics.CLEAN])
def test_what_reaches_no_memory_is_no_report(function: Any, grid: Any, make: Any) -> None:
    found = tw.tile_kernel(function).interpret(grid, *make(), check="numerics", on_report="collect")
    assert not found, "\n".join(map(str, found))


def test_what_is_flushed_to_zero_is_a_note() -> None:
    @tw.tile_kernel
    def small(x, out):
        tw.store(out, 0, tw.load(x, 0, 4) * 1e-30)

    x, out = np.array([0, 1, 1e-20, np.inf], np.float32), np.zeros(4, np.float32)
    [report] = small.interpret(1, x, out, check="all", on_report="collect")
    assert (report.kind, report.severity, report.count, report.values["element"]) == ("underflow", "note", 1, (2,))


def test_reports_have_the_operands() -> None:
    function, grid, make = numerics.CASES[8]
    [report] = tw.tile_kernel(function).interpret(grid, *make(), check="all", on_report="collect")
    assert report.message == "sub makes NaN, which is stored" and report.reason == "none of the operands is NaN"
    assert report.values["element"] == (2,) and report.values["e"] == np.inf and report.related.line + 1 == (
        report.span.line)
    assert report.as_json()["values"]["e"] == "inf"
