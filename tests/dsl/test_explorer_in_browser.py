"""The explorer's page in a headless Chromium: marks follow the pointer and the keyboard, and nothing goes wrong.

A script that is added to the page plays the user and leaves what it saw in the document. `make test-browser` fails
where there is no browser; `make test` skips these.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.cli.reading import load_kernel, parse_args
from tilewright.inspecting.explorer.page import page

EXAMPLES = Path(__file__).parents[2] / "examples"
MATMUL = ("matmul.py:matmul", "bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64")
SOFTMAX = ("softmax.py:softmax", "f32[4096,1000], f32[4096,1000], 1024")

BEFORE = "<script>window.wrong = []; addEventListener('error', (e) => wrong.push(e.message));" \
         "addEventListener('securitypolicyviolation', (e) => wrong.push(e.blockedURI));</script>"
PLAYED = """<pre id="result"></pre><script>
const pane = (kind) => document.getElementById(`text-${kind}`);
const marked = (kind) => [...pane(kind).querySelectorAll(".marked, .chosen")].map((line) => line.textContent);
const all = () => Object.fromEntries(["source", "tile", "llvm", "ptx", "sass"].map((kind) => [kind, marked(kind)]));
const find = (kind, words) => [...pane(kind).querySelectorAll("li[data-keys]")].find(
  (line) => line.dataset.keys && line.textContent.includes(words));
const point = (line) => line.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const out = {};
%s
out.wrong = wrong;
document.getElementById("result").textContent = JSON.stringify(out);
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("TILEWRIGHT_REQUIRE_BROWSER"):
            pytest.fail("there is no chromium: apt-get install chromium")
        pytest.skip("there is no chromium")
    return found


def run(browser: str, folder: Path, what: tuple[str, str], played: str) -> Any:
    """What the script saw; no error on the console."""
    kernel = load_kernel(f"{EXAMPLES}/{what[0]}")
    text = page(kernel, parse_args(what[1]), "sm_90a", what[1])
    file = folder / "page.html"
    file.write_text(text.replace("<main", BEFORE + "<main").replace("</body>", PLAYED % played + "</body>"))
    done = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000", file.as_uri()],
        capture_output=True, text=True, timeout=120)
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not told, told
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None and found[1], done.stdout[-2000:] + done.stderr[-2000:]
    out = json.loads(html.unescape(found[1]))
    assert out["wrong"] == []
    return out


def test_marks_follow_the_pointer_both_ways(browser: str, tmp_path: Path) -> None:
    out = run(browser, tmp_path, MATMUL, """
        point(find("source", "tw.mma")); out.mma = all(); out.said = document.getElementById("said").textContent;
        point(find("ptx", "cp.async.bulk.tensor.2d.shared")); out.load = all();
        point(find("tile", "tma_store")); out.store = all();
        point(find("source", "i, j = swizzled")); out.call = all();
        point(pane("ptx").querySelector("li[data-keys='']")); out.none = all();
        find("source", "tw.mma").click();
        const seen = (list) => [...list.querySelectorAll(".marked")].filter((line) => {
          const top = line.offsetTop - list.offsetTop - list.scrollTop;
          return top >= 0 && top < list.clientHeight;
        });
        out.seen = ["llvm", "ptx"].map((kind) => seen(pane(kind)).length);
        out.notes = [...pane("source").querySelectorAll(".note")].map((note) => note.textContent);
        out.general = document.querySelector(".decisions").textContent;
    """)
    assert any("wgmma(" in line for line in out["mma"]["tile"])
    assert any("wgmma.mma_async" in line for line in out["mma"]["ptx"])
    if out["mma"]["sass"]:
        assert len([line for line in out["mma"]["sass"] if "HGMMA" in line]) == 4
        assert any("UTMASTG" in line for line in out["store"]["sass"])
    assert [line for line in out["load"]["source"] if "tw.load(a," in line] and len(out["load"]["source"]) == 1
    assert ["tw.store" in line for line in out["store"]["source"]] == [True]
    assert len(out["call"]["tile"]) > 10 and len(out["call"]["ptx"]) > 10, "what the helper made is the call's too"
    assert not any(out["none"].values())
    assert min(out["seen"]) >= 5, "a click scrolls to where most of the counterparts stand"
    assert re.match(r"matmul\.py, line \d+: 1 in Source, \d+ in Tile IR", out["said"])
    assert any(note.startswith("product: wgmma") for note in out["notes"]) and "num_warps: 8" in out["general"]


