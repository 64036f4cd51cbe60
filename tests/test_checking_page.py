"""docs/checking.md: its programs and commands print what stands under them; its tables are those of the code.

`--update-golden` writes what they print, and the table of fields, into the page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.interp.checking.report import CHECKS, JSON_FIELDS, Report

PAGE = Path(__file__).parent.parent / "docs" / "checking.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
COMMANDS = {"python": [sys.executable], "tilewright": [sys.executable, "-m", "tilewright"]}


def runs() -> list[tuple[str, str]]:
    """Each block of the page that holds output, as its text and the commands that print it."""
    out: list[tuple[str, str]] = []
    name = ""
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            name = text.split("\n")[0].removeprefix("# ")
        elif language == "text":
            out.append((f"python {name}", text))
        elif language == "console":
            out += [tuple(part.partition("\n")[::2]) for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs of the page."""
    made = tmp_path_factory.mktemp("checking")
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            (made / text.split("\n")[0].removeprefix("# ")).write_text(text)
    return made


def printed(command: str, folder: Path) -> str:
    first, *words = shlex.split(command)
    environment = {key: value for key, value in os.environ.items() if key != "TILEWRIGHT_CHECK"}
    ran = subprocess.run([*COMMANDS[first], *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert not ran.stderr or first == "tilewright", ran.stderr
    return ran.stdout.replace(f"{folder}{os.sep}", "").rstrip() + "\n"


def test_the_page_has_its_programs() -> None:
    assert len(runs()) == 13 and PAGE.read_text().count("```python") == 9


@pytest.mark.parametrize("command, text", runs(), ids=[command for command, _ in runs()])
def test_a_program_prints_what_the_page_says(command: str, text: str, folder: Path, update_golden: bool) -> None:
    got = printed(command, folder)
    if update_golden:
        replace_output(command, text, got)
    else:
        assert got == text


def replace_output(command: str, text: str, got: str) -> None:
    """Write into the page what a command prints now."""
    page = PAGE.read_text()
    name = command.split()[-1]
    if f"$ {command}\n" in page:
        PAGE.write_text(page.replace(f"$ {command}\n{text}", f"$ {command}\n{got}"))
        return
    at = page.index("```text\n", page.index(f"```python\n# {name}\n")) + len("```text\n")
    PAGE.write_text(page[:at] + got + page[at + len(text):])


def table(marker: str) -> str:
    return PAGE.read_text().split(f"<!-- {marker} -->\n")[1].split("<!-- end -->")[0]


def test_every_check_and_kind_has_its_line() -> None:
    rows = re.findall(r"^\| (?:`(\w+)`)? *\| `(\w+)` \|", table("kinds"), re.MULTILINE)
    found: dict[str, list[str]] = {}
    for check, kind in rows:
        found.setdefault(check or list(found)[-1], []).append(kind)
    assert {check: tuple(kinds) for check, kinds in found.items()} == CHECKS


def test_the_fields_of_reports(update_golden: bool) -> None:
    assert list(Report("bounds", "").as_json()) == list(JSON_FIELDS)
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in JSON_FIELDS.items())
    wanted = f"| field | value |\n|---|---|\n{rows}"
    if update_golden:
        PAGE.write_text(PAGE.read_text().replace(f"<!-- fields -->\n{table('fields')}", f"<!-- fields -->\n{wanted}"))
    assert table("fields") == wanted
