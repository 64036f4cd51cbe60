"""docs/debugging.md: each of its scripts prints what stands under it, pdb sessions included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "debugging.md"
PAIRS = re.findall(r"```python\n(# (\w+\.py)\n.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMAND = re.compile(r"(?<=\(Pdb\) )(.*)\n")


def test_the_page_has_its_kernels() -> None:
    assert len(PAIRS) == PAGE.read_text().count("```python") == 10


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
