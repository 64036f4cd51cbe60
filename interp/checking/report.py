"""What a checked launch reports: one record for each defect, as text with source lines, and as JSON."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from tilewright.tileir.diagnostics import NO_SPAN, Related, Span, TileError, render

CHECKS: dict[str, tuple[str, ...]] = {
    "bounds": ("bounds", "promise"),
    "races": ("race", "order"),
    "undefined": ("undefined", "unwritten"),
    "progress": ("progress",),
    "numerics": ("nan", "overflow", "underflow", "lossy", "wrap"),
    "cancellation": ("cancellation",),
}
"""What can be checked, each with the kinds of its reports."""

ALL_CHECKS = frozenset(CHECKS) - {"cancellation"}
"""What `check="all"` checks: also where numbers go wrong. Which loss of bits does harm, only the user knows."""

DEFAULT_CHECKS = ALL_CHECKS - {"numerics"}
"""What `check=True` checks: what is wrong under any reading of the kernel."""

JSON_FIELDS = {
    "kind": "one of the kinds above",
    "severity": '"error", "warning" or "note"',
    "message": "what is wrong, in a sentence",
    "array": 'the name of the array, or ""',
    "index": "the element, a list of integers, or null",
    "block": "the block, three integers, or null",
    "other_block": "the block of the second access, or null",
    "values": "an object of the numbers that show it: integers, floats, strings, lists of these; NaN and infinities as "
              "strings",
    "reason": 'why it is wrong, or ""',
    "hint": 'what to write instead, or ""',
    "count": "how often it was met",
    "command": 'what shows it again, or ""',
    "places": "a list of up to two places, the one at fault first: `{label, calls}`; `calls`, outermost first, are "
              "`{file, line, column, function}`, lines and columns from 1",
}
"""What `as_json` gives. docs/checking.md shows this table."""

Coordinates = tuple[int, ...]
_WIDE = 100  # a note that is longer takes another line


@dataclass(frozen=True, slots=True)
class Report:
    """One defect of a launch.

    Attributes: `kind`, one of those in `CHECKS`; `severity`, "error", "warning" or "note"; `message`, what is wrong;
        `span`, the source line, with the calls that led to it; `related`, the second access, or where a value comes
        from; `array` and `index`, the element; `block` and `other_block`; `values`, the numbers that show it; `reason`,
        why it is wrong; `hint`, what to write instead; `count`, how often the launch met it; `command` to see it again.
    """

    kind: str
    message: str
    span: Span = NO_SPAN
    severity: str = "error"
    label: str = ""
    related: Span | None = None
    related_label: str = ""
    array: str = ""
    index: Coordinates | None = None
    block: Coordinates | None = None
    other_block: Coordinates | None = None
    values: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    hint: str = ""
    count: int = 1
    command: str = ""

    def __str__(self) -> str:
        notes = [*self._place(), *([self.reason] if self.reason else [])]
        if self.command:
            notes.append(f"see it again with: {self.command}")
        error = TileError(
            self.message, self.span, label=self.label, related=self._related(), notes=notes,
            hints=[self.hint] if self.hint else [],
        )
        error.headline = self.headline
        return render(error)

    @property
    def headline(self) -> str:
        """What stands before the message."""
        return f"{self.severity} ({self.kind})"

    def _place(self) -> list[str]:
        where = [] if self.block is None else [f"in block {self.block}"]
        if self.other_block is not None:
            where.append(f"and block {self.other_block}")
        if self.array and self.index is not None:
            where.append(f"at {self.array}[{', '.join(map(str, self.index))}]")
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        more = f", and {self.count - 1} more like this" if self.count > 1 else ""
        if not where:
            return [values] if values else []
        line = " ".join(where)
        if values and len(line) + len(values) + len(more) <= _WIDE:
            return [f"{line}, where {values}{more}"]
        return [line + more, *([values] if values else [])]

    def _related(self) -> list[Related]:
        if self.related is None or self.related is NO_SPAN:
            return []
        *calls, place = self.related.chain
        return [*(Related(call, "called from here") for call in calls), Related(place, self.related_label)]

    def counted(self, count: int) -> Report:
        """The same report of so many occurrences."""
        return replace(self, count=count)

    def as_json(self) -> dict[str, Any]:
        """The report as what `json.dumps` takes."""
        places = (self.span, self.label or self.message), (self.related, self.related_label)
        return {
            "kind": self.kind, "severity": self.severity, "message": self.message, "array": self.array,
            "index": self.index, "block": self.block, "other_block": self.other_block,
            "values": {name: _value_json(value) for name, value in self.values.items()},
            "reason": self.reason, "hint": self.hint, "count": self.count, "command": self.command,
            "places": [_place_json(span, label) for span, label in places if span not in (None, NO_SPAN)],
        }


def _value_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value_json(part) for part in value]
    return value if isinstance(value, int | str) or (isinstance(value, float) and isfinite(value)) else str(value)


def _place_json(span: Any, label: str) -> dict[str, Any]:
    return {
        "label": label,
        "calls": [{"file": s.file, "line": s.line, "column": s.col + 1, "function": s.function} for s in span.chain],
    }


def command_line(checks: frozenset[str]) -> str:
    """How to run this process again, checked in the same way."""
    if checks == DEFAULT_CHECKS:
        wanted = "1"
    else:
        wanted = "all" if checks == ALL_CHECKS else ",".join(sorted(checks))
    script, *words = sys.argv or [""]
    if not script or script == "-c":
        return ""
    module = getattr(sys.modules["__main__"], "__spec__", None)
    if module is not None:
        started = ["python", "-m", module.name.removesuffix(".__main__")]
    else:
        started = ["python", script] if script.endswith(".py") else [Path(script).name]
    return f"TILEWRIGHT_CHECK={wanted} {shlex.join([*started, *words])}"
