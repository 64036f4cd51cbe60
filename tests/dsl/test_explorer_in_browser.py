"""The explorer's page in a headless Chromium: marks follow the pointer and the keyboard, and nothing goes wrong.

`make test-browser` runs these, and fails where there is no browser.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.axe import violations
from support.chromium import Chromium, in_browser

import tilewright as tw
from tilewright.cli.inputs import specified_values
from tilewright.cli.reading import load_kernel
from tilewright.inspecting.explorer.page import page

pytestmark = in_browser
EXAMPLES = Path(__file__).parents[2] / "examples"
VIEWS = ("code", "layouts", "accesses", "resources", "pipeline", "roofline")
MATMUL = ("matmul.py:matmul", "bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64")
SOFTMAX = ("softmax.py:softmax", "f32[4096,1000], f32[4096,1000], 1024")

STARTS = np.array([0, 100, 101, 138, 268], np.int32)
TEN: dict[str, tuple[str, str, tuple[int, ...], dict[int, Any]]] = {
    "matmul": (*MATMUL, (512,), {}),
    "persistent matmul": ("persistent_matmul.py", MATMUL[1], (132,), {}),
    "softmax": (*SOFTMAX, (4096,), {}),
    "attention": ("attention.py:attention", "f16[268,4,64], f16[268,2,64], f16[268,2,64], 0, f16[268,4,64], "
                  "f32[4,268], 0.125, 64, 32, 64", (3, 4, 4), {3: STARTS}),
    "transpose": ("transpose.py", "f32[1000,531], f32[531,1000], 64, 64", (16, 9), {}),
    "gather": ("embedding.py", "f16[500,100], i64[77]:arange, f16[77,100], 16, 64", (5, 2), {}),
    "vector add": ("vector_add.py", "f32[10000], f32[10000], f32[10000], 256", (40,), {}),
    "histogram": ("histogram.py", "f32[10000], i32[50], -3.0, 3.0, 512", (20,), {}),
    "layer norm": ("layer_norm.py:layer_norm", "f32[64,1000], f32[1000], f32[1000], f32[64,1000], f32[64], f32[64], "
                   "1e-5, 256", (64,), {}),
    "int8 weights": ("int8_weights.py", "f16[64,256], i8[128,256], f16[128,4], f16[64,128], 32, 64, 64", (2, 2), {}),
}
"""Kernel, arguments, grid, and arrays in place of some arguments."""

PLAYED = """
const pane = (kind) => document.getElementById(`text-${kind}`);
const marked = (kind) => [...pane(kind).querySelectorAll(".marked, .chosen")].map((line) => line.textContent);
const all = () => Object.fromEntries(["source", "tile", "llvm", "ptx", "sass"].map((kind) => [kind, marked(kind)]));
const find = (kind, words) => [...pane(kind).querySelectorAll("li[data-keys]")].find(
  (line) => line.dataset.keys && line.textContent.includes(words));
const point = (line) => line.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const out = {};
%s
return out;
"""


@functools.cache
def text_of(name: str) -> str:
    """The page of one of the ten kernels, for sm_90a."""
    where, told, grid, given = TEN[name]
    args = tuple(given.get(k, arg) for k, arg in enumerate(specified_values(told)))
    return page(load_kernel(f"{EXAMPLES}/{where}"), args, "sm_90a", told, grid)


def write_page(folder: Path, text: str) -> str:
    """Write a page; its address."""
    file = folder / "page.html"
    file.write_text(text)
    return file.as_uri()


def run(browser: Chromium, folder: Path, text: str, played: str) -> Any:
    """What a script sees that plays the user of a page; no error on the console, no request to anywhere."""
    with browser.page(write_page(folder, text)) as shown:
        out = shown.run(PLAYED.replace("%s", played))
        assert shown.wrong() == []
    return out


def test_marks_follow_the_pointer_both_ways(chromium: Chromium, tmp_path: Path) -> None:
    out = run(chromium, tmp_path, text_of("matmul"), """
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


