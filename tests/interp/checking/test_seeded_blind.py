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

ONLY_IN_ASCENDING_ORDER = {"suffix_sums"}
"""Blocks wait for those with higher numbers, which is seen where these come later."""

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
    check_found(case)


@EACH
def test_nothing_is_reported_of_the_twin(case: Seeded, folder: Path) -> None:
    launch = case.launch()
    case.twin(folder)[launch.grid](*launch.args)
    assert launch.holds()
    check_twin(case, folder)


@THOROUGH
@EACH
@pytest.mark.parametrize("order", ["asc", "desc", 1, 2, 3])
def test_any_order_of_blocks_shows_it(case: Seeded, folder: Path, order: Any) -> None:
    if order == "asc" or case.name not in ONLY_IN_ASCENDING_ORDER:
        check_found(case, mode="single", order=order)
    check_twin(case, folder, mode="single", order=order)
