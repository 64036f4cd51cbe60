"""The reports of one launch: the first of each kind at each pair of source lines, with how many came after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.interp.checking.report import Report
from tilewright.tileir.diagnostics import TileError, in_words_of


class Stopped(TileError):
    """A checked launch cannot go on: what stopped it is in its reports."""


class Log:
    """Collects reports. `command` is how to see them again."""

    def __init__(self, command: str = "") -> None:
        self._command = command
        self._reports: dict[Any, Report] = {}
        self._counts: dict[Any, int] = {}

    def add(self, key: Any, count: int, make: Callable[[], Report]) -> None:
        """Note `count` occurrences of a defect. Those of one key are one report: `make` is called for the first."""
        if key not in self._counts:
            self._counts[key] = 0
            report = make()
            hint = in_words_of(report.span.file, report.hint)
            self._reports[key] = replace(report, command=self._command, hint=hint)
        self._counts[key] += count

    def has(self, key: Any) -> bool:
        """Has a defect of this key been noted?"""
        return key in self._counts

    def reports(self) -> list[Report]:
        """All of them, the errors first, then in the order in which they were met."""
        order = ("error", "warning", "note")
        found = [report.counted(self._counts[key]) for key, report in self._reports.items()]
        return sorted(found, key=lambda report: order.index(report.severity))