def test_the_keyboard_and_the_changes_of_a_pass(browser: str, tmp_path: Path) -> None:
    out = run(browser, tmp_path, SOFTMAX, """
        const first = pane("source").querySelector("li[tabindex='0']");
        first.focus(); press("ArrowDown"); press("ArrowDown");
        out.third = document.activeElement.querySelector(".at").textContent;
        find("source", "tw.exp2").focus(); press("Enter"); out.exp = all();
        document.getElementById("main").dispatchEvent(new MouseEvent("mouseleave")); out.kept = all();
        out.stops = [...document.querySelectorAll(".text")].map((l) => l.querySelectorAll("[tabindex='0']").length);
        const choice = document.getElementById("choice-tile");
        choice.selectedIndex = 1; document.getElementById("changes").click();
        out.changed = pane("tile").querySelectorAll(".added, .removed").length;
        document.querySelectorAll("#panes input")[2].click();
        out.hidden = document.getElementById("pane-llvm").hidden;
        out.unnamed = [...document.querySelectorAll("select, ol, section")].filter((e) => !e.ariaLabel).length;
    """)
    assert out["third"] == "3" and out["stops"] == [1] * len(out["stops"])
    assert any("ex2" in line for line in out["exp"]["ptx"]) and out["kept"] == out["exp"]
    assert out["changed"] > 0 and out["hidden"] is True and out["unnamed"] == 0


def test_layouts_and_resources(browser: str, tmp_path: Path) -> None:
    """The pictures answer to the arrow keys and say the same as their tables."""
    out = run(browser, tmp_path, MATMUL, """
        document.getElementById("tab-layouts").click();
        const picture = (kind) => document.querySelector(`figure[data-kind='${kind}']`);
        const said = (kind) => picture(kind).querySelector(".said").textContent;
        picture("tile").querySelector("canvas").focus(); out.first = said("tile");
        press("ArrowRight"); out.right = said("tile"); press("ArrowDown"); out.down = said("tile");
        out.legend = document.querySelectorAll(".legend li").length;
        const table = picture("tile").nextElementSibling; table.open = true;
        table.dispatchEvent(new Event("toggle"));
        out.cells = [...table.querySelectorAll("tbody tr")[1].children].slice(0, 3).map((cell) => cell.textContent);
        picture("shared").querySelector("canvas").focus(); press("ArrowDown"); out.bank = said("shared");
        document.getElementById("tab-layouts").focus(); press("ArrowRight");
        out.tab = document.activeElement.id;
        out.shown = document.querySelectorAll("[role=tabpanel]:not([hidden])").length;
        out.occupancy = document.getElementById("occupancy").textContent;
        out.rows = document.querySelectorAll(".program tbody tr").length;
        out.ops = JSON.parse(document.getElementById("data").textContent).views.program.length;
    """)
    assert out["first"] == "element (0, 0) → warp 0, lane 0, register 0"
    assert out["right"] == "element (0, 1) → warp 0, lane 0, register 1"
    assert out["down"] == "element (1, 1) → warp 0, lane 4, register 1" and out["legend"] == 8
    assert out["cells"] == ["1", "w0 l4 r0", "w0 l4 r1"]
    assert out["bank"] == "element (1, 0) → byte 144 of the buffer: bank 4, row 1 of 128 bytes"
    assert out["tab"] == "tab-resources" and out["shown"] == 1 and out["rows"] == out["ops"] > 50
    assert out["occupancy"].startswith("1 CTA of 384 threads")


def test_without_machine_code(browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.inspecting import sass

    def missing() -> Any:
        raise tw.TileUnsupportedFeatureError("no disassembler")

    monkeypatch.setattr(sass, "find_disassembler", missing)
    out = run(browser, tmp_path, SOFTMAX, 'out.said = document.querySelector("#pane-sass .missing").textContent;')
    assert "tilewright[explore]" in out["said"]
