"""Every name, option, operator and statement of the language is executed in all its dtypes and ranks, or refused."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import language_table
import pytest
from language_evidence import (
    ELSEWHERE,
    FEATURES,
    RANKS,
    SYNTAX_ERRORS,
    evidence,
    missing,
    unhandled,
)

import tilewright as ct
from tilewright.interp.lowering import HANDLERS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def rows() -> list[language_table.Row]:
    return language_table.rows()


def test_names_are_public(rows: list[language_table.Row]) -> None:
    assert [row.name for row in rows if not row.public] == []


def test_every_cell_of_a_name_is_executed_or_refused(rows: list[language_table.Row]) -> None:
    """Each dtype and each rank; names that no cell can run have a reason and a test."""
    assert {row.name: lacking for row in rows if (lacking := missing(row.name))} == {}


def test_ops_are_handled(rows: list[language_table.Row]) -> None:
    """The ops that a name becomes have a handler in the interpreter and a lowering in the backend."""
    assert [row for row in rows if row.interpreter.startswith("not ") or row.backend.startswith("not ")] == []


def test_an_op_without_a_handler_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unhandled(("add",)) == ([], [])
    monkeypatch.delitem(HANDLERS, "add")
    assert unhandled(("add",)) == (["add"], [])


@pytest.mark.parametrize("name", ELSEWHERE)
def test_tests_that_are_named_exist(name: str) -> None:
    path, _, function = ELSEWHERE[name][1].partition("::")
    assert function in _functions(ROOT / path)


@functools.cache
def _functions(path: Path) -> frozenset[str]:
    return frozenset(n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize("case", SYNTAX_ERRORS.values())
def test_refused_syntax_has_a_message(case: str) -> None:
    assert (ROOT / "tests" / "errors" / "syntax" / f"{case}.err").exists()


def test_excuses_are_needed() -> None:
    """A rank or name that has cells after all needs no excuse."""
    assert not [name for name, (ranks, _) in RANKS.items() if set(ranks) & set(evidence(name).ranks)]
    assert not [name for name in ELSEWHERE if evidence(name).cells]


def test_members_of_enums_are_complete() -> None:
    listed = set(FEATURES["members of enums"])
    members = {f"{kind.__name__}.{member.name}" for kind in (
        ct.RoundingMode, ct.PaddingMode, ct.MemoryOrder, ct.MemoryScope) for member in kind}
    assert members == listed


def test_the_table_names_every_row(rows: list[language_table.Row]) -> None:
    text = language_table.table().replace("\\|", "|")
    assert all(f"`{row.name}`" in text for row in rows)
