"""Where in the user's source the instructions of LLVM's text come from, by its debug locations."""

from __future__ import annotations

import re

from tilewright.tileir.diagnostics import NO_SPAN, Span

_MARK = re.compile(r", !dbg !(\d+)( \{)?$")
_RECORD = re.compile(r"!(\d+) = (.*)")
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!?(\d+))')
_BYTE = re.compile(rb"\\([0-9A-F]{2})")


class Places:
    """The places of the lines of a module's text; `at(line)`, from 1, is NO_SPAN for those without."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._records = {found[1]: found[2] for line in self._lines if (found := _RECORD.match(line))}
        self._known: dict[str, Span] = {}

    def at(self, number: int) -> Span:
        mark = _MARK.search(self._lines[number - 1].rstrip()) if 0 < number <= len(self._lines) else None
        return self._place(mark[1]) if mark is not None and mark[2] is None else NO_SPAN

    def _place(self, number: str) -> Span:
        """The place that a DILocation describes, with the call that it was inlined at."""
        if number not in self._known:
            location = self._fields(number)
            scope = self._fields(location["scope"])
            function = scope if "name" in scope else self._fields(scope["scope"])
            file = self._fields(scope["file"])
            line, column = int(location["line"]), int(location["column"]) - 1
            path = "/".join(filter(None, (file["directory"], file["filename"])))
            call = self._place(location["inlinedAt"]) if "inlinedAt" in location else None
            self._known[number] = Span(path, line, column, line, column + 1, function.get("name", ""), call)
        return self._known[number]

    def _fields(self, number: str) -> dict[str, str]:
        """The fields of the metadata record of that number."""
        return {name: _plain(quoted) or plain for name, quoted, plain in _FIELD.findall(self._records[number])}


def _plain(text: str) -> str:
    r"""What LLVM writes with \XX for some bytes."""
    return _BYTE.sub(lambda byte: bytes([int(byte[1], 16)]), text.encode()).decode(errors="replace")
