"""The pages under docs/ name what is there: files, passes in order, bounds of passes that reassociate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "backend_ptx|benchmarks|docs|dsl|examples|frontend|interp|tests|tileir|tools"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_files_exist(page: Path) -> None:
    names = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", page.read_text()))
    missing = [name for name in sorted(names) if not (ROOT / name).exists()]
    assert not missing, f"{page.name} names what does not exist: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text()):
        assert (page.parent / link).exists(), f"{page.name}: {link}"


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def section(name: str) -> str:
    return ARCHITECTURE.split(f"<!-- {name} -->")[1].split("<!-- end")[0]


@pytest.mark.parametrize("folder", ["tileir", "backend_ptx"])
def test_pass_lists_are_the_pipelines(folder: str) -> None:
    from tilewright.backend_ptx.pipeline import PIPELINE as BACKEND
    from tilewright.tileir.passes import PIPELINE as TILEIR

    pipeline = {"tileir": TILEIR, "backend_ptx": BACKEND}[folder]
    listed = re.findall(r"^\d+\. `(\w+)`", section(f"passes of {folder}"), re.MULTILINE)
    assert listed == [step.__name__ for step in pipeline]


def test_passes_that_reassociate_exist() -> None:
    from tilewright.backend_ptx.pipeline import PIPELINE

    listed = re.findall(r"^\| `(\w+)` \|", section("reassociates"), re.MULTILINE)
    assert listed and set(listed) <= {step.__name__ for step in PIPELINE}


def test_every_environment_variable_is_listed() -> None:
    used: set[str] = set()
    for folder in ("dsl", "frontend", "tileir", "interp", "backend_ptx"):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(re.findall(r'environ(?:\.get\(|\[)"(TILEWRIGHT_\w+)"', path.read_text()))
    assert used == set(re.findall(r"^\| `(TILEWRIGHT_\w+)` \|", ARCHITECTURE, re.MULTILINE))
