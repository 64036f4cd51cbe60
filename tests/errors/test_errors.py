"""Every bad kernel beside this file raises the error whose text stands in its .err file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted(p for p in HERE.glob("*/*.py"))


def rendered(case: Path) -> str:
    """The class and the text of the error that `main()` raises, with paths relative to this folder."""
    main = runpy.run_path(str(case))["main"]
    with pytest.raises(Exception) as caught:
        main()
    text = f"{type(caught.value).__name__}\n{caught.value}\n"
    return text.replace(f"{HERE}/", "")


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_message(case: Path, update_golden: bool) -> None:
    golden = case.with_suffix(".err")
    text = rendered(case)
    assert "internal error" not in text
    if update_golden:
        golden.write_text(text)
    assert text == golden.read_text()


def test_every_golden_has_its_case() -> None:
    assert {p.with_suffix(".py") for p in HERE.glob("*/*.err")} <= set(CASES)
