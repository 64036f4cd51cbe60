"""Where in the user's source an instruction comes from, by the debug locations in the module's text."""

from __future__ import annotations

import re

from tilewright.tileir.diagnostics import NO_SPAN, Span

_MARK = re.compile(r", !dbg !(\d+)$")
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!?(\d+))')


def place_of(text: str, number: int) -> Span:
    """The place of the instruction in line `number` (from 1) of a module made with line numbers; NO_SPAN for others."""
    lines = text.split("\n")
    mark = _MARK.search(lines[number - 1].rstrip()) if 0 < number <= len(lines) else None
    if mark is None:
        return NO_SPAN
    location = _fields(lines, mark.group(1))
    scope = _fields(lines, location["scope"])
    function = scope if "name" in scope else _fields(lines, scope["scope"])
    file = _fields(lines, scope["file"])
    line, column = int(location["line"]), int(location["column"]) - 1
    path = "/".join(filter(None, (file["directory"], file["filename"])))
    return Span(path, line, column, line, column + 1, function.get("name", ""))


def _fields(lines: list[str], number: str) -> dict[str, str]:
    """The fields of the metadata record of that number."""
    record = next(line for line in lines if line.startswith(f"!{number} = "))
    return {name: quoted or plain for name, quoted, plain in _FIELD.findall(record)}
