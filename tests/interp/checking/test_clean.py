"""Nothing is reported of right kernels: the catalogue and generated programs, of which CI checks a part (`make
check-catalogue`: all of the one, 2,000 of the others).

Cases that read tiles outside of their arrays on purpose stand apart: all executors give padding there. The language
does not promise it, so the checked mode says so, and nothing else.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest
from catalogue import outside
from catalogue.all import all_cases, one_per_kernel
from catalogue.case import Case
from fuzz.generate import generate
from fuzz.oracles import compare

import tilewright as tw

EVERYTHING = "TILEWRIGHT_THOROUGH" in os.environ


def chosen() -> list[Case]:
    """Every case, or two of each family of kernels, by the first word of their names."""
    if EVERYTHING:
        return list(all_cases())
    seen: Counter[str] = Counter()
    out = []
    for case in one_per_kernel():
        family = case.name.replace("_", "-").split("-")[0].split()[0]
        seen[family] += 1
        if seen[family] <= 2:
            out.append(case)
    return out


def findings(case: Case, args: Any) -> list[Any]:
    found = case.kernel.interpret(case.grid, *args, check=True, on_report="collect")
    return [report for report in found if report.severity != "note"]


@pytest.mark.parametrize("case", chosen(), ids=lambda c: c.name)
def test_nothing_is_reported_and_results_are_the_same(case: Case) -> None:
    args = case.args()
    found = findings(case, args)
    assert not found, "\n".join(map(str, found))
    case.check(case.results(args), case.reference(*case.args()), "the checked interpreter")


def of_an_empty_array(report: Any) -> bool:
    """Its first tile starts outside of it, strictly; generated programs read it nevertheless."""
    return report.kind == "bounds" and 0 in report.values.get("shape", ())


@pytest.mark.parametrize("first", range(0, 2000 if EVERYTHING else 20, 10))
def test_nothing_is_reported_of_generated_programs(first: int) -> None:
    for seed in range(first, first + 10):
        program = generate(seed)
        kernel, want, got = program.kernel(), program.arguments(), program.arguments()
        kernel[program.grid](*want)
        found = kernel.interpret(program.grid, *got, check=True, on_report="collect") or []
        wrong = [report for report in found if report.severity != "note" and not of_an_empty_array(report)]
        assert not wrong, f"seed {seed}\n" + "\n".join(map(str, wrong))
        compare("checked", program, got, want)


@pytest.mark.parametrize("case", list(outside.cases()), ids=lambda c: c.name)
def test_tiles_outside_are_reported(case: Case) -> None:
    args = case.args()
    assert {report.kind for report in findings(case, args)} == {"bounds"}
    case.check(case.results(args), case.reference(*case.args()), "the checked interpreter")


def test_sums_that_depend_on_the_order_are_notes() -> None:
    [case] = [case for case in all_cases() if case.name == "gallery-split-k-atomic"]
    found = case.kernel.interpret(case.grid, *case.args(), check=True, on_report="collect")
    assert [(report.kind, report.severity) for report in found] == [("order", "note")]


@tw.tile_kernel
def sums_by_the_last_block(x, parts, total, ticket, out, step: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, 16)
    tw.store(parts, i, t)
    tw.atomic_add(total, i * step, tw.sum(t))
    before = tw.atomic_add(ticket, 0, 1, memory_order=tw.MemoryOrder.ACQ_REL, memory_scope=tw.MemoryScope.DEVICE)
    if before == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.load(parts, 0, 64))


@pytest.mark.parametrize("step, kinds", [(0, ["order"]), (1, [])])
def test_blocks_that_synchronise_are_told_of_such_sums_too(step: int, kinds: list[str]) -> None:
    x, parts, total, out = (np.ones(n, np.float32) for n in (64, 64, 4, 64))
    args = x, parts, total, np.zeros(1, np.int32), out
    found = sums_by_the_last_block.interpret(4, *args, step, check=True, on_report="collect")
    assert [report.kind for report in found or ()] == kinds
