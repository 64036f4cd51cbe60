"""The site, as mkdocs gets it: the navigation names every page, links and anchors lead somewhere, nothing is loaded."""

from __future__ import annotations

import posixpath
import re
from collections import Counter

import pytest
from docs_site.gallery import SUBJECTS, page
from docs_site.nav import nav, pages_of
from docs_site.pages import (
    ELSEWHERE,
    ROOT,
    anchors,
    language_anchors,
    links,
    outside_code,
    relinked,
    site_pages,
    spaced,
)

PAGES = site_pages()
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def broken(name: str, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    out = []
    for target in links(text):
        path, _, anchor = target.partition("#")
        page = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if target.startswith(ELSEWHERE):
            continue
        if page not in PAGES or (anchor and anchor not in anchors(PAGES[page])):
            out.append(target)
    return out


@pytest.mark.parametrize("name", PAGES)
def test_links_and_anchors_lead_somewhere(name: str) -> None:
    assert broken(name, PAGES[name]) == []


def test_a_broken_link_is_found() -> None:
    assert broken("index.md", "[a](no.md) [b](index.md#no) [c](#no) `[d](e.md)`\n```\n[x](y.md)\n```\n")[:3] == [
        "no.md", "index.md#no", "#no"]
    assert links("`a[b](c)` [`d`](e.md) [f](g.md#h)") == ["e.md", "g.md#h"]
    assert broken("lessons/index.md", "[a](../install.md)") == []


@pytest.mark.parametrize("name", PAGES)
def test_images_are_there_and_say_what_they_show(name: str) -> None:
    for words, target in IMAGE.findall(PAGES[name]):
        assert len(words) > 10, f"{name}: {target} has no text for those who do not see it"
        assert (ROOT / "docs" / posixpath.dirname(name) / target).is_file(), f"{name}: {target}"


def test_the_navigation_names_every_page_once() -> None:
    named = Counter(pages_of(nav()))
    assert set(named) == set(PAGES) and set(named.values()) == {1}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title(name: str) -> None:
    titles = [part for is_prose, text in outside_code(PAGES[name]) if is_prose
              for part in re.findall(r"^# .*$", text, re.MULTILINE)]
    assert len(titles) == 1 and PAGES[name].lstrip().startswith(titles[0])


def test_links_follow_what_the_site_makes_of_files() -> None:
    """The reference is split, examples are pages, and what is no page of the site is plain text."""
    assert language_anchors()["cumsum"] == "reference/reductions-and-scans.md"
    made = relinked("[a](../language.md#cumsum) [b](../../examples/fft.py) [`c`](../../tileir/grammar.lark)",
                    "docs/lessons/x.md", "lessons/x.md")
    assert made == "[a](../reference/reductions-and-scans.md#cumsum) [b](../examples/fft.md) `c`"
    assert set(language_anchors()) >= {"limits-and-decisions", "dtypes", "kernelgrid"}


def test_tables_and_lists_stand_apart() -> None:
    assert spaced("\n| `X \\| None` | a \\| b |\n") == "\n| `X | None` | a \\| b |\n"
    made = spaced("<!-- a -->\n| b | c |\n|---|---|\n| d | e |\n<!-- end -->\ntext\n- item\n  goes on\n- item\n\n"
                  "```\na\n- b\n```\n")
    assert made.splitlines()[:9] == [
        "<!-- a -->", "", "| b | c |", "|---|---|", "| d | e |", "", "<!-- end -->", "text", ""]
    assert made.endswith("- item\n  goes on\n- item\n\n```\na\n- b\n```\n")


def test_nothing_is_loaded_from_another_host() -> None:
    config = (ROOT / "tools" / "docs_site" / "mkdocs.yml").read_text()
    assert "font: false" in config and "http" not in config
    for name, text in PAGES.items():
        for is_prose, part in outside_code(text):
            assert not is_prose or not re.search(r"<(script|link|img|iframe)\b", part), name


def test_the_gallery_has_every_example(update_golden: bool) -> None:
    listed = [name for names in SUBJECTS.values() for name in names.split()]
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "examples").glob("[!_]*.py"))
    if update_golden:
        (ROOT / "docs" / "examples.md").write_text(page())
    assert (ROOT / "docs" / "examples.md").read_text() == page(), "run this test with --update-golden"
