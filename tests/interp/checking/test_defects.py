"""Kernels with one defect each: a checked launch reports its kind at its line, and nothing else."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import pytest
from support.defects import bounds, races

import tilewright as tw

CASES = [*bounds.CASES, *races.CASES]
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
    for report in found:
        text = str(report)
        assert "^" in text and report.message in text and (report.block is not None or report.severity != "error")
    if any(report.severity == "error" for report in found):
        with warnings.catch_warnings(), pytest.raises(tw.CheckError):
            warnings.simplefilter("ignore")
            kernel.interpret(grid, *make(), check=True)
