"""The navigation of the site: titles and pages, in the order in which one reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs_site import api
from docs_site.pages import DOCS, language_pages, site_pages

START = ("index.md", "install.md", "first-kernel.md")
GUIDES = ("runtime.md", "debugging.md", "explorer.md", "checking.md", "comparing.md", "profiling.md", "numerics.md",
          "performance.md", "distributed.md", "shipping.md")
COMING_FROM = {
    "cuTile": "coming-from-cutile.md", "Triton": "coming-from-triton.md", "Numba": "coming-from-numba.md",
    "CUDA C++": "coming-from-cuda.md",
}
DESIGN = ("architecture.md", "tile-ir.md", "adding-an-op.md", "adding-a-pass.md", "adding-a-target.md",
          "contributing.md")


def title(name: str) -> str:
    """A page's title: its first heading, without backquotes."""
    return site_pages()[name].partition("# ")[2].partition("\n")[0].replace("`", "")


def titled(names: Iterator[str]) -> list[dict[str, str]]:
    return [{title(name): name} for name in names]


def guides() -> list[str]:
    """The guides; a page of docs/ that has no other place is one, too."""
    elsewhere = {*START, *COMING_FROM.values(), *DESIGN, "language.md", "examples.md", "limits.md", "changelog.md"}
    others = [name for name in site_pages() if "/" not in name and name not in elsewhere and name not in GUIDES]
    return [*GUIDES, *others]


def nav() -> list[dict[str, Any]]:
    """What mkdocs.yml calls `nav`. Lessons, families of the reference and examples follow the files."""
    lessons = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "lessons").glob("[0-9]*.md"))
    examples = sorted(name for name in site_pages() if name.startswith("examples/"))
    families = [name for name in language_pages() if name.startswith("reference/")]
    coming = [{label: name} for label, name in COMING_FROM.items() if name in site_pages()]
    return [
        {"Start": [START[0], *titled(iter(START[1:]))]},
        {"Lessons": ["lessons/index.md", *titled(iter(lessons))]},
        {"Guides": [*titled(iter(guides())), {"Coming from": coming}]},
        {"Reference": [{"The kernel language": "language.md"}, *titled(iter(families)), *titled(iter([api.NAME]))]},
        {"Examples": ["examples.md", {"Source": titled(iter(examples))}]},
        {"Design": [*titled(iter(DESIGN)), {"What is not there": "limits.md"}, {"Changelog": "changelog.md"}]},
    ]


def pages_of(entries: Any) -> Iterator[str]:
    """The pages that a navigation names."""
    if isinstance(entries, str):
        yield entries
    for entry in entries.values() if isinstance(entries, dict) else entries if isinstance(entries, list) else ():
        yield from pages_of(entry)
