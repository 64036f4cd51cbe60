"""docs/tile-ir.md lists every op as it is declared, and its example is valid text."""

from __future__ import annotations

from pathlib import Path

import tilewright.tileir.ops  # noqa: F401  (registers the ops)
from tilewright.tileir.core import OPS, Op
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

PAGE = Path(__file__).parents[2] / "docs" / "tile-ir.md"
START, END = "<!-- ops -->\n", "<!-- end of ops -->\n"


def op_list() -> str:
    """A table for each family: the op with its fields, and the first sentence of its docstring."""
    families: dict[str, list[type[Op]]] = {}
    for cls in OPS.values():
        if cls.__module__.startswith("tilewright.tileir.ops."):
            families.setdefault(cls.__module__.rsplit(".", 1)[1], []).append(cls)
    parts = []
    for family in sorted(families):
        parts += [f"### `tileir/ops/{family}.py`\n", "| op | fields | meaning |", "|---|---|---|"]
        parts += [f"| `{cls.opcode}` | {fields(cls)} | {first_sentence(cls)} |" for cls in families[family]]
        parts.append("")
    return "\n".join(parts)


def fields(cls: type[Op]) -> str:
    """Operands with %, bodies with a dot, attributes that may be left out in brackets."""
    marks = {"operand": "%{}", "optional": "[%{}]", "operands": "(%{}...)", "body": ".{}"}
    names = [marks.get(f.kind, "{}" if f.required else "[{}]").format(name) for name, f in cls.fields.items()]
    return " ".join(f"`{name}`" for name in names)


def first_sentence(cls: type[Op]) -> str:
    text = " ".join((cls.__doc__ or "").split()).replace("|", "\\|")
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def test_the_list_is_up_to_date(update_golden: bool) -> None:
    page = PAGE.read_text()
    before, rest = page.split(START)
    _, after = rest.split(END)
    new = before + START + op_list() + END + after
    if update_golden:
        PAGE.write_text(new)
    assert update_golden or page == new, "run pytest tests/tileir/test_docs.py --update-golden"


def test_every_op_says_what_it_means() -> None:
    for cls in OPS.values():
        if not cls.__module__.startswith("tilewright."):
            continue  # declared by another test
        assert cls.__dict__.get("__doc__"), f"{cls.opcode} has no docstring of its own"


def test_the_example_is_valid() -> None:
    text = PAGE.read_text().split("```")[1].lstrip("\n")
    function = parse(text)
    verify(function)
    printed = to_text(parse(to_text(function)))
    assert printed == to_text(function) and "load(array=%x" in printed
