"""Nothing is reported of right kernels: the catalogue and generated programs, of which CI checks a part (`make
check-catalogue`: all of the one, 2,000 of the others).

Some cases read tiles outside of their arrays on purpose, and some use undetermined padding: all executors give zeros
there. The language does not promise it, so the checked mode says so, and nothing else.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from catalogue.all import all_cases, one_per_kernel
from catalogue.case import Case
from fuzz.generate import generate
from fuzz.oracles import compare

OUTSIDE = ("add-int8-0", "add-float32-0", "copy1-", "shifted", "running_sum", "stencil_", "windows-",
           "extremes by tiles that overlap every edge")
UNDETERMINED = ("ternary_and_or", "helpers", "atomic-")
ALLOWED = [(OUTSIDE, "bounds"), (UNDETERMINED, "undefined")]
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
    for names, kind in ALLOWED:
        if case.name.startswith(names):
            found = [report for report in found if report.kind != kind]
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


def test_tiles_outside_are_reported() -> None:
    cases = [case for case in all_cases() if case.name in ("shifted", "stencil_1", "add-float32-0")]
    assert len(cases) == 3
    for case in cases:
        assert {report.kind for report in findings(case, case.args())} == {"bounds"}


def test_sums_that_depend_on_the_order_are_notes() -> None:
    [case] = [case for case in all_cases() if case.name == "gallery-split-k-atomic"]
    found = case.kernel.interpret(case.grid, *case.args(), check=True, on_report="collect")
    assert [(report.kind, report.severity) for report in found] == [("order", "note")]
