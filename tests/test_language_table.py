"""Every public name of the language is implemented or refused with a reason; the documented names have rules."""

from __future__ import annotations

import language_table
import pytest

ROWS = language_table.rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_name_is_implemented_or_refused(row: language_table.Row) -> None:
    assert row.settled


def test_no_rule_is_outside_the_registries() -> None:
    ops = language_table.referred_ops(language_table.RULES["bid"].function)
    assert ops, "the walk from a rule to its ops finds nothing"


def test_the_table_names_every_row() -> None:
    text = language_table.table()
    assert all(f"`{row.name}`" in text for row in ROWS)
