"""What notebooks display of kernels, in a headless Chromium: `make test-browser` runs these."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.axe import violations
from support.chromium import Chromium, in_browser

import tilewright as tw
from tilewright.cli.reading import load_kernel

pytestmark = in_browser

SOURCE = Path(__file__).parents[2] / "examples" / "matmul.py"
MATRIX = tw.spec("bf16[4096,4096]")
ARGS = (MATRIX, MATRIX, MATRIX, 128, 256, 64)
# As notebooks show an output: in a cell of their width, with their colours.
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Notebook</title><style>
body { margin: 0; font: 14px sans-serif; background: #fff; color: #212121; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #e0e0e0; } }
main { padding: 10px; max-width: 1000px; }
</style></head><body><main><h1>Cell</h1>%s</main></body></html>"""
SEEN = """
document.querySelectorAll("details").forEach((part) => { part.open = true; });
const wide = [...document.querySelectorAll("pre")].filter((one) => one.scrollWidth > one.clientWidth);
return { text: document.body.innerText, fits: document.documentElement.scrollWidth <= innerWidth,
  scrolled: wide.length, scripts: document.querySelectorAll("script").length };
"""


def html_of(thing: Any) -> str:
    """What a notebook asks of the last value of a cell."""
    return str(thing._repr_html_())


@cache
def displayed() -> dict[str, str]:
    """The kernel, the kernel for arguments, what was compiled, and a kernel that does not compile."""
    kernel = load_kernel(f"{SOURCE}:matmul")
    return {
        "kernel": html_of(kernel),
        "stages": html_of(kernel.lower(*ARGS, target="sm_90a")),
        "compiled": html_of(kernel.compiled(*ARGS, target="sm_90a")),
        "error": html_of(kernel.lower(tw.spec("i1[64,64]"), *ARGS[1:], target="sm_90a")),
    }


HOLDS = {
    "kernel": ("tile_kernel matmul", "acc = tw.mma(x, y, acc)", "matmul[grid](*arguments)"),
    "stages": ("matmul for sm_90a", "product: wgmma", "num_warps: 8", "Tile IR", "func @matmul"),
    "compiled": ("wgmma.mma_async", "threads", "shared memory"),
    "error": ("acc = tw.mma(x, y, acc)", "error"),
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("what", HOLDS)
def test_it_is_displayed(chromium: Chromium, tmp_path: Path, what: str, dark: bool) -> None:
    """All of it, within the cell, in the notebook's colours, for keyboards and screen readers, too."""
    file = tmp_path / "cell.html"
    file.write_text(PAGE % displayed()[what])
    with chromium.page(file.as_uri(), width=800, dark=dark) as shown:
        seen = shown.run(SEEN)
        assert all(words in seen["text"] for words in HOLDS[what]), seen["text"][:2000]
        assert seen["fits"] and not seen["scripts"] and bool(seen["scrolled"]) == (what in ("stages", "compiled"))
        assert shown.wrong() == []
        assert violations(shown) == []


def test_the_keyboard_opens_what_is_folded(chromium: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "cell.html"
    file.write_text(PAGE % displayed()["stages"])
    folded = "return [...document.querySelectorAll('details')].map((part) => part.open);"
    with chromium.page(file.as_uri()) as shown:
        assert shown.run(folded) == [True, False]
        shown.run("document.querySelectorAll('summary')[0].focus();")
        shown.press("Tab")
        shown.press("Enter")
        assert shown.run(folded) == [True, True]
        shown.press("Tab")
        assert shown.run("return document.activeElement.getAttribute('aria-label');") == "Tile IR"
