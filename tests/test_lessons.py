"""The lessons: their scripts print what stands in them, their pages show all of a script, their commands are executed.

`--update-golden` writes what the commands print into the pages.
"""

from __future__ import annotations

import re
from pathlib import Path

import doc_examples
import performance_page
import pytest
from docs_site.pages import CODE, DOCS, ROOT, parts_of

from tilewright.tune import sampling

SCRIPTS = sorted((ROOT / "examples" / "lessons").glob("*.py"))
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if CODE.search(path.read_text())]
SHOWN = re.compile(r"```console\n\$ tilewright (?P<command>.*)\n(?P<output>(?:.*\n)*?)```")
COMMANDS = [(page, found["command"]) for page in PAGES for found in SHOWN.finditer(page.read_text())]
HEADINGS = ("## What you learn", "## Exercises", "## Next")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_prints_what_stands_in_it(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "BUDGET_US", 1e4)  # searches find nothing out here, they are to end
    code = re.sub(r"^# %% .*$", "", script.read_text(), flags=re.MULTILINE)
    [program] = doc_examples.programs(code, script=True)
    doc_examples.run(program, tmp_path / script.name)
    printed = [line.rstrip() for line in capfd.readouterr().out.splitlines()]
    assert printed == list(program.expected)
    assert printed and program.source.strip() in code


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_pages_show_every_cell_once_and_in_order(script: Path) -> None:
    pages = [page for page in PAGES if f"examples/lessons/{script.name})" in page.read_text()]
    assert pages
    for page in pages:
        assert [name for name, _ in CODE.findall(page.read_text())] == list(parts_of(script)), page.name


@pytest.mark.parametrize("page, command", COMMANDS, ids=[f"{page.stem}-{i}" for i, (page, _) in enumerate(COMMANDS)])
def test_a_command_prints_what_the_page_says(page: Path, command: str, update_golden: bool) -> None:
    text = page.read_text()
    [found] = [found for found in SHOWN.finditer(text) if found["command"] == command]
    made = performance_page.output_of(command)
    if update_golden:
        page.write_text(text[:found.start("output")] + made + text[found.end("output"):])
    assert f"$ tilewright {command}\n{made}```" in page.read_text()


@pytest.mark.parametrize("page", sorted((DOCS / "lessons").glob("[0-9]*.md")), ids=lambda p: p.stem)
def test_a_lesson_has_its_parts(page: Path) -> None:
    """What one learns, how long it takes, exercises with a solution each, and the way on."""
    text = page.read_text()
    exercises = text.partition("## Exercises")[2]
    assert [text.index(heading) for heading in HEADINGS] == sorted(text.index(heading) for heading in HEADINGS)
    assert re.search(r"^About \d+ minutes\.", text, re.MULTILINE)
    assert len(re.findall(r"^\d\. ", exercises, re.MULTILINE)) == exercises.count("<details") >= 2


def test_lessons_are_numbered_as_their_scripts() -> None:
    pages = [path.stem.replace("-", "_") for path in sorted((DOCS / "lessons").glob("[0-9]*.md"))]
    assert pages == [script.stem for script in SCRIPTS if script.stem > "01" and script.stem[0].isdigit()]
    assert [int(name[:2]) for name in pages] == list(range(1, len(pages) + 1))


def test_the_readme_prints_what_it_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    [program] = doc_examples.programs(code, script=True)
    doc_examples.run(program, tmp_path / "readme.py")
    assert capfd.readouterr().out.splitlines() == list(program.expected) == ["200.0 200.0"]


MEASURED = (DOCS / "performance.md").read_text().partition("## As measured")[2]
ROW = re.compile(r"^\| (`[^`]+`) \| ([^|]+) \| ([^|]+?) \|", re.MULTILINE)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_figures_are_those_of_the_record(page: Path) -> None:
    """A table of measurements has rows of the one in docs/performance.md."""
    recorded = {work: (rate, against) for work, rate, against in ROW.findall(MEASURED)}
    for table in re.findall(r"^\| work \|.*\n(?:\|.*\n)+", page.read_text(), re.MULTILINE):
        rows = ROW.findall(table)
        assert rows and all(recorded[work] == (rate, against) for work, rate, against in rows)
