"""All words of decisions stand in backend_ptx/decisions.py: passes and layouts hand over names and numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

BACKEND = Path(__file__).parents[2] / "backend_ptx"
SOURCES = [path for folder in ("passes", "layouts") for path in (BACKEND / folder).rglob("*.py")]


def words(source: str) -> Iterator[str]:
    """Texts of several words that a function gives back or decides."""
    for node in ast.walk(ast.parse(source)):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.Return) and not _is_error(node.value):
            given = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "decide":
            given = list(node.args)
        for value in given:
            yield from (found for part in ast.walk(value) if (found := _text(part)) and " " in found) if value else ()


def _is_error(node: ast.expr | None) -> bool:
    """Errors have words of their own, for users."""
    return isinstance(node, ast.Call) and any(word.arg == "hints" for word in node.keywords)


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_words_are_found() -> None:
    assert list(words('def f(x):\n    return f"only {x} bytes" if x else None')) == ["only ", " bytes"]
    assert list(words('c.decide(Decision("a", 1, "two words"))\nassert c, "some words"')) == ["two words"]
    assert not list(words('def f(op):\n    """Some words."""\n    return op.hint or "all"'))


def test_passes_have_no_prose() -> None:
    assert len(SOURCES) > 40
    found = {str(path.relative_to(BACKEND)): texts for path in SOURCES if (texts := list(words(path.read_text())))}
    assert found == {}
