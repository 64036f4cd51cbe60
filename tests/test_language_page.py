"""docs/language.md is what the stubs say, and the Python blocks of the language pages run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import language_page
import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["language.md", "coming-from-cutile.md", "coming-from-triton.md"]


def test_the_reference_is_up_to_date(update_golden: bool) -> None:
    page = DOCS / "language.md"
    prose = page.read_text().partition(language_page.START)[0]
    if update_golden:
        page.write_text(prose + language_page.reference())
    assert page.read_text() == prose + language_page.reference(), "run this test with --update-golden"


@pytest.mark.parametrize("name", PAGES)
def test_code_runs(name: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.S)
    assert blocks
    for i, block in enumerate(blocks):
        path = tmp_path / f"block{i}.py"
        path.write_text(block)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
