"""docs/runtime.md: its programs print what stands in them, and its refused lines raise what they say."""

from __future__ import annotations

import re
from pathlib import Path

import doc_examples
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "runtime.md").read_text()
PROGRAMS = [program for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
            for program in doc_examples.programs(code, script=True)]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.error or "whole" for program in PROGRAMS])
def test_a_program_does_what_it_says(
    program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    doc_examples.run(program, tmp_path / "program.py")
    printed = tuple(line.rstrip() for line in capfd.readouterr().out.splitlines())
    assert program.error or printed == program.expected


def test_the_page_has_its_programs() -> None:
    assert [program.error for program in PROGRAMS].count("") == 7 and len(PROGRAMS) == 16
