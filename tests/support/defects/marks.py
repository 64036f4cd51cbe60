"""What the source of a kernel says about its defects: `# <- kind` behind the line."""

from __future__ import annotations

import inspect
import re
from typing import Any

MARK = re.compile(r"# <- ([\w, ]+)$")


def marked(function: Any) -> set[tuple[str, int]]:
    """(kind, line) of each defect that the source of a kernel declares."""
    lines, first = inspect.getsourcelines(function)
    found = [(MARK.search(text.rstrip()), first + n) for n, text in enumerate(lines)]
    return {(kind, line) for match, line in found if match for kind in match[1].split(", ")}


def places(report: Any) -> set[tuple[str, int]]:
    """Kind and line; of a race both lines: the order of blocks decides which comes second."""
    spans = [report.span, report.related] if report.kind == "race" else [report.span]
    return {(report.kind, span.line) for span in spans if span is not None}
