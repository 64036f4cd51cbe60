"""docs/torch.md: its programs do what it says."""

from __future__ import annotations

from pathlib import Path

import doc_examples
import pytest
from support.optional import optional
from support.pages import check, programs_of

optional("torch")


def test_the_page_has_its_programs() -> None:
    assert len(programs_of("torch.md")) == 4


@pytest.mark.parametrize("program", programs_of("torch.md"), ids=range(4))
def test_program(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(program, tmp_path, capfd)
