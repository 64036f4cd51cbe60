"""The programs of one page of docs/, run as the page of the language is."""

from __future__ import annotations

import re
from pathlib import Path

import doc_examples
import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def programs_of(page: str) -> list[doc_examples.Program]:
    """Each program of a page, and one more for each line that it says is refused."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return [program for code in blocks for program in doc_examples.programs(code, script=True)]


def check(program: doc_examples.Program, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It prints what the page says, or raises that."""
    doc_examples.run(program, folder / "example.py")
    printed = [line.rstrip() for line in capfd.readouterr().out.splitlines()]
    assert program.error or printed == list(program.expected), program.source
