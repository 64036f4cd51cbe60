"""All that reports say of where and how: the element, both blocks, how often, the numbers, lines, and the sentence. Of
each kernel with a defect one golden block, the same whether blocks run together or one after another where it says
nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.defects import bounds, cancelling, covers, locking, numerics, progress, races, undefined
from support.seeded import grids, last, orders, places, products, rows
from support.seeded_blind.twins import seeded

import tilewright as tw

GOLDEN = Path(__file__).parent / "golden"
DEFECTS = {module.__name__.rpartition(".")[2]: module for module in (
    bounds, covers, locking, progress, races, undefined, grids, last, orders, places, products, rows)}
CHECKED = {"numerics": (numerics, "numerics"), "cancelling": (cancelling, "cancellation")}
FAMILIES = [*DEFECTS, *CHECKED, "blind"]


def kernels(family: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Of each kernel the name, the kernel, a maker of grid and arguments, and what is checked."""
    if family == "blind":
        for case in seeded():
            kernel = case.kernel()
            yield case.name, kernel, lambda case=case: (case.launch().grid, case.launch().args), True
        return
    module, check = CHECKED.get(family, (None, True))
    cases: Any = (module or DEFECTS[family]).CASES
    for function, grid, make in cases:
        yield function.__name__, tw.tile_kernel(function), lambda grid=grid, make=make: (grid, make()), check


def first_line(kernel: Any) -> int:
    return inspect.getsourcelines(kernel.__wrapped__)[1]


def reports(kernel: Any, make: Any, check: Any, mode: str) -> list[str]:
    grid, args = make()
    found = kernel.interpret(grid, *args, mode=mode, check=check, on_report="collect")
    return [line for report in found for line in lines(report, first_line(kernel))]


def lines(report: Any, first: int) -> Iterator[str]:
    place = f"{report.array}{list(report.index)}" if report.index is not None else report.array
    blocks = " and ".join(str(block) for block in (report.block, report.other_block) if block is not None)
    values = ", ".join(f"{name}={value}" for name, value in report.values.items())
    numbered = [str(span.line - first) for span in (report.span, report.related) if span is not None and span.line]
    yield f"  {report.kind} {report.severity} x{report.count}, lines {' and '.join(numbered)}: {report.message}"
    yield f"    {place} in {blocks or 'no block'}, {values}; {report.related_label}"


@pytest.mark.parametrize("family", FAMILIES)
def test_reports(family: str, update_golden: bool) -> None:
    out = []
    for name, kernel, make, check in kernels(family):
        together, alone = (reports(kernel, make, check, mode) for mode in ("chunked", "single"))
        out += [f"{name}", *together]
        if alone != together:
            out += [f"{name}, one block after another", *alone]
    text = "\n".join(out) + "\n"
    path = GOLDEN / f"{family}.txt"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
