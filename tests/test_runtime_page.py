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
    assert [program.error for program in PROGRAMS].count("") == 8 and len(PROGRAMS) == 18


def test_codes_of_errors_are_cudas() -> None:
    cuda = pytest.importorskip("cuda.bindings.driver")
    codes = re.findall(r"^\| (\d+) \| `(CUDA_\w+)` \|", PAGE, re.MULTILINE)
    assert len(codes) == 10 and all(cuda.CUresult(int(code)).name == name for code, name in codes)


def test_what_holds_the_contract_is_named_with_where_it_stands() -> None:
    rows = re.findall(r"^\| [\w ,]+ \| \[([\w ]+)\]\(#([\w-]+)\) \| (`tests/.*`) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 12
    for heading, link, tests in rows:
        assert re.search(rf"^##+ {heading}$", PAGE, re.MULTILINE) and link == heading.lower().replace(" ", "-")
        for name in tests.split(", "):
            assert (Path(__file__).parents[1] / name.strip("`")).exists(), name
