"""`check="cancellation"` finds sums and differences of rounded floats losing half of their bits; `"all"` does not."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from support.defects import cancelling
from support.defects.marks import marked

import tilewright as tw
from tilewright.interp.checking.cancellation import most_lost

EACH = pytest.mark.parametrize(
    "function, grid, make", cancelling.CASES, ids=[case[0].__name__ for case in cancelling.CASES])


@EACH
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_the_line_is_named(function: Any, grid: Any, make: Any, mode: str) -> None:
    kernel = tw.tile_kernel(function)
    found = kernel.interpret(grid, *make(), mode=mode, check="cancellation", on_report="collect")
    assert {(report.kind, report.span.line) for report in found} == marked(function), "\n".join(map(str, found))
    for report in found:
        assert report.severity == "warning" and report.block is not None and report.as_json() and "^" in str(report)


@EACH
def test_only_on_request(function: Any, grid: Any, make: Any) -> None:
    for check in (True, "all"):
        found = tw.tile_kernel(function).interpret(grid, *make(), check=check, on_report="collect")
        assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "function, grid, make", cancelling.CLEAN, ids=[case[0].__name__ for case in cancelling.CLEAN])
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_right_kernels_are_clean(function: Any, grid: Any, make: Any, mode: str) -> None:
    found = tw.tile_kernel(function).interpret(grid, *make(), mode=mode, check="cancellation", on_report="collect")
    assert not found, "\n".join(map(str, found))


def test_a_report_has_operands_and_result() -> None:
    function: Any = cancelling.smaller_root
    kernel, checks = tw.tile_kernel(function), {"all", "cancellation"}
    found = kernel.interpret(2, *cancelling.equation(), check=checks, on_report="collect")
    [report] = [report for report in found if report.kind == "cancellation"]
    first, second, result = (report.values[name] for name in ("operand 1", "root", "result"))
    assert first + second == pytest.approx(result, rel=1e-6) and report.values["element"] == (0,)
    assert report.message.startswith("add loses 24 of the 24 bits" if result == 0 else "add loses 2")
    assert report.span.line == inspect.getsourcelines(function)[1] + 4 and report.count == 16


def test_the_limit_is_half_of_the_significand() -> None:
    dtypes = tw.float64, tw.float32, tw.float16, tw.bfloat16
    assert [most_lost(dtype) for dtype in dtypes] == [26, 12, 5, 4]

    @tw.tile_kernel
    def differs(x, y, out):
        tw.store(out, 0, tw.sqrt(tw.load(x, 0, 4)) - tw.load(y, 0, 4))

    x = np.full(4, 1.3, np.float32)
    for bits, lost in ((11, False), (14, True)):
        y = (np.sqrt(x) * (1 - 2.0**-bits)).astype(np.float32)
        found = differs.interpret(1, x, y, np.zeros(4, np.float32), check="cancellation", on_report="collect")
        assert bool(found) == lost
