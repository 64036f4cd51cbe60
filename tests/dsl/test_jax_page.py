"""docs/jax.md: its programs do what it says."""

from __future__ import annotations

from pathlib import Path

import doc_examples
import pytest
from support.optional import optional
from support.pages import check, programs_of

optional("jax")


def test_the_page_has_its_programs() -> None:
    assert len(programs_of("jax.md")) == 3


@pytest.mark.parametrize("program", programs_of("jax.md"), ids=range(3))
def test_program(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(program, tmp_path, capfd)
