"""The pages of the site as Markdown, made from docs/, the scripts of the lessons, the examples and CHANGELOG.md.

`site_pages()` is all that mkdocs is given. It needs no mkdocs, so tests check links and anchors of the same text.

- A line `[code: NAME](path of a lesson's script)` becomes the part of the script that starts with `# %% NAME`.
- docs/language.md becomes a page of prose and one page for each family of the reference; links follow.
- The typed API is a page of directives for mkdocstrings (api.py).
- Links to files outside docs/ lead to the page made of them; where there is none, only their text is left.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

from docs_site import api

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = "<!-- generated from the docstrings"
# Inline code, which may look like a link (`kernel[grid](x)`), or a link: its words and where it leads.
LINK = re.compile(r"`[^`\n]*`|(?<![!\\])\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"^\[code: ([^\]]+)\]\(([^)]+\.py)\)$", re.MULTILINE)
FENCE = re.compile(r"^( *)```.*?^\1```[ ]*$", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"([-*]|\d+\.) ")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")
OTHERS = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def parts_of(script: Path) -> dict[str, str]:
    """The code of each cell of a script; `# %% NAME` starts a cell. What stands above the first is not shown."""
    cells = re.split(r"^# %% (.*)\n", script.read_text(), flags=re.MULTILINE)
    return {name.strip(): code.strip("\n") for name, code in zip(cells[1::2], cells[2::2], strict=True)}


def outside_code(text: str) -> Iterator[tuple[bool, str]]:
    """The text in turns: prose (True), and fenced code (False)."""
    at = 0
    for found in FENCE.finditer(text):
        yield True, text[at:found.start()]
        yield False, found[0]
        at = found.end()
    yield True, text[at:]


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w -]", "", plain.strip().lower()).replace(" ", "-")


def anchors(text: str) -> list[str]:
    return [slug(heading) for is_prose, part in outside_code(text) if is_prose
            for _, heading in HEADING.findall(part)]


def links(text: str) -> list[str]:
    """Where the links of a page lead."""
    return [found[2] for is_prose, part in outside_code(text) if is_prose
            for found in LINK.finditer(part) if found[2] is not None]


def include(text: str, folder: Path) -> str:
    """The page with the code of its scripts in it."""
    def code(found: re.Match[str]) -> str:
        return f"```python\n{parts_of((folder / found[2]).resolve())[found[1]]}\n```"
    return CODE.sub(code, text)


# ---- the reference ------------------------------------------------------------------------------------------------


def raised(text: str) -> str:
    """A section as a page: each heading two levels higher."""
    return "".join(HEADING.sub(lambda m: f"{m[1][2:]} {m[2]}", part) if is_prose else part
                   for is_prose, part in outside_code(text))


@cache
def language_pages() -> dict[str, str]:
    """docs/language.md: its prose, then a page for each `###` of the reference."""
    prose, _, rest = (DOCS / "language.md").read_text().partition(REFERENCE)
    families: dict[str, str] = {}
    name = ""
    for is_prose, part in outside_code(rest.partition("-->\n")[2]):
        if not is_prose:
            families[name] += part
            continue
        pieces = re.split(r"^(?=### )", part, flags=re.MULTILINE)
        if name:
            families[name] += pieces[0]
        for piece in pieces[1:]:
            name = f"reference/{slug(piece.partition(chr(10))[0].removeprefix('###'))}.md"
            families[name] = piece
    made = {name: raised(text) for name, text in families.items()}
    listed = "\n".join(f"- [{text.splitlines()[0].removeprefix('# ')}]({name})" for name, text in made.items())
    return {"language.md": f"{prose.rstrip()}\n\n{listed}\n", **made}


@cache
def language_anchors() -> dict[str, str]:
    """The page of each anchor of docs/language.md."""
    return {anchor: name for name, text in language_pages().items() for anchor in anchors(text)}


# ---- links --------------------------------------------------------------------------------------------------------


def page_of(path: str) -> str | None:
    """The page that is made of a file of the repository, by its path from the root; None if there is none."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    found = {source: name for name, source in OTHERS.items()}.get(path)
    if path.startswith("examples/") and path.count("/") == 1 and path.endswith(".py"):
        return f"{path.removesuffix('.py')}.md"
    return found


def relinked(text: str, source: str, page: str) -> str:
    """The text of the file `source` (its path in the repository) as that of `page` (its path on the site)."""
    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if target is None or target.startswith(ELSEWHERE):
            return found[0]
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
        made = page_of(full)
        if made == "language.md" and anchor:
            made = language_anchors().get(anchor, made)
        if made is None:
            return words
        to = "" if made == page and anchor else posixpath.relpath(made, posixpath.dirname(page) or ".")
        return f"[{words}]({to}{'#' * bool(anchor)}{anchor})"
    return "".join(LINK.sub(link, part) if is_prose else part for is_prose, part in outside_code(text))


def spaced(text: str) -> str:
    r"""The text with what mkdocs needs and GitHub does not: a blank line around each table and before each list, and no
    backslash before a | in the code of a table."""
    return "".join(_spaced(part) if is_prose else part for is_prose, part in outside_code(text))


def _spaced(prose: str) -> str:
    lines = prose.split("\n")
    out = lines[:1]
    for before, line in pairwise(lines):
        starts_list = ITEM.match(line) and not before.startswith(" ") and not ITEM.match(before)
        if before.strip() and line.strip() and (starts_list or before.startswith("|") != line.startswith("|")):
            out.append("")
        out.append(re.sub(r"`[^`]*`", lambda m: m[0].replace(r"\|", "|"), line) if line.startswith("|") else line)
    return "\n".join(out)


# ---- all of them --------------------------------------------------------------------------------------------------


def picture_of(name: str) -> str:
    """The place of an example's picture, which hooks.py draws."""
    return f"images/accesses/{name}.svg"


def example_page(path: Path) -> str:
    """A page that shows an example."""
    return (f"# {path.stem}\n\n[All examples](../examples.md). Run it with `python examples/{path.name}`.\n\n"
            f"```python\n{path.read_text()}```\n\n"
            f"![Access map of a launch of {path.stem}](../{picture_of(path.stem)})\n")


def illustrated(text: str) -> str:
    """The gallery with a picture in each line."""
    def line(found: re.Match[str]) -> str:
        return f"| {found[1]} ![Access map of a launch of {found[2]}]({picture_of(found[2])}) |"
    return re.sub(r"^\| (\[(\w+)\]\(examples/\w+\.md\)) \|", line, text, flags=re.MULTILINE)


@cache
def site_pages() -> dict[str, str]:
    """The Markdown of every page by its path on the site."""
    out: dict[str, str] = {}
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        if name != "language.md":
            out[name] = relinked(include(path.read_text(), path.parent), f"docs/{name}", name)
    for name, text in language_pages().items():
        out[name] = relinked(text, "docs/language.md", name) if name != "language.md" else relinked_prose(text)
    out[api.NAME] = api.api_page()
    for name, source in OTHERS.items():
        out[name] = relinked((ROOT / source).read_text(), source, name)
    for path in sorted((ROOT / "examples").glob("[!_]*.py")):
        out[f"examples/{path.stem}.md"] = example_page(path)
    out["examples.md"] = illustrated(out["examples.md"])
    return {name: spaced(text) for name, text in out.items()}


def relinked_prose(text: str) -> str:
    """The prose of the language page, whose list of families is made for the site already."""
    prose, _, listed = text.rpartition("## Reference\n")
    return f"{relinked(prose, 'docs/language.md', 'language.md')}## Reference\n{listed}"
