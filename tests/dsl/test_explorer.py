"""The explorer's page, read as a file: one file that asks for nothing, whose lines are linked by their places."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.inspecting import sass
from tilewright.inspecting.explorer.page import page, render
from tilewright.inspecting.explorer.stages import Text, located
from tilewright.tileir.plan import Decision

MATMUL = Path(__file__).parents[2] / "examples" / "matmul.py"
ARGS = "bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64"


class Page(HTMLParser):
    """The elements of a page, and what its scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: Any = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1] == ("script", {"type": "application/json", "id": "data"}):
            self.data = self.data or json.loads(data)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("explorer") / "page.html"
    assert main(["explore", f"{MATMUL}:matmul", "--args", ARGS, "--target", "sm_90a", "-o", str(file)]) == 0
    return file.read_text()


@pytest.fixture(scope="module")
def data(text: str) -> Any:
    return Page(text).data


def test_one_file_that_asks_for_nothing(text: str) -> None:
    assert len(text.encode()) < 5_000_000
    for tag, attributes in Page(text).elements:
        assert tag not in ("img", "iframe", "object", "embed")
        for name in ("src", "href"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    assert "default-src 'none'" in text and "@import" not in text and "url(" not in text and "<!--" not in text
    assert "<title>matmul for sm_90a</title>" in text and ARGS in text


def line_of(words: str) -> int:
    return next(n for n, line in enumerate(MATMUL.read_text().splitlines(), 1) if words in line)


def lines_from(data: Any, stage: Any, line: int) -> list[str]:
    """The lines of a stage whose innermost place is a line of the example."""
    return [text for text, at in zip(stage["lines"], stage["at"], strict=True)
            if at >= 0 and data["files"][data["places"][at][0][0]]["name"] == "matmul.py"
            and data["places"][at][0][1] == line]


def test_every_stage_is_linked_to_the_source(data: Any) -> None:
    assert [file["name"] for file in data["files"]] == ["matmul.py"]
    assert data["files"][0]["lines"] == MATMUL.read_text().splitlines()
    kinds = [stage["kind"] for stage in data["stages"]]
    assert kinds[-3:] == ["llvm", "ptx", "sass"] and set(kinds[:-3]) == {"tile"} and len(kinds) > 12
    wanted = {"tile": "wgmma(", "llvm": "wgmma.mma_async", "ptx": "wgmma.mma_async", "sass": "HGMMA"}
    for stage in data["stages"][-4:]:
        if stage["missing"]:
            continue
        assert len(stage["at"]) == len(stage["lines"]) and max(stage["at"]) < len(data["places"])
        made = lines_from(data, stage, line_of("tw.mma"))
        assert any(wanted[stage["kind"]] in line for line in made), stage["name"]
        assert not any(wanted[stage["kind"]] in line for line in lines_from(data, stage, line_of("tw.store")))


def test_helpers_lead_to_their_call(data: Any) -> None:
    inner, call = line_of("per_band = "), line_of("i, j = swizzled")
    chains = {tuple(line for _, line in place) for place in data["places"]}
    assert (inner, call) in chains
    ptx = next(stage for stage in data["stages"] if stage["kind"] == "ptx")
    assert any(at >= 0 and [line for _, line in data["places"][at]] == [inner, call] for at in ptx["at"])


def test_the_changes_of_each_pass(data: Any) -> None:
    """Those of a pass, made to the text before it, give the text after it."""
    tile = [stage for stage in data["stages"] if stage["kind"] == "tile"]
    assert tile[0]["name"] == "from the frontend" and not tile[0]["changes"]
    assert any(stage["name"] == "after select_instructions" for stage in tile)
    for before, after in pairwise(tile):
        out = []
        for what, i1, i2, j1, j2 in after["changes"]:
            out += before["lines"][i1:i2] if what == "equal" else after["lines"][j1:j2]
        assert out == after["lines"] and before["lines"] != after["lines"], after["name"]


def test_decisions_stand_at_their_lines(data: Any) -> None:
    at = {made["name"]: data["places"][made["at"]][0][1] for made in data["decisions"] if made["at"] >= 0}
    assert at["product"] == line_of("tw.mma") and at["load of a"] == line_of("tw.load(a")
    assert at["stores"] == at["store to c"] == line_of("tw.store")
    assert any(made["name"] == "num_warps" and made["at"] == -1 and made["reason"] for made in data["decisions"])


def test_without_a_disassembler_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise tw.TileUnsupportedFeatureError("no disassembler")

    monkeypatch.setattr(sass, "find_disassembler", missing)
    from vector_add import vector_add

    x = tw.spec("f32[1000]")
    stage = Page(page(vector_add, (x, x, x, 256), "sm_80")).data["stages"][-1]
    assert stage["kind"] == "sass" and not stage["lines"] and "tilewright[explore]" in stage["missing"]


def test_what_texts_hold_ends_no_script() -> None:
    nasty = "</script><script>alert(1)</script><!--"
    text = render("k<b>", "sm_80", nasty, [Text("tile", nasty, [nasty], [()])], [Decision("x", 1, nasty)])
    parsed = Page(text)
    assert [tag for tag, _ in parsed.elements].count("script") == 2
    assert parsed.data["stages"][0]["lines"] == [nasty] and parsed.data["decisions"][0]["reason"] == nasty
    assert "<title>k&lt;b&gt; for sm_80</title>" in text


def test_places_leave_the_text() -> None:
    text = '@0 = "a b.py" in "f"\n@1 = "c.py" in "g" from @0:7:5-9\n\nfunc @f() @0:1:1-9 {\n' \
           '  for(x=1) @1:3:2-8 .loop(%i: i32) {\n    p(text=" @0:4:1-2 ") @0:8:1-9:3\n  }\n}\n'
    made = located("pass", text)
    assert made.lines == ["", "func @f() {", "  for(x=1) .loop(%i: i32) {", '    p(text=" @0:4:1-2 ")', "  }", "}"]
    assert made.chains == [(), (("a b.py", 1),), (("c.py", 3), ("a b.py", 7)), (("a b.py", 8),), (), ()]


def test_the_script_names_what_the_page_has() -> None:
    """Ids that the script looks for are in the template or made by the script."""
    from tilewright.inspecting.explorer.page import SCRIPTS, piece

    script, template = "".join(map(piece, SCRIPTS)), piece("page.html")
    wanted = set(re.findall(r'getElementById\("([\w-]+)"\)', script))
    made = set(re.findall(r'id="([\w-]+)"', template)) | set(re.findall(r'id: "([\w-]+)"', script)) | {"choice-source"}
    assert wanted <= made
