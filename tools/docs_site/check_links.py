"""The links of the built site: each leads to a file that is there, and to an anchor in it; `make docs` ends with this.

Links to other hosts are read by their form alone: https, a host, no blanks. Nothing may be loaded from them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

GIVEN_UP = ("mailto:", "data:", "javascript:")
OPTIONAL = "playground"  # make playground adds it


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
                if name == "src" or tag == "link":
                    self.loads.add(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


@cache
def page_at(path: Path) -> Page:
    return Page(path.read_text())


def problem(link: str, page: Path, root: Path) -> str:
    """What is wrong with a link; "" if nothing is."""
    if link.startswith(GIVEN_UP):
        return ""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if link in page_at(page).loads:
            return "is loaded from another host"
        whole = parts.scheme == "https" and "." in parts.netloc and not any(c.isspace() for c in link)
        return "" if whole else "is no whole https address"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(root):
        return "leads out of the site"
    if not target.is_file():
        return "leads to no file"
    if target.suffix != ".html" or unquote(parts.fragment) in {"", *page_at(target).anchors}:
        return ""
    return f"{target.name} has no such anchor"


def problems(root: Path) -> Iterator[str]:
    """Each wrong link of the pages below a folder, with its page."""
    root = root.resolve()
    for page in sorted(root.rglob("*.html")):
        if page.relative_to(root).parts[0] == OPTIONAL or page.name == "404.html":
            continue
        for link in dict.fromkeys(page_at(page).links):
            if found := problem(link, page, root):
                yield f"{page.relative_to(root)}: {link} {found}"


def main(folder: str) -> int:
    found = list(problems(Path(folder)))
    pages = len(list(Path(folder).rglob("*.html")))
    print("\n".join([*found, f"{pages} pages, {len(found)} broken links"]))
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
