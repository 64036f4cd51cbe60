"""Kernels as people write them, each with one seeded defect: a checked launch reports it at its line, with its kind.

They were written before it was known what the checker finds of them. `make check-seeded` also runs them one block after
another, and in other orders.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from support.defects.marks import marked, places
from support.seeded import grids, last, orders, products, rows
from support.seeded import places as tables

import tilewright as tw

UNORDERED = [*products.CASES, *rows.CASES, *grids.CASES, *tables.CASES]
CASES = [*UNORDERED, *orders.CASES, *last.CASES]
THOROUGH = pytest.mark.skipif("TILEWRIGHT_THOROUGH" not in os.environ, reason="make check-seeded")


def ids(cases: list[Any]) -> list[str]:
    return [function.__name__ for function, _, _ in cases]


def findings(function: Any, grid: Any, make: Any, **how: Any) -> list[Any]:
    found = tw.tile_kernel(function).interpret(grid, *make(), check=True, on_report="collect", **how)
    return [report for report in found if report.severity != "note"]


def check(function: Any, found: list[Any]) -> None:
    """All that is marked is reported, and nothing else."""
    wanted, seen = marked(function), [places(report) for report in found]
    assert wanted and all(some & wanted for some in seen) and set[Any]().union(*seen) >= wanted, "\n".join(
        map(str, found))


def test_there_are_defects_of_every_kind() -> None:
    kinds = Counter(kind for function, _, _ in CASES for kind in {kind for kind, _ in marked(function)})
    assert len(CASES) >= 60 and len(set(ids(CASES))) == len(CASES)
    assert min(kinds[kind] for kind in ("bounds", "race", "undefined", "unwritten", "progress", "promise")) >= 2


@pytest.mark.parametrize("function, grid, make", CASES, ids=ids(CASES))
def test_the_defect_is_found(function: Any, grid: Any, make: Any) -> None:
    check(function, findings(function, grid, make))


@THOROUGH
@pytest.mark.parametrize("function, grid, make", CASES, ids=ids(CASES))
def test_one_block_after_another_shows_the_same(function: Any, grid: Any, make: Any) -> None:
    check(function, findings(function, grid, make, mode="single"))


@THOROUGH
@pytest.mark.parametrize("order", ["desc", 1, 2, 3])
@pytest.mark.parametrize("function, grid, make", UNORDERED, ids=ids(UNORDERED))
def test_any_order_of_blocks_shows_it(function: Any, grid: Any, make: Any, order: Any) -> None:
    assert any(places(report) & marked(function) for report in findings(function, grid, make, order=order))
