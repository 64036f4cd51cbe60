"""The pages on debugging, comparing and profiling: each script prints what stands under it, pdb sessions included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {"debugging.md": 10, "comparing.md": 3, "profiling.md": 2}
PAIRS = [pair for page in PAGES for pair in re.findall(
    r"```python\n(# (\w+\.py)\n.*?)```\n\n```text\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)]
COMMAND = re.compile(r"(?<=\(Pdb\) )(.*)\n")


def test_the_pages_have_their_kernels() -> None:
    assert {page: (DOCS / page).read_text().count("```python") for page in PAGES} == PAGES
    assert len(PAIRS) == sum(PAGES.values())


@pytest.mark.parametrize("script, name, printed", PAIRS, ids=[name for _, name, _ in PAIRS])
def test_a_script_prints_what_the_page_says(script: str, name: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(script)
    commands = "".join(f"{line}\n" for line in COMMAND.findall(printed))
    unset = ("PYTHONBREAKPOINT", "TILEWRIGHT_CHECK")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    run = subprocess.run(
        [sys.executable, name], cwd=tmp_path, env=environment, input=commands, capture_output=True, text=True)
    assert not run.stderr
    assert run.stdout.replace(f"{tmp_path}{os.sep}", "").rstrip() == COMMAND.sub("", printed).rstrip()
