"""Kernels with one defect each: a checked launch reports its kind at its line, and nothing else."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import pytest
from support.defects import bounds, races, undefined

import tilewright as tw

CASES = [*bounds.CASES, *races.CASES, *undefined.CASES]
MARK = re.compile(r"# <- ([\w, ]+)$")


def marked(function: Any) -> set[tuple[str, int]]:
    """(kind, line) of each defect that the source of a kernel declares."""
    lines, first = inspect.getsourcelines(function)
    found = [(MARK.search(text.rstrip()), first + n) for n, text in enumerate(lines)]
    return {(kind, line) for match, line in found if match for kind in match[1].split(", ")}


def places(report: Any) -> set[tuple[str, int]]:
    """Kind and line; of a race both lines: the order of blocks decides which comes second."""
    spans = [report.span, report.related] if report.kind == "race" else [report.span]
    return {(report.kind, span.line) for span in spans}


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
