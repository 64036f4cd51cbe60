"""docs/language.md is what the docstrings say; every example of it and of the coming-from pages does what it states."""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doc_examples
import language_page
import pytest

import tilewright as ct
from tilewright.frontend.promotion import common_typed
from tilewright.launching import launcher

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["language.md", "derivatives.md", "kernels-as-values.md", "numerics.md", "performance.md",
         "coming-from-cutile.md", "coming-from-triton.md", "coming-from-numba.md", "coming-from-cuda.md"]
PARTS = language_page.parts()
NAMES = [name for names in PARTS.values() for name in names]
FUNCTIONS = [name for part in (*language_page.LANGUAGE, "additions") for name in PARTS.get(part, [])]
NOT_IN_THE_REFERENCE = {"kernel"}  # a second name of tile_kernel


def test_the_reference_is_up_to_date(update_golden: bool) -> None:
    page = DOCS / "language.md"
    prose = page.read_text().partition(language_page.START)[0]
    if update_golden:
        page.write_text(prose + language_page.reference())
    assert page.read_text() == prose + language_page.reference(), "run this test with --update-golden"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example(name: str) -> None:
    text, example = language_page.split(inspect.getdoc(language_page.find(name)) or "")
    assert text and example, f"{name}: the docstring needs an `Example:`"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_states_its_result_and_its_errors(name: str) -> None:
    text = inspect.getdoc(language_page.find(name)) or ""
    function = language_page.find(name)
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert re.search(r"^(Result: |Arguments, result and errors: )", text, re.MULTILINE), name
    assert re.search(r"^(Errors: |Arguments, result and errors: )", text, re.MULTILINE), name


def test_every_public_name_is_on_the_page() -> None:
    page = (DOCS / "language.md").read_text()
    missing = [n for n in ct.__all__ if n not in NOT_IN_THE_REFERENCE and not re.search(rf"\b{n}\b", page)]
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_links_to_sections_lead_somewhere(name: str) -> None:
    for page, anchor in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", (DOCS / name).read_text()):
        code_free = re.sub(r"```.*?```", "", (DOCS / (page or name)).read_text(), flags=re.DOTALL)
        headings = re.findall(r"^#+ (.*)$", code_free, re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
        assert anchor in anchors, f"{name} links to #{anchor}"


@pytest.mark.parametrize("kind", [ct.RoundingMode, ct.PaddingMode, ct.MemoryOrder, ct.MemoryScope])
def test_every_member_of_an_enum_is_explained(kind: type[enum.Enum]) -> None:
    listed = re.findall(r"^- `(\w+)`: ", inspect.getdoc(kind) or "", re.MULTILINE)
    assert listed == [member.name for member in kind]


def test_the_promotion_table_is_the_compilers() -> None:
    page = (DOCS / "language.md").read_text()
    header, *rows = re.findall(r"^\| \|.*\|$|^\| \*\*\w+\*\* \|.*\|$", page, re.MULTILINE)
    names = [cell.strip() for cell in header.split("|")[2:-1]]
    kinds = {"bool": [ct.bool_], "uint": [ct.uint8, ct.uint64], "int": [ct.int8, ct.int64]}
    seen = 0
    for row in rows:
        left, *cells = [cell.strip(" *") for cell in row.split("|")[1:-1]]
        for right, cell in zip(names, cells, strict=True):
            for a in kinds.get(left) or [getattr(ct, left)]:
                for b in kinds.get(right) or [getattr(ct, right)]:
                    words = {"error": None, "bool": ct.bool_, "the wider": max(a, b, key=lambda d: d.bitwidth),
                             "the uint": b if left == "bool" else a, "the int": b if left == "bool" else a}
                    assert common_typed(a, b) is words.get(cell, getattr(ct, cell, None)), (a, b, cell)
                    seen += 1
    assert seen >= 49


def programs_of_docstrings() -> Iterator[Any]:
    for name in NAMES:
        thing = language_page.find(name)
        _, example = language_page.split(inspect.getdoc(thing) or "")
        script = name not in FUNCTIONS or doc_examples.is_script(example)
        for i, program in enumerate(doc_examples.programs(example, script=script) if example else ()):
            yield pytest.param(program, id=f"{name}-{i}")


def programs_of_pages() -> Iterator[Any]:
    for page in PAGES:
        text = (DOCS / page).read_text().partition(language_page.START)[0]
        for i, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
            for k, program in enumerate(doc_examples.programs(code, script=doc_examples.is_script(code))):
                yield pytest.param(program, id=f"{page}-{i}-{k}")


@pytest.mark.parametrize("program", [*programs_of_docstrings(), *programs_of_pages()])
def test_example_does_what_it_states(
    program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "FORCE_INTERPRETER", launcher.FORCE_INTERPRETER)  # cutile.install() sets it
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    doc_examples.run(program, tmp_path / "example.py")
    if program.error:
        return
    printed = [line.rstrip() for line in capfd.readouterr().out.splitlines()]
    if "gpu_available" in program.source and not program.expected:
        return  # what it prints depends on the device, if there is one
    assert printed == list(program.expected), program.source
    assert printed or "assert " in program.source, "the example shows nothing"


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    normal, refused = doc_examples.programs("print(1)  # 2\nct.zeros((3,), ct.int8)  # TileTypeError\n", script=False)
    assert normal.expected == ("2",) and "(3,)" not in normal.source
    assert refused.error == "TileTypeError" and "(3,)" in refused.source
