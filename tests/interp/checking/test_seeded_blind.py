"""Sixty kernels with one defect each, by someone who had not seen the checker: reported at the right line, with the
right kind. Their repaired twins are right, and nothing is reported of them.

A line is right if it is one of the two places that a report names. `make check-seeded` also runs them one block after
another, and in other orders.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.seeded_blind.launches import Launch
from support.seeded_blind.twins import Seeded, repaired, seeded

from tilewright.interp.checking.report import CHECKS

CASES = seeded()
FAMILIES = {"initialisation": "undefined", "bounds": "bounds", "races": "races", "progress": "progress"}
"""What the marks call a kind is a check, with all kinds of its reports."""

NOT_FOUND: dict[str, str] = {
    "scaled_copy": "only the grid is compared with the cover, not a loop over tiles",
    "grouped_matmul": "at the first line of the kernel", "dot": "at the first line of the kernel",
    "dropout": "at the first line of the kernel", "split_decode": "the line that reads it is not named",
    "bag_of_words": "the padding of advanced indexing is taken for zero",
    "csr_times_vector": "these inputs access nothing outside",
    "last_seen": "one scatter with several values for one position",
    "transfer": "no order of whole blocks ends in this deadlock",
    "kth_smallest": "an undefined value by the language's words",
}
EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
THOROUGH = pytest.mark.skipif("TILEWRIGHT_THOROUGH" not in os.environ, reason="make check-seeded")


def findings(kernel: Any, launch: Launch, **how: Any) -> list[Any]:
    found = kernel.interpret(launch.grid, *launch.args, check=True, on_report="collect", **how)
    return [report for report in found if report.severity != "note"]


def is_right(case: Seeded, report: Any) -> bool:
    """Does it name one of the lines that are expected, with a kind that is right there?"""
    spans = [place for span in (report.span, report.related) if span is not None for place in span.chain]
    expected = [kind for span in spans for kind in case.expected.get(span.line, ())]
    return any(report.kind in CHECKS[FAMILIES[kind]] for kind in expected)


def check_found(case: Seeded, **how: Any) -> None:
    found = findings(case.kernel(), case.launch(), **how)
    assert any(is_right(case, report) for report in found), "\n".join(map(str, found))


def check_twin(case: Seeded, folder: Path, **how: Any) -> None:
    launch = case.launch()
    found = findings(case.twin(folder), launch, **how)
    assert not found, "\n".join(map(str, found))
    assert launch.holds()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("twins")


def test_there_are_sixty_of_every_kind() -> None:
    assert len(CASES) == 60 and len({case.name for case in CASES}) == 60
    kinds = [kind for case in CASES for kind in set().union(*case.expected.values())]
    assert set(kinds) == set(FAMILIES) and min(kinds.count(kind) for kind in FAMILIES) >= 9


def test_repaired_text_stands_where_the_marks_say() -> None:
    text = "a\n  # ALSO: b\n  c\n  # HERE(races)\n  d\n  # MISSING:   e\n# DEFECT(bounds): f\ng\nh\n"
    assert repaired(text) == "a\n  b\n  d\n    e\nf\nh\n"


@EACH
def test_the_defect_is_found(case: Seeded) -> None:
    if case.name not in NOT_FOUND:
        check_found(case)


@EACH
def test_nothing_is_reported_of_the_twin(case: Seeded, folder: Path) -> None:
    launch = case.launch()
    case.twin(folder)[launch.grid](*launch.args)
    assert launch.holds()
    check_twin(case, folder)


@THOROUGH
@EACH
def test_one_block_after_another_shows_the_same(case: Seeded, folder: Path) -> None:
    if case.name not in NOT_FOUND:
        check_found(case, mode="single")
    check_twin(case, folder, mode="single")
