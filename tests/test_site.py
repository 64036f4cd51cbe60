"""The site, as mkdocs gets it: the navigation names every page, links and anchors lead somewhere, nothing is loaded."""

from __future__ import annotations

import pkgutil
import posixpath
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from docs_site import api
from docs_site.check_links import problems
from docs_site.gallery import SUBJECTS, page
from docs_site.nav import nav, pages_of
from docs_site.pages import (
    ELSEWHERE,
    ROOT,
    anchors,
    language_anchors,
    links,
    outside_code,
    picture_of,
    relinked,
    site_pages,
    spaced,
)
from docs_site.pictures import SHOWN, boxes, cells, picture
from example_launches import launch_of

PAGES = site_pages()
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("[!_]*.py"))
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


def test_links_to_other_hosts_are_whole() -> None:
    for name, text in PAGES.items():
        for target in links(text):
            assert not target.startswith(ELSEWHERE) or re.match(r"https://[\w-]+(\.[\w-]+)+(/|$)|mailto:", target), name


def test_broken_links_of_the_built_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1> <a href="b/c.html#here">1</a> <a href="b/c.html#no">2</a> <a href="no.html">3</a> <a '
        'href="#top">4</a> <a href="#no">5</a> <a href="http://x.org">6</a> <a href="https://x.org/y">7</a> <a '
        'href="..">8</a> <a href="b">9</a> <img src="b/no.svg"> '
        '<script src="https://x.org/z.js"></script>')
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.html").write_text('<p id="here"><a href="../a.html#top">1</a></p>')
    assert list(problems(tmp_path)) == [
        "a.html: b/c.html#no c.html has no such anchor", "a.html: no.html leads to no file",
        "a.html: #no a.html has no such anchor", "a.html: http://x.org is no whole https address",
        "a.html: .. leads out of the site", "a.html: b leads to no file", "a.html: b/no.svg leads to no file",
        "a.html: https://x.org/z.js is loaded from another host"]


@pytest.mark.parametrize("name", PAGES)
def test_images_are_there_and_say_what_they_show(name: str) -> None:
    for words, target in IMAGE.findall(PAGES[name]):
        assert len(words) > 10, f"{name}: {target} has no text for those who do not see it"
        drawn = re.fullmatch(r"(?:\.\./)?images/accesses/(\w+)\.svg", target)
        if drawn:
            assert drawn[1] in EXAMPLES, f"{name}: {target}"
            continue
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
    assert sorted(listed) == EXAMPLES
    if update_golden:
        (ROOT / "docs" / "examples.md").write_text(page())
    assert (ROOT / "docs" / "examples.md").read_text() == page(), "run this test with --update-golden"


@pytest.mark.parametrize("name, words", [
    ("gemm", "Access map of gemm, by element: a (150 x 170) is read 4 times; b (170 x 200) is read 3 times; "
             "c (150 x 200) is written once"),
    ("cholesky", "Access map of update, by element: a (100 x 100) is read 1.2 times and written 0.334 times"),
    ("distributed_matmul", "Access map of multiply, by element: a (64 x 128) is read 3 times; "
                           "b (128 x 96) is read 2 times; c (64 x 96) is written once"),
])
def test_an_access_map_is_a_picture_with_words(name: str, words: str) -> None:
    made = picture(name)
    boxes = ElementTree.fromstring(made.svg).findall(".//{*}rect")
    assert made.words == words and len(boxes) > 3
    assert PAGES[f"examples/{name}.md"].endswith(f"(../{picture_of(name)})\n")
    assert f"examples/{name}.md) ![" in PAGES["examples.md"]


def test_every_picture_has_its_launch() -> None:
    for name, (kernel, _) in SHOWN.items():
        assert f"def {kernel}(" in (ROOT / "examples" / f"{name}.py").read_text()
    with pytest.raises(LookupError, match="does not launch gemm 2 times"):
        launch_of("blas", "gemm", 1)


def test_cells_become_boxes() -> None:
    """Runs of cells go over rows, and equal parts of rows below each other are one box."""
    assert boxes([(1, 3), (5, 7), (8, 12)], 4) == [(0, 2, 1, 3), (2, 3, 0, 4)]
    assert [strength for _, strength in cells({"times": [0, 1, 4, 4]}, 2)] == pytest.approx([0.35, 0.8])


def test_the_api_names_what_is_there() -> None:
    """The directives for mkdocstrings: each one a name that Python finds."""
    named = re.findall(r"^::: ([\w.]+)$", PAGES[api.NAME], re.MULTILINE)
    assert len(named) == len(set(named)) > 50
    for path in named:
        assert callable(pkgutil.resolve_name(path)), path
    assert '::: tilewright.launching.launch.launch\n    options:\n      heading: "launch"' in PAGES[api.NAME]
