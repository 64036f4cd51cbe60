"""The reports of many checked launches, of a script or of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.interp.checking.report import Report


class Collector:
    """Listens to checked launches. What one place shows in several launches is one report, with the sum of the counts.

    `command` gives the words by which all of it is seen again.
    """

    def __init__(self, command: Callable[[], str]) -> None:
        self.launches = 0
        self._command = command
        self._found: dict[Any, tuple[str, Report]] = {}

    def __call__(self, kernel: str, reports: list[Report]) -> None:
        self.launches += 1
        for report in reports:
            key = kernel, report.kind, report.severity, report.span, report.related, report.array
            _, known = self._found.get(key, (kernel, None))
            first = replace(report, command=self._command()) if known is None else known
            self._found[key] = kernel, first.counted(report.count + (0 if known is None else known.count))

    def found(self, *severities: str) -> list[tuple[str, Report]]:
        """The reports of these severities (of none: all), each with its kernel's name; errors first."""
        order = ("error", "warning", "note")
        chosen = [(kernel, report) for kernel, report in self._found.values()
                  if not severities or report.severity in severities]
        return sorted(chosen, key=lambda pair: order.index(pair[1].severity))

    def clear(self) -> None:
        """Forget all of it."""
        self.launches = 0
        self._found.clear()
