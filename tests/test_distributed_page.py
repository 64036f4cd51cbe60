"""docs/distributed.md: its programs do what it says."""

from __future__ import annotations

from pathlib import Path

import doc_examples
import pytest
from support.pages import check, programs_of


def test_the_page_has_its_programs() -> None:
    assert [program.error for program in programs_of("distributed.md")] == ["", "CheckError"]


@pytest.mark.parametrize("program", programs_of("distributed.md"), ids=["whole", "refused"])
def test_program(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(program, tmp_path, capfd)
