"""How notebooks display kernels: HTML that says what there is, and does nothing."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.reading import load_kernel, parse_args

EXAMPLES = Path(__file__).parents[2] / "examples"


class Balanced(HTMLParser):
    """The elements; raises where one is not closed, or does more than show text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "pre", "strong", "small", "span", "em", "details", "summary", "ul", "li"}, tag
        assert all(name in ("style", "open", "tabindex", "role", "aria-label") for name, _ in attrs), attrs
        assert not any("color" in (value or "") for _, value in attrs), "it is read in light and dark notebooks"
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@tw.tile_kernel(occupancy=2)
def smallest(x):
    if tw.bid(0) < 2:  # <b>
        tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), 64) * 2.0)


def test_a_kernel_alone() -> None:
    text = smallest._repr_html_()
    Balanced(text)
    assert "<strong>tile_kernel smallest</strong> (occupancy=2)" in text and "def smallest(x):" in text
    assert "&lt; 2:  # &lt;b&gt;" in text and "smallest.lower(*arguments)" in text


def test_a_kernel_for_arguments() -> None:
    args = parse_args("bf16[512,512], bf16[512,512], bf16[512,512], 128, 256, 64")
    stages = load_kernel(f"{EXAMPLES}/matmul.py").lower(*args, target="sm_90a")
    text = stages._repr_html_()
    shown = Balanced(text)
    assert shown.seen.count("details") == 2 and "for sm_90a" in text
    plain = unescape(re.sub(r"<[^>]+>", "", text))
    lines = plain.splitlines()
    [at] = [n for n, line in enumerate(lines) if "acc = tw.mma(x, y, acc)" in line]
    assert lines[at + 1].strip().startswith("product: wgmma, bf16"), "a decision stands below its line"
    assert "num_warps: 8" in plain and stages.text() in plain


def test_what_was_compiled() -> None:
    made = smallest.compiled(tw.spec("f32[128]"), target="sm_80")
    text = made._repr_html_()
    Balanced(text)
    assert f"{made.threads} threads a CTA" in text and made.ptx in unescape(text)


def test_what_does_not_compile_is_told() -> None:
    @tw.tile_kernel
    def wrong(x):
        tw.store(x, 0, tw.load(x, 0, 64) @ tw.load(x, 0, 64) @ "no")

    text = wrong.lower(tw.spec("f32[128]"), target="sm_80")._repr_html_()
    Balanced(text)
    assert "def wrong(x):" in text and "error" in text.lower()


def test_a_gradient_has_no_lines_of_its_own() -> None:
    @tw.tile_kernel
    def twice(x, out):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 64) * 2.0)

    derived = tw.grad(twice, wrt="x", outputs="out")
    Balanced(derived._repr_html_())
    assert "twice_grad" in derived._repr_html_()


@pytest.mark.parametrize("thing", ["<script>alert(1)</script>", "</pre>"])
def test_names_and_options_end_nothing(thing: str) -> None:
    from tilewright.inspecting import notebook

    assert "<script" not in notebook._folded(thing, "") and "</pre>" not in notebook._folded(thing, "")
