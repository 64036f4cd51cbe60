"""The pages under docs/ name what is there: files, passes in order, bounds of passes that reassociate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "backend_ptx|benchmarks|docs|dsl|examples|frontend|interp|tests|tileir|tools"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_files_exist(page: Path) -> None:
    names = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", page.read_text()))
    missing = [name for name in sorted(names) if not (ROOT / name).exists()]
    assert not missing, f"{page.name} names what does not exist: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([\w./-]+\.(?:md|py))\)", page.read_text()):
        assert (page.parent / link).exists(), f"{page.name}: {link}"


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def section(name: str) -> str:
    return ARCHITECTURE.split(f"<!-- {name} -->")[1].split("<!-- end")[0]


@pytest.mark.parametrize("folder", ["tileir", "backend_ptx"])
def test_pass_lists_are_the_pipelines(folder: str) -> None:
    from tilewright.backend_ptx.pipeline import PIPELINE as BACKEND
    from tilewright.tileir.passes import PIPELINE as TILEIR

    pipeline = {"tileir": TILEIR, "backend_ptx": BACKEND}[folder]
    lines = re.findall(r"^(\d+)\. `(\w+)`", section(f"passes of {folder}"), re.MULTILINE)
    wrong = list_errors(lines, [step.__name__ for step in pipeline], folder)
    assert not wrong, "\n".join(wrong)


def list_errors(lines: list[tuple[str, str]], names: list[str], folder: str) -> list[str]:
    """What is wrong with the numbered list of a pipeline's passes, in words."""
    where = f"docs/architecture.md's list of passes of {folder}"
    listed = [name for _, name in lines]
    wrong = [f"{name} has no line in {where}: write it as line {names.index(name) + 1}, `{name}`: what it does, and "
             "number the lines after it" for name in names if name not in listed]
    wrong += [f"{name} has a line in {where}, but is no pass of its PIPELINE" for name in listed if name not in names]
    if not wrong and listed != names:
        wrong.append(f"{where} must have the order of its PIPELINE: {', '.join(names)}")
    if not wrong and [int(number) for number, _ in lines] != list(range(1, len(lines) + 1)):
        wrong.append(f"number the lines of {where} from 1 to {len(lines)}")
    return wrong


@pytest.mark.parametrize("lines, sentence", [
    ("1 dce 2 cse", "fold has no line in docs/architecture.md's list of passes of tileir: write it as line 2, "
                    "`fold`: what it does, and number the lines after it"),
    ("1 dce 2 fold 3 cse 4 licm", "licm has a line in docs/architecture.md's list of passes of tileir, but is no pass "
                                  "of its PIPELINE"),
    ("1 dce 2 cse 3 fold", "docs/architecture.md's list of passes of tileir must have the order of its PIPELINE: dce, "
                           "fold, cse"),
    ("1 dce 2 fold 2 cse", "number the lines of docs/architecture.md's list of passes of tileir from 1 to 3"),
])
def test_a_wrong_list_is_explained(lines: str, sentence: str) -> None:
    words = lines.split()
    assert list_errors(list(zip(words[::2], words[1::2], strict=True)), ["dce", "fold", "cse"], "tileir") == [sentence]


def test_passes_that_reassociate_exist() -> None:
    from tilewright.backend_ptx.pipeline import PIPELINE

    listed = re.findall(r"^\| `(\w+)` \|", section("reassociates"), re.MULTILINE)
    assert listed and set(listed) <= {step.__name__ for step in PIPELINE}


def test_every_environment_variable_is_listed() -> None:
    used: set[str] = set()
    for folder in ("dsl", "frontend", "tileir", "interp", "backend_ptx"):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(re.findall(r'(?:environ(?:\.get\(|\[)|switched_on\()"(TILEWRIGHT_\w+)"', path.read_text()))
    assert used == set(re.findall(r"^\| `(TILEWRIGHT_\w+)` \|", ARCHITECTURE, re.MULTILINE))