def test_the_keyboard_and_the_changes_of_a_pass(chromium: Chromium, tmp_path: Path) -> None:
    out = run(chromium, tmp_path, text_of("softmax"), """
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


WALKED = """
const at = document.activeElement;
const box = at.getBoundingClientRect(), style = getComputedStyle(at);
const shown = box.width > 0 && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0;
const ringed = at.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
return [window.all.indexOf(at), shown && ringed, at.outerHTML.slice(0, 80)];
"""
ALL = """
document.getElementById("tab-VIEW").click();
document.querySelectorAll("[role=tabpanel]:not([hidden]) details").forEach((part) => { part.open = true; });
await new Promise((done) => setTimeout(done, 50));  // tables are made when their part has opened
const wanted = "a, button, input, select, textarea, summary, canvas, [tabindex]";
window.all = [...document.querySelectorAll(wanted)].filter((e) => e.tabIndex >= 0 && e.checkVisibility());
document.getElementById("tab-VIEW").focus();
return window.all.map((e) => e.outerHTML.slice(0, 80));
"""

CUT = """
const pictures = [...document.querySelectorAll("[role=tabpanel]:not([hidden]) :is(.canvas, .framed)")];
return pictures.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("width", [1400, 800])
def test_tab_reaches_every_control_and_shows_where_it_is(chromium: Chromium, tmp_path: Path, width: int) -> None:
    with chromium.page(write_page(tmp_path, text_of("int8 weights")), width=width) as shown:
        for view in VIEWS:
            wanted = shown.run(ALL.replace("VIEW", view))
            assert shown.run(CUT) == [], f"{view}: pictures are made to fit the window"
            reached: list[int] = []
            for _ in wanted[1:]:
                shown.press("Tab")
                number, seen, text = shown.run(WALKED)
                assert seen, f"{view}: {text} is outside the window, or without an outline"
                reached.append(number)
            assert reached == list(range(1, len(wanted))), f"{view}: {reached} of {wanted}"
        assert shown.wrong() == []


def test_layouts_and_resources(chromium: Chromium, tmp_path: Path) -> None:
    """The pictures answer to the arrow keys and say the same as their tables."""
    out = run(chromium, tmp_path, text_of("matmul"), """
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
        document.getElementById("tab-layouts").focus(); press("ArrowRight"); press("ArrowRight");
        out.tab = document.activeElement.id;
        out.shown = document.querySelectorAll("[role=tabpanel]:not([hidden])").length;
        out.occupancy = document.getElementById("occupancy").textContent;
        out.rows = document.querySelectorAll(".program tbody tr").length;
        out.ops = JSON.parse(document.getElementById("data").textContent).views.program.length;
    """)
    assert out["first"] == "element (0, 0) → warp 0, lane 0, register 0"
    assert out["right"] == "element (0, 1) → warp 0, lane 0, register 1"
    assert out["down"] == "element (1, 1) → warp 0, lane 4, register 1"
    assert out["legend"] == 8 + 33, "warps, and banks with a name for all"
    assert out["cells"] == ["1", "w0 l4 r0", "w0 l4 r1"]
    assert out["bank"] == "element (1, 0) → byte 144 of the buffer: bank 4, row 1 of 128 bytes"
    assert out["tab"] == "tab-resources" and out["shown"] == 1 and out["rows"] == out["ops"] > 50
    assert out["occupancy"].startswith("1 CTA of 384 threads")


@pytest.mark.parametrize("name", TEN)
def test_ten_kernels(chromium: Chromium, tmp_path: Path, name: str) -> None:
    """Lines mark each other both ways, a pass shows what it changed, and every picture answers to the keyboard."""
    grid = TEN[name][2]
    out = run(chromium, tmp_path, text_of(name), """
        const store = find("tile", "store(") || find("tile", "scatter(") || find("tile", "atomic_rmw(");
        point(store); out.from_tile = all();
        const line = pane("source").querySelector(".marked"); point(line); out.from_source = all();
        const choice = document.getElementById("choice-tile");
        choice.selectedIndex = 1; document.getElementById("changes").click();
        out.changed = pane("tile").querySelectorAll(".added, .removed").length;
        const go = (view) => document.getElementById(`tab-${view}`).click();
        const step = (kind) => {
          const picture = document.querySelector(`figure[data-kind='${kind}']`);
          if (!picture) return "";
          picture.querySelector("canvas").focus(); press("ArrowRight"); press("ArrowLeft");
          return picture.querySelector(".said").textContent;
        };
        go("layouts"); out.layout = step("tile"); out.banks = step("shared");
        go("accesses"); out.access = step("access"); out.sentence = document.getElementById("accessed").textContent;
        out.arrays = document.querySelectorAll("#choice-array option").length;
        const input = document.getElementById("block"); input.value = input.max;
        input.dispatchEvent(new Event("input")); out.block = input.nextElementSibling.textContent;
        go("resources"); out.occupancy = document.getElementById("occupancy").textContent;
        go("pipeline"); out.pipeline = document.querySelector("#view-pipeline h2").textContent;
        go("roofline"); out.bound = document.getElementById("bound").textContent;
        out.wide = document.documentElement.scrollWidth <= innerWidth;
    """)
    assert out["from_tile"]["ptx"] and len(out["from_tile"]["source"]) == 1
    assert out["from_source"]["tile"] and out["from_source"]["ptx"] and out["changed"] > 0
    assert re.match(r"element \(0(, 0)*\) → warp 0, lane 0, register 0", out["layout"])
    assert out["banks"] == "" or re.match(r"element \(0.*bank 0, row 0", out["banks"])
    assert "each element" in out["access"] and out["sentence"].startswith("Each element of") and out["arrays"] >= 2
    last = ", ".join(str(n - 1) for n in grid)
    assert out["block"] == (f"block {last}" if len(grid) == 1 else f"block ({last})")
    assert "occupancy" in out["occupancy"] and "takes at least" in out["bound"] and out["wide"]
    pipelined = name in ("matmul", "persistent matmul", "attention")
    assert out["pipeline"].startswith("Loop at" if pipelined else "No software pipeline") or name == "int8 weights"


@pytest.mark.parametrize(("name", "dark", "views"), [
    ("gather", False, VIEWS), ("gather", True, VIEWS), ("transpose", True, ("layouts",)),
], ids=["light", "dark", "banks"])
def test_nothing_that_axe_finds(
    chromium: Chromium, tmp_path: Path, name: str, dark: bool, views: tuple[str, ...],
) -> None:
    """Roles, names, contrast and focus order, with every view open."""
    with chromium.page(write_page(tmp_path, text_of(name)), dark=dark) as shown:
        for view in views:
            found = violations(shown, f"""
                document.getElementById("tab-{view}").click();
                document.querySelectorAll("details").forEach((part) => {{ part.open = true; }});
            """, "" if view == "code" else f"#view-{view}")
            assert found == [], view


def test_without_machine_code(chromium: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.inspecting import sass

    def missing() -> Any:
        raise tw.TileUnsupportedFeatureError("no disassembler")

    monkeypatch.setattr(sass, "find_disassembler", missing)
    text = text_of.__wrapped__("softmax")
    out = run(chromium, tmp_path, text, 'out.said = document.querySelector("#pane-sass .missing").textContent;')
    assert "tilewright[explore]" in out["said"]


def test_the_launches_of_a_recording(chromium: Chromium, tmp_path: Path) -> None:
    """The picture stands beside the kernel's stages, and axe finds nothing in it."""
    @tw.tile_kernel
    def double(x, out):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 4) * 2)

    x, out = np.arange(4), np.zeros(4, np.int64)
    with tw.fuse() as g:
        inner = g.empty((4,), np.int64)
        double[(1,)](x, inner)
        double[(1,)](inner, out)
    text = g.explore(tmp_path / "fused.html", target="sm_90a").read_text()
    shown = run(chromium, tmp_path, text, """
        document.getElementById("tab-launches").click();
        const svg = document.querySelector("#fused svg");
        out.label = svg.getAttribute("aria-label"); out.boxes = svg.querySelectorAll("rect").length;
        out.said = document.getElementById("explained").textContent;
        out.code = document.querySelectorAll("#text-ptx li").length;
    """)
    assert shown["label"] == "1 launch: double + double" and shown["boxes"] == 1 and shown["code"] > 10
    assert shown["said"] == g.explain() and "without t1" in shown["said"]
    with chromium.page(write_page(tmp_path, text), dark=True) as page_:
        assert violations(page_, 'document.getElementById("tab-launches").click();', "#view-launches") == []
